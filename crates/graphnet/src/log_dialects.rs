//! Logs without `[Processing]`: those of two backends, in the format of upstream's `eval_backend_diff.py` (2026-05),
//! and those of its test compiler of 2025-08.

use super::log::lines::{RunColumns, pack, unpack};
use super::log::{LogParser, Run, passing_tolerances, stated_status, upstream_status};

const PROMPT: &str = "graph-net-bench-log";

fn parse(log: &str) -> Vec<Run> {
    let mut parser = LogParser::new();
    for line in log.split_inclusive('\n') {
        parser.push_line(line.as_bytes());
    }
    let runs = parser.finish();
    assert_eq!(parser.stray_lines(), 0);
    runs
}

/// Log of one backend, with trials of this many milliseconds.
fn side(model: &str, compiler: &str, milliseconds: Option<f64>) -> String {
    let mut log = String::new();
    for (key, value) in [
        ("model", model),
        ("seed", "123"),
        ("device", "cuda"),
        ("hardware", "NVIDIA A100-SXM4-40GB"),
        ("op_lib", "None"),
        ("compiler", compiler),
        ("warmup", "3"),
        ("trials", "2"),
        ("compile_framework_version", "2.7.1"),
    ] {
        log += &format!("{PROMPT} [Config] {key}: {value}\n");
    }
    let Some(time) = milliseconds else {
        return log
            + &format!(
                "Run model failed: out of memory\n{PROMPT} [Result][status] eager:failed\n"
            )
            + &format!("{PROMPT} [Performance][eager]: {{}}\n\n");
    };
    log += "[Profiling] Warm up 3, Trials 2\n";
    for trial in 1..=2 {
        log += &format!(
            "Trial {trial}: e2e={time:.5} ms, gpu={:.5} ms\n",
            time / 2.0
        );
    }
    log + &format!(
        "{PROMPT} [Result][status] eager:success\n{}\n",
        performance("eager", time)
    )
}

fn performance(side: &str, time: f64) -> String {
    format!(
        "{PROMPT} [Performance][{side}]: {{\"e2e\": {{\"median\": {time}, \"mean\": {time}}}}}\n"
    )
}

fn comparison(reference: f64, target: f64) -> String {
    let line = |text: &str| format!("{PROMPT} {text}\n");
    line("[Datatype][eager]: float32")
        + &line("[Datatype][compiled]: float32")
        + &line("[DataType] eager:['float32'] compiled:['float32'] match:True")
        + &line("[Correctness][equal]: 0")
        + &line("[Correctness][all_close_atol_1.00E-05_rtol_1.30E-06]: 1")
        + &line("[Correctness][max_diff]: 4.76837158203125e-07")
        + &performance("eager", reference)
        + &performance("compiled", target)
        + &line(&format!("[Speedup][e2e]: {:.5}", reference / target))
}

fn paths(folder: &str, name: &str) -> String {
    format!(
        "Log path: /tmp/eval_perf_diff/{folder}/{name}.log\nOutputs path: /tmp/eval_perf_diff/{folder}/{name}.pth\n"
    )
}

/// Log of a sample under both backends. A target without a time failed, and so did the comparison.
fn comparison_log(name: &str, target: Option<f64>) -> String {
    let sides = paths("reference", name) + &side(name, "nope", Some(4.0)) + &paths("target", name);
    let tail = match target {
        Some(time) => comparison(4.0, time),
        None => "Traceback (most recent call last):\nFileNotFoundError: x.pth\n".to_owned(),
    };
    sides + &side(name, "inductor", target) + &tail
}

