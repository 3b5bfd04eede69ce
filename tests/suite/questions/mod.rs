//! Random questions, asked of tsql and of DuckDB over the exported rows, which are compared with the lines that
//! they come from.
//!
//! ```text
//! lines ─▶ tsql ingest ─▶ store ─▶ tsql ─────────▶ answer ─┐
//!   │                      └▶ Parquet ─▶ DuckDB ─▶ answer ─┴▶ the same?
//!   └──── what they say ──────────┴▶ the same?
//! ```
//!
//! Each query runs once as the reference, which is compared with DuckDB, and once more under each of three settings that the
//! seed draws (threads, memory limit, layout, workers: see [`settings`]), and once with some optimizations off, which are compared
//! with the reference.
//!
//! `TSQL_TEST_SEED=7 TSQL_TEST_QUESTIONS=5000 cargo test --test main -- questions:: --nocapture` asks others. A failure
//! names seed and number of the question, its setting, its SQL and both results, and leaves the store where it is.

mod along;
mod answers;
mod columns;
mod grammar;
mod groups;
mod joins;
mod lines;
mod oracle;
mod plans;
mod settings;
mod shapes;
mod stores;
mod windows;

use std::path::Path;

use fastrand::Rng;
use tokio::runtime::Runtime;

use crate::engines;
use crate::support::wanted;
use answers::Row;
use grammar::{Chooser, Known};
use oracle::Oracle;
use settings::{Setting, Settings};
use shapes::{OF_SUMS, Question, SHAPES};
use stores::Filled;

/// Questions of one run, where nobody wants another number.
const QUESTIONS: u64 = 300;

/// What everything is drawn from, where nobody wants another: a run that others can repeat.
const SEED: u64 = 1;

/// Failures that are shown.
const SHOWN: usize = 12;

/// A store under questions.
struct Campaign<'a> {
    name: &'static str,
    python: &'a Path,
    runtime: Runtime,
    seed: u64,
    filled: Filled,
    failures: Vec<String>,
}

impl<'a> Campaign<'a> {
    fn of(name: &'static str, python: &'a Path, fill: fn(&Runtime, &mut Rng) -> Filled) -> Self {
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

    /// Runs the queries with these numbers, each under the reference setting and some that are drawn.
    #[allow(clippy::print_stdout, reason = "campaigns are run with --nocapture")]
    fn ask(&mut self, shapes: &[&str], numbers: std::ops::Range<u64>) {
        let exported = self.filled.export("exported");
        let mut oracle = Oracle::over(&exported, self.python);
        let stored = oracle.ask(lines::SAYS).unwrap();
        if let Some(difference) = answers::difference(stored, self.filled.says.clone(), false) {
            self.failures
                .push(format!("rows are not what the lines say: {difference}"));
        }
        let known = Known::of(&mut oracle);
        let folder = self.filled.place.path().join(".tsql");
        let mut settings = Settings::new(&self.runtime, &folder);
        for number in numbers {
            let rng = Rng::with_seed(self.seed.wrapping_mul(1_000_003).wrapping_add(number));
            let mut chooser = Chooser { rng, known: &known };
            let place = usize::try_from(number).unwrap() % shapes.len();
            let (name, shape) = SHAPES
                .iter()
                .find(|(name, _)| *name == shapes[place])
                .unwrap();
            let question = shape(&mut chooser);
            let drawn = Setting::draw(&mut chooser.rng);
            let with_rules = settings.draw_rules(&mut chooser.rng);
            let mut run = |setting| {
                let batches = settings.run(&self.runtime, setting, &question.sql)?;
                Ok(answers::rows(&batches))
            };
            let reference: Result<Vec<Row>, String> = run(Setting::REFERENCE);
            let mut failed = |setting, why| {
                let sql = &question.sql;
                self.failures.push(format!(
                    "query {number} ({name}), {setting}: {why}\n    {sql}"
                ));
            };
            let duckdb = oracle.ask(&question.sql);
            if let Some(why) = judged(&question, reference.clone(), duckdb) {
                failed(Setting::REFERENCE, why);
            }
            let Ok(reference) = reference else { continue };
            for setting in drawn {
                let why = match run(setting) {
                    Ok(rows) => answers::difference(rows, reference.clone(), question.ordered),
                    Err(why) if setting.is_tight() && settings::is_out_of_memory(&why) => None,
                    Err(why) => Some(why),
                };
                if let Some(why) = why {
                    failed(setting, why);
                }
            }
            let rows = settings.run_with(&self.runtime, &with_rules, &question.sql);
            let why = match rows {
                Ok(rows) => answers::difference(answers::rows(&rows), reference, question.ordered),
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
    /// If any answer was wrong.
    fn end(self) {
        if self.failures.is_empty() {
            return;
        }
        let (name, seed, count) = (self.name, self.seed, self.failures.len());
        let store = self.filled.place.folder.keep();
        let shown: Vec<String> = self.failures.into_iter().take(SHOWN).collect();
        panic!(
            "{count} failures with TSQL_TEST_SEED={seed}, {name} store, kept in {}:\n{}",
            store.display(),
            shown.join("\n")
        );
    }
}

/// What is wrong with the answers; a question that either refuses should not have been asked.
fn judged(
    question: &Question,
    ours: Result<Vec<Row>, String>,
    theirs: Result<Vec<Row>, String>,
) -> Option<String> {
    match (ours, theirs) {
        (Ok(ours), Ok(theirs)) => answers::difference(ours, theirs, question.ordered),
        (Err(ours), Ok(_)) => Some(format!("tsql refuses: {ours}")),
        (Ok(_), Err(theirs)) => Some(format!("DuckDB refuses: {theirs}")),
        (Err(ours), Err(theirs)) => Some(format!("both refuse: {ours}; {theirs}")),
    }
}

#[test]
fn answers_of_small_stores_are_duckdbs() {
    let Some(python) = engines::python() else {
        return;
    };
    let shapes = SHAPES.map(|(name, _)| name);
    let queries = wanted("TSQL_TEST_QUESTIONS", QUESTIONS) * 2 / 3;
    let mut campaign = Campaign::of("small", &python, Filled::small);
    campaign.ask(&shapes, 0..queries);
    campaign.end();
}

#[test]
fn answers_from_sums_are_duckdbs() {
    let Some(python) = engines::python() else {
        return;
    };
    let questions = wanted("TSQL_TEST_QUESTIONS", QUESTIONS) / 3;
    let mut campaign = Campaign::of("large", &python, Filled::large);
    let plan = campaign
        .filled
        .place
        .rows("EXPLAIN SELECT platform, avg(runtime_ns) FROM records GROUP BY platform");
    assert!(
        plan.join("\n").contains("__rows"),
        "no answers from sums: {plan:?}"
    );
    campaign.ask(&OF_SUMS, 0..questions);
    campaign.end();
}
