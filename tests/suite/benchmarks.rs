//! Result files of benchmark tools: records, names that files lack, files that belong together, and exports.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::autotuners::corpus;
use crate::support::{Place, shared};

/// Small inputs with the name of their file, and the number of their records, timed ones and rejected parts. The counts
/// follow from reading the inputs.
const SMALL: [(&str, &str, [u64; 3]); 16] = [
    ("google_benchmark", "gb/sort.json", [2, 1, 1]),
    (
        "criterion",
        "criterion/a__b/f/64/main/sample.json",
        [1, 1, 0],
    ),
    (
        "criterion_names",
        "criterion/a__b/f/64/main/benchmark.json",
        [0, 0, 0],
    ),
    (
        "criterion_fences",
        "criterion/a__b/f/64/main/tukey.json",
        [0, 0, 0],
    ),
    ("cargo_criterion", "messages/all.jsonl", [1, 1, 1]),
    ("pytest_benchmark", "pytest/0001.json", [2, 2, 0]),
    ("hyperfine", "hyperfine/sleep.json", [2, 1, 0]),
    ("asv", "results/m1/cafe0000-e.json", [7, 2, 1]),
    ("asv_benchmarks", "results/benchmarks.json", [0, 0, 0]),
    ("jmh", "jmh/result.json", [2, 1, 1]),
    ("benchmarkdotnet", "net/T-report-full.json", [2, 1, 0]),
    ("operator_benchmark", "operators/cpu.csv", [1, 1, 1]),
    ("pytorch_dashboard", "dashboard/h.json", [2, 0, 0]),
    ("liger", "liger/all_benchmark_data.csv", [3, 1, 0]),
    ("perf_report", "toy_gpu/norm.csv", [4, 0, 0]),
    ("sglang", "sglang/slower.csv", [2, 2, 0]),
];

