//! Random queries, run by tsql and by DuckDB over the exported rows. The exported rows are compared with the lines
//! of the logs.
//!
//! ```text
//! lines ─▶ tsql ingest ─▶ store ─▶ tsql ─────────▶ result ─┐
//!   │                      └▶ Parquet ─▶ DuckDB ─▶ result ─┴▶ equal?
//!   └──── expected rows ──────────┴▶ equal?
//! ```
//!
//! Each query runs once as the reference, which is compared with DuckDB. It runs once more under each of three
//! settings that the seed selects (threads, memory limit, layout, workers: see [`settings`]), and once with some
//! optimizations off. These results are compared with the reference.
//!
//! `TSQL_TEST_SEED=7 TSQL_TEST_QUERIES=5000 cargo test --test main -- random_queries:: --nocapture` runs other
//! queries. A failure prints the seed and number of the query, its setting, its SQL and both results. The store of a
//! failed test is not deleted.

mod columns;
mod file_order;
mod grammar;
mod groups;
mod joins;
mod lines;
mod oracle;
mod plans;
mod results;
mod settings;
mod shapes;
mod stores;
mod windows;

use std::path::Path;

use fastrand::Rng;
use tokio::runtime::Runtime;

use crate::engines;
use crate::support::wanted;
use grammar::{Chooser, KnownValues};
use oracle::Oracle;
use results::Row;
use settings::{Setting, Settings};
use shapes::{PREAGGREGATE_SHAPES, RandomQuery, SHAPES};
use stores::FilledStore;

/// Default number of queries of one run.
const QUERIES: u64 = 300;

/// Default seed of all random choices.
const SEED: u64 = 1;

/// Maximum number of failures that are printed.
const MAX_PRINTED: usize = 12;

/// A store, and the failures of the queries that run on it.
struct Campaign<'a> {
    name: &'static str,
    python: &'a Path,
    runtime: Runtime,
    seed: u64,
    filled: FilledStore,
    failures: Vec<String>,
}

impl<'a> Campaign<'a> {
    fn new(
        name: &'static str,
        python: &'a Path,
        fill: fn(&Runtime, &mut Rng) -> FilledStore,
    ) -> Self {
        // Plans of unoptimized code are deep on the stack.
        let mut runtime = tokio::runtime::Builder::new_multi_thread();
        let runtime = runtime
            .enable_all()
            .thread_stack_size(32 << 20)
            .build()
            .unwrap();
        let seed = wanted("TSQL_TEST_SEED", SEED);
        let filled = fill(&runtime, &mut Rng::with_seed(seed));
        Self {
            name,
            python,
            runtime,
            seed,
            filled,
            failures: Vec::new(),
        }
    }

