//! Documents of benchmark tools in JSON.

use tsql_autotuners::{End, FailureKind, Format, ReadOptions, Status};

use crate::{
    at, attribute, configuration, format_of, kernel, metric, problem, read, read_with, run, time_ns,
};

/// A document of Google Benchmark with these rows.
fn google(rows: &str) -> String {
    format!(
        r#"{{"context": {{"date": "2025-02-03T04:05:06+01:00", "host_name": "toy", "num_cpus": 2}},
"benchmarks": [
{rows}
]}}"#
    )
}

#[test]
fn rows_of_one_run_are_one_record_and_aggregates_none() {
    let file = read(&google(
        r#"{"name": "Sort<int>/wide/n:64/8/repeats:2/real_time/threads:4", "run_name": "Sort<int>/wide/n:64/8/repeats:2/real_time/threads:4", "run_type": "iteration", "repetition_index": 0, "iterations": 10, "real_time": 3.0, "cpu_time": 5.0, "time_unit": "us", "bytes_per_second": 7.0, "hits": 1, "label": "cold"},
{"name": "Sort<int>/wide/n:64/8/repeats:2/real_time/threads:4", "run_name": "Sort<int>/wide/n:64/8/repeats:2/real_time/threads:4", "run_type": "iteration", "repetition_index": 1, "iterations": 12, "real_time": 5.0, "cpu_time": 6.0, "time_unit": "us", "bytes_per_second": 9.0, "hits": 2, "label": "cold"},
{"name": "Sort<int>/wide/n:64/8/repeats:2/real_time/threads:4_cv", "run_name": "Sort<int>/wide/n:64/8/repeats:2/real_time/threads:4", "run_type": "aggregate", "aggregate_name": "cv", "aggregate_unit": "percentage", "iterations": 2, "real_time": 0.25, "cpu_time": 0.1, "time_unit": "us"},
{"name": "Sort<int>/wide_BigO", "run_name": "Sort<int>/wide", "run_type": "aggregate", "aggregate_name": "BigO", "cpu_coefficient": 1.5, "real_coefficient": 2.5, "big_o": "N", "time_unit": "ns"}"#,
    ));
    assert_eq!(file.trials.len(), 1);
    let trial = &file.trials[0];
    assert_eq!(kernel(trial), "Sort<int>/wide");
    assert_eq!(configuration(trial), r#"{"n": 64, "1": 8, "threads": 4}"#);
    assert_eq!(time_ns(trial), Some(4000.0));
    assert_eq!(trial.repeats.as_ref().unwrap().values.len(), 2);
    assert_eq!(metric(trial, "cpu_time"), (vec![5.0, 6.0], "us".to_owned()));
    assert_eq!(metric(trial, "bytes_per_second").1, "B/s");
    assert_eq!(metric(trial, "hits").0, [1.0, 2.0]);
    assert_eq!(run(trial, "statistic").unwrap(), "mean");
    assert_eq!(attribute(trial, "label").unwrap(), r#""cold""#);
    assert_eq!(trial.platform.as_ref().unwrap().name, "toy");
    assert!(file.rejected.is_empty() && file.warnings.is_empty());
}

#[test]
fn aggregates_alone_are_records_of_their_mean() {
    let row = |name: &str, time: &str| {
        format!(
            r#"{{"name": "F/3_{name}", "run_name": "F/3", "run_type": "aggregate", "aggregate_name": "{name}", "iterations": 5, "real_time": {time}, "cpu_time": 1.0, "time_unit": "ms"}}"#
        )
    };
    let rows = [
        row("mean", "2.5"),
        row("median", "2.25"),
        row("min", "2.0"),
        row("stddev", "0.5"),
    ];
    let file = read(&google(&rows.join(",\n")));
    assert_eq!(file.trials.len(), 1);
    let trial = &file.trials[0];
    assert_eq!(time_ns(trial), Some(2.5e6));
    assert!(trial.repeats.is_none());
    assert_eq!(metric(trial, "time_median").0, [2.25]);
    assert_eq!(metric(trial, "time_min"), (vec![2.0], "ms".to_owned()));
    assert!(metric(trial, "iterations").0.is_empty());
}

#[test]
fn rows_before_run_types_are_aggregates_by_name_only_beside_their_run() {
    let row = |name: &str| {
        format!(
            r#"{{"name": "{name}", "iterations": 5, "real_time": 2.0, "cpu_time": 1.0, "time_unit": "ns"}}"#
        )
    };
    let rows = ["A", "A_mean", "A_stddev", "find_mean", "B_mean", "B_median"].map(row);
    let file = read(&google(&rows.join(",\n")));
    let names: Vec<&str> = file.trials.iter().map(kernel).collect();
    assert_eq!(names, ["A", "find_mean", "B"]);
    assert_eq!(run(&file.trials[2], "statistic").unwrap(), "mean");
}

#[test]
fn failures_and_times_that_are_none_of_google_benchmark_have_no_time() {
    let file = read(&google(
        r#"{"name": "E", "run_name": "E", "run_type": "iteration", "error_occurred": true, "error_message": "no device", "iterations": 0, "real_time": 0, "cpu_time": 0, "time_unit": "ns"},
{"name": "S", "run_name": "S", "run_type": "iteration", "skipped": true, "skip_message": "too small", "iterations": 0, "real_time": 0, "cpu_time": 0, "time_unit": "ns"},
{"name": "N", "run_name": "N", "run_type": "iteration", "iterations": 1, "real_time": NaN, "cpu_time": -Infinity, "time_unit": "ns"},
{"name": "Z", "run_name": "Z", "run_type": "iteration", "iterations": 1, "real_time": -3.5, "cpu_time": 1, "time_unit": "ns"},
{"name": "U", "run_name": "U", "run_type": "iteration", "iterations": 1, "real_time": 2, "cpu_time": 1, "time_unit": "cycles"},
{"name": "R", "run_name": "R", "run_type": "iteration", "iterations": 1, "real_time": 2, "cpu_time": 1, "time_unit": "s", "_factor": 1.5}"#,
    ));
    let statuses: Vec<&Status> = file.trials.iter().map(|trial| &trial.status).collect();
    assert!(
        matches!(statuses[0], Status::Failed { kind: FailureKind::Runtime, word, .. } if word == "no device")
    );
    assert!(matches!(statuses[1], Status::Unmeasured { reason } if reason == "too small"));
    assert!(matches!(statuses[2], Status::Unmeasured { reason } if reason.contains("NaN")));
    assert!(matches!(statuses[3], Status::Unmeasured { reason } if reason.contains("-3.5")));
    assert_eq!(
        file.trials[4].time.as_ref().map(|time| time.seconds()),
        Some(2.0)
    );
    assert_eq!(
        file.trials
            .iter()
            .filter(|trial| trial.time.is_some())
            .count(),
        1
    );
    assert_eq!(file.rejected, ["7: `U`: unknown time unit `cycles`"]);
    assert_eq!(
        file.warnings,
        ["8: Google Benchmark writes no field `_factor`"]
    );
    assert!(file.document.is_edited);
}

#[test]
fn a_truncated_document_gives_its_complete_records() {
    let whole = google(
        r#"{"name": "A", "run_type": "iteration", "real_time": 2, "time_unit": "ns"},
{"name": "B", "run_type": "iteration", "real_time": 2, "time_unit": "ns"}"#,
    );
    for length in 0..whole.len() {
        let content = &whole.as_bytes()[..length];
        if format_of(content).is_some() {
            let file = read_with(content, ReadOptions::default());
            assert!(file.trials.len() <= 2);
            let is_reported = file.error.is_some() || !file.rejected.is_empty();
            assert!(is_reported, "{length}");
        }
    }
    let cut = &whole.as_bytes()[..whole.len() - 20];
    let file = read_with(cut, ReadOptions::default());
    assert_eq!(file.trials.len(), 1);
    assert_eq!(file.document.end, End::Truncated);
}

const PYTEST: &str = r#"{"machine_info": {"node": "n1", "cpu": {"brand_raw": "Toy CPU @ 1.0GHz"}},
"commit_info": {"id": "abc123", "dirty": true, "branch": "b"},
"benchmarks": [
{"group": null, "name": "test_a[x-3]", "fullname": "t/f.py::test_a[x-3]", "params": {"kind": "x", "n": 3}, "extra_info": {"rows": 7, "why": "text"}, "options": {}, "stats": {"min": 0.25, "max": 1.0, "mean": 0.5, "stddev": 0.125, "median": 0.375, "iqr": 0.5, "rounds": 2, "iterations": 4, "ops": 2.0, "data": [0.25, 0.75]}},
{"name": "test_b[y]", "fullname": "t/f.py::test_b[y]", "param": "y", "stats": {"min": 0.25, "max": 1.0, "mean": 0.5, "median": 0.375, "rounds": 3, "data": [0.25, "... omitted"]}},
{"name": "test_c", "fullname": "t/f.py::test_c", "stats": {"min": 0.25, "mean": 0.5, "median": 0.375, "rounds": 3, "data": [0.25]}},
{"name": "test_d", "fullname": "t/f.py::test_d", "stats": {"min": 0, "mean": 0.0, "rounds": 3}},
{"name": "test_e", "fullname": "t/f.py::test_e"}
], "datetime": "2025-01-02T03:04:05.5", "version": "4.0.0"}"#;

#[test]
fn rounds_of_pytest_benchmark_are_repeats_if_all_are_there() {
    let file = read(PYTEST);
    assert_eq!(file.trials.len(), 4);
    let trial = &file.trials[0];
    assert_eq!(kernel(trial), "t/f.py::test_a");
    assert_eq!(configuration(trial), r#"{"kind": "x", "n": 3}"#);
    assert_eq!(time_ns(trial), Some(0.5e9));
    assert_eq!(trial.repeats.as_ref().unwrap().values.len(), 2);
    assert_eq!(metric(trial, "extra_info.rows").0, [7.0]);
    assert_eq!(metric(trial, "ops"), (vec![2.0], "1/s".to_owned()));
    assert!(metric(trial, "min").0.is_empty());
    assert_eq!(run(trial, "commit").unwrap(), "abc123");
    assert_eq!(run(trial, "dirty").unwrap(), "true");
    assert_eq!(trial.platform.as_ref().unwrap().name, "Toy CPU @ 1.0GHz");
    assert_eq!(
        trial.timestamp.as_deref(),
        Some("2025-01-02T03:04:05.5+00:00")
    );
    assert_eq!(configuration(&file.trials[1]), r#"{"param": "y"}"#);
    assert!(file.trials[1].repeats.is_none());
    assert_eq!(metric(&file.trials[1], "median").0, [0.375]);
    assert!(file.trials[3].time.is_none());
    assert_eq!(
        file.warnings,
        [
            "5: `data` has a value that is no number: its rounds are left out",
            "6: `data` has 1 values, `rounds` is 3: its rounds are left out"
        ]
    );
    assert_eq!(file.rejected, ["8: no `stats`"]);
}

#[test]
fn failed_runs_of_hyperfine_have_repeats_and_no_time() {
    let file = read(
        r#"{"results": [
{"command": "sleep 0.5 --n 4 x4", "mean": 0.75, "stddev": null, "median": 0.75, "user": 0.25, "system": 0.125, "min": 0.5, "max": 1.0, "times": [0.5, 1.0], "memory_usage_byte": [64, 128], "exit_codes": [0, 0], "parameters": {"count": "4"}},
{"command": "false", "mean": 0.5, "stddev": 0.1, "user": 0.2, "system": 0.1, "times": [0.5, 0.5], "exit_codes": [0, 3]},
{"command": "abort", "mean": 0.5, "times": [0.5], "exit_codes": [null]},
{"command": "short", "mean": 0.25, "min": 0.125, "median": 0.25},
{"command": "text", "mean": 0.25, "times": [0.25, "..."]}
]}"#,
    );
    let trial = &file.trials[0];
    assert_eq!(kernel(trial), "sleep 0.5 --n {count} x4");
    assert_eq!(configuration(trial), r#"{"count": "4"}"#);
    assert_eq!(metric(trial, "memory_usage_byte").0, [64.0, 128.0]);
    assert!(metric(trial, "stddev").0.is_empty());
    assert_eq!(time_ns(trial), Some(0.75e9));
    for (index, expected) in [(1, "exit code 3"), (2, "ended by a signal")] {
        let trial = &file.trials[index];
        assert!(trial.time.is_none() && trial.repeats.is_some());
        assert!(
            matches!(&trial.status, Status::Failed { kind: FailureKind::Runtime, word, .. } if word == expected)
        );
    }
    assert_eq!(
        metric(&file.trials[3], "min"),
        (vec![0.125], "s".to_owned())
    );
    assert_eq!(file.rejected, ["6: `times` has a value that is no number"]);
}

#[test]
fn samples_of_criterion_have_the_names_beside_them() {
    let sample = r#"{"sampling_mode":"Linear","iters":[2.0,4.0],"times":[20.0,60.0]}"#;
    assert_eq!(format_of(sample.as_bytes()), Some(Format::CriterionSample));
    let names = r#"{"group_id":"a::b","function_id":"f","value_str":"64","throughput":{"Bytes":8},"full_id":"x","directory_name":"x","title":"x"}"#;
    let estimates = r#"{"mean":{"point_estimate":12.5},"slope":{"point_estimate":13.5}}"#;
    for part in [names, estimates, "[1.0,2.0,3.0,4.5]"] {
        assert_eq!(format_of(part.as_bytes()), Some(Format::CriterionPart));
    }
    let options = ReadOptions {
        companions: vec![
            ("benchmark.json".to_owned(), names.into()),
            ("estimates.json".to_owned(), estimates.into()),
        ],
        ..at("target/criterion/a__b/f/64/main/sample.json")
    };
    let file = read_with(sample.as_bytes(), options.clone());
    let trial = &file.trials[0];
    assert_eq!(
        (kernel(trial), problem(trial).as_str()),
        ("a::b", r#"{"function": "f"}"#)
    );
    assert_eq!(configuration(trial), r#"{"value": "64"}"#);
    // 20 / 2 and 60 / 4 ns.
    assert_eq!(time_ns(trial), Some(12.5));
    assert_eq!(metric(trial, "iterations").0, [2.0, 4.0]);
    assert_eq!(metric(trial, "slope"), (vec![13.5], "ns".to_owned()));
    assert_eq!(run(trial, "baseline").unwrap(), "main");
    assert!(file.warnings.is_empty());
    // Without companions the graph is unknown.
    let alone = read_with(sample.as_bytes(), ReadOptions::default());
    assert!(alone.trials[0].graph.kernel.is_none());
    for (wrong, reason) in [
        (
            r#"{"iters":[1.0],"times":[1.0,2.0]}"#,
            "2 times and 1 numbers of iterations",
        ),
        (r#"{"iters":[0.0],"times":[1.0]}"#, "1.0 in 0.0 iterations"),
        (
            r#"{"iters":[1.0],"times":["x"]}"#,
            "`times` is no list of numbers",
        ),
    ] {
        let file = read_with(wrong.as_bytes(), options.clone());
        let error = file.error.unwrap();
        assert!(error.contains(reason), "{error}");
    }
}

#[test]
fn messages_of_cargo_criterion_follow_one_another() {
    let file = read(
        r#"{"reason":"group-complete","group_name":"g"}
{"reason":"benchmark-complete","id":"g/f/3","iteration_count":[2,4],"measured_values":[4.0,12.0],"unit":"us","mean":{"estimate":2.5,"unit":"us"},"slope":{"estimate":2.75},"throughput":[{"per_iteration":5,"unit":"bytes"}],"change":{"mean":{"estimate":3.5,"unit":"%"},"change":"Improved"}}
{"reason":"benchmark-complete",
 "id":"plain","iteration_count":[1],"measured_values":[90.0],"unit":"cycles","mean":{"estimate":90.0},"change":null}
{"reason":"benchmark-complete","id":"cut","iteration_count":[1,1],"measured_values":[9.0],"unit":"ns","mean":{"estimate":9.0}}
{"reason":"benchmark-complete","id":"edited","iteration_count":[1],"measured_values":[9.0],"unit":"ns","mean":{"estimate":8.0}}
{"reason": oops}
{"reason":"benchmark-complete","id":"end"#,
    );
    assert_eq!(file.trials.len(), 3);
    let trial = &file.trials[0];
    assert_eq!(
        (kernel(trial), problem(trial).as_str()),
        ("g", r#"{"function": "f/3"}"#)
    );
    assert_eq!(time_ns(trial), Some(2500.0));
    assert_eq!(metric(trial, "change_of_mean"), (vec![3.5], "1".to_owned()));
    let cycles = &file.trials[1];
    assert!(cycles.time.is_none());
    assert_eq!(
        metric(cycles, "measured"),
        (vec![90.0], "cycles".to_owned())
    );
    assert_eq!(time_ns(&file.trials[2]), Some(8.0));
    assert_eq!(
        file.rejected,
        [
            "5: 1 times and 2 numbers of iterations",
            "7: expected a value",
            "8: the file ends inside a message"
        ]
    );
    assert_eq!(
        file.warnings,
        ["6: `edited`: its mean is not that of its measured values"]
    );
}

#[test]
fn units_of_jmh_decide_over_modes() {
    let result = |mode: &str, unit: &str, more: &str| {
        format!(
            r#"{{"jmhVersion": "1.37", "benchmark": "a.B.c", "mode": "{mode}", "threads": 2, "forks": 2, "params": {{"n": "10"}}, "primaryMetric": {{"score": 3.0, "scoreError": "NaN", "scoreUnit": "{unit}", "rawData": [[2.0], [4.0]]}}, "secondaryMetrics": {{{more}}}}}"#
        )
    };
    let results = [
        result(
            "avgt",
            "us/op",
            r#""·gc.alloc.rate.norm": {"score": 48.0, "scoreUnit": "B/op"}"#,
        ),
        result("thrpt", "ops/ms", ""),
        result("ss", "min/op", ""),
        result("thrpt", "s/op", ""),
        result("thrpt", "ops/fortnight", ""),
    ];
    let file = read(&format!("[\n{}\n]", results.join(",\n")));
    let times: Vec<Option<f64>> = file.trials.iter().map(time_ns).collect();
    assert_eq!(times, [Some(3000.0), None, Some(180e9), Some(3e9)]);
    let trial = &file.trials[0];
    assert_eq!(configuration(trial), r#"{"n": "10", "threads": 2}"#);
    assert_eq!(trial.repeats.as_ref().unwrap().values.len(), 2);
    assert!(metric(trial, "score_error").0.is_empty());
    assert_eq!(
        metric(trial, "·gc.alloc.rate.norm"),
        (vec![48.0], "B/op".to_owned())
    );
    assert_eq!(
        metric(&file.trials[1], "throughput"),
        (vec![2.0, 4.0], "ops/ms".to_owned())
    );
    assert_eq!(
        file.warnings,
        ["5: mode `thrpt` contradicts unit `s/op`: the unit counts"]
    );
    assert_eq!(file.rejected, ["6: unknown unit `ops/fortnight`"]);
}

#[test]
fn benchmarkdotnet_takes_original_values_and_jobs_of_shared_names() {
    let benchmark = |method: &str, job: &str, statistics: &str| {
        format!(
            r#"{{"DisplayInfo": "T.{method}: {job}", "Namespace": "N", "Type": "T", "Method": "{method}", "Parameters": "A=1&B=x y", "Statistics": {statistics}, "Memory": {{"BytesAllocatedPerOperation": 24, "Gen0Collections": 2}}}}"#
        )
    };
    let list = [
        benchmark(
            "M",
            "Job1",
            r#"{"OriginalValues": [1.0, 3.0], "Mean": 2.0, "Median": 2.0, "StandardDeviation": 1.0}"#,
        ),
        benchmark("M", "Job2", r#"{"Mean": 2.5, "Median": 2.25, "Min": 1.5}"#),
        benchmark("Failed", "Job1", "null"),
        benchmark("Zero", "Job1", r#"{"Mean": 0, "Median": 0}"#),
    ];
    let file = read(&format!(
        r#"{{"Title": "t", "HostEnvironmentInfo": {{"ProcessorName": {{"IsValueCreated": true, "Value": "Toy"}}, "BenchmarkDotNetVersion": "0.9"}},
"Benchmarks": [{}]}}"#,
        list.join(", ")
    ));
    let trial = &file.trials[0];
    assert_eq!(kernel(trial), "N.T.M");
    assert_eq!(
        configuration(trial),
        r#"{"A": "1", "B": "x y", "job": "Job1"}"#
    );
    assert_eq!(time_ns(trial), Some(2.0));
    assert_eq!(
        metric(trial, "BytesAllocatedPerOperation"),
        (vec![24.0], "B".to_owned())
    );
    assert_eq!(trial.platform.as_ref().unwrap().name, "Toy");
    assert_eq!(metric(&file.trials[1], "Min").0, [1.5]);
    assert_eq!(configuration(&file.trials[2]), r#"{"A": "1", "B": "x y"}"#);
    assert!(
        matches!(&file.trials[2].status, Status::Failed { word, .. } if word == "no statistics")
    );
    assert!(
        matches!(&file.trials[3].status, Status::Unmeasured { reason } if reason == "the time 0 is not positive")
    );
}
