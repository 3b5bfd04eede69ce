//! All genuine logs: the counts that an independent reader found, and every byte back.
//!
//! `golden/tenset/real_files.expected.json` was made without tsql.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use crate::support::{Workspace, shared};

/// Folders of the logs. Each names the platform of its files.
const FOLDERS: [&str; 4] = ["a100", "k80", "tutorial-logs", "x86"];

/// How many files are in them.
const FILES: usize = 27;

/// What the counts below are taken from: a record with everything that it refers to.
const JOINED: &str = "records r \
    JOIN sources s ON s.source_id = r.source_id \
    JOIN graphs g ON g.graph_id = r.graph_id \
    JOIN configurations c ON c.config_id = r.config_id \
    JOIN environments e ON e.environment_id = r.environment_id";

struct Genuine {
    workspace: Workspace,
    /// Name in the store -> file.
    files: BTreeMap<String, PathBuf>,
    expected: Map<String, Value>,
}

impl Genuine {
    fn ingested() -> Option<Self> {
        let shared = shared()?;
        let workspace = Workspace::new();
        let mut files = BTreeMap::new();
        for folder in FOLDERS {
            let folder = shared.join("data/tenset").join(folder);
            for entry in fs::read_dir(&folder).unwrap() {
                let path = entry.unwrap().path();
                files.insert(name(&path), path);
            }
        }
        assert_eq!(files.len(), FILES);
        let genuine = Self {
            workspace,
            files,
            expected: expected(&shared),
        };
        genuine.ingest();
        Some(genuine)
    }

    /// Ingests all folders; returns what was said.
    fn ingest(&self) -> String {
        let folders = self.files.values().map(|path| path.parent().unwrap());
        let mut folders: Vec<&str> = folders.map(|folder| folder.to_str().unwrap()).collect();
        folders.dedup();
        assert_eq!(folders.len(), FOLDERS.len());
        let args = [&["ingest"], folders.as_slice()].concat();
        self.workspace.ok(&args).stderr
    }

    /// Rows of a query by the source `name` that each row states.
    fn by_name(&self, sql: &str) -> BTreeMap<String, Vec<Value>> {
        let ran = self.workspace.ok(&["-c", sql, "--format", "jsonl"]);
        let mut rows: BTreeMap<String, Vec<Value>> = BTreeMap::new();
        for line in ran.stdout.lines() {
            let row: Value = serde_json::from_str(line).unwrap();
            let name = row["name"].as_str().unwrap().to_owned();
            rows.entry(name).or_default().push(row);
        }
        rows
    }

    /// Each file's histogram of an expression is the expected one.
    fn assert_histogram(&self, wanted: &str, expression: &str) {
        let sql = format!(
            "SELECT s.name, CAST({expression} AS VARCHAR) AS key, count(*) AS n \
             FROM {JOINED} GROUP BY 1, 2"
        );
        let rows = self.by_name(&sql);
        for name in self.files.keys() {
            let pair = |row: &Value| (row["key"].as_str().unwrap().to_owned(), row["n"].clone());
            let found: Map<String, Value> = rows[name].iter().map(pair).collect();
            assert_eq!(Value::Object(found), self.wanted(name)[wanted], "{name}");
        }
    }

    /// Each file's number is the expected one; files without a row have 0.
    fn assert_number(&self, wanted: &str, sql: &str) {
        let rows = self.by_name(sql);
        for name in self.files.keys() {
            let found = rows
                .get(name)
                .map_or(Value::from(0), |rows| rows[0]["n"].clone());
            assert_eq!(found, self.wanted(name)[wanted], "{wanted} of {name}");
        }
    }

    fn wanted(&self, name: &str) -> &Value {
        &self.expected[&format!("data/tenset/{name}")]
    }

    fn assert_given_back(&self) {
        let read = |(name, path): (&String, &PathBuf)| (name.clone(), fs::read(path).unwrap());
        let files: Vec<(String, Vec<u8>)> = self.files.iter().map(read).collect();
        let borrowed = files
            .iter()
            .map(|(name, bytes)| (name.as_str(), bytes.as_slice()));
        self.workspace.gives_back(&borrowed.collect::<Vec<_>>());
    }
}

