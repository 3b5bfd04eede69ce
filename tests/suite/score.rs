//! `tsql score` of predictions by their keys: what it makes of them, and what it refuses.

use serde_json::Value;

use crate::networks::NETWORK;
use crate::npz::{array, layout_file, npz, tile_file};
use crate::support::{Place, Ran, shared};

/// A line of the task `[name, 4]` of `target`, with this result.
fn record(name: &str, target: &str, tile: u32, costs: &str, error_no: u32) -> String {
    format!(
        "{{\"i\": [[\"[\\\"{name}\\\", 4]\", \"{target}\", [1, 2, 3, 4, 5, 6, 7, 8], \"\", 2, []], [[], [[\"SP\", 2, 0, 8, [{tile}], 1]]]], \
         \"r\": [[{costs}], {error_no}, 1.5, 1697658022], \"v\": \"v0.6\"}}\n"
    )
}

/// The task that the network `net` has three times: 4 ms, 2 ms, a failure and 8 ms; and one of a single program.
fn measured() -> String {
    [
        record("k", "cuda", 1, "0.004", 0),
        record("k", "cuda", 2, "0.002", 0),
        record("k", "cuda", 3, "1e+10", 4),
        record("k", "cuda", 5, "0.008", 0),
        record("m", "cuda", 1, "0.001", 0),
    ]
    .concat()
}

/// A store with them, and predictions by line.
fn store() -> Place {
    let place = Place::new();
    place.write("gpu/log.json", measured());
    place.ok(&["ingest", "-q", "gpu"]);
    place
}

/// Writes predictions: SQL over `line` and `runtime_ns`.
fn predict(place: &Place, file: &str, prediction: &str) {
    let sql = format!("SELECT config_key, {prediction} FROM records ORDER BY line");
    place.ok(&[&sql, "-o", file]);
}

const BY_LINE: &str = "CASE line WHEN 1 THEN 0.9 WHEN 2 THEN 0.5 WHEN 3 THEN 0.7 WHEN 4 THEN 0.1 ELSE 0.3 END AS prediction";

fn report(place: &Place, args: &[&str]) -> Value {
    let all = [&["score"], args, &["--format", "json"]].concat();
    serde_json::from_str(&place.ok(&all).stdout).unwrap()
}

/// A score of the row with this group and predictor.
fn score<'a>(report: &'a Value, group: &str, predictor: &str, metric: &str) -> &'a Value {
    let metrics = report["metrics"].as_array().unwrap();
    let place = metrics.iter().position(|one| one == metric).unwrap();
    let rows = report["rows"].as_array().unwrap();
    let row = rows
        .iter()
        .find(|row| row["group"] == group && row["predictor"] == predictor);
    let row = row.unwrap_or_else(|| panic!("no row {group}, {predictor}: {report:#}"));
    &row["scores"][place]
}

fn value(report: &Value, group: &str, predictor: &str, metric: &str) -> Option<f64> {
    score(report, group, predictor, metric)["value"].as_f64()
}

fn close(found: Option<f64>, wanted: f64) {
    let found = found.unwrap();
    assert!((found - wanted).abs() < 1e-6, "{found}, not {wanted}");
}

fn refused(place: &Place, args: &[&str]) -> Ran {
    let ran = place.tsql(&[&["score"], args].concat());
    assert_ne!(ran.code, Some(0), "{args:?}: {}", ran.stdout);
    assert_eq!(ran.stdout, "", "{args:?}");
    ran
}

