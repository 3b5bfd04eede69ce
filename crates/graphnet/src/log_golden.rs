//! Compares with the results of upstream's own code on real and synthetic logs.

#![allow(
    clippy::print_stderr,
    clippy::cast_precision_loss,
    clippy::too_many_lines,
    reason = "a test prints why it was skipped, and compares counts with floats"
)]

use tsql_metrics::speedup::{self, Interpretation, Sample, ScoreParams};

use super::log::{self, LogParser, Performance, Run};
use serde_json::Value;
use std::fs;
use std::path::Path;

const SHARED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared");
const LOGS: [&str; 5] = [
    "real_device_11.txt",
    "real_evaluation_10.log",
    "synth_all_fail_3.log",
    "synth_all_run_6.log",
    "synth_mixed_14.log",
];

fn text(path: &str) -> Option<String> {
    let path = Path::new(SHARED).join(path);
    let text = fs::read_to_string(&path).ok();
    if text.is_none() {
        let required = std::env::var_os("TSQL_REQUIRE_SHARED").is_some();
        assert!(!required, "no {}", path.display());
        eprintln!("skipped: no {}", path.display());
    }
    text
}

fn golden(name: &str) -> Option<Value> {
    let text = text(&format!("golden/graphnet/out/{name}"))?;
    Some(serde_json::from_str(&text.replace("NaN", "\"nan\"")).unwrap())
}

fn stem(log: &str) -> &str {
    log.rsplit_once('.').unwrap().0
}

fn runs(log: &str) -> Option<Vec<Run>> {
    let text = text(&format!("data/graphnet/logs/{log}"))?;
    let mut parser = LogParser::new();
    text.lines()
        .for_each(|line| parser.push_line(line.as_bytes()));
    Some(parser.finish())
}

fn samples(runs: &[Run]) -> Vec<Sample> {
    let sample = |run: &Run| Sample {
        speedup: run.e2e_speedup,
        passes: log::passing_tolerances(run),
        status: log::upstream_status(run).to_owned(),
    };
    runs.iter().map(sample).collect()
}

fn close(a: f64, b: f64) -> bool {
    a == b || (a - b).abs() <= 1e-12 * b.abs()
}

fn raw(performance: Option<&Performance>) -> Value {
    performance.map_or(Value::Object(serde_json::Map::new()), |one| {
        one.raw.clone().into()
    })
}

#[test]
fn records_match_upstream() {
    for name in LOGS {
        let (Some(runs), Some(golden)) =
            (runs(name), golden(&format!("{}.samples.json", stem(name))))
        else {
            return;
        };
        let golden = golden.as_array().unwrap();
        assert_eq!(runs.len(), golden.len(), "{name}");
        for (run, expected) in runs.iter().zip(golden) {
            let path = &run.model_path;
            assert_eq!(*path, expected["model_path"].as_str().unwrap());
            let config: Vec<(String, String)> = expected["configuration"]
                .as_object()
                .unwrap()
                .iter()
                .map(|(key, value)| (key.clone(), value.as_str().unwrap().to_owned()))
                .collect();
            let mut config_pairs = run.config.clone();
            config_pairs.sort();
            assert_eq!(config_pairs, config, "{path}");
            let correctness = expected["correctness"].as_object().unwrap();
            assert_eq!(run.correctness.len(), correctness.len(), "{path}");
            for (key, values) in &run.correctness {
                let golden = correctness[&format!("[{key}]")].as_array().unwrap();
                assert_eq!(values.len(), golden.len(), "{path} {key}");
                for (value, golden) in values.iter().zip(golden) {
                    // serde_json rounds numbers of 17 digits to one of the two nearest doubles.
                    let near = |golden: f64| (golden - value).abs() <= 2.5e-16 * value.abs();
                    let is_equal = golden.as_f64().is_some_and(near);
                    assert!(
                        is_equal || (value.is_nan() && golden == "nan"),
                        "{path} {key}"
                    );
                }
            }
            let performance = &expected["performance"];
            assert_eq!(
                raw(run.eager_performance.as_ref()),
                performance["eager"],
                "{path}"
            );
            assert_eq!(
                raw(run.compiled_performance.as_ref()),
                performance["compiled"],
                "{path}"
            );
            for (side, datatypes) in [
                ("eager", &run.eager_datatypes),
                ("compiled", &run.compiled_datatypes),
            ] {
                let golden = performance["datatype"].get(side).and_then(Value::as_array);
                let golden: Vec<&str> = golden
                    .into_iter()
                    .flatten()
                    .map(|dtype| dtype.as_str().unwrap())
                    .collect();
                assert_eq!(*datatypes, golden, "{path}");
            }
            for (kind, speedup) in [
                ("e2e", run.e2e_speedup),
                ("gpu", run.gpu_speedup),
                ("kernel", run.kernel_speedup),
            ] {
                assert_eq!(
                    speedup,
                    performance["speedup"].get(kind).and_then(Value::as_f64),
                    "{path}"
                );
            }
            assert_eq!(
                log::upstream_status(run),
                expected["status"].as_str().unwrap(),
                "{path}"
            );
            assert!(
                run.notes.is_empty() || name.starts_with("synth"),
                "{path} {:?}",
                run.notes
            );
        }
    }
}

