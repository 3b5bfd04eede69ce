//! Training loaders of the library: deterministic batches, and cached selections that are rebuilt after damage.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tsql::Store;
use tsql::arrow::array::{Array as _, AsArray as _, RecordBatch};
use tsql::arrow::datatypes::{Float64Type, Int64Type};
use tsql::training::{Position, RowsOptions, TrainingBatch, TrainingRows};

const SQL: &str = "SELECT graph_id, platform, runtime_ns, repeats_ns, flags FROM records ORDER BY source_id, line";

/// Folder of cached selections.
struct Cache(tempfile::TempDir);

impl Cache {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn options(&self) -> RowsOptions {
        RowsOptions::default()
            .cache(self.0.path().join("rows"))
            .batch_rows(50)
            .seed(7)
    }

    /// Returns the folders of complete selections.
    fn selections(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.0.path().join("rows")).unwrap();
        let folders = entries.map(|entry| entry.unwrap().path());
        folders
            .filter(|path| path.join("about.json").exists())
            .collect()
    }
}

async fn rows(store: &Store, sql: &str, options: &RowsOptions) -> TrainingRows {
    store.training_rows(sql, options).await.unwrap()
}

async fn rejection(store: &Store, sql: &str, options: &RowsOptions) -> String {
    let rows = store.training_rows(sql, options).await;
    rows.unwrap_err().to_string()
}

fn epoch(rows: &TrainingRows, from: Position) -> Vec<TrainingBatch> {
    rows.iter(from).unwrap().map(Result::unwrap).collect()
}

fn runtimes(batch: &RecordBatch) -> Vec<Option<u64>> {
    let column = batch.column_by_name("runtime_ns").unwrap();
    let values = column.as_primitive::<Float64Type>();
    values.iter().map(|time| time.map(f64::to_bits)).collect()
}

/// Returns the runtimes of a query, row by row.
async fn query_runtimes(store: &Store, sql: &str) -> Vec<Option<u64>> {
    let frame = store.session().await.unwrap().sql(sql).await.unwrap();
    let batches = frame.collect().await.unwrap();
    batches.iter().flat_map(runtimes).collect()
}

#[tokio::test]
async fn batches_are_the_rows_of_the_query() {
    let (store, cache) = (Store::demo().await.unwrap(), Cache::new());
    let rows = rows(&store, SQL, &cache.options().shuffle(false)).await;
    let expected = query_runtimes(&store, SQL).await;
    assert_eq!(rows.len(), expected.len() as u64);
    assert!(expected.contains(&None), "failed records have no runtime");
    let batches = epoch(&rows, Position::default());
    assert_eq!(batches.len() as u64, rows.batch_count(0));
    let loaded: Vec<_> = batches
        .iter()
        .flat_map(|batch| runtimes(&batch.rows))
        .collect();
    assert_eq!(loaded, expected);
    let picked = rows.rows(&[3, 470, 3]).unwrap();
    assert_eq!(
        runtimes(&picked),
        [3, 470, 3].map(|row: usize| expected[row])
    );
    assert_eq!(rows.rows(&[]).unwrap().num_rows(), 0);
    let wrong = rows.rows(&[rows.len()]).unwrap_err().to_string();
    assert!(
        wrong.contains("no row 480, expected an index below 480"),
        "{wrong}"
    );
}

#[tokio::test]
async fn an_epoch_resumes_after_any_batch() {
    let (store, cache) = (Store::demo().await.unwrap(), Cache::new());
    for options in [cache.options(), cache.options().group("graph_id")] {
        let whole = rows(&store, SQL, &options).await;
        let expected = epoch(&whole, Position::start_of(3));
        assert!(expected.len() > 3);
        for stop in 0..=expected.len() {
            // Stopped with prefetched batches, resumed by another loader, stopped and resumed again.
            let mut first = whole.iter(Position::start_of(3)).unwrap();
            let mut batches: Vec<_> = first.by_ref().take(stop).map(Result::unwrap).collect();
            let state = serde_json::to_string(&first.position()).unwrap();
            let again = rows(&store, SQL, &options.clone().threads(3).prefetch(2)).await;
            let position = serde_json::from_str(&state).unwrap();
            if stop == expected.len() {
                assert_eq!(position, Position::start_of(4));
                break;
            }
            let mut second = again.iter(position).unwrap();
            batches.extend(second.by_ref().take(1).map(Result::unwrap));
            let position = second.position();
            if position.epoch == 3 {
                batches.extend(epoch(&whole, position));
            }
            assert_eq!(batches, expected, "stopped after {stop}");
        }
    }
}

