//! Tables of kernel libraries.

use tsql_autotuners::{Detected, FailureKind, Format, ReadOptions, RunOptions, Status, detect};

use crate::{at, configuration, format_of, kernel, metric, problem, read, read_with, run, time_ns};

#[test]
fn operator_benchmarks_are_read_in_both_spellings() {
    for column in ["Benchamrking", "Benchmarking"] {
        let file = read(&format!(
            "Benchmarking Framework,{column} Module Name,Case Name,tag,run_backward,Execution Time\n\
             PyTorch,mul,mul_M2_cpu,short,FALSE,2.5\n\
             PyTorch,mul,mul_M2_cpu_bwdall_BACKWARD,short,True,0\n\
             PyTorch,mul,mul_M4_cpu,short,False,fast\n"
        ));
        assert_eq!(file.trials.len(), 2);
        let trial = &file.trials[0];
        assert_eq!(
            (kernel(trial), problem(trial).as_str()),
            ("mul", r#"{"case": "mul_M2_cpu"}"#)
        );
        assert_eq!(
            configuration(trial),
            r#"{"run_backward": false, "tag": "short"}"#
        );
        assert_eq!(time_ns(trial), Some(2500.0));
        assert!(file.trials[1].time.is_none());
        assert_eq!(
            file.rejected,
            ["4: `fast` in `Execution Time` is not a number"]
        );
    }
}

const LIGER: &str = "kernel_name,kernel_provider,kernel_operation_mode,metric_name,metric_unit,x_name,x_label,x_value,y_value_50,y_value_20,y_value_80,extra_benchmark_config_str,gpu_name,timestamp,liger_version\r\n";

#[test]
fn rows_of_liger_are_times_memory_or_failures() {
    let row = |metric: &str, value: &str| {
        format!(
            "geglu,liger,full,{metric},T,tokens,{value},0.25,0.75,\"{{\"\"dtype\"\": \"\"f\"\"}}\",Toy GPU,2025-01-01 01:02:03,0.5\r\n"
        )
    };
    let rows = [
        row("speed,ms", "1024,0.5"),
        row("memory,MB", "1024,8.5"),
        row("speed,ms", "2048,nan"),
        row("speed,lightyears", "2048,1.5"),
    ];
    let file = read(&format!("{LIGER}{}", rows.concat()));
    let trial = &file.trials[0];
    assert_eq!(
        (kernel(trial), problem(trial).as_str()),
        ("geglu", r#"{"mode": "full", "T": 1024, "dtype": "f"}"#)
    );
    assert_eq!(configuration(trial), r#"{"provider": "liger"}"#);
    assert_eq!(time_ns(trial), Some(500_000.0));
    assert_eq!(metric(trial, "p80"), (vec![0.75], "ms".to_owned()));
    assert_eq!(trial.platform.as_ref().unwrap().name, "Toy GPU");
    assert_eq!(run(trial, "liger_version").unwrap(), "0.5");
    assert!(file.trials[1].time.is_none());
    assert_eq!(
        metric(&file.trials[1], "memory"),
        (vec![8.5], "MiB".to_owned())
    );
    assert!(
        matches!(&file.trials[2].status, Status::Failed { kind: FailureKind::Unknown, word, .. } if word == "nan")
    );
    assert_eq!(file.rejected, ["5: unknown unit `lightyears`"]);
}

#[test]
fn values_of_perf_reports_are_no_times() {
    let content = "N,D,Mine,Other Lib,Diff\n64.000000,8.000000,0.500000,nan,0.250000\n128.000000,8.000000,,1.500000,0.250000\n";
    let options = ReadOptions {
        run: RunOptions {
            graph_parameters: vec!["D".to_owned()],
            ..RunOptions::default()
        },
        ..at("toy_gpu/norm-fwd.csv")
    };
    let file = read_with(content.as_bytes(), options);
    assert_eq!(file.trials.len(), 4);
    assert!(file.trials.iter().all(|trial| trial.time.is_none()));
    let trial = &file.trials[0];
    assert_eq!(
        (kernel(trial), problem(trial).as_str()),
        ("norm-fwd", r#"{"N": 64.000000, "D": 8.000000}"#)
    );
    assert_eq!(configuration(trial), r#"{"provider": "Mine"}"#);
    assert_eq!(trial.platform.as_ref().unwrap().name, "toy_gpu");
    assert_eq!(metric(trial, "value").0, [0.5]);
    assert!(matches!(&file.trials[1].status, Status::Unmeasured { reason } if reason == "nan"));
    assert!(matches!(&file.trials[2].status, Status::Unmeasured { reason } if reason == "empty"));
}

#[test]
fn other_tables_are_no_perf_reports() {
    for content in [
        "N,Mine\n64,0.5\n",
        "N,Mine\n64.0,fast\n",
        "N,Mine\n64.0\n",
        "1.0,2.0\n64.0,0.5\n",
        "N\n64.0\n",
        "N,Mine\n",
    ] {
        assert_eq!(detect(content.as_bytes()), Detected::Unknown, "{content}");
    }
}

#[test]
fn implementations_of_sglang_are_records_if_they_ran() {
    let content = "M,N,K,tilelang_ms,tilelang_tflops,kernel_type,baseline_ms,baseline_tflops,speedup,max_diff,deepgemm_ms,deepgemm_tflops\n\
        64,32,16,0.5,100.0,swap,0.25,200.0,2.0,0.125,nan,nan\n\
        64,32,,0.5,100.0,swap,0.25,200.0,2.0,0.125,nan,nan\n";
    assert_eq!(format_of(content.as_bytes()), Some(Format::Tilelang));
    let file = read(content);
    let configurations: Vec<String> = file.trials.iter().map(configuration).collect();
    assert_eq!(
        configurations,
        [
            r#"{"implementation": "tilelang"}"#,
            r#"{"implementation": "baseline:swap"}"#
        ]
    );
    assert_eq!(problem(&file.trials[0]), r#"{"M": 64, "N": 32, "K": 16}"#);
    assert_eq!(time_ns(&file.trials[1]), Some(250_000.0));
    assert_eq!(metric(&file.trials[0], "max_diff").0, [0.125]);
    assert_eq!(
        metric(&file.trials[1], "tflops"),
        (vec![200.0], "TFLOP/s".to_owned())
    );
    assert_eq!(file.rejected, ["3: no `K`"]);
}
