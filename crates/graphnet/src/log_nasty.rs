//! Logs that are truncated, garbled, or full of output of other programs.

use tsql_metrics::speedup::{self, Interpretation, Sample, ScoreParams};

use super::log::{self, LogParser, Run};

const HEAD: &str = "p [Processing] /s/a\np [Config] model: a\n";

fn parse(log: impl AsRef<[u8]>) -> Vec<Run> {
    let mut parser = LogParser::new();
    log.as_ref()
        .split_inclusive(|byte| *byte == b'\n')
        .for_each(|line| parser.push_line(line));
    parser.finish()
}

fn parse_one(body: &str) -> Run {
    let mut runs = parse(format!("{HEAD}{body}"));
    assert_eq!(runs.len(), 1);
    runs.remove(0)
}

fn has_note(run: &Run, line: u64, part: &str) -> bool {
    run.notes
        .iter()
        .any(|(note_line, reason)| *note_line == line && reason.contains(part))
}

#[test]
fn nothing_to_read() {
    assert!(parse("").is_empty());
    assert!(parse("noise\n\n[Proc\n]]][[[\n").is_empty());
    assert!(parse(vec![b'['; 3_000_000]).is_empty());
    let mut parser = LogParser::new();
    parser.push_line(b"p [Config] device: cpu");
    parser.push_line(b"all_close_atol8_rtol5 model_path:/s/a 1");
    assert_eq!(parser.stray_lines(), 1);
    assert!(parser.finish().is_empty());
}

#[test]
fn records_are_returned_before_the_log_ends() {
    let mut parser = LogParser::new();
    for line in [
        "x",
        "[Processing] /s/a",
        "[Result] status: success",
        "[Processing] /s/b",
    ] {
        parser.push_line(line.as_bytes());
    }
    let first = parser.take_finished();
    assert_eq!((first.len(), first[0].line, first[0].lines), (1, 2, 2));
    assert!(first[0].notes.is_empty());
    assert!(parser.take_finished().is_empty());
    let rest = parser.finish();
    assert_eq!(
        (rest[0].model_path.as_str(), rest[0].line, rest[0].lines),
        ("/s/b", 4, 1)
    );
    assert!(has_note(&rest[0], 4, "cut off"));
}

#[test]
fn a_truncated_record_keeps_its_complete_lines() {
    let run = parse_one("p [Datatype][eager]: float32\np [Correctness][all_close_atol_1.00E-0");
    assert!(has_note(&run, 4, "no values in [Correctness]"));
    assert!(has_note(&run, 4, "cut off"));
    assert_eq!(run.eager_datatypes, ["float32"]);
    assert_eq!(log::stated_status(&run), None);
    let text = format!(
        "{HEAD}p [Datatype][eager]: float32 int64\np [Correctness][equal]: 1 0\np [Speedup][e2e]: 1.5\n"
    );
    for end in 0..text.len() {
        for run in parse(text.get(..end).unwrap()) {
            let _ = (
                log::passing_tolerances(&run),
                log::upstream_status(&run),
                log::stated_status(&run),
            );
        }
    }
}

#[test]
fn unreadable_values_are_noted() {
    let run = parse_one(concat!(
        "p [Performance][eager]: {\"e2e\": {\"mean\": 2.5}} gpu noise\n",
        "p [Performance][compiled]: {\"e2e\": {\"mean\": 1.\n",
        "p [Performance][third]: {}\n",
        "p [Speedup][e2e]: fast\n",
        "p [Speedup][gpu]: 1.25W1111 xpu\n",
        "p [Correctness][equal]: 1 0 x 1\n",
        "p [Correctness][all_close_atol_9.00E-05_rtol_1.30E-06]: 1 0\n",
        "p [Correctness][max_diff]: nan inf 1e-3\n",
        "p [Config] no colon\n",
        "p [DataType] eager:['float32'] comp\n",
        "p [Result] status: successnoise\n",
        "p [Performance][compiled]: {\"e2e\": {\"mean\": 1.5, \"std\": NaN}}\n",
    ));
    let eager = run.eager_performance.as_ref().unwrap();
    assert_eq!(
        (eager.raw.as_str(), eager.e2e_mean),
        ("{\"e2e\": {\"mean\": 2.5}}", Some(2.5))
    );
    assert!(has_note(&run, 3, "text after"));
    assert!(has_note(&run, 4, "no readable JSON"));
    assert!(has_note(&run, 5, "unknown side"));
    assert!(has_note(&run, 6, "not a number") && run.e2e_speedup.is_none());
    assert!(has_note(&run, 7, "not a number") && run.gpu_speedup == Some(1.25));
    assert!(
        has_note(&run, 8, "not a number") && run.check_values("equal") == Some(&[1.0, 0.0][..])
    );
    assert!(has_note(&run, 9, "unknown key"));
    assert_eq!(
        run.check_values("all_close_atol_9.00E-05_rtol_1.30E-06"),
        Some(&[1.0, 0.0][..])
    );
    assert!(run.check_values("max_diff").unwrap()[0].is_nan());
    assert!(has_note(&run, 11, "no value in [Config]"));
    assert!(has_note(&run, 12, "without match") && run.datatype_match.is_none());
    assert_eq!(run.result.as_deref(), Some("success"));
    assert_eq!(
        run.compiled_performance.as_ref().unwrap().e2e_mean,
        Some(1.5)
    );
    assert!(has_note(&run, 14, "not finite"));
    assert!(
        !run.notes
            .iter()
            .any(|(_, reason)| reason.contains("cut off"))
    );
}