#[tokio::test]
async fn ranks_share_one_sequence() {
    let (store, cache) = (Store::demo().await.unwrap(), Cache::new());
    for options in [cache.options(), cache.options().group("graph_id")] {
        let alone = rows(&store, SQL, &options).await;
        let expected = epoch(&alone, Position::default());
        for world in [1, 2, 4] {
            let ranks = (0..world).map(|rank| alone.for_rank(rank, world).unwrap());
            let ranks: Vec<_> = ranks
                .map(|rank| epoch(&rank, Position::default()))
                .collect();
            assert!(ranks.iter().all(|rank| rank.len() == ranks[0].len()));
            let steps = 0..ranks[0].len();
            let union: Vec<&RecordBatch> = steps
                .flat_map(|step| ranks.iter().map(move |rank| &rank[step].rows))
                .collect();
            assert_eq!(union.len(), expected.len().next_multiple_of(ranks.len()));
            for (place, batch) in union.into_iter().enumerate() {
                assert_eq!(batch, &expected[place % expected.len()].rows);
            }
        }
    }
    assert_eq!(cache.selections().len(), 2, "one selection for all ranks");
}

#[tokio::test]
async fn groups_stay_whole_at_any_size() {
    let (store, cache) = (Store::demo().await.unwrap(), Cache::new());
    let options = cache.options().group("graph_id");
    let rows = self::rows(&store, SQL, &options).await;
    assert_eq!(rows.group_count(), Some(5));
    let mut seen = Vec::new();
    for batch in epoch(&rows, Position::default()) {
        let sizes = batch.group_sizes.unwrap();
        // All groups are larger than a batch, so each group is one batch.
        assert_eq!(sizes, [96]);
        let graphs = batch.rows.column(0).as_primitive::<Int64Type>();
        assert!(
            graphs
                .iter()
                .all(|graph| graph == graphs.iter().next().unwrap())
        );
        seen.push(graphs.value(0));
    }
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len(), 5);
    // NULLs form a group, and rows of a group have the order of the query.
    let sql = "SELECT nullif(line % 3, 0) AS k, line, runtime_ns FROM records ORDER BY line DESC, source_id";
    let options = cache.options().group("k").batch_rows(1000).shuffle(false);
    let batch = self::rows(&store, sql, &options)
        .await
        .batch(Position::default());
    let batch = batch.unwrap();
    assert_eq!(batch.group_sizes.unwrap(), [160, 160, 160]);
    let keys = batch.rows.column(0).as_primitive::<Int64Type>();
    assert_eq!(
        [0, 159, 160, 320].map(|row| keys.is_valid(row)),
        [false, false, true, true]
    );
    let lines = batch.rows.column(1).as_primitive::<Int64Type>().values();
    for group in lines.chunks(160) {
        assert!(group.is_sorted_by(|a, b| a >= b), "{group:?}");
    }
}

#[tokio::test]
async fn a_selection_is_written_once_and_rebuilt_if_damaged() {
    let (store, cache) = (Store::demo().await.unwrap(), Cache::new());
    let options = cache.options().group("graph_id");
    let expected = epoch(&rows(&store, SQL, &options).await, Position::default());
    let [folder] = &cache.selections()[..] else {
        panic!("one selection");
    };
    let written = || {
        fs::metadata(folder.join("rows.arrow"))
            .unwrap()
            .created()
            .unwrap()
    };
    let first = written();
    rows(&store, SQL, &options.clone().batch_rows(7)).await;
    assert_eq!(written(), first, "it was found");
    let damages: [fn(&Path); 6] = [
        |folder| flip(&folder.join("rows.arrow"), 1000),
        |folder| flip(&folder.join("groups"), 9),
        |folder| flip(&folder.join("about.json"), 0),
        |folder| cut(&folder.join("rows.arrow")),
        |folder| fs::remove_file(folder.join("groups")).unwrap(),
        |folder| fs::remove_file(folder.join("about.json")).unwrap(),
    ];
    for damage in damages {
        damage(folder);
        let again = rows(&store, SQL, &options).await;
        assert_eq!(epoch(&again, Position::default()), expected);
        assert_eq!(cache.selections().len(), 1);
    }
    assert!(written() > first);
    let others = fs::read_dir(cache.0.path().join("rows")).unwrap().count();
    assert_eq!(others, 1, "nothing is left of what was damaged");
}

