//! Files of autotuners: records with metrics, names that files lack, spaces, and exports.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::Path;

use serde_json::Value;

use crate::support::{Place, shared};

/// Small inputs by name, written by hand for the fuzzer.
pub(crate) fn corpus(name: &str) -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus/autotuners");
    std::fs::read(folder.join(name)).unwrap()
}

fn json_rows(place: &Place, sql: &str) -> Vec<Value> {
    let out = place.ok(&["--format", "jsonl", sql]).stdout;
    out.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// Small inputs with the name of their file, and the number of their records, timed ones and rejected parts. The counts
/// follow from reading the inputs.
const SMALL: [(&str, &str, [u64; 3]); 18] = [
    ("kernel_tuner", "kt/saxpy.json", [4, 2, 0]),
    ("t4", "saxpy/toy_T4.json", [2, 1, 1]),
    ("t1", "T1/toy.json", [0, 0, 0]),
    ("ktt", "ktt/k.json", [2, 1, 0]),
    ("helion", "helion/softmax_s0.csv", [3, 1, 1]),
    ("miopen", "miopen/gfx90a68.HIP.fdb.txt", [3, 3, 1]),
    ("tokamax", "toy_chip/pallas_triton_norm.json", [1, 1, 1]),
    ("aiter", "aiter/toy_tuned.csv", [5, 1, 1]),
    ("triton", "cache/add_kernel.autotune.json", [2, 1, 1]),
    ("flashinfer_bench", "traces/d.jsonl", [2, 1, 1]),
    ("flashinfer", "flashinfer/moe.csv", [2, 1, 0]),
    ("inductor", "inductor/run.log", [3, 2, 1]),
    ("tunableop", "tunableop/results.csv", [3, 1, 2]),
    ("nvbench", "nvbench/copy.json", [3, 1, 0]),
    ("nvbench_csv", "nvbench/b.csv", [2, 1, 1]),
    ("kernelbench", "kernelbench/baseline.json", [2, 1, 1]),
    ("kernelbench_runs", "kernelbench/runs.jsonl", [2, 1, 1]),
    ("autotvm01", "tophub/old.log", [2, 1, 1]),
];

/// Names that the small inputs lack.
const NAMES: &str = r#"
[[file]]
path = "helion/*.csv"
platform = "Toy B"
[[file]]
path = "cache/*.json"
platform = "Toy B"
[[file]]
path = "inductor/*"
platform = "Toy B"
[[file]]
path = "flashinfer/*"
platform = "Toy B"
[[file]]
path = "ktt/*.csv"
platform = "Toy B"
[[file]]
path = "tables/*.csv"
[file.table]
kernel_column = "Kernel"
platform_column = "Device"
problem = ["Size"]
configuration = ["Tile"]
time_column = "Time (us)"
time_unit = "us"
thousands = ","
[file.table.metrics]
Regs = "1"
"#;

fn small_store() -> Place {
    let place = Place::new();
    for (name, path, _) in SMALL {
        place.write(&format!("in/{path}"), corpus(name));
    }
    place.write("in/tables/copy.csv", corpus("table"));
    place.write("in/tactics.json", corpus("no_records"));
    place.write("names.toml", NAMES);
    let ran = place.tsql(&["ingest", "in", "--map", "names.toml"]);
    assert_eq!(ran.code, Some(1), "rejected parts: {}", ran.stderr);
    assert!(
        ran.stderr.contains("tactics that FlashInfer chose"),
        "{}",
        ran.stderr
    );
    place
}

#[test]
fn a_small_file_of_each_format_is_stored_and_exported_unchanged() {
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
    assert_eq!(found.get("in/tables/copy.csv"), Some(&[2, 1, 2]));
    let inputs: Vec<String> = found.keys().cloned().collect();
    let inputs: Vec<&str> = inputs.iter().map(String::as_str).collect();
    place.assert_sound(&inputs);
    let again = place.tsql(&["ingest", "in", "--map", "names.toml"]);
    assert!(
        again.stderr.contains("19 already ingested"),
        "{}",
        again.stderr
    );
    assert_eq!(place.rows("SELECT count(*) FROM sources"), ["19"]);
    // No failure has a time, each has a reason, and so has each record without a measurement.
    let sql = "SELECT count(*) FROM records WHERE status <> 'ok' AND (runtime_ns IS NOT NULL OR error_message IS NULL)";
    assert_eq!(place.rows(sql), ["0"]);
    let rejects = place.rows("SELECT name, line, reason FROM rejects WHERE name LIKE '%old.log'");
    assert_eq!(
        rejects,
        ["in/tophub/old.log,3,a cost of 1000000000.0 s without an error"]
    );
}

#[test]
fn records_have_graphs_configurations_and_environments() {
    let place = small_store();
    let sql = "SELECT g.workload_key, c.steps, r.platform, r.runtime_ns, r.repeats_ns, r.line, r.error_no, r.error_message \
               FROM records AS r JOIN graphs AS g USING (graph_id) JOIN configurations AS c ON c.config_id = r.config_id \
               AND c.graph_id = r.graph_id WHERE r.dataset = 'kerneltuner' ORDER BY r.line";
    let rows = json_rows(&place, sql);
    let key = r#"["saxpy", {"problem_size": 1024, "parameters": ["bx", "mode"]}]"#;
    assert_eq!(rows[0]["workload_key"], key);
    assert_eq!(rows[0]["steps"], r#"{"bx": 32, "mode": "x"}"#);
    assert_eq!(rows[1]["steps"], r#"{"bx": 32, "mode": true}"#);
    assert_eq!(rows[0]["platform"], "Toy 9000");
    // 0.1 and 0.2 ms.
    assert_eq!(
        rows[0]["repeats_ns"],
        serde_json::json!([100_000.0, 200_000.0])
    );
    assert_eq!(rows[0]["runtime_ns"], 150_000.0);
    // The stated time is not the mean of these repeats: the time counts.
    assert_eq!(rows[2]["repeats_ns"], serde_json::json!([250_000.0]));
    let sql =
        "SELECT attributes FROM records WHERE dataset = 'kerneltuner' AND attributes IS NOT NULL";
    assert_eq!(place.rows(sql), [r#""{""times"": [9.0, 9.5]}""#]);
    let words: Vec<_> = rows
        .iter()
        .map(|row| (&row["error_no"], &row["error_message"]))
        .collect();
    assert_eq!(
        words[1],
        (&Value::from(3), &Value::from("CompilationFailedConfig"))
    );
    assert_eq!(
        words[3],
        (&Value::from(4), &Value::from("RuntimeFailedConfig"))
    );
    let sql = "SELECT json_text(settings, 'graph_from'), json_text(settings, 'platform_from'), json_text(settings, 'coverage'), \
               machine FROM environments WHERE dataset = 'tokamax' OR dataset = 'helion' ORDER BY dataset";
    assert_eq!(
        place.rows(sql),
        ["path,option,all trials,", "path,path,winners,"]
    );
    let sql = "SELECT DISTINCT machine FROM environments WHERE dataset = 'kerneltuner'";
    assert_eq!(place.rows(sql), [r#""{""devices"": [""Toy 9000""]}""#]);
    // Rows of one file may be of several platforms.
    let sql = "SELECT platform, count(*) FROM records WHERE dataset = 'aiter' GROUP BY platform ORDER BY platform";
    assert_eq!(place.rows(sql), ["gfx1 7,4", "gfx2 7,1"]);
    // An empty key of tokamax is a graph without records.
    let sql = "SELECT count(*) FROM graphs WHERE dataset = 'tokamax'";
    assert_eq!(place.rows(sql), ["2"]);
}

#[test]
fn metrics_have_canonical_names_and_units_beside_those_of_the_source() {
    let place = small_store();
    let sql = "SELECT name, unit, index, value, raw_name, raw_unit, raw_value, raw_text FROM metrics JOIN records USING (source_id, line) \
               WHERE dataset IN ('kerneltuner', 'aiter', 'nvbench') AND line <= 3 ORDER BY dataset, line, raw_name";
    let rows = place.rows(sql);
    for expected in [
        "compile_time,s,0,0.007,compile_time,ms,7.0,",
        "energy,J,0,0.5,ps_energy,J,0.5,",
        // A failed record has metrics, too.
        "compile_time,s,0,0.0035,compile_time,ms,3.5,",
        "stage1_error,1,0,0.15,err1,1,0.15,15.0%",
        "nv/x,B,0,9.223372036854776e18,nv/x,B,9.223372036854776e18,9223372036854775807",
    ] {
        assert!(
            rows.iter().any(|row| row == expected),
            "{expected}: {rows:#?}"
        );
    }
    let sql = "SELECT metric(metrics, 'energy'), metric(metrics, 'ps_energy'), metric(metrics, 'power') \
               FROM records WHERE dataset = 'kerneltuner' AND line = 1";
    assert_eq!(place.rows(sql), ["0.5,0.5,"]);
    // Two functions of a kernel have two numbers of one name.
    let sql = "SELECT index, value FROM metrics WHERE name = 'registers' AND unit = '1' AND raw_name = 'RegistersCount' ORDER BY index";
    assert_eq!(place.rows(sql), ["0,8.0", "1,9.0"]);
    let sql = "SELECT baseline_ns FROM records WHERE dataset = 'flashinfer_bench' AND line = 1";
    assert_eq!(place.rows(sql), ["1500000.0"]);
    let sql = "SELECT all_cost_s FROM records WHERE dataset = 'autotvm01' ORDER BY line";
    assert_eq!(place.rows(sql), ["2.5", "2.5"]);
    let names = place.rows(
        "SELECT concat_ws('|', name, unit, sources, documentation) AS entry FROM metric_names ORDER BY entry",
    );
    let wanted = tsql_formats::autotuners::readers::METRIC_NAMES.iter();
    let mut wanted: Vec<String> = wanted
        .map(|metric| {
            let sources = metric.sources.join(", ");
            format!("{}|{}|{sources}|{}", metric.name, metric.unit, metric.doc)
        })
        .collect();
    wanted.sort();
    let names: Vec<&str> = names.iter().map(|name| name.trim_matches('"')).collect();
    assert_eq!(names, wanted, "schemas/metric_names.toml differs");
}

#[test]
fn built_in_queries_rank_configurations_of_each_kernel() {
    let place = small_store();
    let best = place.ok(&["queries", "best-per-kernel"]).stdout;
    let saxpy = best
        .lines()
        .find(|line| line.starts_with("kerneltuner,saxpy"));
    assert!(
        saxpy.is_some_and(|line| line.contains("Toy 9000,150000.0,2,")),
        "{best}"
    );
    let near = place.ok(&["queries", "near-best", "percent=100"]).stdout;
    // Two of four configurations have a time, and 250 us is within 100 % of 150 us.
    let saxpy = near
        .lines()
        .find(|line| line.starts_with("kerneltuner,saxpy"));
    assert!(
        saxpy.is_some_and(|line| line.contains("Toy 9000,4,2,2,0.5,150000.0")),
        "{near}"
    );
    assert!(
        !near.contains("tokamax,"),
        "winners have no fraction: {near}"
    );
}

#[test]
fn spaces_of_descriptions_and_caches_are_rows() {
    let place = small_store();
    let sql = "SELECT kernel, kind, p.name, value_type, allowed_values, value_count, default_value, expression, cartesian_count, valid_count \
               FROM spaces AS p JOIN sources AS s USING (source_id) WHERE s.dataset = 't1' ORDER BY line";
    let rows = json_rows(&place, sql);
    assert_eq!(rows.len(), 3);
    assert_eq!(rows[0]["allowed_values"], "[1, 2, 4]");
    assert_eq!(rows[0]["expression"], "[2**i for i in range(0, 3)]");
    assert_eq!(rows[2]["kind"], "condition");
    // One of the six points is invalid: `x` = 1 without `y`.
    assert_eq!(
        (&rows[0]["cartesian_count"], &rows[0]["valid_count"]),
        (&6.into(), &5.into())
    );
    let sql = "SELECT p.name, value_count, valid_count IS NULL FROM spaces AS p JOIN sources AS s USING (source_id) \
               WHERE s.dataset = 'kerneltuner' ORDER BY line";
    assert_eq!(place.rows(sql), ["bx,2,true", "mode,2,true"]);
}

#[test]
fn metrics_follow_their_records_into_copies_and_back_from_retractions() {
    let place = small_store();
    let metrics = "SELECT count(*), sum(value) FROM metrics WHERE name <> 'max_absolute_error' AND value < 1e18";
    let before = place.rows(metrics);
    place.ok(&["copy", ".tsql", "other"]);
    let copied = place.ok(&["--store", "other", metrics]).stdout;
    assert_eq!(copied.lines().skip(1).collect::<Vec<_>>(), before);
    let spaces = "SELECT count(*) FROM spaces";
    let copied = place.ok(&["--store", "other", spaces]).stdout;
    assert_eq!(
        copied.lines().skip(1).collect::<Vec<_>>(),
        place.rows(spaces)
    );
    place.ok(&["--store", "other", "check"]);
    place.ok(&[
        "retract",
        "--where",
        "dataset = 'kerneltuner'",
        "--why",
        "a test",
    ]);
    assert_eq!(
        place.rows("SELECT count(*) FROM metrics WHERE name = 'energy'"),
        ["0"]
    );
    let id = place
        .rows("SELECT retraction_id FROM retractions")
        .remove(0);
    place.ok(&["restore", &id]);
    assert_eq!(place.rows(metrics), before);
    let set = [
        "correct",
        "--set",
        "platform=other",
        "--where",
        "dataset = 'kerneltuner'",
        "--why",
        "a test",
    ];
    place.ok(&set);
    let sql = "SELECT DISTINCT platform FROM records WHERE dataset = 'kerneltuner'";
    assert_eq!(place.rows(sql), ["other"]);
    place.assert_sound(&["in/kt/saxpy.json"]);
}

#[test]
fn a_missing_name_is_named_with_its_option() {
    let place = Place::new();
    place.write("a/x.json", corpus("t4"));
    place.write("a/softmax.csv", corpus("helion"));
    for (file, fact, option) in [
        (
            "a/x.json",
            "its graph and its platform are unknown",
            "--graph",
        ),
        ("a/softmax.csv", "its platform is unknown", "--platform"),
    ] {
        let ran = place.tsql(&["ingest", file]);
        assert_ne!(ran.code, Some(0));
        assert!(
            ran.stderr.contains(fact) && ran.stderr.contains(option),
            "{}",
            ran.stderr
        );
    }
    let ran = place.tsql(&["ingest", "a"]);
    assert!(
        ran.stderr
            .contains("its graph and its platform are unknown"),
        "{}",
        ran.stderr
    );
    assert!(!place.path().join(".tsql").exists());
    place.tsql(&[
        "ingest",
        "a/x.json",
        "--graph",
        r#"["gemm", {"M": 8}]"#,
        "--platform",
        "A100",
    ]);
    let sql = "SELECT workload_key, platform FROM graphs JOIN records USING (graph_id) LIMIT 1";
    assert_eq!(
        place.rows(sql),
        [r#""[""gemm"", {""M"": 8, ""parameters"": [""n""]}]",A100"#]
    );
    // Options win over what the file states.
    place.write("k.json", corpus("kernel_tuner"));
    place.ok(&["ingest", "k.json", "--graph", "other", "--platform", "P"]);
    let sql = "SELECT DISTINCT workload_name, platform, machine FROM records JOIN graphs USING (graph_id) \
               JOIN environments AS e USING (environment_id) WHERE records.dataset = 'kerneltuner'";
    assert_eq!(
        place.rows(sql),
        [r#"other,P,"{""devices"": [""Toy 9000""]}""#]
    );
    place.assert_sound(&["k.json"]);
}

#[test]
fn a_wrong_mapping_is_an_error_with_its_file() {
    let place = Place::new();
    place.write("t.csv", corpus("table"));
    place.write(
        "unit.toml",
        "time_column = \"Time (us)\"\ntime_unit = \"h\"\n",
    );
    place.write("key.toml", "time_colum = \"Time (us)\"\n");
    for (file, reason) in [
        ("unit.toml", "`h` is not"),
        ("key.toml", "time_colum"),
        ("none.toml", "none.toml"),
    ] {
        let ran = place.tsql(&["ingest", "t.csv", "--map", file]);
        assert_ne!(ran.code, Some(0));
        assert!(
            ran.stderr.contains(reason) && ran.stderr.contains(file),
            "{}",
            ran.stderr
        );
    }
    place.write(
        "column.toml",
        "time_column = \"Tim\"\ntime_unit = \"us\"\nplatform = \"p\"\nkernel = \"k\"\n",
    );
    let ran = place.tsql(&["ingest", "t.csv", "--map", "column.toml"]);
    assert_ne!(ran.code, Some(0));
    assert!(
        ran.stderr.contains("t.csv") && ran.stderr.contains("Tim"),
        "{}",
        ran.stderr
    );
}

#[test]
fn compressed_files_are_read_and_exported_as_they_were() {
    let place = Place::new();
    let text = corpus("kernel_tuner");
    let level = bzip2::Compression::default();
    let mut packed = Vec::new();
    bzip2::read::BzEncoder::new(text.as_slice(), level)
        .read_to_end(&mut packed)
        .unwrap();
    place.write("b/k.json.bz2", packed);
    let mut packed = Vec::new();
    liblzma::read::XzEncoder::new(text.as_slice(), 6)
        .read_to_end(&mut packed)
        .unwrap();
    place.write("x/k.json.xz", packed);
    place.ok(&["ingest", "b", "x"]);
    let sql = "SELECT name, compression, record_count FROM sources ORDER BY name";
    assert_eq!(
        place.rows(sql),
        ["b/k.json.bz2,bzip2,4", "x/k.json.xz,xz,0"]
    );
    place.ok(&["export", "--to", "out"]);
    for name in ["b/k.json.bz2", "x/k.json.xz"] {
        assert_eq!(
            content(&place.path().join("out").join(name)),
            text,
            "{name}"
        );
    }
}

/// Decompressed content of a file.
fn content(path: &Path) -> Vec<u8> {
    let (mut stream, _) = tsql_formats::open(path).unwrap();
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).unwrap();
    bytes
}

/// Names that the real files lack. Devices are those of the notes beside the files.
const REAL_NAMES: &str = include_str!("../autotuner_questions/names.toml");

/// Section 18 of the notes beside the files: configurations within 5 % of the best, failed ones counted as tried, and
/// spaces that are measured completely, with their number of points and of times.
fn assert_spaces_are_known(place: &Place) {
    let near = place.ok(&["queries", "near-best", "--format", "jsonl"]);
    let near = near.stdout.lines();
    let near: Vec<Value> = near
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    for (kernel, tried, wanted) in [
        ("cn_pnpoly", 4092, 33),
        ("convolution_kernel", 6768, 22),
        ("Convolution", 6768, 19),
    ] {
        let is_row =
            |row: &&Value| row["kernel"] == kernel && row["platform"] == "NVIDIA GeForce RTX 3090";
        let row = near.iter().find(is_row).unwrap();
        assert_eq!(
            (&row["config_count"], &row["near_count"]),
            (&tried.into(), &wanted.into()),
            "{kernel}"
        );
    }
    let sql = "SELECT g.workload_name, s.platform, s.config_count, s.timed_count FROM search_spaces() AS s \
               JOIN graphs AS g ON g.graph_id = s.graph_id WHERE s.verdict = 'exhaustive' ORDER BY 1, 2";
    assert_eq!(
        place.rows(sql),
        [
            "cn_pnpoly,NVIDIA GeForce RTX 2080 Ti,4092,3734",
            "cn_pnpoly,NVIDIA GeForce RTX 3090,4092,3774",
            "convolution_kernel,NVIDIA A100-PCIE-40GB,4362,4201",
            "convolution_kernel,NVIDIA GeForce RTX 2080 Ti,6768,5256",
            "convolution_kernel,NVIDIA GeForce RTX 3090,6768,5220",
            "directCoulombSum_kernel,NVIDIA GeForce RTX 2080 Ti,210,210",
            "vectorAddition_kernel,NVIDIA GeForce RTX 2080 Ti,4,4",
        ]
    );
}

#[test]
#[ignore = "full tier"]
fn all_real_files_are_in_one_store_with_one_command() {
    let Some(shared) = shared() else { return };
    let data = shared.join("data/autotuners");
    let golden = std::fs::read_to_string(shared.join("golden/autotuners.json")).unwrap();
    let golden: Value = serde_json::from_str(&golden).unwrap();
    let place = Place::new();
    place.write("names.toml", REAL_NAMES);
    let folders = [data.clone(), shared.join("data/tenset")];
    let [autotuners, tenset] = folders.each_ref().map(|path| path.to_str().unwrap());
    let ran = place.tsql(&["ingest", autotuners, tenset, "--map", "names.toml"]);
    eprintln!("{}", ran.stderr);
    let mut records: BTreeMap<String, Value> = BTreeMap::new();
    let sql = "SELECT s.name, s.record_count, count(DISTINCT r.graph_id) AS graphs, \
               count(DISTINCT r.config_id) AS configurations, count(r.runtime_ns) AS timed, \
               count(r.line) FILTER (WHERE r.error_no <> 0) AS failed, \
               count(r.line) FILTER (WHERE r.error_message = 'placeholder') AS placeholders, \
               count(r.line) FILTER (WHERE r.error_message = 'the objective is no time') AS scores, \
               sum(r.runtime_ns) AS sum_ns, min(r.runtime_ns) AS best_ns, sum(CASE WHEN r.repeat_count > 1 THEN r.repeat_count END) AS repeats \
               FROM sources AS s LEFT JOIN records AS r USING (source_id) GROUP BY s.name, s.record_count";
    for row in json_rows(&place, sql) {
        records.insert(row["name"].as_str().unwrap().to_owned(), row);
    }
    let mut differences = Vec::new();
    let mut totals = [0; 3];
    for (name, expected) in golden["files"].as_object().unwrap() {
        let Some(found) = records.get(&format!("autotuners/{name}")) else {
            differences.push(format!("{name}: not in the store"));
            continue;
        };
        totals[0] += 1;
        totals[1] += found["record_count"].as_u64().unwrap();
        totals[2] += found["timed"].as_u64().unwrap();
        compare(name, found, expected, &mut differences);
    }
    eprintln!(
        "{} files, {} records, {} timed",
        totals[0], totals[1], totals[2]
    );
    assert_eq!(differences, Vec::<String>::new());
    let different = crate::autotuner_questions::differences(&place, &golden["questions"]);
    assert_eq!(different, Vec::<String>::new());
    assert_spaces_are_known(&place);
    place.ok(&["export", "--to", "out"]);
    let mut compared = 0;
    for name in records.keys() {
        let Some(file) = name.strip_prefix("autotuners/") else {
            continue;
        };
        let (found, wanted) = (place.path().join("out").join(name), data.join(file));
        assert!(
            content(&found) == content(&wanted),
            "{name} is exported as another"
        );
        compared += 1;
    }
    eprintln!("{compared} exports equal");
    place.ok(&["check"]);
}

fn compare(name: &str, found: &Value, expected: &Value, differences: &mut Vec<String>) {
    let number = |value: &Value| value.as_f64().unwrap_or(0.0);
    let mut check = |what: &str, found: f64, wanted: f64, tolerance: f64| {
        if (found - wanted).abs() > tolerance * wanted.abs() {
            differences.push(format!("{name}: {what} {found} instead of {wanted}"));
        }
    };
    if expected.get("records").is_none() {
        return;
    }
    let count = |what: &str| number(&found[what]);
    check(
        "records",
        count("record_count"),
        number(&expected["records"]),
        0.0,
    );
    // The expected values count placeholders and scores as times, and deliberate skips as failures.
    let timed = count("timed") + count("placeholders") + count("scores");
    check("timed", timed, number(&expected["timed"]), 0.0);
    let reader = expected["reader"].as_str().unwrap();
    if !reader.starts_with("nvbench") {
        let failures = expected["failures"].as_object().into_iter().flatten();
        let failures: f64 = failures.map(|(_, count)| number(count)).sum();
        check("failed", count("failed"), failures, 0.0);
    }
    if count("timed") > 0.0 && count("placeholders") == 0.0 {
        let scale = match expected["time_unit"].as_str() {
            Some("s") => 1e9,
            Some("ms") => 1e6,
            _ => 1e3,
        };
        check(
            "sum",
            count("sum_ns"),
            number(&expected["time_sum"]) * scale,
            1e-12,
        );
        check(
            "best",
            count("best_ns"),
            number(&expected["best_time"]) * scale,
            1e-14,
        );
    }
}
