//! `tsql compare`: sides, pairs and outputs, with the rule of ranks. Every expected number comes from SQL, NumPy or a hand
//! computation. `verdicts.rs` tests the default rule.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::engines;
use crate::support::{Place, Ran, shared};

/// Returns the comparison by ranks as JSON.
fn compare_json(place: &Place, args: &[&str]) -> Value {
    let all = [&["compare", "--format", "json", "--rule", "ranks"], args].concat();
    serde_json::from_str(&place.ok(&all).stdout).unwrap()
}

fn close(found: &Value, expected: f64) {
    let found = found.as_f64().unwrap();
    assert!(
        (found / expected - 1.0).abs() < 1e-6,
        "{found} is not {expected}"
    );
}

/// Returns the counts of a summary: pairs, faster, slower, same, unclear.
fn counts(summary: &Value) -> [u64; 5] {
    ["pairs", "faster", "slower", "same", "unclear"].map(|name| summary[name].as_u64().unwrap())
}

/// Returns a record of configuration `tile` with eight repeats of about `ns`, or a failed record for 0. `at` is in
/// seconds since 1970.
fn record(tile: u32, ns: f64, at: u64) -> String {
    let key = json!(["mm", {"M": tile % 2}]);
    let mut line = json!({"workload_key": key, "steps": {"TILE": tile}, "measured_at": at});
    if ns > 0.0 {
        let repeats: Vec<f64> = (0..8)
            .map(|place| ns * (1.0 + 0.0005 * f64::from(place)))
            .collect();
        line["repeats_ns"] = json!(repeats);
    } else {
        line["error_no"] = json!(4);
        line["error_message"] = json!("signal:11");
    }
    line.to_string() + "\n"
}

/// Appends records of configurations 0, 1, ... as a stream.
fn append(place: &Place, stream: &str, platform: &str, labels: &[&str], at: u64, times: &[f64]) {
    let lines = (0..).zip(times);
    let lines: String = lines
        .map(|(tile, ns)| record(tile, *ns, at + u64::from(tile)))
        .collect();
    let mut args = vec!["append", "--stream", stream, "--platform", platform];
    args.extend(["--input-format", "measured"]);
    args.extend(labels.iter().flat_map(|label| ["--label", *label]));
    let ran = place.tsql_with_input(&args, lines.as_bytes());
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
}

/// Seconds of 2026-11-01. The second time is eight days later.
const FIRST: u64 = 1_793_491_200;
const LATER: u64 = FIRST + 8 * 86_400;

/// Returns a store of two nights. `factors` are the ratios of the runtimes of the second night.
fn nights(factors: &[f64]) -> Place {
    let place = Place::new();
    let base = |tile: usize| 1000.0 * f64::from(u32::try_from(tile).unwrap() + 1);
    let first: Vec<f64> = (0..factors.len()).map(base).collect();
    let second = first.iter().zip(factors).map(|(ns, factor)| ns * factor);
    append(&place, "night-7", "k80", &["night=7"], FIRST, &first);
    place.ok(&["tag", "create", "v1.0"]);
    let second: Vec<f64> = second.collect();
    append(&place, "night-8", "k80", &["night=8"], LATER, &second);
    place
}

fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Real timings of this project: 5 repeats of 240 programs with one thread and with two.
#[test]
fn numbers_match_numpy_and_sql() {
    let Some(python) = engines::python() else {
        return;
    };
    let place = Place::new();
    let data = repository().join("data");
    for platform in ["epyc-1t", "epyc-2t"] {
        place.ok(&["ingest", "-q", data.join(platform).to_str().unwrap()]);
    }
    let newest = |platform: &str| {
        format!(
            "(SELECT * FROM (SELECT *, row_number() OVER (PARTITION BY graph_id, config_id \
             ORDER BY measured_at DESC, source_id DESC, line DESC) AS place FROM records \
             WHERE platform = '{platform}') AS r WHERE place = 1)"
        )
    };
    let both = format!(
        "FROM {} AS x JOIN {} AS y ON x.graph_id = y.graph_id AND x.config_id = y.config_id",
        newest("epyc-1t"),
        newest("epyc-2t")
    );
    let pairs = format!("{both} WHERE x.error_no = 0 AND y.error_no = 0");
    place.ok(&[
        &format!("SELECT x.config_id, x.repeats_ns AS a, y.repeats_ns AS b {pairs}"),
        "-o",
        "pairs.jsonl",
    ]);
    let lines = place.path().join("pairs.jsonl");
    let expected = engines::run(&python, "compared.py", &[lines.to_str().unwrap()]);
    let found = compare_json(&place, &["epyc-1t", "epyc-2t", "--top", "1000"]);
    let all = &found["all"];
    assert_eq!(counts(all), counts(&expected), "{all}");
    assert!(counts(all).iter().all(|count| *count > 0), "{all}");
    for name in ["speedup", "speedup_low", "speedup_high"] {
        close(&all[name], expected[name].as_f64().unwrap());
    }
    let regressions = found["regressions"].as_array().unwrap();
    let slower = regressions
        .iter()
        .filter(|change| change["verdict"] == "slower");
    let slower: Vec<&Value> = slower.map(|change| &change["config_id"]).collect();
    let worst: Vec<&Value> = expected["worst"].as_array().unwrap().iter().collect();
    assert_eq!(slower, worst, "the worst first");
    // Pairs of an operator, by the name in their workload key.
    let operators = place.rows(&format!(
        "SELECT g.workload_name, count(*) {both} JOIN graphs AS g ON g.graph_id = x.graph_id \
         WHERE x.error_no = 0 AND y.error_no = 0 GROUP BY g.workload_name ORDER BY g.workload_name"
    ));
    let of_part = |part: &Value| format!("{},{}", part["name"].as_str().unwrap(), part["pairs"]);
    let parts = found["operators"].as_array().unwrap();
    let mut names: Vec<String> = parts.iter().map(of_part).collect();
    names.sort();
    assert_eq!(names, operators);
    let sums: Vec<u64> = parts.iter().map(|part| counts(part)[1]).collect();
    assert_eq!(sums.iter().sum::<u64>(), counts(all)[1]);
    let failed = place.rows(&format!(
        "SELECT count(*) {both} WHERE x.error_no > 0 AND y.error_no > 0"
    ));
    assert_eq!(found["failing"].to_string(), failed[0]);
    let bins = found["histogram"].as_array().unwrap().iter();
    let in_bins: u64 = bins
        .flat_map(|bin| ["faster", "slower", "same", "unclear"].map(|name| &bin[name]))
        .map(|count| count.as_u64().unwrap())
        .sum();
    assert_eq!(in_bins, counts(all)[0]);
    // The reverse comparison, and one with a small memory limit, where sorts use temporary files.
    let back = compare_json(&place, &["epyc-2t", "epyc-1t"]);
    let [pairs, faster, slower, same, unclear] = counts(all);
    assert_eq!(counts(&back["all"]), [pairs, slower, faster, same, unclear]);
    close(
        &back["all"]["speedup"],
        1.0 / all["speedup"].as_f64().unwrap(),
    );
    let little = compare_json(
        &place,
        &[
            "--memory-limit",
            "8MB",
            "epyc-1t",
            "epyc-2t",
            "--top",
            "1000",
        ],
    );
    assert_eq!(little, found);
}