/// `a100/x.log` of `.../a100/x.log`.
fn name(path: &Path) -> String {
    let parts = [path.parent().unwrap().file_name(), path.file_name()];
    parts.map(|part| part.unwrap().to_str().unwrap()).join("/")
}

fn expected(shared: &Path) -> Map<String, Value> {
    let path = shared.join("golden/tenset/real_files.expected.json");
    let all: Map<String, Value> = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    assert_eq!(all.len(), FILES);
    all
}

#[test]
fn records_of_every_genuine_file_are_counted_as_others_count_them() {
    let Some(genuine) = Genuine::ingested() else {
        return;
    };
    let count = |what: &str| format!("SELECT s.name, {what} AS n FROM {JOINED} GROUP BY 1");
    genuine.assert_number("records", &count("count(*)"));
    genuine.assert_number("distinct_programs", &count("count(DISTINCT r.config_id)"));
    genuine.assert_number(
        "duplicate_rows",
        &count("count(*) - count(DISTINCT r.config_id)"),
    );
    genuine.assert_number(
        "n_tasks",
        &count("count(DISTINCT g.workload_key || '|' || e.target)"),
    );
    genuine.assert_number(
        "bad_lines",
        "SELECT name, count(*) AS n FROM rejects GROUP BY 1",
    );
    genuine.assert_number(
        "comment_lines",
        "SELECT s.name, count(*) AS n FROM lines l JOIN sources s ON s.source_id = l.source_id \
         WHERE l.kind = 'comment' GROUP BY 1",
    );
    genuine.assert_histogram("error_no", "r.error_no");
    genuine.assert_histogram("versions", "e.log_version");
    genuine.assert_histogram("targets", "e.target");
    // A failed measurement has one cost in the file, 1e+10, and no repeat in the store.
    let costs = "CASE WHEN r.status = 'ok' THEN cardinality(r.repeats_ns) ELSE 1 END";
    genuine.assert_histogram("n_costs", costs);
    genuine.assert_histogram(
        "task_tuple_len",
        "CASE WHEN e.hardware_params IS NULL THEN 2 WHEN e.target_host IS NULL THEN 3 \
         WHEN e.layout_rewrite_option IS NULL THEN 4 WHEN e.task_input_names IS NULL THEN 5 \
         ELSE 6 END",
    );
}

#[test]
fn every_transform_step_of_every_genuine_program_can_be_read() {
    let Some(genuine) = Genuine::ingested() else {
        return;
    };
    let rows = genuine.by_name(&format!("SELECT s.name, c.steps FROM {JOINED}"));
    assert_eq!(rows.len(), FILES);
    for (name, rows) in rows {
        let mut kinds: BTreeMap<String, u64> = BTreeMap::new();
        for row in rows {
            let steps: Vec<Value> = serde_json::from_str(row["steps"].as_str().unwrap()).unwrap();
            for step in steps {
                let kind = step[0].as_str().unwrap().to_owned();
                *kinds.entry(kind).or_default() += 1;
            }
        }
        let kinds = serde_json::to_value(kinds).unwrap();
        assert_eq!(kinds, genuine.wanted(&name)["steps"], "{name}");
    }
}

#[test]
fn every_genuine_file_comes_back_before_and_after_upkeep_and_goes_in_once() {
    let Some(genuine) = Genuine::ingested() else {
        return;
    };
    genuine.assert_given_back();
    let counts = "SELECT (SELECT count(*) FROM records), (SELECT count(*) FROM configurations), \
         (SELECT count(*) FROM graphs), (SELECT count(*) FROM environments), \
         (SELECT count(*) FROM lines), (SELECT count(*) FROM sources)";
    let before = genuine.workspace.ask(counts);

    let said = genuine.ingest();
    assert!(said.contains("(27 already there)"), "{said}");
    assert_eq!(genuine.workspace.ask(counts), before);

    genuine.workspace.ok(&["optimize"]);
    genuine.workspace.ok(&["vacuum", "--retain", "0s"]);
    assert_eq!(genuine.workspace.ask(counts), before);
    genuine.assert_given_back();

    let said = genuine.ingest();
    assert!(said.contains("(27 already there)"), "{said}");
    assert_eq!(genuine.workspace.ask(counts), before);
}
