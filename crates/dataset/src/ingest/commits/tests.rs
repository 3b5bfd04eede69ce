//! Concurrent runs over files of the same name, where one pauses before each of its commits; and power
//! cuts.

mod interleavings;
mod power_cuts;

use std::path::Path as FilePath;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use arrow::array::AsArray as _;
use arrow::datatypes::{Float64Type, Int64Type};
use futures::{FutureExt as _, TryStreamExt as _};
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{ObjectStore as _, ObjectStoreExt as _};
use tokio::sync::Semaphore;
use tsql_adapters::formats::StreamFormat;
use tsql_session::open_session;
use tsql_store::{FailingStore, Store};

use crate::check::check;
use crate::ingest::{AppendOptions, IngestOptions};
use crate::ingest::{append, ingest};
use crate::upkeep::orphans::find_orphaned;

/// Lines of measured records with times that identify them, and a line that is not a record.
fn lines(count: u32, time: u32) -> String {
    let line = |number| {
        format!(
            "{{\"workload_key\": [\"mm\", 8], \"steps\": {{\"TILE\": {number}}}, \"repeats_ns\": [{time}{number}, 9]}}\n"
        )
    };
    (1..=count).map(line).collect::<String>() + &format!("no record {time}\n")
}

/// Pauses a writer before its n-th commit, from 0.
struct Gate {
    passed: AtomicUsize,
    stop_at: usize,
    reached: Semaphore,
    open: Semaphore,
}

impl Gate {
    fn stop_before(stop_at: usize) -> Arc<Self> {
        Arc::new(Self {
            passed: AtomicUsize::new(0),
            stop_at,
            reached: Semaphore::new(0),
            open: Semaphore::new(0),
        })
    }

    fn wrap_store(self: &Arc<Self>, inner: &Arc<InMemory>) -> Store {
        let gate = Arc::clone(self);
        let hook = move |path: &Path| {
            let gate = Arc::clone(&gate);
            let rows = ["/records/", "/lines/", "/sources/"];
            let path = path.as_ref();
            let is_commit = path.ends_with(".json") && rows.iter().any(|name| path.contains(name));
            async move {
                if is_commit && gate.passed.fetch_add(1, Ordering::SeqCst) == gate.stop_at {
                    gate.reached.add_permits(1);
                    let _opened = gate.open.acquire().await.unwrap();
                }
                Ok(())
            }
            .boxed()
        };
        let inner = Arc::clone(inner);
        let hook = Box::new(hook);
        Store::from_object_store(Arc::new(FailingStore { inner, hook })).unwrap()
    }
}

async fn ingest_folder(store: &Store, folder: &FilePath) {
    ingest_all(store, &[folder]).await;
}

async fn ingest_all(store: &Store, folders: &[impl AsRef<FilePath>]) {
    let options = IngestOptions {
        platform: Some("p".to_owned()),
        group_files: 2,
        ..IngestOptions::default()
    };
    let inputs = folders.iter().map(|folder| folder.as_ref().to_str());
    let inputs: Vec<String> = inputs.map(|input| input.unwrap().to_owned()).collect();
    let report = ingest(store, &inputs, &options).await.unwrap();
    assert!(report.failed_files.is_empty(), "{report:?}");
}

/// Name, number of records, and sum of times of each file.
async fn stored_files(store: &Store) -> Vec<(String, i64, f64)> {
    let context = open_session(store).await.unwrap();
    let sql = "SELECT f.name, count(*) AS rows, sum(r.runtime_ns) AS time FROM records AS r \
               JOIN files AS f USING (source_id) GROUP BY 1 ORDER BY 1";
    let mut rows = Vec::new();
    let frame = context.sql(sql).await.unwrap();
    for batch in frame.collect().await.unwrap() {
        for row in 0..batch.num_rows() {
            let name = tsql_schema::column::text(&batch, "name")
                .unwrap()
                .value(row);
            let count = batch.column(1).as_primitive::<Int64Type>().value(row);
            let time = batch.column(2).as_primitive::<Float64Type>().value(row);
            rows.push((name.to_owned(), count, time));
        }
    }
    rows
}

async fn count(store: &Store, table: &str) -> u64 {
    let snapshot = store.snapshot(table).await.unwrap().unwrap();
    let rows = snapshot.files().iter().map(|file| file.stats.num_records);
    rows.sum()
}

fn time(count: u32, time: u32) -> f64 {
    let one = |number| f64::midpoint(f64::from(time) * 10.0 + f64::from(number), 9.0);
    (1..=count).map(one).sum()
}

