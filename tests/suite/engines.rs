//! Other engines read the store, and return the same results from the raw lines.

use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use crate::support::{Place, log, shared};

/// Returns a Python with duckdb and deltalake. `.ci/run` creates and requires one.
pub(crate) fn python() -> Option<PathBuf> {
    let named = std::env::var_os("TSQL_TEST_PYTHON").map(PathBuf::from);
    let cached = std::env::var_os("HOME")
        .map(|home| PathBuf::from(home).join(".cache/tsql/venv/bin/python"));
    let found = named.or(cached).filter(|python| python.is_file());
    if found.is_none() {
        assert!(
            std::env::var_os("TSQL_REQUIRE_PYTHON").is_none(),
            "no Python with duckdb"
        );
        eprintln!("skipped: no Python with duckdb and deltalake; name one in TSQL_TEST_PYTHON");
    }
    found
}

pub(crate) fn run(python: &PathBuf, script: &str, args: &[&str]) -> Value {
    let script = format!("{}/tests/python/{script}", env!("CARGO_MANIFEST_DIR"));
    let output = Command::new(python)
        .arg(script)
        .args(args)
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stderr}");
    serde_json::from_slice(&output.stdout).unwrap()
}

fn ingested_store() -> (Place, PathBuf) {
    let place = Place::new();
    let logs = shared().map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("data"),
        |shared| shared.join("data/tenset"),
    );
    let folders: Vec<PathBuf> = std::fs::read_dir(&logs)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    for folder in folders.iter().filter(|path| path.is_dir()) {
        place.ok(&["ingest", "-q", folder.to_str().unwrap()]);
    }
    (place, logs)
}

#[test]
#[ignore = "full tier"]
fn duckdb_and_delta_rs_count_the_same_rows() {
    let Some(python) = python() else { return };
    let (place, _) = ingested_store();
    for upkeep in [false, true] {
        if upkeep {
            place.ok(&["optimize"]);
        }
        let counted = run(
            &python,
            "count_rows.py",
            &[place.path().join(".tsql").to_str().unwrap()],
        );
        for table in [
            "graphs",
            "environments",
            "configurations",
            "records",
            "sources",
        ] {
            let ours = place.rows(&format!("SELECT count(*) FROM stored.{table}"));
            let ours: u64 = ours[0].parse().unwrap();
            assert!(ours > 0, "{table}");
            assert_eq!(counted["duckdb"][table], ours, "{table} in DuckDB");
            assert_eq!(counted["deltalake"][table], ours, "{table} in deltalake");
        }
    }
}

/// Files that another engine compacted contain rows in any order.
#[test]
#[ignore = "full tier"]
fn tables_compacted_by_another_engine_return_the_same_rows() {
    let Some(python) = python() else { return };
    let place = Place::new();
    // Longer than the column statistics of other writers.
    let name = |file: u32| format!("logs/k80/{}-{file}.json", "n".repeat(90));
    for file in 0..4 {
        place.write(&name(file), log(1 + 40 * file, 30));
        place.ok(&["ingest", "-q", "logs"]);
    }
    let queries = [
        "SELECT min(name), max(name) FROM sources",
        "SELECT graph_id, config_id FROM records ORDER BY graph_id, config_id LIMIT 7",
        "SELECT config_id, count(*), min(runtime_ns) FROM records GROUP BY config_id ORDER BY config_id",
        "SELECT count(*) FROM records JOIN configurations USING (config_id)",
        "SELECT source_id, line, row_number() OVER (PARTITION BY graph_id ORDER BY config_id) FROM records ORDER BY 1, 2",
    ];
    let before = queries.map(|sql| place.rows(sql));
    let merged = run(
        &python,
        "compact.py",
        &[place.path().join(".tsql").to_str().unwrap()],
    );
    assert!(merged["records"].as_u64() > Some(1), "{merged}");
    assert_eq!(queries.map(|sql| place.rows(sql)), before);
    // `optimize` rewrites them in the format of tsql.
    place.ok(&["optimize", "--again"]);
    assert_eq!(queries.map(|sql| place.rows(sql)), before);
    place.assert_sound(&[&name(0), &name(3)]);
}