#[test]
fn scores_are_those_of_a_calculation_by_hand() {
    let place = store();
    predict(&place, "p.csv", BY_LINE);
    let tenset = report(&place, &["tenset", "p.csv"]);
    assert_eq!(tenset["groups"], "task");
    assert_eq!(
        (&tenset["records"], &tenset["failed"]),
        (&5.into(), &1.into())
    );
    let (k, m) = ("[\"k\", 4]", "[\"m\", 4]");
    // Pairs 1-3, 1-4 and 2-4 of six are right; the first by prediction takes 4 ms, the best 2.
    close(value(&tenset, k, "predictions", "pairwise_accuracy"), 0.5);
    close(value(&tenset, k, "predictions", "top_1"), 0.5);
    close(value(&tenset, k, "predictions", "top_5"), 1.0);
    close(value(&tenset, k, "predictions", "peak_at_1"), 0.5);
    // The order of chance: half of the pairs; a failure counts 1e5 times the best.
    close(value(&tenset, k, "random", "pairwise_accuracy"), 0.5);
    close(
        value(&tenset, k, "random", "top_1"),
        2.0 / ((4.0 + 2.0 + 8.0 + 2e5) / 4.0),
    );
    // One program is ranked by nobody, and its latency counts.
    let one = score(&tenset, m, "predictions", "pairwise_accuracy");
    assert_eq!(
        (&one["value"], &one["left_out"]["one row"]),
        (&Value::Null, &1.into())
    );
    close(value(&tenset, m, "predictions", "top_1"), 1.0);
    close(
        value(&tenset, "mean of tasks", "predictions", "top_1"),
        0.75,
    );
    close(
        value(&tenset, "ratio of sums", "predictions", "top_1"),
        3.0 / 5.0,
    );
    close(
        value(&tenset, "ratio of sums", "predictions", "pairwise_accuracy"),
        0.5,
    );

    let valid = report(&place, &["tenset", "p.csv", "--variant", "valid"]);
    close(
        value(&valid, k, "predictions", "pairwise_accuracy"),
        2.0 / 3.0,
    );
    let squares: f64 = 0.4 * 0.4 + 0.5 * 0.5 + 0.15 * 0.15;
    close(
        value(&valid, k, "predictions", "rmse"),
        (squares / 3.0).sqrt(),
    );
    close(
        value(&valid, k, "predictions", "r2"),
        1.0 - squares / (0.5625 + 0.25 + 1.3125 - 1.75 * 1.75 / 3.0 - 0.8125),
    );
    close(
        value(&valid, k, "random", "top_1"),
        2.0 / ((4.0 + 2.0 + 8.0) / 3.0),
    );
    // Times are the better the smaller they are; the true ones make no error.
    predict(
        &place,
        "t.csv",
        "coalesce(runtime_ns, 1e19) AS predicted_ns",
    );
    let exact = report(&place, &["tenset", "t.csv", "--variant", "valid"]);
    close(value(&exact, k, "predictions", "pairwise_accuracy"), 1.0);
    close(value(&exact, k, "predictions", "rmse"), 0.0);
    close(value(&exact, k, "predictions", "top_1"), 1.0);

    // A network has the task three times, and the other one never.
    place.write("info/((net,[(1,3)]),cuda).task.pkl", NETWORK);
    place.ok(&["ingest", "-q", "info"]);
    let tlp = report(&place, &["tlp", "p.csv"]);
    assert_eq!(tlp["groups"], "network");
    assert_eq!(tlp["metrics"][0], "top_1");
    close(value(&tlp, "net [[1,3]]", "predictions", "top_1"), 0.5);
    close(value(&tlp, "ratio of sums", "predictions", "top_1"), 0.5);
    let tenset = report(&place, &["tenset", "p.csv"]);
    close(
        value(&tenset, "mean of networks", "predictions", "top_1"),
        0.5,
    );
    assert_eq!(tenset["rows"][0]["tasks_of_network"], 1);
}