#[test]
fn notes_are_bounded() {
    let run = parse_one(&"p [Speedup][e2e]: x\n".repeat(5000));
    assert_eq!(run.notes.len(), 1001);
}

#[test]
fn other_bytes_and_line_endings() {
    let runs = parse(b"\xff\xfe[Processing] /s/\xc3\xa9\xff\r\np [Config] model: \xe9 x\r\n 5%\r10%\rp [Speedup][e2e]: 2.0\r\n");
    assert_eq!(runs.len(), 1);
    assert_eq!(runs[0].model_path, "/s/\u{e9}\u{fffd}");
    assert_eq!(
        runs[0].config,
        [("model".to_owned(), "\u{fffd} x".to_owned())]
    );
    assert_eq!(runs[0].e2e_speedup, Some(2.0));
    assert_eq!(runs[0].lines, 3);
}

#[test]
fn concatenated_lines_are_separated() {
    let runs = parse(concat!(
        "noise graph [Processing] /s/agraph [Config] model: agraph [Config] device: cuda\n",
        "W1 Trial 1: e2e=1.5 ms, gpu=1.25 msTrial 2: e2e=2.5 ms\n",
        "x kernel=3 y kernel=0.75 ms (avg over 2 trials)\n",
        "graph [Result] status: successgraph [Speedup][e2e]: 2.00000graph [Processing] /s/b\n",
        "oom [Fail due to compiled model execution error.]\n",
    ));
    let [a, b] = runs.as_slice() else {
        panic!("{runs:?}")
    };
    assert_eq!(
        (a.model_path.as_str(), b.model_path.as_str()),
        ("/s/a", "/s/b")
    );
    let config = [("model", "a"), ("device", "cuda")];
    assert_eq!(
        a.config,
        config.map(|(key, value)| (key.to_owned(), value.to_owned()))
    );
    let times: Vec<_> = a
        .eager
        .trials
        .iter()
        .map(|trial| (trial.e2e_ms, trial.gpu_ms))
        .collect();
    assert_eq!(times, [(1.5, Some(1.25)), (2.5, None)]);
    assert_eq!(a.eager.kernel_ms, Some(0.75));
    assert_eq!(
        (a.result.as_deref(), a.e2e_speedup),
        (Some("success"), Some(2.0))
    );
    assert_eq!(
        b.fail_due.as_deref(),
        Some("compiled model execution error")
    );
    assert_eq!(log::stated_status(b), Some("compiled_failed"));
    assert_eq!(log::upstream_status(b), "eager_fail");
}

#[test]
fn blocks_of_trials() {
    let trials = "Trial 1: e2e=2 ms\nTrial 2: e2e=2 ms\n";
    let tag = "[Profiling] Using device: cuda A, B, warm up 3, trials 2\n";
    for text in [
        format!("{trials}noise\n{trials}"),
        format!("{tag}{trials}{tag}{trials}"),
    ] {
        let run = parse_one(&text);
        assert_eq!((run.eager.trials.len(), run.compiled.trials.len()), (2, 2));
    }
    let run = parse_one(&format!(
        "{tag}{trials}{tag}{trials}{tag}{trials}p [Result][status] eager:success compiled:failed x\n"
    ));
    assert_eq!(run.device.as_deref(), Some("cuda A, B"));
    assert!(has_note(&run, 12, "more than two blocks"));
    assert_eq!(run.phases.as_deref(), Some("eager:success compiled:failed"));
    assert_eq!(log::stated_status(&run), Some("compiled_failed"));
    assert_eq!(parse_one("Trial 1: e2e=abc ms\n").notes[0].0, 3);
}

