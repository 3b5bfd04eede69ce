//! Results that name commits and machines: asv, the PyTorch dashboard, github-action-benchmark.

use tsql_autotuners::{FailureKind, Format, ReadOptions, Status};

use crate::{
    at, attribute, configuration, format_of, kernel, metric, problem, read, read_with, run, time_ns,
};

const ASV_BENCHMARKS: &str = r#"{"s.time_a": {"type": "time", "unit": "seconds", "param_names": ["n", "kind"], "code": "x"},
"s.track_b": {"type": "track", "unit": "gflopss", "param_names": []}, "version": 2}"#;

fn asv(content: &str, path: &str) -> crate::File {
    let options = ReadOptions {
        companions: vec![("../benchmarks.json".to_owned(), ASV_BENCHMARKS.into())],
        ..at(path)
    };
    read_with(content.as_bytes(), options)
}

#[test]
fn asv_2_has_a_record_for_each_tuple_of_parameters() {
    assert_eq!(format_of(ASV_BENCHMARKS.as_bytes()), Some(Format::AsvPart));
    let machine = r#"{"arch": "a", "cpu": "c", "machine": "m1", "version": 1}"#;
    assert_eq!(format_of(machine.as_bytes()), Some(Format::AsvPart));
    let content = r#"{"commit_hash": "cafe", "env_name": "e", "params": {"machine": "m1", "cpu": "Toy"}, "python": "3.12",
"result_columns": ["result", "params", "version", "started_at", "duration", "stats_number", "samples"],
"results": {
"s.time_a": [[0.5, null, NaN, 0.25], [["1", "2"], ["'x'", "'y'"]], "v1", 1700000000123, 2.0, [3, null, null, 4], [[0.25, 0.75], null, null, null]],
"s.track_b": [[1.5], []],
"old.time_c": [null, [["7", "8"]]],
"old.mem_d": [[64], [["7"]]],
"old.time_e": [[1.0, 2.0], [["7"]]],
"old.time_f": ["text"]
}, "version": 2}"#;
    let file = asv(content, "results/m1/cafe0000-e.json");
    assert_eq!(file.trials.len(), 8);
    let configurations: Vec<String> = file.trials.iter().map(configuration).collect();
    assert_eq!(configurations[1], r#"{"n": "1", "kind": "'y'"}"#);
    assert_eq!(configurations[2], r#"{"n": "2", "kind": "'x'"}"#);
    assert_eq!(configurations[5], r#"{"0": "7"}"#);
    let first = &file.trials[0];
    assert_eq!((kernel(first), time_ns(first)), ("s.time_a", Some(0.5e9)));
    assert_eq!(first.repeats.as_ref().unwrap().values.len(), 2);
    assert_eq!(metric(first, "number").0, [3.0]);
    assert_eq!(first.timestamp.as_deref(), Some("1700000000123"));
    assert_eq!(run(first, "statistic").unwrap(), "median");
    assert_eq!(run(first, "commit").unwrap(), "cafe");
    assert_eq!(attribute(first, "version").unwrap(), r#""v1""#);
    assert_eq!(first.platform.as_ref().unwrap().name, "Toy");
    assert!(
        matches!(&file.trials[1].status, Status::Failed { kind: FailureKind::Unknown, word, .. } if word == "null")
    );
    assert!(matches!(&file.trials[2].status, Status::Unmeasured { reason } if reason == "NaN"));
    assert_eq!(
        metric(&file.trials[4], "flop_rate"),
        (vec![1.5], "gflopss".to_owned())
    );
    assert!(file.trials[4].time.is_none());
    assert_eq!(metric(&file.trials[7], "mem").0, [64.0]);
    assert_eq!(
        file.rejected,
        [
            "8: `old.time_e`: 2 results of 1 points",
            "9: `old.time_f`: a result that is no list"
        ]
    );
    let other = asv(content, "results/m2/cafe0000-e.json");
    assert!(other.trials.is_empty());
    assert_eq!(
        other.error.unwrap(),
        "1: the machine `m1` is not that of its folder `m2`"
    );
}

#[test]
fn asv_1_has_values_and_objects() {
    let content = r#"{"commit_hash": "cafe", "params": {"machine": "m1"}, "results": {
"s.time_z": 0.125, "s.time_y": null, "s.time_x": NaN,
"s.time_a": {"params": [["1"], ["'x'", "'y'"]], "result": [0.5, 0.25], "samples": [[0.5], [0.25, 0.25]]},
"s.time_w": {"params": [], "result": 2.0}
}, "started_at": {"s.time_z": 1700000000999}, "version": 1}"#;
    let file = asv(content, "m1/f.json");
    let times: Vec<Option<f64>> = file.trials.iter().map(time_ns).collect();
    assert_eq!(
        times,
        [
            Some(0.125e9),
            None,
            None,
            Some(0.5e9),
            Some(0.25e9),
            Some(2e9)
        ]
    );
    assert_eq!(file.trials[4].repeats.as_ref().unwrap().values.len(), 2);
    assert_eq!(file.trials[0].timestamp.as_deref(), Some("1700000000999"));
    assert_eq!(file.trials[0].platform.as_ref().unwrap().name, "m1");
    assert!(file.rejected.is_empty());
}

#[test]
fn more_points_than_bytes_are_one_failure() {
    let list = r#"["1","2","3","4","5","6","7","8","9"]"#;
    let content = format!(
        r#"{{"commit_hash": "c", "params": {{"machine": "m1"}}, "result_columns": ["result", "params"], "results": {{"s.time_a": [null, [{list},{list},{list},{list},{list}]]}}, "version": 2}}"#
    );
    let file = asv(&content, "m1/f.json");
    assert_eq!(file.trials.len(), 1);
    assert!(
        matches!(&file.trials[0].status, Status::Failed { word, .. } if word == "null (59049 points)")
    );
}

#[test]
fn values_of_the_dashboard_are_of_shapes_and_no_repeats() {
    let file = read(
        r#"[
{"benchmark": {"name": "B", "dtype": "bf16", "extra_info": {"device": "Toy GPU"}}, "model": {"name": "softmax", "backend": "h"}, "metric": {"name": "helion_speedup", "unit": "x", "benchmark_values": [1.5, null, NaN]}, "shape": ["[1, 2]", "[3, 4]", "[5, 6]"]},
{"benchmark": {}, "model": {"name": "m"}, "metric": {"name": "latency", "benchmark_values": [2.5]}},
{"benchmark": {}, "model": {"name": "m"}, "metric": {"name": "latency", "benchmark_values": ["x"]}}
]"#,
    );
    assert_eq!(file.trials.len(), 4);
    let trial = &file.trials[0];
    assert_eq!(
        (kernel(trial), problem(trial).as_str()),
        ("softmax", r#"{"dtype": "bf16"}"#)
    );
    assert_eq!(
        configuration(trial),
        r#"{"backend": "h", "shape": "[1, 2]"}"#
    );
    assert_eq!(metric(trial, "helion_speedup"), (vec![1.5], "x".to_owned()));
    assert!(
        file.trials
            .iter()
            .all(|trial| trial.time.is_none() && trial.repeats.is_none())
    );
    assert_eq!(configuration(&file.trials[3]), r#"{"shape": 0}"#);
    assert_eq!(
        file.rejected,
        ["4: `benchmark_values` has a value that is no number"]
    );
}

#[test]
fn histories_of_github_actions_have_commits_and_no_addresses() {
    let run_of = |tool: &str, benches: &str| {
        format!(
            r#"{{"commit": {{"author": {{"email": "a@example.org", "name": "A"}}, "id": "c0ffee"}}, "date": 1700000000000, "tool": "{tool}", "benches": [{benches}]}}"#
        )
    };
    let runs = [
        run_of(
            "cargo",
            r#"{"name": "f", "value": 120, "unit": "ns/iter", "range": "± 3"}"#,
        ),
        run_of(
            "pytest",
            r#"{"name": "p", "value": 50, "unit": "iter/sec"}"#,
        ),
        run_of(
            "googlecpp",
            r#"{"name": "g_mean", "value": 3, "unit": "us/iter"}, {"name": "g_stddev", "value": 1, "unit": "us/iter"}"#,
        ),
        run_of(
            "customBiggerIsBetter",
            r#"{"name": "q", "value": 5, "unit": "s"}, {"name": "r", "value": "5", "unit": "s"}"#,
        ),
    ];
    let content = format!(
        r#"window.BENCHMARK_DATA = {{"lastUpdate": 1, "entries": {{"Suite": [{}]}}}};"#,
        runs.join(",")
    );
    for content in [
        content.as_str(),
        content.trim_start_matches("window.BENCHMARK_DATA = "),
    ] {
        let file = read(content);
        let times: Vec<Option<f64>> = file.trials.iter().map(time_ns).collect();
        assert_eq!(times, [Some(120.0), None, Some(3000.0), None]);
        let trial = &file.trials[0];
        assert_eq!(
            (kernel(trial), problem(trial).as_str()),
            ("Suite", r#"{"name": "f"}"#)
        );
        assert_eq!(run(trial, "commit").unwrap(), "c0ffee");
        assert_eq!(trial.timestamp.as_deref(), Some("1700000000000"));
        assert_eq!(
            metric(&file.trials[1], "value"),
            (vec![50.0], "iter/sec".to_owned())
        );
        assert_eq!(file.rejected, ["1: `r`: a value that is no number"]);
        assert!(
            file.document
                .settings
                .iter()
                .all(|(_, value)| !value.to_json().contains('@'))
        );
    }
}