/// Asserts that the incorrect models of every tolerance are those of upstream; passes if upstream lists none.
fn assert_incorrect_models_match(name: &str, runs: &[Run], samples: &[Sample], golden: &Value) {
    let Some(incorrect) = golden["incorrect_models"].as_object() else {
        return;
    };
    for (t, models) in incorrect {
        let t: i32 = t.parse().unwrap();
        let params = ScoreParams {
            b: 0.0,
            ..ScoreParams::default()
        };
        let incorrect: Vec<&str> = runs
            .iter()
            .zip(samples)
            .filter(|(_, sample)| {
                let one = std::slice::from_ref(*sample);
                speedup::error_aware_speedup_score(one, t, &params) == Some(0.0)
            })
            .map(|(run, _)| run.model_path.as_str())
            .collect();
        let mut incorrect = incorrect;
        incorrect.sort_unstable();
        let golden: Vec<&str> = models
            .as_array()
            .unwrap()
            .iter()
            .map(|model| model.as_str().unwrap())
            .collect();
        assert_eq!(incorrect, golden, "{name} t={t}");
    }
}

#[test]
fn scores_match_upstream() {
    let mut compared = 0;
    for name in LOGS {
        let (Some(runs), Some(golden)) =
            (runs(name), golden(&format!("{}.scores.json", stem(name))))
        else {
            return;
        };
        let samples = samples(&runs);
        for (run, sample) in runs.iter().zip(&samples) {
            assert_eq!(golden["status"][&run.model_path], sample.status.as_str());
        }
        for scores in golden["scores"].as_array().unwrap() {
            let interpretation = match scores["interp"].as_str().unwrap() {
                "default" => Interpretation::Default,
                _ => Interpretation::MismatchExtended,
            };
            let (p, b) = (scores["p"].as_f64().unwrap(), scores["b"].as_f64().unwrap());
            let params = ScoreParams {
                p,
                b,
                interpretation,
            };
            let levels = scores["St"].as_object().unwrap();
            assert_eq!(levels.len(), interpretation.levels().count());
            for t in interpretation.levels() {
                let level = t.to_string();
                let check = |metric: &str, actual: f64, golden: &Value| {
                    let golden = golden.as_f64().unwrap();
                    assert!(
                        close(actual, golden),
                        "{name} {interpretation:?} p={p} b={b} t={t} {metric}: {actual} {golden}"
                    );
                };
                check(
                    "S",
                    speedup::speedup_score(&samples, t, &params).unwrap(),
                    &scores["St"][&level],
                );
                let es = speedup::error_aware_speedup_score(&samples, t, &params).unwrap();
                check("ES", es, &scores["ESt"][&level]);
                let aggregate = &scores["agg"][&level];
                let actual = speedup::speedup_statistics(&samples, t, &params).unwrap();
                check("alpha", actual.alpha, &aggregate["alpha"]);
                check("beta", actual.beta, &aggregate["beta"]);
                check("lambda", actual.lambda, &aggregate["lambda"]);
                check("eta", actual.eta, &aggregate["eta"]);
                check("gamma", actual.gamma, &aggregate["gamma"]);
                check("s", actual.s, &aggregate["expected_s"]);
                check("es", actual.es, &aggregate["expected_es"]);
                check(
                    "correct",
                    actual.correct as f64,
                    &aggregate["correct_count"],
                );
                check("total", actual.total as f64, &aggregate["total_samples"]);
                check(
                    "slowdowns",
                    actual.slowdowns as f64,
                    &aggregate["slowdown_count"],
                );
                let pi = aggregate["pi"].as_object().unwrap();
                assert_eq!(actual.pi.len(), pi.len());
                for ((kind, fraction), (number, golden)) in actual.pi.iter().zip(pi) {
                    let names: &[&str] = match interpretation {
                        Interpretation::Default => &["accuracy", "runtime_fail", "compile_fail"],
                        Interpretation::MismatchExtended => &[
                            "accuracy",
                            "type/shape_mismatch",
                            "runtime_fail",
                            "compile_fail",
                        ],
                    };
                    assert_eq!(kind, names[number.parse::<usize>().unwrap() - 1]);
                    check("pi", *fraction, golden);
                }
                compared += 1;
            }
        }
        assert_incorrect_models_match(name, &runs, &samples, &golden);
    }
    eprintln!("{compared} levels compared");
    assert_eq!(compared, 5 * 6 * (15 + 16));
}