#[test]
fn all_formats_say_the_same() {
    let place = store();
    let scores = |file: &str| {
        let ran = place.ok(&["score", "tenset", file, "--format", "csv"]);
        assert!(
            ran.stderr.contains("no split: a model may have learnt"),
            "{}",
            ran.stderr
        );
        assert!(
            ran.stderr.contains("5 records (1 failed)"),
            "{}",
            ran.stderr
        );
        ran.stdout
    };
    predict(&place, "p.csv", BY_LINE);
    let wanted = scores("p.csv");
    for file in ["p.parquet", "p.jsonl", "p.arrow", "p.csv.gz"] {
        predict(&place, file, BY_LINE);
        assert_eq!(scores(file), wanted, "{file}");
    }
    let bytes = "SELECT key_bytes(config_key) AS config_key, prediction FROM 'p.csv'";
    place.ok(&[bytes, "-o", "bytes.parquet"]);
    assert_eq!(scores("bytes.parquet"), wanted);
    assert_eq!(
        scores("(SELECT * FROM 'p.csv' ORDER BY prediction)"),
        wanted
    );
    // npz knows no text: each key is 16 numbers.
    let rows = place.rows("SELECT config_key, prediction FROM 'p.csv'");
    let (mut keys, mut predictions) = (Vec::new(), Vec::new());
    for row in &rows {
        let (key, prediction) = row.split_once(',').unwrap();
        let byte = |at: usize| f64::from(u8::from_str_radix(&key[at..at + 2], 16).unwrap());
        keys.extend((0..32).step_by(2).map(byte));
        predictions.push(prediction.parse::<f64>().unwrap());
    }
    let arrays = [
        array("config_key", "|u1", &[rows.len(), 16], &keys),
        array("prediction", "<f8", &[rows.len()], &predictions),
    ];
    place.write("p.npz", npz(&arrays));
    assert_eq!(scores("p.npz"), wanted);

    let latex = place
        .ok(&["score", "tenset", "p.csv", "--format", "latex"])
        .stdout;
    assert!(latex.starts_with("\\begin{tabular}{llllrrrr"), "{latex}");
    assert!(
        latex.contains("ratio of sums & predictions & tenset & 2 & 5 & 1 & "),
        "{latex}"
    );
    assert!(latex.ends_with("\\bottomrule\n\\end{tabular}\n"), "{latex}");
    let markdown = place
        .ok(&["score", "tenset", "p.csv", "--format", "markdown"])
        .stdout;
    assert!(
        markdown.contains("| mean of tasks | predictions | tenset | 2 |"),
        "{markdown}"
    );
    // The same draws, the same intervals.
    let again = report(&place, &["tenset", "p.csv", "--seed", "7"]);
    assert_eq!(again, report(&place, &["tenset", "p.csv", "--seed", "7"]));
    let interval = score(&again, "ratio of sums", "predictions", "top_1");
    // Of two tasks: both the one or the other, or one of each.
    assert_eq!(
        (&interval["low"], &interval["high"]),
        (&0.5.into(), &1.0.into())
    );
    assert_eq!(
        score(&again, "[\"k\", 4]", "predictions", "top_1")["low"],
        Value::Null
    );
    let none = report(&place, &["tenset", "p.csv", "--resamples", "0"]);
    assert_eq!(
        score(&none, "ratio of sums", "predictions", "top_1")["low"],
        Value::Null
    );
}