/// Real logs of resnet-18, and the same logs with half of the runtimes as another machine.
#[test]
fn real_tasks_have_operators_and_networks() {
    let Some(shared) = shared() else { return };
    let place = Place::new();
    let tenset = shared.join("data/tenset");
    let log = tenset.join("tutorial-logs/resnet-18-NHWC-B1-cuda.7cb3a67.json");
    let log = fs::read_to_string(log).unwrap();
    let halved: String = log
        .lines()
        .filter(|line| line.starts_with('{'))
        .map(|line| {
            let mut record: Value = serde_json::from_str(line).unwrap();
            for cost in record["r"][0].as_array_mut().unwrap() {
                *cost = json!(cost.as_f64().unwrap() / 2.0);
            }
            record.to_string() + "\n"
        })
        .collect();
    place.write("k80/log.json", &log);
    place.write("t4/log.json", halved);
    let networks = tenset.join("network_info");
    place.ok(&["ingest", "-q", "k80", "t4"]);
    place.ok(&["ingest", "-q", networks.to_str().unwrap()]);
    let found = compare_json(&place, &["k80", "t4"]);
    assert!(found["all"]["pairs"].as_u64() > Some(10));
    close(&found["all"]["speedup"], 2.0);
    for (parts, sql) in [
        (
            "operators",
            "SELECT t.op, count(*) FROM records AS r LEFT JOIN tasks AS t USING (graph_id) \
             WHERE r.platform = 'k80' GROUP BY t.op",
        ),
        (
            "networks",
            "SELECT network, count(DISTINCT (graph_id, config_id)) FROM records JOIN network_tasks USING (graph_id) \
             WHERE platform = 'k80' AND network IS NOT NULL GROUP BY network",
        ),
    ] {
        let parts = found[parts].as_array().unwrap();
        let mut names = Vec::new();
        for part in parts {
            close(&part["speedup"], 2.0);
            names.push(format!(
                "{},{}",
                part["name"].as_str().unwrap_or(""),
                part["pairs"]
            ));
        }
        names.sort();
        let mut expected = place.rows(sql);
        expected.sort();
        assert_eq!(names, expected);
        assert!(names.len() > 1, "{names:?}");
    }
}

#[test]
#[ignore = "full tier"]
fn tags_labels_streams_and_times_define_sides() {
    // Slower, faster, the same, and not measured again.
    let place = nights(&[1.5, 0.5, 1.0]);
    append(
        &place,
        "night-7b",
        "k80",
        &[],
        FIRST + 100,
        &[1000.0, 2000.0, 3000.0, 4000.0],
    );
    let expected = [3, 1, 1, 1, 0];
    let speedup = (1.0_f64 / 1.5 / 0.5).cbrt();
    for [a, b] in [
        ["label:night=7", "label:night=8"],
        ["night=7", "night=8"],
        ["night-7", "night-8"],
        ["source:streams/k80/night-7.jsonl", "streams/*/night-8.*"],
        ["2026-11-01", "2026-11-09"],
        ["..2026-11-02", "2026-11-08.."],
        [
            "2026-11-01T00:00:00Z..2026-11-02T00:00:00Z",
            "time:2026-11-08..2026-11-10",
        ],
        [
            "where:measured_at < '2026-11-02'",
            "platform:k80 AND night-8",
        ],
        ["tag:v1.0 AND platform:k80", "night-8"],
        ["v1.0", "where:measured_at > '2026-11-02' AND true"],
    ] {
        let found = compare_json(&place, &[a, b]);
        assert_eq!(counts(&found["all"]), expected, "{a} {b}: {found}");
        close(&found["all"]["speedup"], speedup);
    }
    // The newest record of a side counts. Pooled repeats of all records show no significant change.
    place.ok(&["tag", "create", "v1.1"]);
    let tags = compare_json(&place, &["v1.0", "v1.1"]);
    assert_eq!(counts(&tags["all"]), expected);
    assert_eq!(tags["only_b"], 1, "night-7b has one more");
    let all = compare_json(&place, &["v1.0", "v1.1", "--of", "all"]);
    assert_eq!(counts(&all["all"])[1..3], [0, 0], "{all}");
    // Configurations without a second measurement are in no verdict.
    place.ok(&["tag", "create", "v1.2"]);
    append(&place, "night-9", "k80", &[], LATER + 86_400, &[3000.0]);
    let again = compare_json(&place, &["v1.2", "k80"]);
    assert_eq!(counts(&again["all"]), [1, 0, 1, 0, 0]);
    assert_eq!(again["same_records"], 3);
    // A subset of both sides.
    let some = compare_json(&place, &["night-7", "night-8", "--where", "line = 1"]);
    assert_eq!(counts(&some["all"]), [1, 0, 1, 0, 0]);
}