#[test]
fn exported_scores_match_upstream() {
    for name in ["real_evaluation_10.log", "synth_mixed_14.log"] {
        let (Some(runs), Some(scores), Some(aggregated)) = (
            runs(name),
            golden(&format!("{name}.es_scores.json")),
            golden(&format!("{name}.aggregated.json")),
        ) else {
            return;
        };
        let samples = samples(&runs);
        let params = ScoreParams::default();
        for (t, golden) in scores.as_object().unwrap() {
            let t = t.parse().unwrap();
            let actual = speedup::error_aware_speedup_score(&samples, t, &params).unwrap();
            assert!(close(actual, golden.as_f64().unwrap()), "{name} {t}");
        }
        let actual = speedup::aggregate_speedup_score(&samples, &params).unwrap();
        assert!(
            close(actual, aggregated["score"].as_f64().unwrap()),
            "{name} {actual}"
        );
    }
}

#[test]
fn tolerance_keys_match_upstream() {
    let Some(golden) = golden("tolerance_keys.json") else {
        return;
    };
    for row in golden.as_array().unwrap() {
        let dtype = row["dtype"].as_str().unwrap();
        let t = i32::try_from(row["t"].as_i64().unwrap()).unwrap();
        let (atol, rtol) = (row["atol"].as_f64().unwrap(), row["rtol"].as_f64().unwrap());
        match log::tolerance(dtype, t) {
            Some(actual) => assert!(
                close(actual.0, atol) && close(actual.1, rtol),
                "{dtype} {t} {actual:?}"
            ),
            None => assert_eq!((atol, rtol), (0.0, 0.0)),
        }
        let key = log::tolerance_key(dtype, t);
        assert_eq!(format!("[{key}]"), row["key"].as_str().unwrap());
        assert!(log::is_known_key(&key));
    }
}

#[test]
fn published_tables_follow_from_the_formula() {
    let Some(text) = text("golden/graphnet/paper_tables_3_6.csv") else {
        return;
    };
    let mut max_error: f64 = 0.0;
    let mut rows = 0;
    for row in text.lines().skip(1) {
        let fields: Vec<&str> = row.split(',').collect();
        let [alpha, beta, lambda, eta, s, gamma, es] =
            [3, 4, 5, 6, 7, 8, 9].map(|column: usize| fields[column].parse::<f64>().ok());
        let score = |penalty| {
            let (alpha, beta) = (alpha.unwrap(), beta.unwrap());
            speedup::macro_speedup_score(alpha, beta, lambda.unwrap(), eta.unwrap(), 0.0, penalty)
        };
        if let Some(s) = s {
            max_error = max_error.max((score(0.1) - s).abs());
        }
        max_error = max_error.max((score(gamma.unwrap()) - es.unwrap()).abs());
        rows += 1;
    }
    eprintln!("{rows} rows, largest difference {max_error}");
    assert_eq!(rows, 60);
    assert!(max_error < 0.002);
}

#[test]
fn timings_of_real_logs() {
    let (Some(device), Some(torch)) = (runs(LOGS[0]), runs(LOGS[1])) else {
        return;
    };
    let first = &torch[0];
    assert_eq!((first.line, first.lines), (2, torch[1].line - 2));
    assert_eq!(first.device.as_deref(), Some("cuda NVIDIA A100-SXM4-40GB"));
    assert_eq!(
        (first.eager.trials.len(), first.compiled.trials.len()),
        (5, 5)
    );
    assert_eq!(first.compiled.trials[0].e2e_ms, 3.44825);
    assert_eq!(first.compiled.trials[0].gpu_ms, Some(3.34438));
    assert_eq!(
        first.eager_performance.as_ref().unwrap().e2e_mean,
        Some(3.27792)
    );
    assert_eq!(log::stated_status(first), Some("success"));
    assert_eq!(first.datatype_match, Some(true));
    assert_eq!(device[0].line, 7);
    assert_eq!(device[0].shape_match, Some(true));
    assert_eq!(
        device[0].eager_shapes.as_deref(),
        Some("[[1000, 4], [1000, 5]]")
    );
    assert_eq!(device[0].phases.as_deref(), Some("eager:success"));
    for run in &device {
        // Only the target was timed in this log.
        assert!(
            run.eager.trials.is_empty() && !run.compiled.trials.is_empty(),
            "{}",
            run.model_path
        );
    }
}