fn assert_compared(run: &Run) {
    assert_eq!(
        (
            run.config_value("compiler"),
            run.config_value("reference_compiler")
        ),
        (Some("inductor"), Some("nope"))
    );
    assert_eq!(
        run.config_value("reference_model"),
        None,
        "common values are not repeated"
    );
    assert_eq!(
        (run.e2e_speedup, stated_status(run), upstream_status(run)),
        (Some(2.0), Some("success"), "correct")
    );
    let times = |block: &super::log::TrialBlock| {
        block
            .trials
            .iter()
            .map(|trial| trial.e2e_ms)
            .collect::<Vec<_>>()
    };
    assert_eq!(
        (times(&run.eager), times(&run.compiled)),
        (vec![4.0; 2], vec![2.0; 2])
    );
    let mean =
        |side: &Option<super::log::Performance>| side.as_ref().and_then(|side| side.e2e_mean);
    assert_eq!(
        (
            mean(&run.eager_performance),
            mean(&run.compiled_performance)
        ),
        (Some(4.0), Some(2.0))
    );
    assert_eq!(run.correctness.len(), 3);
}

#[test]
fn samples_under_two_backends_are_a_record_each() {
    let log = "[0] eval_backend_diff, model_path: /s/samples/timm/a\n".to_owned()
        + &comparison_log("a", Some(2.0))
        + "[1] eval_backend_diff, model_path: /s/samples/timm/b\n"
        + &comparison_log("b", None)
        + "[2] eval_backend_diff, model_path: /s/samples/timm/c\nno such file\n"
        + "Totally 3 verified samples, failed 2 samples.\n- /s/samples/timm/b\n- /s/samples/timm/c\n";
    let runs = parse(&log);
    let models: Vec<&str> = runs.iter().map(|run| run.model_path.as_str()).collect();
    assert_eq!(
        models,
        [
            "/s/samples/timm/a",
            "/s/samples/timm/b",
            "/s/samples/timm/c"
        ]
    );
    assert_compared(&runs[0]);
    assert!(runs[0].notes.is_empty(), "{:?}", runs[0].notes);
    assert_eq!(stated_status(&runs[1]), Some("compiled_failed"));
    assert_eq!(
        (runs[1].eager.trials.len(), runs[1].compiled.trials.len()),
        (2, 0)
    );
    assert_eq!(stated_status(&runs[2]), Some("failed"));
    assert_eq!((runs[0].line, runs[1].line), (1, runs[0].lines + 1));
}

#[test]
fn one_sample_is_a_record_with_or_without_the_lines_between() {
    let full_log = comparison_log("a", Some(2.0));
    let tagged: String = full_log
        .split_inclusive('\n')
        .filter(|line| line.contains("log [") || line.starts_with("Trial"))
        .collect();
    for log in [full_log, tagged] {
        let runs = parse(&log);
        assert_eq!(runs.len(), 1);
        assert_compared(&runs[0]);
        // No line contains its path.
        assert_eq!((runs[0].model_path.as_str(), runs[0].notes.len()), ("a", 1));
        assert_eq!(runs[0].line, 1);
    }
}

#[test]
fn logs_of_one_backend_are_a_record_each_also_of_one_model() {
    let log =
        side("a", "inductor", Some(2.0)) + &side("a", "nope", Some(4.0)) + &side("b", "nope", None);
    let runs = parse(&log);
    let results: Vec<_> = runs
        .iter()
        .map(|run| {
            (
                run.config_value("model"),
                run.config_value("compiler"),
                stated_status(run),
                run.eager.trials.len(),
            )
        })
        .collect();
    assert_eq!(
        results,
        [
            (Some("a"), Some("inductor"), Some("success"), 2),
            (Some("a"), Some("nope"), Some("success"), 2),
            (Some("b"), Some("nope"), Some("eager_failed"), 0),
        ]
    );
}

#[test]
fn a_configuration_before_the_first_record_is_no_record() {
    let mut parser = LogParser::new();
    let log = "p [Config] model: a\np [Config] device: cuda\np [Processing] /s/a\np [Config] model: a\np [Result] status: success\n";
    log.split_inclusive('\n')
        .for_each(|line| parser.push_line(line.as_bytes()));
    let runs = parser.finish();
    assert_eq!((runs.len(), runs[0].line, parser.stray_lines()), (1, 3, 2));
}