    /// Runs the queries with these numbers, each under the reference setting and some random ones.
    #[allow(clippy::print_stdout, reason = "campaigns are run with --nocapture")]
    fn run_queries(&mut self, shapes: &[&str], numbers: std::ops::Range<u64>) {
        let exported = self.filled.export("exported");
        let mut oracle = Oracle::start(&exported, self.python);
        let stored = oracle.run_query(lines::EXPECTED_COLUMNS).unwrap();
        if let Some(difference) =
            results::difference(stored, self.filled.expected_rows.clone(), false)
        {
            self.failures
                .push(format!("rows differ from the lines: {difference}"));
        }
        let known = KnownValues::read(&mut oracle);
        let folder = self.filled.place.path().join(".tsql");
        let mut settings = Settings::new(&self.runtime, &folder);
        for number in numbers {
            let rng = Rng::with_seed(self.seed.wrapping_mul(1_000_003).wrapping_add(number));
            let mut chooser = Chooser { rng, known: &known };
            let index = usize::try_from(number).unwrap() % shapes.len();
            let (name, shape) = SHAPES
                .iter()
                .find(|(name, _)| *name == shapes[index])
                .unwrap();
            let query = shape(&mut chooser);
            let random_settings = Setting::draw(&mut chooser.rng);
            let with_rules = settings.draw_rules(&mut chooser.rng);
            let mut run = |setting| {
                let batches = settings.run(&self.runtime, setting, &query.sql)?;
                Ok(results::rows(&batches))
            };
            let reference: Result<Vec<Row>, String> = run(Setting::REFERENCE);
            let mut failed = |setting, why| {
                let sql = &query.sql;
                self.failures.push(format!(
                    "query {number} ({name}), {setting}: {why}\n    {sql}"
                ));
            };
            let duckdb = oracle.run_query(&query.sql);
            if let Some(why) = mismatch(&query, reference.clone(), duckdb) {
                failed(Setting::REFERENCE, why);
            }
            let Ok(reference) = reference else { continue };
            for setting in random_settings {
                let why = match run(setting) {
                    Ok(rows) => results::difference(rows, reference.clone(), query.ordered),
                    Err(why) if setting.is_tight() && settings::is_out_of_memory(&why) => None,
                    Err(why) => Some(why),
                };
                if let Some(why) = why {
                    failed(setting, why);
                }
            }
            let rows = settings.run_with(&self.runtime, &with_rules, &query.sql);
            let why = match rows {
                Ok(rows) => results::difference(results::rows(&rows), reference, query.ordered),
                Err(why) => Some(why),
            };
            if let Some(why) = why {
                let (setting, rules) = with_rules;
                failed(setting, format!("{rules}: {why}"));
            }
        }
        println!("{} store: {}", self.name, settings.summary());
        if !settings.is_meaningful() {
            let summary = settings.summary();
            self.failures
                .push(format!("the settings were hardly used: {summary}"));
        }
    }

    /// # Panics
    /// If any result was wrong.
    fn end(self) {
        if self.failures.is_empty() {
            return;
        }
        let (name, seed, count) = (self.name, self.seed, self.failures.len());
        let store = self.filled.place.folder.keep();
        let shown: Vec<String> = self.failures.into_iter().take(MAX_PRINTED).collect();
        panic!(
            "{count} failures with TSQL_TEST_SEED={seed}, {name} store, preserved in {}:\n{}",
            store.display(),
            shown.join("\n")
        );
    }
}

/// Describes how the results differ. An error of either engine is a failure too.
fn mismatch(
    query: &RandomQuery,
    result: Result<Vec<Row>, String>,
    expected: Result<Vec<Row>, String>,
) -> Option<String> {
    match (result, expected) {
        (Ok(result), Ok(expected)) => results::difference(result, expected, query.ordered),
        (Err(result), Ok(_)) => Some(format!("tsql fails: {result}")),
        (Ok(_), Err(expected)) => Some(format!("DuckDB fails: {expected}")),
        (Err(result), Err(expected)) => Some(format!("both fail: {result}; {expected}")),
    }
}

#[test]
#[ignore = "full tier"]
fn results_over_small_stores_equal_those_of_duckdb() {
    let Some(python) = engines::python() else {
        return;
    };
    let shapes = SHAPES.map(|(name, _)| name);
    let queries = wanted("TSQL_TEST_QUERIES", QUERIES) * 2 / 3;
    let mut campaign = Campaign::new("small", &python, FilledStore::small);
    campaign.run_queries(&shapes, 0..queries);
    campaign.end();
}

#[test]
#[ignore = "full tier"]
fn results_from_preaggregates_equal_those_of_duckdb() {
    let Some(python) = engines::python() else {
        return;
    };
    let queries = wanted("TSQL_TEST_QUERIES", QUERIES) / 3;
    let mut campaign = Campaign::new("large", &python, FilledStore::large);
    let plan = campaign
        .filled
        .place
        .rows("EXPLAIN SELECT platform, avg(runtime_ns) FROM records GROUP BY platform");
    assert!(
        plan.join("\n").contains("__rows"),
        "no results from pre-aggregates: {plan:?}"
    );
    campaign.run_queries(&PREAGGREGATE_SHAPES, 0..queries);
    campaign.end();
}