#[test]
fn what_does_not_fit_is_counted_and_refused() {
    let place = store();
    predict(&place, "p.csv", BY_LINE);
    let some = |sql: &str, file: &str| {
        place.ok(&[sql, "-o", file]);
    };
    some("SELECT * FROM 'p.csv' WHERE prediction > 0.4", "few.csv");
    let ran = refused(&place, &["tenset", "few.csv"]);
    assert!(
        ran.stderr
            .contains("few.csv: 2 of 5 records have no prediction"),
        "{}",
        ran.stderr
    );
    assert!(
        ran.stderr.contains("hint: --allow-missing"),
        "{}",
        ran.stderr
    );
    let allowed = place.ok(&["score", "tenset", "few.csv", "--allow-missing"]);
    assert!(
        allowed
            .stdout
            .lines()
            .next()
            .unwrap()
            .contains(",failed,missing,"),
        "{}",
        allowed.stdout
    );
    assert!(
        allowed
            .stderr
            .contains("5 records (1 failed, 2 without a prediction)"),
        "{}",
        allowed.stderr
    );

    some(
        "SELECT * FROM 'p.csv' UNION ALL SELECT * FROM 'p.csv' WHERE prediction > 0.8",
        "twice.csv",
    );
    let ran = refused(&place, &["tenset", "twice.csv", "--allow-missing"]);
    assert!(
        ran.stderr
            .contains("1 predictions stand there again, such as "),
        "{}",
        ran.stderr
    );

    some(
        "SELECT replace(config_key, substr(config_key, 1, 1), CASE substr(config_key, 1, 1) WHEN 'a' THEN 'b' ELSE 'a' END) AS config_key, \
         prediction FROM 'p.csv'",
        "other.csv",
    );
    let ran = refused(&place, &["tenset", "other.csv"]);
    assert!(
        ran.stderr.contains("5 of 5 records have no prediction"),
        "{}",
        ran.stderr
    );
    assert!(
        ran.stderr
            .contains("5 are of configurations that the store does not have, such as "),
        "{}",
        ran.stderr
    );

    place.write("nothing.csv", "config_key,prediction\n");
    refused(&place, &["tenset", "nothing.csv"]);
    let ran = refused(&place, &["tenset", "nothing.csv", "--allow-missing"]);
    assert!(
        ran.stderr.contains("none of its 0 predictions"),
        "{}",
        ran.stderr
    );

    some(
        "SELECT config_key, prediction, 1.0 AS predicted_ns FROM 'p.csv'",
        "both.csv",
    );
    let ran = refused(&place, &["tenset", "both.csv"]);
    assert!(
        ran.stderr.contains("both `prediction` and `predicted_ns`"),
        "{}",
        ran.stderr
    );
    some(
        "SELECT config_key, prediction AS score FROM 'p.csv'",
        "named.csv",
    );
    let ran = refused(&place, &["tenset", "named.csv"]);
    assert!(
        ran.stderr.contains("no column `prediction`"),
        "{}",
        ran.stderr
    );
    assert!(
        ran.stderr.contains("but `config_key`, `score`"),
        "{}",
        ran.stderr
    );
    some(
        "SELECT 1 AS config_key, prediction FROM 'p.csv'",
        "numbers.csv",
    );
    let ran = refused(&place, &["tenset", "numbers.csv"]);
    assert!(
        ran.stderr
            .contains("`config_key` is Int64, it must be 32 hexadecimal digits"),
        "{}",
        ran.stderr
    );
    place.write("short.csv", "config_key,prediction\nabc,1\n");
    let ran = refused(&place, &["tenset", "short.csv", "--allow-missing"]);
    assert!(ran.stderr.contains("1 have no key"), "{}", ran.stderr);
    let ran = refused(&place, &["tenset", "p.csv", "--where", "platform = 'tpu'"]);
    assert!(
        ran.stderr.contains("no record is to be scored"),
        "{}",
        ran.stderr
    );
    let ran = refused(&place, &["tenset", "p.csv", "--split", "nothing@1"]);
    assert!(ran.stderr.contains("nothing"), "{}", ran.stderr);
}

#[test]
fn no_odd_prediction_makes_a_score() {
    let place = store();
    for odd in ["'NaN'", "'inf'", "'-inf'"] {
        let prediction = format!(
            "CASE line WHEN 1 THEN CAST({odd} AS DOUBLE) ELSE 1.0 / line END AS prediction"
        );
        predict(&place, "odd.parquet", &prediction);
        let ran = place.ok(&["score", "tenset", "odd.parquet"]);
        assert!(
            ran.stderr.contains("1 prediction NaN, infinite or no time"),
            "{}",
            ran.stderr
        );
        let found = report(&place, &["tenset", "odd.parquet"]);
        for group in ["[\"k\", 4]", "mean of tasks", "ratio of sums"] {
            for metric in ["rmse", "pairwise_accuracy", "top_1", "top_20"] {
                let score = score(&found, group, "predictions", metric);
                assert_eq!(
                    (&score["value"], &score["low"]),
                    (&Value::Null, &Value::Null),
                    "{group} {metric}"
                );
            }
        }
        // The other task is what it was, and chance does not depend on predictions.
        close(value(&found, "[\"m\", 4]", "predictions", "top_1"), 1.0);
        close(
            value(&found, "[\"k\", 4]", "random", "pairwise_accuracy"),
            0.5,
        );
    }
    predict(
        &place,
        "zero.parquet",
        "CASE line WHEN 1 THEN 0.0 ELSE 1.0 END AS predicted_ns",
    );
    let found = report(&place, &["tenset", "zero.parquet"]);
    assert_eq!(value(&found, "ratio of sums", "predictions", "top_1"), None);
    // Equal predictions: each pair counts by its lines, the best of one is the first line.
    predict(&place, "equal.parquet", "0.5 AS prediction");
    let found = report(&place, &["tenset", "equal.parquet", "--variant", "valid"]);
    close(value(&found, "[\"k\", 4]", "predictions", "top_1"), 0.5);
    close(
        value(&found, "[\"k\", 4]", "predictions", "pairwise_accuracy"),
        1.0 / 3.0,
    );

    // All failed, and all equally fast.
    let place = Place::new();
    let failed = [1, 2]
        .map(|tile| record("f", "cuda", tile, "1e+10", 4))
        .concat();
    let alike = [1, 2]
        .map(|tile| record("a", "cuda", tile, "0.002", 0))
        .concat();
    place.write("gpu/log.json", failed + &alike);
    place.ok(&["ingest", "-q", "gpu"]);
    predict(&place, "p.csv", "1.0 / line AS prediction");
    for variant in ["tenset", "valid"] {
        let found = report(&place, &["tenset", "p.csv", "--variant", variant]);
        let all = score(&found, "ratio of sums", "predictions", "pairwise_accuracy");
        assert_eq!(all["value"], Value::Null);
        assert_eq!(all["left_out"]["all rows failed"], 1);
        assert_eq!(all["left_out"]["all labels are equal"], 1);
        assert_eq!(value(&found, "[\"f\", 4]", "predictions", "top_1"), None);
    }
}