fn json_rows(place: &Place, sql: &str) -> Vec<Value> {
    let out = place.ok(&["--format", "jsonl", sql]).stdout;
    out.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// Samples of Criterion do not state where they were measured.
const NAMES: &str = "[[file]]\npath = \"*/sample.json\"\nplatform = \"Toy CPU\"\n";

fn small_store() -> Place {
    let place = Place::new();
    for (name, path, _) in SMALL {
        place.write(&format!("in/{path}"), corpus(name));
    }
    place.write("in/history/data.js", corpus("github_action"));
    place.write("names.toml", NAMES);
    let ran = place.tsql(&["ingest", "in", "--map", "names.toml"]);
    assert_eq!(ran.code, Some(1), "rejected parts: {}", ran.stderr);
    for warning in [
        "in/pytest/0001.json:4: `data` has a value that is no number",
        "in/gb/sort.json:7: `Odd`: unknown time unit `cycles`",
        "in/jmh/result.json:4: unknown unit `ops/fortnight`",
    ] {
        assert!(ran.stderr.contains(warning), "{warning}: {}", ran.stderr);
    }
    place
}

#[test]
fn a_small_file_of_each_tool_is_stored_and_exported_unchanged() {
    let place = small_store();
    let sql = "SELECT s.name, s.record_count, count(r.line) FILTER (WHERE r.status = 'ok') AS timed, s.reject_count \
               FROM sources AS s LEFT JOIN records AS r USING (source_id) GROUP BY s.name, s.record_count, s.reject_count";
    let mut found = BTreeMap::new();
    for row in json_rows(&place, sql) {
        let number = |name: &str| row[name].as_u64().unwrap();
        let counts = [
            number("record_count"),
            number("timed"),
            number("reject_count"),
        ];
        found.insert(row["name"].as_str().unwrap().to_owned(), counts);
    }
    for (_, path, counts) in SMALL {
        assert_eq!(found.get(&format!("in/{path}")), Some(&counts), "{path}");
    }
    assert_eq!(found.get("in/history/data.js"), Some(&[2, 1, 0]));
    assert_eq!(found.len(), SMALL.len() + 1);
    let inputs: Vec<&str> = found.keys().map(String::as_str).collect();
    place.assert_sound(&inputs);
    // No failure has a time, and each record without a time has a reason.
    let sql = "SELECT count(*) FROM records WHERE status <> 'ok' AND (runtime_ns IS NOT NULL OR error_message IS NULL)";
    assert_eq!(place.rows(sql), ["0"]);
    // The export has the files beside the samples, so that it gives the same records.
    let sql = "SELECT dataset, platform, workload_key, steps, runtime_ns FROM records JOIN graphs USING (graph_id, dataset) \
               JOIN configurations AS c ON c.config_id = records.config_id AND c.graph_id = records.graph_id ORDER BY ALL";
    let before = place.rows(sql);
    place.tsql(&["--store", "again", "ingest", "back"]);
    let again = place.ok(&["--store", "again", sql]).stdout;
    assert_eq!(again.lines().skip(1).collect::<Vec<_>>(), before);
}

#[test]
fn records_of_benchmarks_have_repeats_runs_and_platforms() {
    let place = small_store();
    let sql = "SELECT g.workload_key, c.steps, r.platform, r.runtime_ns, r.repeats_ns, r.error_message \
               FROM records AS r JOIN graphs AS g USING (graph_id) JOIN configurations AS c ON c.config_id = r.config_id \
               AND c.graph_id = r.graph_id WHERE r.dataset IN ('google_benchmark', 'criterion', 'asv') \
               AND (r.repeat_count > 1 OR r.error_no <> 0) ORDER BY r.dataset, r.line";
    let rows = json_rows(&place, sql);
    let text = |row: usize, name: &str| rows[row][name].as_str().unwrap_or("").to_owned();
    assert_eq!(text(0, "workload_key"), r#"["s.time_a", {}]"#);
    assert_eq!(text(0, "steps"), r#"{"n": "1", "kind": "'x'"}"#);
    assert_eq!(text(0, "platform"), "Toy CPU");
    // asv states the median of the samples, which are 0.25, 0.5 and 1.5 s.
    assert_eq!(rows[0]["runtime_ns"], 0.5e9);
    assert_eq!(
        rows[0]["repeats_ns"],
        serde_json::json!([0.25e9, 0.5e9, 1.5e9])
    );
    let names: Vec<String> = (0..rows.len())
        .map(|row| text(row, "workload_key"))
        .collect();
    let criterion = names
        .iter()
        .position(|name| name == r#"["a::b", {"function": "f"}]"#);
    let criterion = criterion.unwrap();
    assert_eq!(text(criterion, "steps"), r#"{"value": "64"}"#);
    assert_eq!(
        rows[criterion]["repeats_ns"],
        serde_json::json!([10.0, 15.0])
    );
    let bad = names
        .iter()
        .position(|name| name == r#"["Bad", {}]"#)
        .unwrap();
    assert_eq!(text(bad, "error_message"), "no device");
    let sql = "SELECT dataset, json_text(settings, 'statistic'), json_text(settings, 'commit'), \
               json_text(settings, 'edited'), json_text(settings, 'platform_from') FROM environments \
               WHERE dataset IN ('pytest_benchmark', 'asv', 'hyperfine', 'triton_perf_report') \
               AND coalesce(json_text(settings, 'statistic'), '') <> '' OR dataset = 'triton_perf_report' ORDER BY ALL";
    assert_eq!(
        place.rows(sql),
        [
            "asv,median,cafe,,file",
            "hyperfine,mean,,,path",
            "pytest_benchmark,mean,abc123,true,file",
            "triton_perf_report,,,,path"
        ]
    );
    let sql = "SELECT DISTINCT machine FROM environments WHERE dataset = 'google_benchmark'";
    let machine = r#"{"devices": ["toy host"], "host": {"host_name": "toy host", "num_cpus": 2}}"#;
    assert_eq!(json_rows(&place, sql)[0]["machine"], machine);
    let sql = "SELECT DISTINCT platform FROM records WHERE dataset = 'hyperfine'";
    assert_eq!(place.rows(sql), ["hyperfine"]);
    let sql = "SELECT dataset, name, unit, value, raw_name, raw_unit FROM metrics JOIN records USING (source_id, line) \
               WHERE dataset IN ('jmh', 'liger', 'asv', 'sglang') ORDER BY ALL";
    let rows = place.rows(sql);
    for expected in [
        "jmh,throughput,1/s,2000.0,throughput,ops/ms",
        "liger,peak_memory,B,8912896.0,memory,MiB",
        "asv,flop_rate,FLOP/s,1500000000.0,flop_rate,gflopss",
        "sglang,max_absolute_error,1,0.125,max_diff,",
    ] {
        assert!(
            rows.iter().any(|row| row == expected),
            "{expected}: {rows:#?}"
        );
    }
    // Milliseconds since 1970.
    let sql = "SELECT DISTINCT measured_at FROM records WHERE dataset = 'github_action_benchmark'";
    assert!(place.rows(sql)[0].starts_with("2023-11-14T22:13:20"));
}

#[test]
fn commit_time_and_parameters_are_set_by_options() {
    let place = Place::new();
    place.write("h/sleep.json", corpus("hyperfine"));
    let options = [
        "ingest",
        "h/sleep.json",
        "--platform",
        "Toy CPU",
        "--commit",
        "1f3a",
        "--measured-at",
        "2026-03-01T12:00:00+01:00",
        "--graph-parameters",
        "count",
    ];
    let ran = place.tsql(&options);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let sql = "SELECT DISTINCT workload_key, platform, measured_at, json_text(settings, 'commit'), \
               json_text(settings, 'commit_from'), json_text(settings, 'measured_at') FROM records \
               JOIN graphs USING (graph_id) JOIN environments USING (environment_id) WHERE error_no = 0";
    let rows = place.rows(sql);
    assert_eq!(rows.len(), 1);
    assert!(
        rows[0].starts_with(
            r#""[""sleep {count}"", {""count"": ""4""}]",Toy CPU,2026-03-01T11:00:00"#
        ),
        "{rows:?}"
    );
    assert!(
        rows[0].ends_with(",1f3a,option,2026-03-01T12:00:00+01:00"),
        "{rows:?}"
    );
    assert_eq!(place.rows("SELECT key, value FROM labels"), ["commit,1f3a"]);
    for (option, value, reason) in [
        ("--measured-at", "2026-03-01", "is no time"),
        ("--measured-at", "2026-03-01T12:00:00", "is no time"),
        ("--commit", "", "one line of text"),
        ("--graph-parameters", "a,,b", "empty name"),
    ] {
        let ran = place.tsql(&["ingest", "h", option, value]);
        assert_ne!(ran.code, Some(0));
        assert!(ran.stderr.contains(reason), "{}", ran.stderr);
    }
}

#[test]
fn equal_samples_under_two_names_are_counted_once() {
    let place = Place::new();
    for (folder, sample) in [
        ("c/f/main", "criterion"),
        ("c/f/new", "criterion"),
        ("c/g/new", "criterion"),
    ] {
        place.write(&format!("{folder}/sample.json"), corpus(sample));
        let names = String::from_utf8(corpus("criterion_names")).unwrap();
        let function = folder.split('/').nth(1).unwrap();
        let names = names.replace("\"f\"", &format!("\"{function}\""));
        place.write(&format!("{folder}/benchmark.json"), names);
    }
    let ran = place.tsql(&["ingest", "c"]);
    assert!(
        ran.stderr.contains("its platform is unknown"),
        "{}",
        ran.stderr
    );
    place.ok(&["ingest", "c", "--platform", "Toy CPU"]);
    let sql = "SELECT workload_key, count(*), min(json_text(settings, 'baseline')) FROM records JOIN graphs USING (graph_id) \
               JOIN environments USING (environment_id) GROUP BY ALL ORDER BY ALL";
    assert_eq!(
        place.rows(sql),
        [
            r#""[""a::b"", {""function"": ""f""}]",1,main"#,
            r#""[""a::b"", {""function"": ""g""}]",1,new"#
        ]
    );
    place.ok(&["check"]);
}

#[test]
fn results_of_another_machine_are_rejected_and_the_others_are_read() {
    let place = Place::new();
    place.write("r/m1/cafe0000-e.json", corpus("asv"));
    place.write("r/m2/cafe0000-e.json", corpus("asv"));
    place.write("r/m1/aaaaaaaa-e.json", "{ no JSON");
    place.write(
        "r/m1/bbbbbbbb-e.json",
        r#"{"commit_hash": "c", "params": {}}"#,
    );
    let ran = place.tsql(&["ingest", "r"]);
    assert_eq!(ran.code, Some(1));
    let reason = "r/m2/cafe0000-e.json: 1: the machine `m1` is not that of its folder `m2`";
    assert!(ran.stderr.contains(reason), "{}", ran.stderr);
    assert!(
        ran.stderr.contains("a file of asv, without results"),
        "{}",
        ran.stderr
    );
    assert_eq!(
        place.rows("SELECT name, record_count FROM sources"),
        ["r/m1/cafe0000-e.json,7"]
    );
}

#[test]
fn a_mapping_wins_over_a_table_without_names() {
    let place = Place::new();
    place.write("t/norm.csv", corpus("perf_report"));
    let map = "kernel = \"norm\"\nplatform = \"P\"\nproblem = [\"N\"]\ntime_column = \"Mine\"\ntime_unit = \"ms\"\n";
    place.write("map.toml", map);
    place.tsql(&["ingest", "t", "--map", "map.toml"]);
    assert_eq!(
        place.rows("SELECT DISTINCT dataset FROM records"),
        ["mapped_table"]
    );
}

/// Names that the real files lack.
const REAL_NAMES: &str = "[[file]]\npath = \"*/sample.json\"\nplatform = \"unnamed CPU\"\n";

#[test]
#[ignore = "full tier"]
fn all_real_files_are_in_one_store_with_one_command() {
    let Some(shared) = shared() else { return };
    let data = shared.join("data/benchmarks");
    let golden = std::fs::read_to_string(shared.join("golden/benchmarks.json")).unwrap();
    let golden: Value = serde_json::from_str(&golden).unwrap();
    let place = Place::new();
    place.write("names.toml", REAL_NAMES);
    let ran = place.tsql(&["ingest", data.to_str().unwrap(), "--map", "names.toml"]);
    eprintln!("{}", ran.stderr);
    let sql = "SELECT s.name, s.record_count, count(r.runtime_ns) AS timed, count(r.line) FILTER (WHERE r.error_no <> 0) AS failed, \
               sum(r.runtime_ns) AS sum_ns, sum(CASE WHEN r.repeat_count > 1 THEN r.repeat_count END) AS repeats \
               FROM sources AS s LEFT JOIN records AS r USING (source_id) GROUP BY s.name, s.record_count";
    let mut found = BTreeMap::new();
    for row in json_rows(&place, sql) {
        found.insert(row["name"].as_str().unwrap().to_owned(), row);
    }
    let mut differences = Vec::new();
    let mut equal = 0;
    for (name, expected) in golden["files"].as_object().unwrap() {
        if name.starts_with("criterion/") {
            continue; // Equal samples are one record; the crate's tests compare each baseline.
        }
        let before = differences.len();
        match found.get(&format!("benchmarks/{name}")) {
            Some(found) => compare(name, found, expected, &mut differences),
            None => differences.push(format!("{name}: not in the store")),
        }
        equal += usize::from(differences.len() == before);
    }
    eprintln!("{equal} files are as expected");
    assert!(differences.is_empty(), "{}", differences.join("\n"));
    // 29 samples, of which 6 are those of another baseline.
    let sql = "SELECT count(*) FROM records WHERE dataset = 'criterion'";
    assert_eq!(place.rows(sql), ["23"]);
    place.ok(&["check"]);
    place.ok(&["export", "--to", "back"]);
    for name in found.keys() {
        let original = std::fs::read(data.parent().unwrap().join(name)).unwrap();
        assert_eq!(place.read(&format!("back/{name}")), original, "{name}");
    }
}

/// The report with a time of exactly 0, which is stored as unmeasured.
const WITHOUT_TIME: &str = "benchmarkdotnet/null_namespace.json";

fn compare(name: &str, found: &Value, expected: &Value, differences: &mut Vec<String>) {
    let number = |value: &Value| value.as_f64().unwrap_or(0.0);
    let failures = expected["failures"].as_object().unwrap().values();
    let failures: f64 = failures.map(number).sum();
    let timed = number(&expected["timed"]);
    let timed = if name == WITHOUT_TIME { 0.0 } else { timed };
    // A list of one repeat is counted as the time.
    let repeats = &expected["repeats"];
    let is_single = number(&repeats["most"]) <= 1.0;
    let repeats = if is_single {
        0.0
    } else {
        number(&repeats["values"])
    };
    for (what, wanted) in [
        ("record_count", number(&expected["records"])),
        ("timed", timed),
        ("failed", failures),
        ("repeats", repeats),
        ("sum_ns", number(&expected["time_sum_ns"])),
    ] {
        let found = number(&found[what]);
        if (found - wanted).abs() > 1e-9 * wanted.abs() {
            differences.push(format!("{name}: {what} {found} instead of {wanted}"));
        }
    }
}