#[test]
fn pairs_share_a_platform_if_a_side_has_several() {
    let place = Place::new();
    append(&place, "a", "k80", &["run=1"], FIRST, &[1000.0, 1000.0]);
    append(&place, "b", "t4", &["run=1"], FIRST, &[500.0, 500.0]);
    append(&place, "c", "k80", &["run=2"], LATER, &[2000.0, 2000.0]);
    append(&place, "d", "t4", &["run=2"], LATER, &[1000.0, 1000.0]);
    let platforms = compare_json(&place, &["k80", "t4"]);
    assert_eq!(counts(&platforms["all"])[0], 2);
    close(&platforms["all"]["speedup"], 2.0);
    let runs = compare_json(&place, &["run=1", "run=2"]);
    assert_eq!(counts(&runs["all"]), [4, 0, 4, 0, 0]);
    close(&runs["all"]["speedup"], 0.5);
    let platform = |change: &Value| change["platform"].as_str().unwrap().to_owned();
    let worst = runs["regressions"].as_array().unwrap().iter().map(platform);
    let mut worst: Vec<String> = worst.collect();
    worst.sort();
    assert_eq!(worst, ["k80", "k80", "t4", "t4"]);
    assert_eq!(compare_json(&place, &["run=1", "c"])["all"]["pairs"], 2);
}

fn assert_rejects(place: &Place, args: &[&str], reasons: &[&str]) {
    assert_exits(place, args, 2, reasons);
}

fn assert_exits(place: &Place, args: &[&str], expected: i32, reasons: &[&str]) {
    let all = [&["compare"], args].concat();
    let Ran {
        stderr,
        code,
        stdout,
    } = place.tsql(&all);
    assert_eq!(
        (code, stdout.as_str()),
        (Some(expected), ""),
        "{args:?}: {stderr}"
    );
    for reason in reasons {
        assert!(stderr.contains(reason), "{args:?}: {stderr}");
    }
}

#[test]
#[ignore = "full tier"]
fn invalid_sides_are_reported() {
    let place = nights(&[1.0, 1.0]);
    place.ok(&["tag", "create", "k80"]);
    let elsewhere = record(5000, 1.0, FIRST);
    let other = [
        "append",
        "--stream",
        "x",
        "--platform",
        "t4",
        "--input-format",
        "measured",
    ];
    assert_eq!(
        place.tsql_with_input(&other, elsewhere.as_bytes()).code,
        Some(0)
    );
    for (args, reasons) in [
        (
            ["k80", "t4"],
            [
                "`k80` is ambiguous: it is a platform and a tag",
                "`platform:k80` or `tag:k80`",
            ]
            .as_slice(),
        ),
        (
            ["k81", "t4"],
            &[
                "named `k81`",
                "platforms k80, t4",
                "tags k80, v1.0",
                "labels night=7, night=8",
                "3 sources",
            ],
        ),
        (["tag:t4", "t4"], &["no tag named `t4`", "hint: there are"]),
        (["label:night=9", "t4"], &["no label named `night=9`"]),
        (["source:night-?9*", "t4"], &["no source named"]),
        (
            ["time:yesterday..", "t4"],
            &["not a time range", "2026-11-01..2026-11-08"],
        ),
        (["tag:v1.0 AND tag:k80", "t4"], &["has two tags"]),
        (["", "t4"], &["has an empty term"]),
        (["where:nosuch = 1", "t4"], &["nosuch"]),
        (["where:1 = 1) OR (", "t4"], &["error"]),
    ] {
        assert_rejects(&place, &args, reasons);
    }
    // Nothing compared is never a pass.
    for (args, reasons) in [
        (
            ["2020-01-01..2021-01-01", "t4"],
            [
                "nothing was compared",
                "no records match `2020-01-01..2021-01-01`",
            ],
        ),
        (
            ["platform:k80", "t4"],
            ["no configuration of a graph in common", "2 and 1"],
        ),
        (
            ["night-7", "night-7"],
            ["have the same records", "2 configurations"],
        ),
    ] {
        assert_exits(&place, &args, 4, &reasons);
    }
    assert_rejects(
        &place,
        &["night-7", "night-8", "--plot", "x.gif"],
        &["FILE.svg or FILE.png"],
    );
    assert_rejects(
        &place,
        &["night-7", "night-8", "--fail-on-regression", "much"],
        &["not a percentage"],
    );
    let empty = Place::new();
    empty.ok(&["init"]);
    assert_rejects(
        &empty,
        &["k80", "t4"],
        &["no platforms; no tags; no labels; 0 sources"],
    );
    let nothing = Place::new();
    assert_rejects(&nothing, &["k80", "t4"], &["no store here"]);
}