#[test]
fn ceilings_come_from_repeats_and_from_what_was_measured_again() {
    let place = Place::new();
    let lines = [
        record("k", "cuda", 1, "0.001, 0.003, 0.003", 0),
        record("k", "cuda", 2, "0.002, 0.002, 0.002", 0),
        record("k", "cuda", 3, "0.003, 0.0015, 0.0015", 0),
        // Two of them again, the other way round.
        record("k", "cuda", 2, "0.0031", 0),
        record("k", "cuda", 3, "0.004", 0),
        record("k", "cuda", 2, "0.0033", 0),
    ];
    place.write("gpu/log.json", lines.concat());
    place.ok(&["ingest", "-q", "gpu"]);
    place.ok(&[
        "SELECT DISTINCT config_key, 1.0 AS prediction FROM records",
        "-o",
        "p.csv",
    ]);
    let found = report(&place, &["tenset", "p.csv"]);
    // 1, 2, 3 ms say the opposite of 3, 2, 1.5 ms.
    let task = "[\"k\", 4]";
    close(value(&found, task, "repeats", "pairwise_accuracy"), 0.0);
    close(value(&found, task, "repeats", "top_1"), 0.5);
    // 2 and 2 ms (each the mean of its repeats) say nothing of 3.2 and 4: the earlier configuration is right by its place.
    let again = found["rows"].as_array().unwrap().iter();
    let again = again.filter(|row| row["predictor"] == "remeasured" && row["group"] == task);
    assert_eq!(
        again.map(|row| row["rows"].as_u64()).collect::<Vec<_>>(),
        [Some(2)]
    );
    close(value(&found, task, "remeasured", "top_5"), 1.0);
    assert_eq!(found["records"], 6);
}

#[test]
fn several_platforms_are_told_apart() {
    let place = Place::new();
    place.write("a/log.json", measured());
    place.write("b/log.json", measured().replace("0.004", "0.0001"));
    place.ok(&["ingest", "-q", "a", "b"]);
    place.ok(&[
        "SELECT DISTINCT config_key, length(config_key) * 1.0 AS prediction FROM records",
        "-o",
        "p.csv",
    ]);
    let ran = refused(&place, &["tenset", "p.csv"]);
    assert!(
        ran.stderr
            .contains("no column `platform`, and the records are of 2 (a, b)"),
        "{}",
        ran.stderr
    );
    place.ok(&["score", "tenset", "p.csv", "--where", "platform = 'a'"]);
    place.ok(&[
        "SELECT config_key, platform, 1 / runtime_ns AS prediction FROM records WHERE error_no = 0",
        "-o",
        "both.csv",
    ]);
    let found = report(
        &place,
        &[
            "tenset",
            "both.csv",
            "--allow-missing",
            "--variant",
            "valid",
        ],
    );
    close(value(&found, "ratio of sums", "predictions", "top_1"), 1.0);
    assert_eq!(
        (&found["missing"], &found["rows"][0]["platform"]),
        (&2.into(), &"a".into())
    );
}