/// Pauses a run that reads `first` before its n-th commit of rows or of the ingest log. Meanwhile a run
/// reads `second` under the same name. Checks the store afterwards. Returns false if there is no such
/// commit.
async fn held_up(stop_at: usize, first: (u32, u32), second: (u32, u32), left: bool) -> bool {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, (count, time): (u32, u32)| {
        let inside = folder.path().join(name).join("q");
        std::fs::create_dir_all(&inside).unwrap();
        std::fs::write(inside.join("a.jsonl"), lines(count, time)).unwrap();
        inside
    };
    let inner = Arc::new(InMemory::new());
    let plain = || Store::from_object_store(Arc::clone(&inner) as _).unwrap();
    if left {
        // Everything that a killed run may leave is already there.
        ingest_folder(&plain(), &write("z", (4, 9))).await;
        let ledger = Path::from("store/sources");
        let files: Vec<_> = inner.list(Some(&ledger)).try_collect().await.unwrap();
        for file in files {
            inner.delete(&file.location).await.unwrap();
        }
    }
    let gate = Gate::stop_before(stop_at);
    let (gated, plain) = (gate.wrap_store(&inner), plain());
    let one = async {
        ingest_folder(&gated, &write("x", first)).await;
        gate.reached.add_permits(1);
    };
    let other = async {
        gate.reached.acquire().await.unwrap().forget();
        ingest_folder(&plain, &write("y", second)).await;
        gate.open.add_permits(1);
    };
    tokio::join!(one, other);
    let mut wanted: Vec<(i64, f64)> = [first, second]
        .map(|(count, time)| (count.into(), self::time(count, time)))
        .to_vec();
    wanted.dedup();
    let rows = stored_files(&plain).await;
    let mut found: Vec<(i64, f64)> = rows.iter().map(|row| (row.1, row.2)).collect();
    found.sort_by(|one, other| one.1.total_cmp(&other.1));
    assert_eq!(found, wanted, "held up at {stop_at}: {rows:?}");
    assert_eq!(count(&plain, "lines").await, wanted.len() as u64);
    assert_eq!(
        find_orphaned(&plain).await.unwrap(),
        [],
        "held up at {stop_at}"
    );
    gate.passed.load(Ordering::SeqCst) > stop_at
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "full tier"]
async fn two_runs_store_their_rows_whichever_pauses() {
    // The same bytes, and other values in the same lines.
    for (second, steps) in [((3, 1), 2), ((3, 2), 1)] {
        let mut stop_at = 0;
        while held_up(stop_at, (3, 1), second, false).await {
            stop_at += steps;
        }
        assert!(stop_at >= 4, "{stop_at} commits");
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "full tier"]
async fn so_they_do_where_an_interrupted_run_has_left_rows() {
    let mut stop_at = 0;
    while held_up(stop_at, (3, 1), (5, 2), true).await {
        stop_at += 1;
    }
    assert!(stop_at >= 4, "{stop_at} commits");
}

/// The rows of an interrupted group are replaced, even if fewer lines follow. Each group is counted
/// separately.
#[tokio::test(flavor = "multi_thread")]
async fn a_stream_with_other_values_is_stored_as_it_is_sent() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path().join("s");
    let at = at.to_str().unwrap();
    let mut options = AppendOptions::new("night", "p");
    options.format = StreamFormat::MEASURED;
    let append = async |text: String, lines| {
        let store = Store::open_or_create(at).await.unwrap();
        let mut options = options.clone();
        options.group_lines = lines;
        let input = std::io::Cursor::new(text.into_bytes());
        let done = append(&store, input, &options, |_| {}).await;
        done.unwrap().replaced_rows
    };
    let begin = lines(4, 1);
    append(begin.clone(), 100).await;
    let more = |count, time| begin.clone() + &lines(count, time);
    append(more(9, 2), 100).await;
    // Removes the last commit of the ingest log, as if the run had stopped before it.
    let paths = |folder: &FilePath| {
        let entries = std::fs::read_dir(folder).unwrap().flatten();
        entries.map(|entry| entry.path())
    };
    let log = paths(&folder.path().join("s/sources")).find(|path| path.is_dir());
    std::fs::remove_file(paths(&log.unwrap()).max().unwrap()).unwrap();
    assert_eq!(append(more(5, 3), 2).await, 10);
    let store = Store::open(at).await.unwrap();
    let wanted = (
        "streams/p/night.jsonl".to_owned(),
        9,
        time(4, 1) + time(5, 3),
    );
    assert_eq!(stored_files(&store).await, [wanted]);
    assert_eq!(count(&store, "lines").await, 2);
    assert_eq!(check(&store).await.unwrap().damage, []);
}