/// `tests/python/queries.json` has each query as SQL of tsql and of DuckDB over the raw lines.
#[test]
#[ignore = "full tier"]
fn ten_query_results_equal_duckdb_over_raw_lines() {
    let Some(python) = python() else { return };
    let (place, logs) = ingested_store();
    let text = include_str!("../python/queries.json");
    let queries: Value = serde_json::from_str(text).unwrap();
    let results = run(&python, "raw_queries.py", &[logs.to_str().unwrap()]);
    let queries = queries.as_array().unwrap();
    assert!(queries.len() >= 10);
    for query in queries {
        let name = query["name"].as_str().unwrap();
        let out = place
            .ok(&["--format", "tsv", query["tsql"].as_str().unwrap()])
            .stdout;
        let ours: Vec<Vec<&str>> = out
            .lines()
            .skip(1)
            .map(|line| line.split('\t').collect())
            .collect();
        let theirs = results[name].as_array().unwrap();
        assert!(!ours.is_empty(), "{name}");
        assert_eq!(ours.len(), theirs.len(), "{name}");
        for (ours, theirs) in ours.iter().zip(theirs) {
            assert_eq!(ours.len(), theirs.as_array().unwrap().len(), "{name}");
            for (ours, theirs) in ours.iter().zip(theirs.as_array().unwrap()) {
                assert!(is_same(ours, theirs), "{name}: {ours} is not {theirs}");
            }
        }
    }
}

/// Compares values, and numbers to twelve digits, because engines add in different orders.
fn is_same(ours: &str, theirs: &Value) -> bool {
    match (ours.parse::<f64>(), theirs) {
        (Ok(ours), Value::Number(theirs)) => {
            let theirs = theirs.as_f64().unwrap();
            (ours - theirs).abs() <= 1e-12 * theirs.abs()
        }
        (_, Value::String(theirs)) => ours == theirs,
        (_, Value::Bool(theirs)) => ours.parse() == Ok(*theirs),
        _ => false,
    }
}

/// Partition folders contain the values of the log, escaped as in Hive. Engines that read folders or log values
/// find the same platforms.
#[test]
#[ignore = "full tier"]
fn platforms_of_any_name_match_in_all_engines() {
    let place = Place::new();
    let names = [
        "a b",
        "a_b",
        "a+b",
        "A100 40GB/PCIe",
        "100% ü~'x\"=&?#",
        "[x]{y}^`|\\<*>",
        "..",
        "%41",
    ];
    for (number, name) in (1..).zip(names) {
        let file = format!("logs/{number}.json");
        place.write(&file, crate::support::log(number * 100, number));
        place.ok(&["ingest", "-q", "--platform", name, &file]);
    }
    let sql = "SELECT platform, count(*) AS n FROM records GROUP BY 1 ORDER BY 2";
    let counts = |place: &Place| -> Vec<(String, u64)> {
        let out = place.ok(&["--format", "jsonl", sql]).stdout;
        let rows = out
            .lines()
            .map(|row| serde_json::from_str::<Value>(row).unwrap());
        rows.map(|row| {
            (
                row["platform"].as_str().unwrap().to_owned(),
                row["n"].as_u64().unwrap(),
            )
        })
        .collect()
    };
    let wanted: Vec<(String, u64)> = names
        .iter()
        .zip(1..)
        .map(|(name, n)| ((*name).to_owned(), n))
        .collect();
    assert_eq!(counts(&place), wanted);
    place.ok(&["optimize"]);
    place.ok(&["vacuum", "--retain", "0s"]);
    assert_eq!(counts(&place), wanted);
    place.ok(&["check"]);
    for invalid in ["", "a\nb", "\u{1b}[31m", &"x".repeat(300)] {
        let ran = place.tsql(&["ingest", "--platform", invalid, "logs/1.json"]);
        assert_eq!(ran.code, Some(2), "{invalid:?}");
        assert!(ran.stderr.contains("the platform name"), "{}", ran.stderr);
    }
    let Some(python) = python() else { return };
    let store = place.path().join(".tsql");
    let counted = run(&python, "platforms.py", &[store.to_str().unwrap()]);
    for engine in ["duckdb", "deltalake", "path"] {
        let found = counted[engine].as_object().unwrap();
        let mut found: Vec<(String, u64)> = found
            .iter()
            .map(|(name, n)| (name.clone(), n.as_u64().unwrap()))
            .collect();
        found.sort_by_key(|(_, n)| *n);
        assert_eq!(found, wanted, "{engine}");
    }
}