#[test]
fn duplicates_keep_the_first_position_and_the_last_value() {
    let run = parse_one(
        "[Config] a: 1\n[Config] model: b\n[Correctness][equal]: 0\n[Correctness][max_diff]: 1\n[Correctness][equal]: 1\n",
    );
    let config: Vec<_> = run
        .config
        .iter()
        .map(|(key, value)| (key.as_str(), value.as_str()))
        .collect();
    assert_eq!(config, [("model", "b"), ("a", "1")]);
    assert_eq!(run.correctness[0], ("equal".to_owned(), vec![1.0]));
}

#[test]
fn passing_levels() {
    let all_levels = 0xffff;
    assert_eq!(
        log::passing_tolerances(&parse_one("[Datatype][eager]: float32\n")),
        all_levels
    );
    assert_eq!(
        log::passing_tolerances(&parse_one(
            "[Datatype][eager]: int64\n[Correctness][equal]: nan\n"
        )),
        all_levels
    );
    assert_eq!(
        log::passing_tolerances(&parse_one(
            "[Datatype][eager]: float32\n[Correctness][equal]: 1\n"
        )),
        0
    );
    assert_eq!(
        log::passing_tolerances(&parse_one(
            "[Datatype][eager]: bool\n[Correctness][equal]: 1 1\n"
        )),
        0
    );
    assert_eq!(
        log::passing_tolerances(&parse_one(
            "[Datatype][eager]: bool\n[Correctness][equal]: x\n"
        )),
        0
    );
    let key = log::tolerance_key("bfloat16", -5);
    let text = format!(
        "[Datatype][eager]: bfloat16 bool\n[Correctness][equal]: 0 1\n[Correctness][{key}]: 1 1\n"
    );
    assert_eq!(log::passing_tolerances(&parse_one(&text)), 1 << 5);
    assert_eq!(
        log::passing_tolerances(&parse_one(&text.replace("equal]: 0 1", "equal]: 0 0"))),
        0
    );
}

fn sample(speedup: Option<f64>, passes: u32, status: &str) -> Sample {
    Sample {
        speedup,
        passes,
        status: status.to_owned(),
    }
}

#[test]
fn scores_of_odd_samples() {
    let params = ScoreParams::default();
    assert_eq!(speedup::speedup_score(&[], 0, &params), None);
    assert_eq!(speedup::error_aware_speedup_score(&[], 0, &params), None);
    assert_eq!(speedup::speedup_statistics(&[], 0, &params), None);
    assert_eq!(speedup::aggregate_speedup_score(&[], &params), None);
    let is_near = |score: Option<f64>, expected: f64| (score.unwrap() - expected).abs() < 1e-12;
    let zero = [
        sample(Some(0.0), 0xffff, "correct"),
        sample(Some(2.0), 0xffff, "correct"),
    ];
    assert_eq!(speedup::speedup_score(&zero, 0, &params), Some(0.0));
    assert_eq!(
        speedup::aggregate_speedup_score(&zero, &params),
        Some(f64::NEG_INFINITY)
    );
    let without_speedup = [sample(None, 0xffff, "correct")];
    assert!(is_near(
        speedup::speedup_score(&without_speedup, 0, &params),
        0.1
    ));
    assert!(is_near(
        speedup::error_aware_speedup_score(&without_speedup, 2, &params),
        0.1
    ));
    assert!(is_near(
        speedup::error_aware_speedup_score(&without_speedup, 3, &params),
        1.0
    ));
    let statistics = speedup::speedup_statistics(&without_speedup, 1, &params).unwrap();
    assert_eq!(
        (statistics.correct, statistics.pi),
        (0, vec![("runtime_fail".to_owned(), 1.0)])
    );
    let passing = [sample(Some(2.0), u32::MAX, "correct")];
    for (t, expected) in [
        (i32::MIN, 0.1),
        (-11, 0.1),
        (-10, 2.0),
        (5, 2.0),
        (6, 0.1),
        (i32::MAX, 0.1),
    ] {
        assert!(
            is_near(speedup::speedup_score(&passing, t, &params), expected),
            "{t}"
        );
    }
    assert!(is_near(
        speedup::error_aware_speedup_score(&passing, i32::MAX, &params),
        2.0
    ));
    let slow = [sample(Some(0.5), 0xffff, "correct")];
    assert!(is_near(
        speedup::speedup_score(&slow, 0, &ScoreParams { p: 1.0, ..params }),
        0.25
    ));
    let extended = ScoreParams {
        interpretation: Interpretation::MismatchExtended,
        ..params
    };
    let failed = [sample(None, 0, "eager_fail")];
    assert!(is_near(
        speedup::error_aware_speedup_score(&failed, 5, &params),
        1.0
    ));
    assert!(is_near(
        speedup::error_aware_speedup_score(&failed, 5, &extended),
        0.1
    ));
    assert!(is_near(
        speedup::speedup_statistics(&failed, 5, &extended).map(|statistics| statistics.es),
        1.0
    ));
}