fn flip(path: &Path, at: usize) {
    let mut bytes = fs::read(path).unwrap();
    bytes[at] ^= 1;
    fs::remove_file(path).unwrap();
    fs::write(path, bytes).unwrap();
}

fn cut(path: &Path) {
    let bytes = fs::read(path).unwrap();
    fs::remove_file(path).unwrap();
    fs::write(path, &bytes[..bytes.len() / 2]).unwrap();
}

#[tokio::test]
async fn the_least_recently_used_selection_is_evicted() {
    let (store, cache) = (Store::demo().await.unwrap(), Cache::new());
    let query = |first: i64| {
        format!("SELECT runtime_ns FROM records ORDER BY line, source_id LIMIT 100 OFFSET {first}")
    };
    let first = rows(&store, &query(40), &cache.options()).await;
    for line in [30, 20] {
        rows(&store, &query(line), &cache.options()).await;
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    // The first selection is used again.
    rows(&store, &query(40), &cache.options()).await;
    let bytes = |folder: &PathBuf| -> u64 {
        let entries = fs::read_dir(folder).unwrap();
        entries
            .map(|entry| entry.unwrap().metadata().unwrap().len())
            .sum()
    };
    let cache_bytes = cache.selections().iter().map(bytes).max().unwrap() * 5 / 2;
    rows(
        &store,
        &query(10),
        &cache.options().cache_bytes(cache_bytes),
    )
    .await;
    assert_eq!(cache.selections().len(), 2);
    // An open selection remains readable.
    assert!(first.rows(&[0]).is_ok());
    rows(&store, &query(5), &cache.options().cache_bytes(0)).await;
    assert_eq!(cache.selections().len(), 1);
    assert!(first.rows(&[1]).is_ok());
}

#[tokio::test]
async fn other_rows_are_another_selection() {
    let (cache, place) = (Cache::new(), tempfile::tempdir().unwrap());
    let store = Store::create(place.path().join("s").to_str().unwrap())
        .await
        .unwrap();
    let logs = ["data".to_owned()];
    let sql = "SELECT runtime_ns FROM records WHERE platform = $p";
    let options = cache.options().parameter("p", "epyc-1t");
    assert!(rows(&store, sql, &options).await.is_empty());
    assert_eq!(rows(&store, sql, &options).await.batch_count(0), 0);
    let none = rows(&store, sql, &options).await;
    assert!(none.iter(Position::default()).unwrap().next().is_none());
    assert_eq!(none.schema().field(0).name(), "runtime_ns");
    store
        .ingest(&logs, &tsql::IngestOptions::default())
        .await
        .unwrap();
    let one = rows(&store, sql, &options).await;
    let other = rows(&store, sql, &cache.options().parameter("p", "epyc-2t")).await;
    assert!(!one.is_empty() && !other.is_empty());
    assert_ne!(one.rows(&[0, 1]).unwrap(), other.rows(&[0, 1]).unwrap());
    assert_eq!(cache.selections().len(), 3);
}

#[tokio::test]
async fn impossible_requests_are_rejected_with_a_reason() {
    let (store, cache) = (Store::demo().await.unwrap(), Cache::new());
    let options = cache.options();
    for (sql, reason) in [
        (
            "SELECT runtime_ns, random() FROM records",
            "random() has another value in each run",
        ),
        ("SELECT 1; SELECT 2", "the text has several statements"),
        ("", "the text has none"),
        ("SELECT nothing FROM records", "nothing"),
        (
            "COPY (SELECT 1) TO 'x.csv'",
            "found a statement that changes or explains data",
        ),
        ("SELECT $p", "`$p` has no value"),
        (
            "SELECT platform, count(*) FROM (SELECT platform FROM records UNION ALL SELECT platform FROM sources) GROUP BY 1",
            "add ORDER BY columns that identify the rows",
        ),
    ] {
        let message = rejection(&store, sql, &options).await;
        assert!(
            message.replace('`', "").contains(&reason.replace('`', "")),
            "{sql}: {message}"
        );
    }
    for (options, reason) in [
        (options.clone().group("graph"), "did you mean `graph_id`?"),
        (options.clone().batch_rows(0), "at least one row"),
        (options.clone().rank(2, 2), "rank 2 of 2"),
        (options.clone().threads(0), "at least one thread"),
    ] {
        let message = rejection(&store, SQL, &options).await;
        assert!(message.contains(reason), "{message}");
    }
    let rows = rows(&store, SQL, &options).await;
    let beyond = Position {
        epoch: 0,
        batch: 99,
    };
    assert!(rows.batch(beyond).is_err() && rows.iter(beyond).is_err());
    assert!(rows.for_rank(3, 3).is_err());
}

/// Part of the next test, which runs it in separate processes.
#[tokio::test]
async fn a_process_of_several() {
    let Some(folder) = std::env::var_os("TSQL_TEST_TRAINING_CACHE") else {
        return;
    };
    let store = Store::open(Path::new(&folder).join("s").to_str().unwrap())
        .await
        .unwrap();
    let options = RowsOptions::default().cache(Path::new(&folder).join("rows"));
    let sql = "SELECT a.runtime_ns, b.line FROM records AS a CROSS JOIN records AS b";
    let rows = rows(&store, sql, &options).await;
    assert!(rows.len() > 200_000);
    let batch = rows.batch(Position { epoch: 1, batch: 5 }).unwrap();
    let sum: u64 = runtimes(&batch.rows)
        .into_iter()
        .flatten()
        .fold(0, u64::wrapping_add);
    eprintln!("sum {sum}");
}

#[tokio::test]
async fn concurrent_processes_write_one_selection() {
    let place = tempfile::tempdir().unwrap();
    let store = Store::create(place.path().join("s").to_str().unwrap())
        .await
        .unwrap();
    let logs = ["data".to_owned()];
    store
        .ingest(&logs, &tsql::IngestOptions::default())
        .await
        .unwrap();
    let start = || {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["training::a_process_of_several", "--exact", "--nocapture"]);
        command.env("TSQL_TEST_TRAINING_CACHE", place.path());
        command
            .stderr(std::process::Stdio::piped())
            .spawn()
            .unwrap()
    };
    let started: Vec<_> = (0..4).map(|_| start()).collect();
    let mut sums = Vec::new();
    for child in started {
        let ended = child.wait_with_output().unwrap();
        let stderr = String::from_utf8(ended.stderr).unwrap();
        assert!(ended.status.success(), "{stderr}");
        sums.extend(
            stderr
                .lines()
                .filter(|line| line.contains("sum "))
                .map(str::to_owned),
        );
    }
    assert_eq!(sums.len(), 4, "{sums:?}");
    assert!(sums.iter().all(|sum| *sum == sums[0]), "{sums:?}");
    let left = fs::read_dir(place.path().join("rows")).unwrap();
    let left: Vec<_> = left.map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left.len(), 1, "{left:?}");
}

