//! `tsql score` of TpuGraphs and GraphNet, and of real logs compared with other programs.

use serde_json::Value;

use crate::npz::{layout_file, npz, tile_file};
use crate::score::{close, report, value};
use crate::support::{Place, shared};

#[test]
fn files_of_tpugraphs_are_scored_by_collection() {
    let place = Place::new();
    let layout = [((0, 1), 300.0), ((1, 0), 100.0), ((2, 0), 200.0)];
    place.write(
        "npz/layout/xla/random/valid/net.npz",
        npz(&layout_file(&layout)),
    );
    let kernel = [(4.0, 80.0, 100.0), (8.0, 120.0, 100.0), (16.0, 40.0, 100.0)];
    place.write(
        "npz/tile/xla/valid/net_-1f.npz",
        npz(&tile_file(2, &kernel)),
    );
    place.ok(&["ingest", "-q", "npz"]);
    // Layouts in the correct order except one pair, and tiles in reverse order.
    place.ok(&[
        "SELECT config_key, CASE WHEN collection = 'tile:xla' THEN runtime_ns ELSE CASE line WHEN 1 THEN 1 WHEN 2 THEN 2 ELSE 3 END END AS prediction FROM records",
        "-o",
        "p.parquet",
    ]);
    let found = report(&place, &["tpugraphs", "p.parquet"]);
    assert_eq!(
        (&found["split"], &found["part"]),
        (&"official".into(), &"valid".into())
    );
    let layout = "layout:xla:random";
    close(
        value(&found, layout, "predictions", "kendall_tau_b"),
        1.0 / 3.0,
    );
    close(
        value(&found, layout, "predictions", "ordered_pair_accuracy"),
        2.0 / 3.0,
    );
    close(value(&found, layout, "predictions", "top_1_error"), 1.0);
    close(value(&found, layout, "predictions", "kaggle"), 1.0 / 3.0);
    close(value(&found, "tile:xla", "predictions", "top_1_error"), 2.0);
    close(value(&found, "tile:xla", "predictions", "kaggle"), 1.0);
    close(value(&found, "tile:xla", "random", "top_1_error"), 1.0);
    close(value(&found, layout, "random", "kendall_tau_b"), 0.0);
    // The score of Kaggle is the mean of five collections.
    assert_eq!(
        value(&found, "mean of collections", "predictions", "kaggle"),
        None
    );
    close(
        value(&found, "all files", "predictions", "kaggle"),
        2.0 / 3.0,
    );
    let ran = place.tsql(&["score", "tpugraphs", "p.parquet", "--part", "test"]);
    assert!(
        ran.stderr.contains("there are no records to score"),
        "{}",
        ran.stderr
    );
}

