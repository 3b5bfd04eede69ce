//! Random histories of files, against a simple model: what grows adds its new lines, what was cut is completed,
//! what comes under another name is stored once, what changed stands beside; and upkeep between them changes
//! nothing.
//!
//! `TSQL_TEST_CASES=200` asks for more of them, `TSQL_TEST_SEED` for others.

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

/// Lines of each of the two texts that files are beginnings of.
const LINES: usize = 5;

/// What happens to the store.
#[derive(Clone, Debug)]
enum Step {
    /// A file has the beginning of a text, and is ingested.
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
    Mend,
}

/// A file: mostly one of the same two texts, so that files grow and meet.
fn file() -> impl Strategy<Value = Step> {
    // A file begins with a whole line: by that it is known.
    let cuts = 2..3 * LINES;
    (0..NAMES.len(), 0..2_usize, cuts).prop_map(|(name, text, cut)| Step::File { name, text, cut })
}

fn upkeep() -> impl Strategy<Value = Step> {
    prop_oneof![
        Just(Step::Fold),
        any::<bool>().prop_map(|again| Step::Optimize { again }),
        Just(Step::Vacuum),
        Just(Step::Mend),
    ]
}

fn line(text: usize, line: usize) -> String {
    format!(
        "{{\"workload_key\": [\"mm\", {text}], \"steps\": {{\"TILE\": {line}}}, \"repeats_ns\": [1{text}{line}.5]}}"
    )
}

/// The beginning of a text: of each line there is a half, the line without its end, and the whole line.
fn begin(text: usize, cut: usize) -> String {
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

/// A file as the store is to have it.
#[derive(Debug)]
struct Known {
    bytes: String,
    /// The file whose records are its own.
    same_as: Option<String>,
}

/// What the store is to have, by name.
#[derive(Debug, Default)]
struct Model(BTreeMap<String, Known>);

impl Model {
    /// A file is given; `false` where it may be said to be one of several others, or has become one.
    fn take(&mut self, given: &str, bytes: &str) -> bool {
        let numbered = |copy: usize| match copy {
            1 => given.to_owned(),
            copy => given.replace('.', &format!("~{copy}.")),
        };
        let there = (1..)
            .map(numbered)
            .take_while(|name| self.0.contains_key(name));
        let there: Vec<String> = there.collect();
        let begun = there
            .iter()
            .filter(|name| bytes.starts_with(&self.0[*name].bytes))
            .max_by_key(|name| self.0[*name].bytes.len());
        if let Some(begun) = begun {
            let known = self.0.get_mut(begun).unwrap();
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
        let goes_on = begun.filter(|begun| same_as.is_some() && self.0[*begun].same_as == same_as);
        let name = goes_on
            .cloned()
            .unwrap_or_else(|| numbered(there.len() + 1));
        let bytes = bytes.to_owned();
        self.0.insert(name, Known { bytes, same_as });
        twins.len() < 2
    }

    /// Files that have grown to be the same, each with records of its own: `check` says so.
    fn has_twins(&self) -> bool {
        let own = self.0.values().filter(|known| known.same_as.is_none());
        let mut seen = BTreeSet::new();
        !own.map(|known| &known.bytes)
            .all(|bytes| seen.insert(bytes))
    }

    /// Each file, its bytes, and its own records: lines that are whole.
    fn says(&self) -> BTreeMap<String, (usize, usize)> {
        let records = |known: &Known| match known.same_as {
            None => known
                .bytes
                .lines()
                .filter(|line| line.ends_with('}'))
                .count(),
            Some(_) => 0,
        };
        let said = |known: &Known| (known.bytes.len(), records(known));
        self.0
            .iter()
            .map(|(name, known)| (name.clone(), said(known)))
            .collect()
    }
}

/// What the store says of its files.
async fn says(store: &Store) -> BTreeMap<String, (usize, usize)> {
    let sql = "SELECT f.name, f.size_bytes, coalesce(r.count, 0) FROM files AS f LEFT JOIN \
               (SELECT source_id, count(*) AS count FROM records GROUP BY 1) AS r USING (source_id)";
    let context = store.session().await.unwrap();
    let rows = context.sql(sql).await.unwrap().collect().await.unwrap();
    let mut says = BTreeMap::new();
    for batch in rows {
        let number = |column: usize, row: usize| {
            let value = batch.column(column).as_primitive::<Int64Type>().value(row);
            usize::try_from(value).unwrap()
        };
        let names =
            arrow::compute::cast(batch.column(0), &arrow::datatypes::DataType::Utf8).unwrap();
        for row in 0..batch.num_rows() {
            let name = names.as_string::<i32>().value(row).to_owned();
            assert_eq!(says.insert(name, (number(1, row), number(2, row))), None);
        }
    }
    says
}

async fn step(store: &Store, folder: &Path, model: &mut Model, step: &Step) -> bool {
    match *step {
        Step::File { name, text, cut } => {
            let (path, bytes) = (folder.join(NAMES[name]), begin(text, cut));
            fs::write(&path, &bytes).unwrap();
            let options = IngestOptions::default().platform("p");
            let input = path.to_str().unwrap().to_owned();
            let report = store.ingest(&[input], &options).await.unwrap();
            assert!(report.failed_files.is_empty(), "{report:?}");
            return model.take(NAMES[name], &bytes);
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
        Step::Mend => {
            let mended = store.repair().await.unwrap();
            assert!(mended.is_empty(), "nothing is wrong: {mended:?}");
        }
    }
    true
}

/// The store after these steps says what the model says, and gives every file back.
async fn holds(steps: &[Step]) -> bool {
    let place = tempfile::tempdir().unwrap();
    let store = Store::create("memory:").await.unwrap();
    let mut model = Model::default();
    for one in steps {
        if !step(&store, place.path(), &mut model, one).await {
            break;
        }
    }
    assert_eq!(says(&store).await, model.says(), "{model:?}");
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
fn a_copy_ends_with_half_a_line_that_its_original_has_whole() {
    let file = |name, cut| Step::File { name, text: 1, cut };
    let steps = [file(1, 10), file(2, 10), file(1, 12)];
    assert!(Runtime::new().unwrap().block_on(holds(&steps)));
}

#[test]
fn the_ledger_says_of_files_what_a_model_says() {
    check(6, proptest::collection::vec(file(), 2..12));
}

#[test]
fn upkeep_in_any_order_changes_no_answer() {
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
