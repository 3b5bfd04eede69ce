//! Random questions, asked of tsql and of DuckDB over the exported rows, which are compared with the lines that
//! they come from.
//!
//! ```text
//! lines ─▶ tsql ingest ─▶ store ─▶ tsql ─────────▶ answer ─┐
//!   │                      └▶ Parquet ─▶ DuckDB ─▶ answer ─┴▶ the same?
//!   └──── what they say ──────────┴▶ the same?
//! ```
//!
//! `TSQL_TEST_SEED=7 TSQL_TEST_QUESTIONS=5000 cargo test --test main -- questions::` asks others. A failure names
//! seed and number of the question, its SQL and both answers, and leaves the store where it is.

mod along;
mod answers;
mod columns;
mod grammar;
mod groups;
mod joins;
mod lines;
mod oracle;
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
use shapes::{OF_SUMS, Question, SHAPES};
use stores::Filled;

/// Questions of one run, where nobody wants another number.
const QUESTIONS: u64 = 150;

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

    /// Asks the questions with these numbers.
    fn ask(&mut self, state: &str, shapes: &[&str], numbers: std::ops::Range<u64>) {
        let exported = self.filled.export(state);
        let mut oracle = Oracle::over(&exported, self.python);
        let stored = oracle.ask(lines::SAYS).unwrap();
        if let Some(difference) = answers::difference(stored, self.filled.says.clone(), false) {
            self.failures.push(format!(
                "{state}: rows are not what the lines say: {difference}"
            ));
        }
        let known = Known::of(&mut oracle);
        let context = self.runtime.block_on(self.filled.store.session()).unwrap();
        for number in numbers {
            let rng = Rng::with_seed(self.seed.wrapping_mul(1_000_003).wrapping_add(number));
            let mut chooser = Chooser { rng, known: &known };
            let place = usize::try_from(number).unwrap() % shapes.len();
            let (name, shape) = SHAPES
                .iter()
                .find(|(name, _)| *name == shapes[place])
                .unwrap();
            let question = shape(&mut chooser);
            let (context, sql) = (context.clone(), question.sql.clone());
            let ours = self
                .runtime
                .spawn(async move { context.sql(&sql).await?.collect().await });
            let ours = match self.runtime.block_on(ours) {
                Ok(Ok(batches)) => Ok(answers::rows(&batches)),
                Ok(Err(error)) => Err(error.to_string()),
                Err(panic) => Err(panic.to_string()),
            };
            if let Some(why) = judged(&question, ours, oracle.ask(&question.sql)) {
                let Question { sql, .. } = question;
                self.failures.push(format!(
                    "{state}, question {number} ({name}): {why}\n    {sql}"
                ));
            }
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
    let questions = wanted("TSQL_TEST_QUESTIONS", QUESTIONS) * 2 / 3;
    let mut campaign = Campaign::of("small", &python, Filled::small);
    campaign.ask("fresh", &shapes, 0..questions / 2);
    if let Err(error) = campaign.filled.optimize(&campaign.runtime) {
        campaign.failures.push(format!("optimize: {error}"));
    }
    let mut rng = Rng::with_seed(campaign.seed + 1);
    campaign.filled.later(&campaign.runtime, &mut rng);
    campaign.ask("optimized", &shapes, questions / 2..questions);
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
    campaign.ask("fresh", &OF_SUMS, 0..questions);
    campaign.end();
}
