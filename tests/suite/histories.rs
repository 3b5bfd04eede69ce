//! Random histories of files, compared with a simple model. Grown files add their new lines, truncated lines are
//! completed, other names are stored once, and changed files are additional sources. Maintenance in between changes
//! nothing.
//!
//! `TSQL_TEST_CASES=200` runs more cases, `TSQL_TEST_SEED` runs others.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::time::Duration;

use arrow::array::AsArray as _;
use arrow::datatypes::Int64Type;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed, TestRunner};
use tokio::runtime::Runtime;
use tsql::{ExportOptions, IngestOptions, OptimizeOptions, Store, VacuumOptions};

use crate::support::wanted;

const NAMES: [&str; 3] = ["a.jsonl", "b.jsonl", "c.jsonl"];

const SEED: u64 = 17;

/// Lines of each of the two texts. Files are prefixes of these texts.
const LINES: usize = 5;

/// Operation on the store.
#[derive(Clone, Debug)]
enum Step {
    /// A file gets a prefix of a text, and is ingested.
    File {
        name: usize,
        text: usize,
        cut: usize,
    },
    Fold,
    Optimize {
        again: bool,
    },
    Vacuum,
    Repair,
}

/// Generates a file: mostly of the same two texts, so that files grow and become equal.
fn file() -> impl Strategy<Value = Step> {
    // A file begins with a whole line, which identifies it.
    let cuts = 2..3 * LINES;
    (0..NAMES.len(), 0..2_usize, cuts).prop_map(|(name, text, cut)| Step::File { name, text, cut })
}

fn upkeep() -> impl Strategy<Value = Step> {
    prop_oneof![
        Just(Step::Fold),
        any::<bool>().prop_map(|again| Step::Optimize { again }),
        Just(Step::Vacuum),
        Just(Step::Repair),
    ]
}

fn line(text: usize, line: usize) -> String {
    format!(
        "{{\"workload_key\": [\"mm\", {text}], \"steps\": {{\"TILE\": {line}}}, \"repeats_ns\": [1{text}{line}.5]}}"
    )
}

/// Returns a prefix of a text. Each line has three cuts: half of the line, the line without its line feed, and the
/// whole line.
fn prefix(text: usize, cut: usize) -> String {
    let whole: String = (0..cut / 3)
        .map(|number| line(text, number) + "\n")
        .collect();
    let last = line(text, cut / 3);
    match cut % 3 {
        0 => whole,
        1 => whole + &last[..last.len() / 2],
        _ => whole + &last,
    }
}

/// Expected file of the store.
#[derive(Debug)]
struct Known {
    bytes: String,
    /// Name of the file that has its records.
    same_as: Option<String>,
}

/// Expected content of the store, by name.
#[derive(Debug, Default)]
struct Model(BTreeMap<String, Known>);

impl Model {
    /// Ingests a file. Returns `false` if it equals several other files, or has become equal to one.
    fn ingest(&mut self, path: &str, bytes: &str) -> bool {
        let numbered = |copy: usize| match copy {
            1 => path.to_owned(),
            copy => path.replace('.', &format!("~{copy}.")),
        };
        let names = (1..)
            .map(numbered)
            .take_while(|name| self.0.contains_key(name));
        let names: Vec<String> = names.collect();
        let prefix = names
            .iter()
            .filter(|name| bytes.starts_with(&self.0[*name].bytes))
            .max_by_key(|name| self.0[*name].bytes.len());
        if let Some(prefix) = prefix {
            let known = self.0.get_mut(prefix).unwrap();
            if known.bytes == bytes {
                return true;
            }
            if known.same_as.is_none() {
                bytes.clone_into(&mut known.bytes);
                return !self.has_twins();
            }
        }
        let twins = self.0.iter();
        let twins = twins.filter(|(_, known)| known.bytes == bytes && known.same_as.is_none());
        let twins: Vec<String> = twins.map(|(name, _)| name.clone()).collect();
        let same_as = twins.first().cloned();
        let grown = prefix.filter(|prefix| same_as.is_some() && self.0[*prefix].same_as == same_as);
        let name = grown.cloned().unwrap_or_else(|| numbered(names.len() + 1));
        let bytes = bytes.to_owned();
        self.0.insert(name, Known { bytes, same_as });
        twins.len() < 2
    }

    /// Returns whether two files with separate records have grown to be equal, which `check` reports.
    fn has_twins(&self) -> bool {
        let own = self.0.values().filter(|known| known.same_as.is_none());
        let mut seen = BTreeSet::new();
        !own.map(|known| &known.bytes)
            .all(|bytes| seen.insert(bytes))
    }