#[test]
fn the_part_of_a_split_is_scored_and_named() {
    let place = store();
    predict(&place, "p.csv", BY_LINE);
    let path = place.path().join("tsql.store");
    let path = if path.exists() {
        path
    } else {
        place.path().to_owned()
    };
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let digest = runtime.block_on(async {
        let store = tsql::Store::open(path.to_str().unwrap()).await.unwrap();
        let options = tsql::splits::SplitOptions::default()
            .ratio("100/0/0")
            .hold_out("SELECT graph_id FROM graphs WHERE workload_key LIKE '%k%'");
        let made = store.create_split("held", &options).await.unwrap();
        made.split.digest
    });
    let found = report(&place, &["tenset", "p.csv", "--split", "held"]);
    assert_eq!(
        (&found["split"], &found["part"], &found["split_digest"]),
        (&"held@1".into(), &"test".into(), &digest.into())
    );
    // The task that was held out, and one prediction of the other.
    assert_eq!(
        (&found["records"], &found["unused"]),
        (&4.into(), &1.into())
    );
    close(value(&found, "ratio of sums", "predictions", "top_1"), 0.5);
    let train = report(
        &place,
        &["tenset", "p.csv", "--split", "held@1", "--part", "train"],
    );
    assert_eq!(train["records"], 1);
    let ran = refused(
        &place,
        &["tenset", "p.csv", "--split", "held@1", "--part", "valid"],
    );
    assert!(
        ran.stderr.contains("no record is to be scored"),
        "{}",
        ran.stderr
    );
    let told = place
        .ok(&["score", "tenset", "p.csv", "--split", "held"])
        .stderr;
    assert!(told.contains("`test` of the split `held@1`"), "{told}");
}

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
    // The layouts in the right order but for one pair, the tiles the wrong way round.
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
    // Kaggle's score is the mean of five collections.
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
        ran.stderr.contains("no record is to be scored"),
        "{}",
        ran.stderr
    );
}

#[test]
fn predictions_choose_runs_of_graphnet() {
    let Some(shared) = shared() else { return };
    let place = Place::new();
    let logs = shared.join("data/graphnet/logs");
    place.ok(&["ingest", "-q", logs.to_str().unwrap()]);
    let runs = place.rows(
        "SELECT count(*) FROM (SELECT graph_id, platform FROM records WHERE dataset = 'graphnet' GROUP BY graph_id, platform HAVING count(*) > 1)",
    );
    place.ok(&[
        "SELECT config_key, platform, max(coalesce(baseline_ns / runtime_ns, 0)) AS prediction FROM records WHERE dataset = 'graphnet' GROUP BY 1, 2",
        "-o",
        "p.csv",
    ]);
    let found = report(&place, &["graphnet", "p.csv"]);
    let all = found["rows"].as_array().unwrap().iter();
    let all = all.filter(|row| row["group"] == "all graphs");
    let of: Vec<&Value> = all.map(|row| &row["predictor"]).collect();
    assert_eq!(of, ["predictions", "random", "best"]);
    let (best, chance) = (
        value(&found, "all graphs", "best", "es(0)"),
        value(&found, "all graphs", "random", "es(0)"),
    );
    let chosen = value(&found, "all graphs", "predictions", "es(0)");
    if runs == ["0"] {
        assert_eq!(chosen, None);
        return;
    }
    assert!(
        best >= chosen && best > chance,
        "{best:?} {chosen:?} {chance:?}"
    );
}

/// The noise ceiling of the real logs of x86, by another program (NumPy): see `../shared/training.md`.
#[test]
fn the_ceiling_of_real_logs_is_what_others_found() {
    let Some(shared) = shared() else { return };
    let place = Place::new();
    let logs = shared.join("data/tenset/x86");
    place.ok(&["ingest", "-q", "--platform", "x86", logs.to_str().unwrap()]);
    place.ok(&[
        "SELECT DISTINCT config_key, 1.0 AS prediction FROM records",
        "-o",
        "p.parquet",
    ]);
    let found = report(
        &place,
        &[
            "tenset",
            "p.parquet",
            "--variant",
            "valid",
            "--resamples",
            "50",
        ],
    );
    let pairs = value(&found, "mean of tasks", "repeats", "pairwise_accuracy").unwrap();
    eprintln!(
        "{pairs} {:?}",
        value(&found, "mean of tasks", "repeats", "top_1")
    );
    assert!((pairs - 0.958).abs() < 0.01, "{pairs}");
}