/// 5 % of all records failed. As a family they occur as often as the others.
#[tokio::test]
async fn families_alternate_regardless_of_size() {
    let (store, cache) = (Store::demo().await.unwrap(), Cache::new());
    let sql = "SELECT graph_id, status, runtime_ns FROM records ORDER BY source_id, line";
    let options = cache.options().balance("status");
    let all = rows(&store, sql, &options).await;
    let failed = |batch: &RecordBatch| batch.column_by_name("runtime_ns").unwrap().null_count();
    assert_eq!(all.len(), 480);
    let first = epoch(&all, Position::default());
    let counts: Vec<(usize, usize)> = first
        .iter()
        .map(|batch| (batch.rows.num_rows(), failed(&batch.rows)))
        .collect();
    // Each pair of batches has one of each family.
    assert!(
        counts.iter().all(|(rows, failed)| rows == &(2 * failed)),
        "{counts:?}"
    );
    assert_eq!(counts.iter().map(|(rows, _)| rows).sum::<usize>(), 480);
    // The loader resumes within an epoch, and has a separate cached selection.
    let second = Position { epoch: 1, batch: 3 };
    let again = rows(&store, sql, &options).await;
    assert_eq!(
        epoch(&again, second),
        epoch(&all, Position::start_of(1))[3..]
    );
    assert_ne!(epoch(&all, Position::start_of(1))[0].rows, first[0].rows);
    let plain = rows(&store, sql, &cache.options()).await;
    assert_eq!(
        (
            cache.selections().len(),
            epoch(&plain, Position::default()).len()
        ),
        (2, 10)
    );
    // Whole groups alternate, too: groups of 24 failed records and groups of all others.
    let grouped = rows(
        &store,
        sql,
        &options.clone().group("graph_id").batch_rows(1),
    )
    .await;
    let batches = epoch(&grouped, Position::default());
    let groups_of_failed = batches
        .iter()
        .filter(|batch| failed(&batch.rows) > 0)
        .count();
    assert_eq!(batches.len(), 2 * groups_of_failed);
    let message = rejection(&store, sql, &cache.options().balance("family")).await;
    assert!(message.contains("family"), "{message}");
}