/// Records of every kind: repeats in all forms, failures, lists as arrays and as text.
const KINDS: &str = r#"{"workload_key": "k", "steps": {"a": 1}, "repeats_ns": [0.00012345678901234567, 987654321.9876543210, 12000000000]}
{"workload_key": "k", "steps": {"a": 2}, "repeats_ns": [123456789.01234567]}
{"workload_key": "k", "steps": {"a": 3}, "repeats_ns": [0.1, 0.30000000000000004, 7e-9]}
{"workload_key": "k", "steps": {"a": 3}, "repeats_ns": [0, 0, 0], "all_cost_s": 1e-05}
{"workload_key": "k", "steps": {"a?": [1, 2, 3]}, "repeats_ns": [0, 1, 2], "flags": []}
{"workload_key": "k", "steps": "tile=8", "repeats_ns": [5, 5.5], "cpu_repeats_ns": [4.25, 5], "disturbed_repeats": [[1.5, null, 3], [2500000.5, 1400000, 0]], "flags": ["x", "y"], "measured_at": 1697658022}
{"workload_key": "k", "steps": "tile=9", "repeats_ns": [5, 5.5], "disturbed_repeats": [1, 2]}
{"workload_key": "k", "steps": "tile=9", "repeats_ns": [7, 8, 9, 10], "disturbed_repeats": [[1.50, 2, 3]]}
{"workload_key": "k", "steps": "tile=9", "error_no": 4, "error_message": "signal:11", "flags": ["x"], "disturbed_repeats": []}
{"workload_key": "k", "steps": {"a": 4}, "program": "p@1", "build": "cc -O3", "runtime_ns": 1e300}
{"workload_key": "k", "steps": {"a": 300, "b": 70000}, "repeats_ns": [1e-300, 4.9e-324, 2]}
"#;

/// Columns of a source.
const SOURCES: [&str; 27] = [
    "source_id",
    "dataset",
    "platform",
    "name",
    "segments",
    "size_bytes",
    "line_count",
    "record_count",
    "other_count",
    "reject_count",
    "verbatim_count",
    "date_part('epoch', date_trunc('second', first_ingested_at))",
    "date_part('microsecond', first_ingested_at)",
    "date_part('epoch', date_trunc('second', ingested_at))",
    "date_part('microsecond', ingested_at)",
    "labels",
    "id",
    "collection",
    "split",
    "network",
    "graph_id",
    "same_as",
    "first_platform",
    "path",
    "compression",
    "content_hash",
    "tsql_version",
];

/// Comparisons of views: a table, its key columns, and other columns in SQL that both engines accept.
const VIEWED: [(&str, &str, &[&str]); 6] = [
    (
        "records",
        "source_id, line",
        &[
            "dataset",
            "platform",
            "status",
            "runtime_ns",
            "min_ns",
            "noise",
            "repeat_count",
            "repeats_ns",
            "cpu_repeats_ns",
            "all_cost_s",
            "date_part('epoch', measured_at)",
            "flags",
            "disturbed_repeats",
            "error_message",
        ],
    ),
    (
        "configurations",
        "graph_id, config_id",
        &["steps", "program", "build"],
    ),
    (
        "environments",
        "environment_id",
        &["target_kind", "log_version", "machine"],
    ),
    ("sources", "source_id", &SOURCES),
    ("files", "source_id", &SOURCES),
    (
        "source_segments",
        "source_id, segment",
        &[
            "segment",
            "name",
            "id",
            "end_byte",
            "record_count",
            "labels",
        ],
    ),
];