/// Lines of a sample as of 2025-08-29, or with the earlier prefix of keys.
fn legacy(path: &str, prefix: &str, equal: &str, durations: &str) -> String {
    let line = |key: &str, values: &str| {
        format!("graph-net-test-compiler-log {prefix}{key} model_path:{path} {values}\n")
    };
    line("equal", equal)
        + &line("all_close_atol8_rtol8", equal)
        + &line("all_close_atol8_rtol5", equal)
        + &line("all_close_atol5_rtol5", "1 1")
        + &line("all_close_atol3_rtol2", "1 1")
        + &line("all_close_atol2_rtol1", "1 1")
        + &line("max_diff", "0.0 2.5e-06")
        + &line("diff_count_atol8_rtol8", "0 12")
        + &line("duration", durations)
}

fn profiling_lines(times: [f64; 2]) -> String {
    let line = "[Profiling] Using device: cuda:0 NVIDIA A100-SXM4-40GB, warm up 3, trials 2\n";
    let trials = times.map(|time| format!("{line}Trial 1: {time} ms\nTrial 2: {time} ms\n"));
    trials.concat()
}

#[test]
fn lines_without_brackets_are_records_by_their_paths() {
    let log = "Fail to export\n".to_owned()
        + &profiling_lines([8.64, 4.32])
        + &legacy("/s/samples/x/a", "", "1 0", "eager:8.6400 compiled:4.3200")
        + &profiling_lines([8.64, 4.32])
        + &legacy("/s/samples/x/b", "", "1 1", "eager:1.0000 compiled:2.0000")
        // The same sample once more.
        + &legacy("/s/samples/x/b", "", "1 1", "eager:1.0000 compiled:0.5000");
    let runs = parse(&log);
    let results: Vec<_> = runs
        .iter()
        .map(|run| {
            (
                run.model_path.as_str(),
                run.e2e_speedup,
                run.compiled.trials.len(),
                run.line,
            )
        })
        .collect();
    assert_eq!(
        results,
        [
            ("/s/samples/x/a", Some(2.0), 2, 2),
            // Trials that do not match the durations belong to another sample.
            ("/s/samples/x/b", Some(0.5), 0, 17),
            ("/s/samples/x/b", Some(2.0), 0, 32),
        ]
    );
    assert_eq!(
        runs.iter().map(|run| run.notes.len()).collect::<Vec<_>>(),
        [0, 1, 0]
    );
    assert_eq!(upstream_status(&runs[0]), "correct");
    assert_eq!(runs[0].check_values("max_diff"), Some(&[0.0, 2.5e-06][..]));
    // Bit t + 10 for level t. All bits if all outputs are equal. Otherwise from -3 on, where 10^-4.2 is permitted, the
    // first float64 tolerance that is at least 1e-5.
    let bits = runs.iter().map(passing_tolerances).collect::<Vec<_>>();
    assert_eq!(bits, [0xff80, 0xffff, 0xffff]);
}

#[test]
fn durations_of_the_first_logs_are_seconds() {
    let log = legacy(
        "/s/samples/x/a",
        "cmp.",
        "1 1",
        "eager:0.0086 compiled:0.0043",
    );
    let runs = parse(&log);
    assert_eq!(runs.len(), 1);
    let mean =
        |side: &Option<super::log::Performance>| side.as_ref().and_then(|side| side.e2e_mean);
    assert_eq!(
        (
            mean(&runs[0].eager_performance),
            mean(&runs[0].compiled_performance)
        ),
        (Some(8.6), Some(4.3))
    );
    assert_eq!(runs[0].check_values("equal"), Some(&[1.0, 1.0][..]));
}

#[test]
fn lines_of_all_dialects_come_back() {
    for log in [
        comparison_log("a", Some(2.0)),
        side("a", "nope", Some(2.0)),
        legacy("/s/a", "", "1 0", "eager:8.6400 compiled:4.3200"),
    ] {
        let runs = parse(&log);
        let columns = RunColumns::from_run(&runs[0]);
        let packed = pack(&columns, log.as_bytes());
        assert_eq!(unpack(&columns, &packed).as_deref(), Some(log.as_bytes()));
    }
}
