//! Two runs with interleaved commits. Each file of each run is stored once.

use std::collections::{BTreeSet, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use futures::FutureExt as _;
use object_store::memory::InMemory;
use object_store::path::Path;
use proptest::test_runner::{Config, RngSeed, TestRunner};
use tokio::sync::Notify;
use tsql_session::open_session;
use tsql_store::{FailingStore, Store};

use super::{count, ingest_all, lines, stored_files, time};
use crate::upkeep::orphans::find_orphaned;

/// Number of histories in the normal test. `TSQL_TEST_CASES` and `TSQL_TEST_SEED` select others.
const CASES: u64 = 8;

const SEED: u64 = 17;

/// Order of the writers' commits, while both have any.
#[derive(Default)]
struct Order {
    next: Mutex<VecDeque<usize>>,
    over: [AtomicBool; 2],
    moved: Notify,
}

impl Order {
    /// Waits until this writer may commit.
    async fn pass(&self, writer: usize) {
        loop {
            let moved = self.moved.notified();
            {
                let mut next = self.next.lock().unwrap();
                let is_over = |of: usize| self.over[of].load(Ordering::SeqCst);
                while next.front().is_some_and(|&of| of != writer && is_over(of)) {
                    next.pop_front();
                }
                if next.front().is_none_or(|&of| of == writer) {
                    next.pop_front();
                    self.moved.notify_waiters();
                    return;
                }
            }
            moved.await;
        }
    }

    fn end(&self, writer: usize) {
        self.over[writer].store(true, Ordering::SeqCst);
        self.moved.notify_waiters();
    }
}

/// Store of a writer whose commits wait for their turn.
fn in_order(order: &Arc<Order>, writer: usize, inner: &Arc<InMemory>) -> Store {
    let order = Arc::clone(order);
    let hook = move |path: &Path| {
        let order = Arc::clone(&order);
        let is_commit = path.as_ref().ends_with(".json");
        async move {
            if is_commit {
                order.pass(writer).await;
            }
            Ok(())
        }
        .boxed()
    };
    let (inner, hook) = (Arc::clone(inner), Box::new(hook));
    Store::from_object_store(Arc::new(FailingStore { inner, hook })).unwrap()
}

/// Files of a writer: name, number of lines, and times. Each file is a run of its own, or all are one run
/// in groups of two.
type Files = (Vec<(usize, u32, u32)>, bool);

const NAMES: [&str; 2] = ["a.jsonl", "b.jsonl"];

async fn run_interleaved(files: &[Files; 2], order: Vec<usize>) {
    let folder = tempfile::tempdir().unwrap();
    let inner = Arc::new(InMemory::new());
    let order = Arc::new(Order {
        next: Mutex::new(order.into()),
        ..Order::default()
    });
    let run = async |writer: usize| {
        let store = in_order(&order, writer, &inner);
        let (files, in_one_run) = &files[writer];
        let mut written = Vec::new();
        for (number, &(name, count, time)) in files.iter().enumerate() {
            let inside = folder.path().join(format!("{writer}-{number}/q"));
            std::fs::create_dir_all(&inside).unwrap();
            std::fs::write(inside.join(NAMES[name]), lines(count, time)).unwrap();
            written.push(inside);
        }
        let files_in_a_run = if *in_one_run { written.len() } else { 1 };
        for run in written.chunks(files_in_a_run) {
            ingest_all(&store, run).await;
        }
        order.end(writer);
    };
    tokio::join!(run(0), run(1));
    let store = Store::from_object_store(inner).unwrap();
    let given: BTreeSet<(usize, u32, u32)> =
        files.iter().flat_map(|(files, _)| files).copied().collect();
    // There is one ingest log entry for each name and content, and one set of rows for each content.
    assert_eq!(count(&store, "sources").await, given.len() as u64);
    let contents: BTreeSet<(u32, u32)> = given.iter().map(|given| (given.1, given.2)).collect();
    let rows = stored_files(&store).await;
    for (name, count, sum) in &rows {
        let is_given = given.iter().any(|&(of, lines, times)| {
            name.contains(NAMES[of].trim_end_matches(".jsonl"))
                && (*count, *sum) == (i64::from(lines), time(lines, times))
        });
        assert!(is_given, "{name}, {count}, {sum} of {given:?}");
    }
    let mut rows: Vec<(i64, f64)> = rows.into_iter().map(|(_, rows, sum)| (rows, sum)).collect();
    rows.sort_by(|one, other| one.partial_cmp(other).unwrap());
    let mut expected: Vec<(i64, f64)> = contents
        .iter()
        .map(|&(lines, times)| (i64::from(lines), time(lines, times)))
        .collect();
    expected.sort_by(|one, other| one.partial_cmp(other).unwrap());
    assert_eq!(rows, expected, "of {given:?}");
    let context = open_session(&store).await.unwrap();
    let all = context
        .sql("SELECT DISTINCT runtime_ns FROM records")
        .await
        .unwrap();
    let times: BTreeSet<(u32, u32)> = contents
        .iter()
        .flat_map(|(lines, time)| (1..=*lines).map(|line| (line, *time)))
        .collect();
    assert_eq!(all.count().await.unwrap(), times.len(), "of {given:?}");
    assert_eq!(find_orphaned(&store).await.unwrap(), []);
}

#[test]
#[ignore = "full tier"]
fn whatever_the_order_of_commits_each_file_is_stored_once() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let wanted = |variable: &str, usual: u64| {
        let given = std::env::var(variable).ok();
        given.map_or(usual, |given| given.parse().unwrap())
    };
    let config = Config {
        cases: u32::try_from(wanted("TSQL_TEST_CASES", CASES)).unwrap(),
        rng_seed: RngSeed::Fixed(wanted("TSQL_TEST_SEED", SEED)),
        failure_persistence: None,
        ..Config::default()
    };
    // Few names and contents, so the writers collide.
    let files = || {
        let file = (0..NAMES.len(), 1..4_u32, 1..3_u32);
        (proptest::collection::vec(file, 1..6), proptest::bool::ANY)
    };
    let orders = proptest::collection::vec(0..2_usize, 0..32);
    // Regressions: one run uses a name for other bytes while another one adds it as an alias, before and
    // after the other looked; the first group of a run hid the commits of its second.
    let one = (vec![(1, 1, 1), (1, 2, 2), (1, 1, 2)], false);
    let other = (vec![(0, 1, 2), (0, 2, 2), (1, 3, 1)], false);
    runtime.block_on(run_interleaved(&[one, other], vec![0, 0, 1, 1, 0, 1, 0, 0]));
    let one = (vec![(0, 3, 2), (1, 1, 2), (1, 2, 2)], true);
    let other = (vec![(1, 2, 1), (0, 2, 2), (1, 3, 1)], false);
    runtime.block_on(run_interleaved(&[one, other], vec![1, 0]));
    let one = (vec![(0, 2, 2)], false);
    let other = (vec![(1, 1, 1), (1, 2, 1), (0, 1, 1), (0, 3, 1)], true);
    runtime.block_on(run_interleaved(
        &[one, other],
        vec![0, 1, 0, 0, 1, 0, 0, 1, 0, 1],
    ));
    let run = |(one, other, order): (Files, Files, Vec<usize>)| {
        runtime.block_on(run_interleaved(&[one, other], order));
        Ok(())
    };
    TestRunner::new(config)
        .run(&(files(), files(), orders), run)
        .unwrap();
}