#[test]
fn builds_have_no_pairs_and_the_hint_names_their_comparison() {
    let place = Place::new();
    for (stream, build) in [("o1", "cc -O1"), ("o3", "cc -O3")] {
        let mut line: Value = serde_json::from_str(&record(0, 1e6, 7)).unwrap();
        line["build"] = json!(build);
        let mut args = vec!["append", "--stream", stream, "--platform", "k80"];
        args.extend(["--input-format", "measured"]);
        let ran = place.tsql_with_input(&args, format!("{line}\n").as_bytes());
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    }
    let difference = "the same steps, but not the same build (`cc -O1` and `cc -O3`)";
    let reasons = [difference, "hint: `tsql measure pair`"];
    assert_exits(&place, &["o1", "o3"], 4, &reasons);
}

#[test]
#[ignore = "full tier"]
fn a_regression_over_the_limit_exits_with_code_3() {
    let code = |factors: &[f64], args: &[&str]| {
        let place = nights(factors);
        let all = [&["compare", "night-7", "night-8", "--rule", "ranks"], args].concat();
        let ran = place.tsql(&all);
        (ran.code, ran.stderr)
    };
    let allowed = ["--fail-on-regression", "5%"];
    // Without the option nothing fails.
    assert_eq!(code(&[2.0, 2.0], &[]).0, Some(0));
    assert_eq!(code(&[1.0, 1.04, 0.5], &allowed).0, Some(0));
    // One of many pairs, by at least 5 %.
    let many = [[1.0; 9].as_slice(), &[1.08]].concat();
    let (failed, stderr) = code(&many, &allowed);
    assert_eq!(failed, Some(3), "{stderr}");
    assert!(
        stderr.contains("regression: 1 pair slower by more than 5 %\n"),
        "{stderr}"
    );
    assert_eq!(code(&many, &["--fail-on-regression", "10%"]).0, Some(0));
    // Below the default threshold of a change.
    let (failed, stderr) = code(&[1.01, 1.0, 1.0], &["--fail-on-regression", "0.5%"]);
    assert_eq!(failed, Some(3), "{stderr}");
    // A pair that newly fails is a regression. A pair that newly works is none.
    let (failed, stderr) = code(&[1.0, 0.0, 1.0], &allowed);
    assert_eq!(failed, Some(3), "{stderr}");
    assert!(stderr.contains("1 pair newly failing"), "{stderr}");
    let place = nights(&[1.0, 0.0, 1.0]);
    assert_eq!(
        place
            .tsql(&[
                "compare",
                "night-8",
                "night-7",
                "--rule",
                "ranks",
                "--fail-on-regression",
                "5%"
            ])
            .code,
        Some(0)
    );
    let found = compare_json(&place, &["night-8", "night-7"]);
    assert_eq!(
        (&found["newly_working"], &found["newly_failing"]),
        (&json!(1), &json!(0))
    );
    assert_eq!(found["fixes"][0]["error_no"], 4);
}