#[test]
#[ignore = "full tier"]
fn sampled_configurations_count_once_per_sample() {
    let place = Place::new();
    let layout = [((0, 1), 300.0), ((1, 0), 100.0), ((2, 0), 200.0)];
    let valid = "npz/layout/xla/random/valid/net.npz";
    place.write(valid, npz(&layout_file(&layout)));
    place.ok(&["ingest", "-q", "npz"]);
    place.ok(&[
        "SELECT config_key, line AS prediction FROM records",
        "-o",
        "p.parquet",
    ]);
    // Predictions rank the slower ones of 100, 200 and 200 first.
    place.write("drawn/xla_random.json", r#"{"net": [1, 2, 2]}"#);
    let score_arguments = |path: &str| {
        let path = path.to_owned();
        ["score", "tpugraphs", "p.parquet", "--evaluation-indices"]
            .map(str::to_owned)
            .into_iter()
            .chain([path])
            .collect::<Vec<_>>()
    };
    for path in ["drawn", "drawn/xla_random.json"] {
        let arguments = score_arguments(path);
        let arguments: Vec<&str> = arguments[1..].iter().map(String::as_str).collect();
        let found = report(&place, &arguments);
        let metric_value = |metric| value(&found, "layout:xla:random", "predictions", metric);
        assert_eq!(found["records"], 3);
        close(metric_value("kendall_tau_b"), -1.0);
        close(metric_value("ordered_pair_accuracy"), 0.0);
        close(metric_value("top_1_error"), 1.0);
        close(metric_value("top_5_error"), 0.0);
    }
    for (name, text, expected) in [
        (
            "xla_random.json",
            r#"{"net": [1, 7]}"#,
            "1 of its 2 indices match no scored record",
        ),
        (
            "xla_random.json",
            r#"{"net": [1], "other": [2]}"#,
            "1 of its 2 graphs are not in the store, such as layout:xla:random:other",
        ),
        (
            "xla_default.json",
            r#"{"net": [1]}"#,
            "the store has none of its 1 graphs",
        ),
        (
            "indices.json",
            r#"{"net": [1]}"#,
            "its name is not that of a collection",
        ),
        (
            "nlp_random.json",
            r#"{"net": 1}"#,
            "expected indices by graph name",
        ),
    ] {
        let path = format!("odd/{name}");
        place.write(&path, text);
        let arguments = score_arguments(&path);
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let ran = place.tsql(&arguments);
        assert_eq!(ran.code, Some(2), "{}", ran.stderr);
        assert!(ran.stderr.contains(expected), "{}", ran.stderr);
    }
    let arguments = [
        "score",
        "tenset",
        "p.parquet",
        "--evaluation-indices",
        "drawn",
    ];
    assert_eq!(place.tsql(&arguments).code, Some(2));
    // Another file with the same name in TpuGraphs.
    let other = npz(&layout_file(&layout[..2]));
    place.write("other/npz/layout/xla/random/valid/net.npz", other);
    place.ok(&["ingest", "-q", "other"]);
    let arguments = score_arguments("drawn");
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let ran = place.tsql(&arguments);
    let expected = "layout:xla:random:net matches 2 files of the store\nhint: SELECT name";
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    assert!(ran.stderr.contains(expected), "{}", ran.stderr);
}

/// All 481 samples of a graph, most of them twice. 39 samples have the configuration of another one and its prediction.
#[test]
fn all_samples_of_a_real_graph_count() {
    let Some(shared) = shared() else { return };
    let cases = shared.join("golden/tpugraphs/metrics_golden.json");
    let cases: Value = serde_json::from_str(&std::fs::read_to_string(cases).unwrap()).unwrap();
    let is_it = |case: &&Value| case["name"] == "official_eval_indices_xla_random_unet_3d";
    let case = cases.as_array().unwrap().iter().find(is_it).unwrap();
    let place = Place::new();
    let file = shared.join("data/tpugraphs/npz/layout/xla/random/valid");
    place.ok(&["ingest", "-q", file.to_str().unwrap()]);
    let indices = serde_json::json!({"unet_3d.4x4.bf16": case["indices"]});
    place.write("xla_random.json", indices.to_string());
    let scores = case["full_scores"].as_array().unwrap();
    let scores = scores.iter().zip(1..);
    let scores: String = scores
        .map(|(score, line)| format!("{line},{score}\n"))
        .collect();
    place.write("scores.csv", format!("line,score\n{scores}"));
    place.ok(&[
        "SELECT r.config_key, -avg(s.score) AS prediction FROM records AS r JOIN 'scores.csv' AS s ON s.line = r.line GROUP BY r.config_key",
        "-o",
        "p.parquet",
    ]);
    let arguments = [
        "tpugraphs",
        "p.parquet",
        "--evaluation-indices",
        "xla_random.json",
    ];
    let found = report(&place, &arguments);
    assert_eq!(found["records"], 1000);
    // The scores are close to upstream, which has a separate prediction for each sample.
    let tau = value(&found, "layout:xla:random", "predictions", "kendall_tau_b");
    let upstream = case["expected"]["kendall_tau_b_scores"].as_f64().unwrap();
    assert!((tau.unwrap() - upstream).abs() < 0.1, "{tau:?}, {upstream}");
}

/// Six graphs with two compilers. Selected runs score like all runs of their compiler.
#[test]
#[ignore = "full tier"]
fn predictions_select_graphnet_runs() {
    let Some(shared) = shared() else { return };
    let log = shared.join("data/graphnet/logs/synth_all_run_6.log");
    let log = std::fs::read_to_string(log).unwrap();
    let slower = log
        .lines()
        .map(|line| match line.split_once("[Speedup][e2e]: ") {
            Some((start, _)) => format!("{start}[Speedup][e2e]: 0.25\n"),
            None => line.replace("compiler: inductor", "compiler: other") + "\n",
        });
    let place = Place::new();
    place.write("logs/slower.log", slower.collect::<String>());
    place.write("logs/faster.log", log);
    place.ok(&["ingest", "-q", "logs"]);
    let runs = "FROM records AS r JOIN runs AS u ON u.source_id = r.source_id AND u.line = r.line";
    let by_compiler = place.rows(
        "SELECT compiler, speedup_score(speedup, passes, upstream_status, 0), \
         error_aware_speedup_score(speedup, passes, upstream_status, -5), \
         error_aware_speedup_score(speedup, passes, upstream_status, 3), \
         aggregate_speedup_score(speedup, passes, upstream_status) FROM runs GROUP BY compiler",
    );
    for chosen in ["inductor", "other"] {
        let sql = format!(
            "SELECT r.config_key, CASE u.compiler WHEN '{chosen}' THEN 1.0 ELSE 0.5 END AS prediction {runs}"
        );
        place.ok(&[&sql, "-o", "p.csv"]);
        let found = report(&place, &["graphnet", "p.csv"]);
        let wanted = by_compiler
            .iter()
            .find(|row| row.starts_with(chosen))
            .unwrap();
        let wanted = wanted.split(',').skip(1).map(|cell| cell.parse().unwrap());
        for (metric, wanted) in ["s(0)", "es(-5)", "es(3)", "aggregate"].iter().zip(wanted) {
            close(value(&found, "all graphs", "predictions", metric), wanted);
            // All runs of the first compiler are better.
            let best = value(&found, "all graphs", "best", metric);
            if chosen == "inductor" {
                close(best, wanted);
            } else {
                assert!(best > Some(wanted), "{metric}: {best:?}");
            }
        }
        let chance = value(&found, "all graphs", "random", "es(0)").unwrap();
        let best = value(&found, "all graphs", "best", "es(0)").unwrap();
        let (low, one) = (0.214_593_554_733, chance * chance / best);
        // Mean of two logarithms.
        assert!((one / low - 1.0).abs() < 1e-9, "{one}");
    }
    // Equal predictions select the worse run, and NaN selects none.
    let sql = format!("SELECT r.config_key, 1.0 AS prediction {runs}");
    place.ok(&[&sql, "-o", "p.csv"]);
    let equal = report(&place, &["graphnet", "p.csv"]);
    close(
        value(&equal, "all graphs", "predictions", "es(0)"),
        0.214_593_554_733,
    );
    let sql = format!(
        "SELECT r.config_key, CASE u.compiler WHEN 'other' THEN CAST('NaN' AS DOUBLE) ELSE 1.0 END AS prediction {runs}"
    );
    place.ok(&[&sql, "-o", "p.parquet"]);
    let odd = report(&place, &["graphnet", "p.parquet"]);
    assert_eq!(value(&odd, "all graphs", "predictions", "es(0)"), None);
}

/// NumPy computes the ceiling of the real x86 logs: the first repeat predicts the mean of the others, mean of 27 tasks.
#[test]
fn the_ceiling_of_real_logs_matches_numpy() {
    let Some(shared) = shared() else { return };
    let place = Place::new();
    let logs = shared.join("data/tenset/x86");
    place.ok(&["ingest", "-q", "--platform", "x86", logs.to_str().unwrap()]);
    let sql = "SELECT DISTINCT config_key, 1.0 AS prediction FROM records";
    place.ok(&[sql, "-o", "p.parquet"]);
    let args = [
        "tenset",
        "p.parquet",
        "--variant",
        "valid",
        "--resamples",
        "50",
    ];
    let found = report(&place, &args);
    let mean = "mean of tasks";
    close(
        value(&found, mean, "repeats", "pairwise_accuracy"),
        0.964_243_712_810_167,
    );
    close(
        value(&found, mean, "repeats", "top_1"),
        0.958_898_647_494_396_4,
    );
}

/// Predictions of a real log, with scores of the functions of upstream.
#[test]
fn scores_of_a_real_log_match_upstream() {
    let Some(shared) = shared() else { return };
    let golden =
        |name: &str| std::fs::read_to_string(shared.join("golden/tenset").join(name)).unwrap();
    let expected: Value = serde_json::from_str(&golden("metrics_real.json")).unwrap();
    let place = Place::new();
    let log = shared.join("data/tenset/x86/x86_resnet18.json");
    place.ok(&["ingest", "-q", "--platform", "x86", log.to_str().unwrap()]);
    // Rows of each task in line order.
    let sql = "SELECT config_key, workload_key, row_number() OVER (PARTITION BY workload_key ORDER BY line) AS place \
               FROM (SELECT r.config_key, g.workload_key, r.line FROM records AS r JOIN graphs AS g ON g.graph_id = r.graph_id)";
    place.ok(&[sql, "-o", "keys.parquet"]);
    for noise in ["0.1", "1.0"] {
        let mut rows = String::new();
        for line in golden(&format!("preds_x86_resnet18_{noise}.jsonl")).lines() {
            let task: Value = serde_json::from_str(line).unwrap();
            for (place, prediction) in task["preds"].as_array().unwrap().iter().enumerate() {
                let row = serde_json::json!({
                    "workload_key": task["workload_key"],
                    "place": place + 1,
                    "prediction": prediction,
                });
                rows.push_str(&format!("{row}\n"));
            }
        }
        place.write("preds.jsonl", rows);
        let joined = "(SELECT k.config_key, p.prediction FROM 'preds.jsonl' AS p JOIN 'keys.parquet' AS k \
                      ON k.workload_key = p.workload_key AND k.place = p.place)";
        let found = report(&place, &["tenset", joined, "--resamples", "20"]);
        let case = &expected[&format!("x86_resnet18/noise={noise}")]["evaluate_model"];
        for (metric, name) in [
            ("rmse", "RMSE"),
            ("r2", "R^2"),
            ("pairwise_accuracy", "pairwise comparision accuracy"),
            ("mape", "mape"),
            ("peak_at_1", "average peak score@1"),
            ("peak_at_5", "average peak score@5"),
        ] {
            let wanted = case[name].as_f64().unwrap();
            let found = value(&found, "ratio of sums", "predictions", metric).unwrap();
            let is_close = (found - wanted).abs() <= 1e-6 * wanted.abs().max(1.0);
            assert!(is_close, "{noise} {metric}: {found}, not {wanted}");
        }
    }
}