/// Returns the query of a view. Result columns are named by position.
fn view_query((table, key, columns): (&str, &str, &[&str])) -> String {
    let columns = columns.iter().enumerate();
    let columns: Vec<String> = columns.map(|(n, sql)| format!("{sql} AS c{n}")).collect();
    format!("SELECT {} FROM {table} ORDER BY {key}", columns.join(", "))
}

#[test]
#[ignore = "full tier"]
fn duckdb_views_match_tsql() {
    let Some(python) = python() else { return };
    let (place, _) = ingested_store();
    place.write("kinds/lines.jsonl", KINDS);
    place.ok(&["ingest", "-q", "kinds"]);
    let own = concat!(env!("CARGO_MANIFEST_DIR"), "/data/measured");
    place.ok(&["ingest", "-q", own]);
    // A grown file has two segments with different labels.
    let growing = place.write("logs/grown/k80.json", log(900, 3));
    let growing = growing.to_str().unwrap();
    let grow = ["ingest", "-q", growing, "--platform", "k80", "--label"];
    place.ok(&[&grow[..], &["b=1", "--label", "a-b=1"]].concat());
    place.write("logs/grown/k80.json", log(900, 5));
    place.ok(&[&grow[..], &["b=2", "--label", "a=1"]].concat());
    if let Some(shared) = shared() {
        let npz = shared.join("data/tpugraphs/npz");
        place.ok(&["ingest", "-q", npz.to_str().unwrap()]);
    }
    let views = place.ok(&["store", "views"]).stdout;
    let views = place.write("views.sql", views);
    let queries: serde_json::Map<String, Value> = VIEWED
        .iter()
        .map(|&view| (view.0.to_owned(), Value::from(view_query(view))))
        .collect();
    let queries = Value::from(queries).to_string();
    for optimized in [false, true] {
        if optimized {
            place.ok(&["optimize"]);
        }
        let args = [views.to_str().unwrap(), &queries];
        let results = run(&python, "views.py", &args);
        // All queries run in one session, each after its name.
        let named =
            VIEWED.map(|view| format!("SELECT '{}' AS asked; {};", view.0, view_query(view)));
        place.write("viewed.sql", named.concat());
        let out = place.ok(&["--format", "jsonl", "-f", "viewed.sql"]).stdout;
        let mut outputs = out.split("{\"asked\":");
        assert_eq!(outputs.next(), Some(""));
        for view in VIEWED {
            let out = outputs.next().unwrap();
            let (name, out) = out.split_once("}\n").unwrap();
            assert_eq!(name, format!("\"{}\"", view.0));
            let theirs = results[view.0].as_array().unwrap();
            assert_eq!(out.lines().count(), theirs.len(), "{}", view.0);
            for (ours, theirs) in out.lines().zip(theirs) {
                let ours: Value = serde_json::from_str(ours).unwrap();
                for (n, column) in view.2.iter().enumerate() {
                    let (ours, theirs) = (&ours[format!("c{n}")], &theirs[n]);
                    assert!(is_equal(ours, theirs), "{column}: {ours} is not {theirs}");
                }
            }
        }
    }
}

/// Compares values. Numbers are equal by value: `5` is `5.0`.
fn is_equal(ours: &Value, theirs: &Value) -> bool {
    match (ours, theirs) {
        (Value::Number(ours), Value::Number(theirs)) => ours.as_f64() == theirs.as_f64(),
        (Value::Array(ours), Value::Array(theirs)) => {
            ours.len() == theirs.len() && ours.iter().zip(theirs).all(|(a, b)| is_equal(a, b))
        }
        (Value::Object(ours), Value::Object(theirs)) => {
            let same = |(key, value)| theirs.get(key).is_some_and(|other| is_equal(value, other));
            ours.len() == theirs.len() && ours.iter().all(same)
        }
        _ => ours == theirs,
    }
}