    /// Returns the number of bytes and records of each file. Records are whole lines.
    fn state(&self) -> BTreeMap<String, (usize, usize)> {
        let records = |known: &Known| match known.same_as {
            None => known
                .bytes
                .lines()
                .filter(|line| line.ends_with('}'))
                .count(),
            Some(_) => 0,
        };
        let counts = |known: &Known| (known.bytes.len(), records(known));
        self.0
            .iter()
            .map(|(name, known)| (name.clone(), counts(known)))
            .collect()
    }
}

/// Returns the number of bytes and records of each file of the store.
async fn stored_state(store: &Store) -> BTreeMap<String, (usize, usize)> {
    let sql = "SELECT f.name, f.size_bytes, coalesce(r.count, 0) FROM files AS f LEFT JOIN \
               (SELECT source_id, count(*) AS count FROM records GROUP BY 1) AS r USING (source_id)";
    let context = store.session().await.unwrap();
    let rows = context.sql(sql).await.unwrap().collect().await.unwrap();
    let mut found = BTreeMap::new();
    for batch in rows {
        let number = |column: usize, row: usize| {
            let value = batch.column(column).as_primitive::<Int64Type>().value(row);
            usize::try_from(value).unwrap()
        };
        let names =
            arrow::compute::cast(batch.column(0), &arrow::datatypes::DataType::Utf8).unwrap();
        for row in 0..batch.num_rows() {
            let name = names.as_string::<i32>().value(row).to_owned();
            assert_eq!(found.insert(name, (number(1, row), number(2, row))), None);
        }
    }
    found
}

async fn step(store: &Store, folder: &Path, model: &mut Model, step: &Step) -> bool {
    match *step {
        Step::File { name, text, cut } => {
            let (path, bytes) = (folder.join(NAMES[name]), prefix(text, cut));
            fs::write(&path, &bytes).unwrap();
            let options = IngestOptions::default().platform("p");
            let input = path.to_str().unwrap().to_owned();
            let report = store.ingest(&[input], &options).await.unwrap();
            assert!(report.failed_files.is_empty(), "{report:?}");
            return model.ingest(NAMES[name], &bytes);
        }
        Step::Fold => drop(store.merge_small_files().await.unwrap()),
        Step::Optimize { again } => {
            let options = OptimizeOptions::default().again(again);
            store.optimize(&options).await.unwrap();
        }
        Step::Vacuum => {
            let options = VacuumOptions::default().retain(Duration::ZERO);
            store.vacuum(&options).await.unwrap();
        }
        Step::Repair => {
            let repaired = store.repair().await.unwrap();
            assert!(repaired.is_empty(), "nothing is wrong: {repaired:?}");
        }
    }
    true
}

/// Runs the steps and compares the store with the model. Every file must export unchanged.
async fn holds(steps: &[Step]) -> bool {
    let place = tempfile::tempdir().unwrap();
    let store = Store::create("memory:").await.unwrap();
    let mut model = Model::default();
    for one in steps {
        if !step(&store, place.path(), &mut model, one).await {
            break;
        }
    }
    assert_eq!(stored_state(&store).await, model.state(), "{model:?}");
    let back = place.path().join("back");
    let exported = store
        .export(&back, &ExportOptions::default())
        .await
        .unwrap();
    assert!(exported.damaged.is_empty(), "{exported:?}");
    for (name, known) in &model.0 {
        assert_eq!(
            fs::read_to_string(back.join(name)).unwrap(),
            known.bytes,
            "{name}"
        );
    }
    store.check().await.unwrap().is_sound() != model.has_twins()
}

fn check(usual: u64, steps: impl Strategy<Value = Vec<Step>>) {
    let runtime = Runtime::new().unwrap();
    let config = Config {
        cases: u32::try_from(wanted("TSQL_TEST_CASES", usual)).unwrap(),
        rng_seed: RngSeed::Fixed(wanted("TSQL_TEST_SEED", SEED)),
        failure_persistence: None,
        ..Config::default()
    };
    let run = |steps: Vec<Step>| {
        prop_assert!(runtime.block_on(holds(&steps)));
        Ok(())
    };
    TestRunner::new(config).run(&steps, run).unwrap();
}

#[test]
fn a_copy_may_end_within_a_line_of_its_original() {
    let file = |name, cut| Step::File { name, text: 1, cut };
    let steps = [file(1, 10), file(2, 10), file(1, 12)];
    assert!(Runtime::new().unwrap().block_on(holds(&steps)));
}

#[test]
#[ignore = "full tier"]
fn the_ingest_log_matches_a_model() {
    check(6, proptest::collection::vec(file(), 2..12));
}

#[test]
#[ignore = "full tier"]
fn maintenance_in_any_order_changes_no_result() {
    let either = prop_oneof![2 => file(), 3 => upkeep()];
    let first = (file(), proptest::collection::vec(either, 2..9));
    check(
        6,
        first.prop_map(|(first, mut rest)| {
            rest.insert(0, first);
            rest
        }),
    );
}