#[test]
fn single_repeats_are_unclear_but_pooled_ones_are_not() {
    let place = Place::new();
    for (stream, factor) in [("a", 1.0), ("b", 1.2), ("c", 1.03)] {
        let mut lines = String::new();
        for tile in 0..20 {
            let ns = 1000.0 * factor * (1.0 + 0.002 * f64::from(tile));
            let line =
                json!({"workload_key": ["mm", 1], "steps": {"TILE": tile}, "repeats_ns": [ns]});
            writeln!(lines, "{line}").unwrap();
        }
        let args = [
            "append",
            "--stream",
            stream,
            "--platform",
            "k80",
            "--input-format",
            "measured",
        ];
        assert_eq!(place.tsql_with_input(&args, lines.as_bytes()).code, Some(0));
    }
    let gate = |b| {
        let args = [
            "compare",
            "a",
            b,
            "--rule",
            "ranks",
            "--fail-on-regression",
            "5%",
        ];
        place.tsql(&args)
    };
    let ran = gate("b");
    assert_eq!(ran.code, Some(3), "{}", ran.stderr);
    assert!(
        ran.stderr.contains("0 the same, 20 unclear"),
        "{}",
        ran.stderr
    );
    assert!(
        ran.stderr.contains("hint: there are too few repeats"),
        "{}",
        ran.stderr
    );
    assert!(
        ran.stderr
            .contains("regression: geometric mean slower by more than 5 %"),
        "{}",
        ran.stderr
    );
    assert!(
        ran.stdout.starts_with("kind,name,pairs,speedup,"),
        "{}",
        ran.stdout
    );
    assert_eq!(gate("c").code, Some(0));
}

#[test]
#[ignore = "full tier"]
fn results_are_tables_documents_and_plots() {
    let place = nights(&[1.5, 0.5, 1.0, 0.0]);
    let table = place
        .ok(&[
            "compare", "night-7", "night-8", "--rule", "ranks", "--format", "markdown",
        ])
        .stdout;
    for text in [
        "| all |",
        "| operator | mm |",
        "| newly failing |",
        "| regression | slower |",
        "| gain | faster |",
    ] {
        assert!(table.contains(text), "{text}: {table}");
    }
    let csv = place
        .ok(&[
            "compare", "night-7", "night-8", "--rule", "ranks", "--pairs", "--top", "1",
        ])
        .stdout;
    let rows: Vec<&str> = csv.lines().collect();
    assert_eq!(rows.len(), 4, "{csv}");
    assert!(rows[1].starts_with("regression,slower,0.66"), "{csv}");
    assert!(rows[2].starts_with("gain,faster,2.0"), "{csv}");
    assert!(rows[3].starts_with("newly failing,failed,"), "{csv}");
    assert!(rows[3].contains("TILE"), "{csv}");
    place.ok(&[
        "compare",
        "night-7",
        "night-8",
        "--rule",
        "ranks",
        "-o",
        "found.json",
        "--plot",
        "found.svg",
    ]);
    let found: Value = serde_json::from_slice(&place.read("found.json")).unwrap();
    assert_eq!(found["a"]["records"], 4);
    assert_eq!(found["failures"][0]["workload_key"], r#"["mm", {"M": 1}]"#);
    let svg = String::from_utf8(place.read("found.svg")).unwrap();
    for text in [
        "night-8 against night-7",
        "slower (1)",
        "faster (1)",
        "same (1)",
        "by operator",
        "mm (3)",
    ] {
        assert!(svg.contains(text), "{text}");
    }
    place.ok(&[
        "compare",
        "night-7",
        "night-8",
        "-o",
        "found.csv",
        "--plot",
        "found.PNG",
    ]);
    assert!(place.read("found.PNG").starts_with(b"\x89PNG"));
    assert!(place.read("found.csv").starts_with(b"kind,name,pairs,"));
}
