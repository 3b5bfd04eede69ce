//! `tsql score` of predictions by key.

use serde_json::Value;

use crate::networks::NETWORK;
use crate::npz::{array, npz};
use crate::support::{Place, Ran};

/// Returns a line of the task `[name, 4]` of `target` with this result.
pub(crate) fn record(name: &str, target: &str, tile: u32, costs: &str, error_no: u32) -> String {
    format!(
        "{{\"i\": [[\"[\\\"{name}\\\", 4]\", \"{target}\", [1, 2, 3, 4, 5, 6, 7, 8], \"\", 2, []], [[], [[\"SP\", 2, 0, 8, [{tile}], 1]]]], \
         \"r\": [[{costs}], {error_no}, 1.5, 1697658022], \"v\": \"v0.6\"}}\n"
    )
}

/// Returns records of the task that the network `net` has three times (4 ms, 2 ms, a failure and 8 ms), and of a task
/// with one program.
pub(crate) fn measured() -> String {
    [
        record("k", "cuda", 1, "0.004", 0),
        record("k", "cuda", 2, "0.002", 0),
        record("k", "cuda", 3, "1e+10", 4),
        record("k", "cuda", 5, "0.008", 0),
        record("m", "cuda", 1, "0.001", 0),
    ]
    .concat()
}

/// Returns a store with these records.
pub(crate) fn store() -> Place {
    let place = Place::new();
    place.write("gpu/log.json", measured());
    place.ok(&["ingest", "-q", "gpu"]);
    place
}

/// Writes predictions: SQL over `line` and `runtime_ns`.
pub(crate) fn predict(place: &Place, file: &str, prediction: &str) {
    let sql = format!("SELECT config_key, {prediction} FROM records ORDER BY line");
    place.ok(&[&sql, "-o", file]);
}

pub(crate) const BY_LINE: &str = "CASE line WHEN 1 THEN 0.9 WHEN 2 THEN 0.5 WHEN 3 THEN 0.7 WHEN 4 THEN 0.1 ELSE 0.3 END AS prediction";

pub(crate) fn report(place: &Place, args: &[&str]) -> Value {
    let all = [&["score"], args, &["--format", "json"]].concat();
    serde_json::from_str(&place.ok(&all).stdout).unwrap()
}

/// Returns a score of the row with this group and predictor.
pub(crate) fn score<'a>(
    report: &'a Value,
    group: &str,
    predictor: &str,
    metric: &str,
) -> &'a Value {
    let metrics = report["metrics"].as_array().unwrap();
    let place = metrics.iter().position(|one| one == metric).unwrap();
    let rows = report["rows"].as_array().unwrap();
    let row = rows
        .iter()
        .find(|row| row["group"] == group && row["predictor"] == predictor);
    let row = row.unwrap_or_else(|| panic!("no row {group}, {predictor}: {report:#}"));
    &row["scores"][place]
}

pub(crate) fn value(report: &Value, group: &str, predictor: &str, metric: &str) -> Option<f64> {
    score(report, group, predictor, metric)["value"].as_f64()
}

pub(crate) fn close(found: Option<f64>, wanted: f64) {
    let found = found.unwrap();
    assert!((found - wanted).abs() < 1e-6, "{found}, not {wanted}");
}

pub(crate) fn rejected(place: &Place, args: &[&str]) -> Ran {
    let ran = place.tsql(&[&["score"], args].concat());
    assert_ne!(ran.code, Some(0), "{args:?}: {}", ran.stdout);
    assert_eq!(ran.stdout, "", "{args:?}");
    ran
}

#[test]
#[ignore = "full tier"]
fn scores_match_hand_computation() {
    let place = store();
    predict(&place, "p.csv", BY_LINE);
    let tenset = report(&place, &["tenset", "p.csv"]);
    assert_eq!(tenset["groups"], "task");
    assert_eq!(
        (&tenset["records"], &tenset["failed"]),
        (&5.into(), &1.into())
    );
    let (k, m) = ("[\"k\", 4]", "[\"m\", 4]");
    // Pairs 1-3, 1-4 and 2-4 of six are correct. The top prediction has 4 ms, the best program 2 ms.
    close(value(&tenset, k, "predictions", "pairwise_accuracy"), 0.5);
    close(value(&tenset, k, "predictions", "top_1"), 0.5);
    close(value(&tenset, k, "predictions", "top_5"), 1.0);
    close(value(&tenset, k, "predictions", "peak_at_1"), 0.5);
    // A random order has half of the pairs. A failure counts as 1e5 times the best.
    close(value(&tenset, k, "random", "pairwise_accuracy"), 0.5);
    close(
        value(&tenset, k, "random", "top_1"),
        2.0 / ((4.0 + 2.0 + 8.0 + 2e5) / 4.0),
    );
    // A single program has no rank, and its latency counts.
    let one = score(&tenset, m, "predictions", "pairwise_accuracy");
    assert_eq!(
        (&one["value"], &one["excluded_tasks"]["one row"]),
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
    // Smaller times are better. The true times have no error.
    predict(
        &place,
        "t.csv",
        "coalesce(runtime_ns, 1e19) AS predicted_ns",
    );
    let exact = report(&place, &["tenset", "t.csv", "--variant", "valid"]);
    close(value(&exact, k, "predictions", "pairwise_accuracy"), 1.0);
    close(value(&exact, k, "predictions", "rmse"), 0.0);
    close(value(&exact, k, "predictions", "top_1"), 1.0);

    // The network has one task three times, and the other one never.
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
    assert_eq!(tenset["rows"][0]["network_tasks"], 1);
}

#[test]
#[ignore = "full tier"]
fn all_formats_contain_the_same_scores() {
    let place = store();
    let scores = |file: &str| {
        let ran = place.ok(&["score", "tenset", file, "--format", "csv"]);
        assert!(
            ran.stderr
                .contains("no split: a model may have been trained"),
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
    // An array with a row of 16 numbers for each key.
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
    let snapshot = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/snapshots/score_latex.txt"
    );
    if std::env::var_os("TSQL_WRITE_SNAPSHOTS").is_some() {
        std::fs::write(snapshot, &latex).unwrap();
    }
    assert_eq!(latex, std::fs::read_to_string(snapshot).unwrap_or_default());
    assert!(
        latex.contains("ratio of sums & predictions & tenset & 2 & 5 & 1 & "),
        "{latex}"
    );
    let markdown = place
        .ok(&["score", "tenset", "p.csv", "--format", "markdown"])
        .stdout;
    assert!(
        markdown.contains("| mean of tasks | predictions | tenset | 2 |"),
        "{markdown}"
    );
    // The same random samples give the same intervals.
    let again = report(&place, &["tenset", "p.csv", "--seed", "7"]);
    assert_eq!(again, report(&place, &["tenset", "p.csv", "--seed", "7"]));
    let interval = score(&again, "ratio of sums", "predictions", "top_1");
    // Samples of two tasks: twice the first, twice the second, or one of each.
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
fn ceilings_use_repeats_and_repeated_records() {
    let place = Place::new();
    let lines = [
        record("k", "cuda", 1, "0.001, 0.003, 0.003", 0),
        record("k", "cuda", 2, "0.002, 0.002, 0.002", 0),
        record("k", "cuda", 3, "0.003, 0.0015, 0.0015", 0),
        // Two of them again, in reverse order.
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
    // 1, 2, 3 ms are the reverse order of 3, 2, 1.5 ms.
    let task = "[\"k\", 4]";
    close(value(&found, task, "repeats", "pairwise_accuracy"), 0.0);
    close(value(&found, task, "repeats", "top_1"), 0.5);
    // 2 and 2 ms (means of repeats) do not order 3.2 and 4 ms. The earlier configuration wins by its position.
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
#[ignore = "full tier"]
fn the_part_of_a_split_is_scored_and_named() {
    let place = store();
    predict(&place, "p.csv", BY_LINE);
    let path = place.path().join(".tsql");
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let digest = runtime.block_on(async {
        let store = tsql::Store::open(path.to_str().unwrap()).await.unwrap();
        let options = tsql::splits::SplitOptions::default()
            .ratio("100/0/0")
            .hold_out("SELECT graph_id FROM graphs WHERE workload_key LIKE '%k%'");
        let created = store.create_split("held", &options).await.unwrap();
        created.split.digest
    });
    let found = report(&place, &["tenset", "p.csv", "--split", "held"]);
    assert_eq!(
        (&found["split"], &found["part"], &found["split_digest"]),
        (&"held@1".into(), &"test".into(), &digest.into())
    );
    // The held-out task, and one prediction of the other one.
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
    let ran = rejected(
        &place,
        &["tenset", "p.csv", "--split", "held@1", "--part", "valid"],
    );
    assert!(
        ran.stderr.contains("there are no records to score"),
        "{}",
        ran.stderr
    );
    let stderr = place
        .ok(&["score", "tenset", "p.csv", "--split", "held"])
        .stderr;
    assert!(stderr.contains("`test` of the split `held@1`"), "{stderr}");
}

#[test]
fn a_matrix_has_the_scores_of_each_model_on_each_platform() {
    let place = store();
    place.write("cpu/log.json", measured().replace("cuda", "llvm"));
    place.ok(&["ingest", "-q", "cpu"]);
    let by_platform = |platform: &str, file: &str, columns: &str| {
        let sql = format!(
            "SELECT config_key, {columns} FROM records WHERE platform = '{platform}' ORDER BY line"
        );
        place.ok(&[&sql, "-o", file]);
    };
    by_platform("gpu", "gpu.csv", BY_LINE);
    by_platform("cpu", "own.csv", &format!("platform, {BY_LINE}"));
    let args = [
        "score",
        "matrix",
        "--model",
        "any=gpu.csv",
        "--model",
        "own=own.csv",
        "--allow-missing",
        "--format",
    ];
    // Predictions of one platform are by configuration, and configurations of other targets are others.
    let ran = place.ok(&[&args[..], &["json", "--plot", "m.svg"]].concat());
    let matrix: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(matrix["platforms"], serde_json::json!(["cpu", "gpu"]));
    assert_eq!(
        matrix["models"],
        serde_json::json!(["any", "own", "random"])
    );
    let single = |file: &str, platform: &str| {
        let predicate = format!("platform = '{platform}'");
        report(&place, &["tenset", file, "--where", &predicate])
    };
    for (model, file, platform) in [("any", "gpu.csv", "gpu"), ("own", "own.csv", "cpu")] {
        let scored = single(file, platform);
        let rows = scored["rows"].as_array().unwrap();
        let is_total = |row: &&Value| {
            row["predictor"] == "predictions"
                && row["group"].as_str().unwrap().starts_with("mean of")
        };
        let total = rows.iter().rfind(is_total).unwrap();
        let cells = matrix["cells"].as_array().unwrap();
        let cell = cells
            .iter()
            .find(|cell| cell["model"] == model && cell["platform"] == platform);
        assert_eq!(cell.unwrap()["scores"], total["scores"], "{model}");
    }
    let csv = place.ok(&[&args[..], &["csv"]].concat()).stdout;
    assert!(csv.starts_with("model,cpu,gpu\nany,"), "{csv}");
    assert!(
        std::fs::read_to_string(place.path().join("m.svg"))
            .unwrap()
            .contains("pairwise_accuracy")
    );
    for (args, reason) in [
        (vec!["--model", "x"], "expected NAME=PREDICTIONS"),
        (
            vec!["--model", "a=gpu.csv", "--model", "a=own.csv"],
            "the name `a` is used twice",
        ),
        (
            vec!["--model", "a=gpu.csv", "--metric", "speed"],
            "no metric named `speed`",
        ),
        (
            vec!["--model", "a=gpu.csv", "--where", "line > 99"],
            "no record is selected",
        ),
    ] {
        let ran = place.tsql(&[&["score", "matrix", "--allow-missing"][..], &args].concat());
        assert_eq!(ran.code, Some(2), "{}", ran.stderr);
        assert!(ran.stderr.contains(reason), "{}", ran.stderr);
    }
}

#[test]
fn a_grid_of_tasks_and_programs_is_a_part_of_a_larger_one() {
    let place = Place::new();
    let tasks = ["a", "b", "c", "d"].map(|name| {
        let records = (1..=6).map(|tile| record(name, "cuda", tile, "0.004", 0));
        records.collect::<String>()
    });
    place.write("gpu/log.json", tasks.concat());
    place.ok(&["ingest", "-q", "gpu"]);
    let create = |name: &str, tasks: &str, programs: &str| {
        let ran = place.ok(&[
            "subset",
            "create",
            name,
            "--tasks",
            tasks,
            "--programs",
            programs,
            "--seed",
            "7",
        ]);
        ran.stderr
    };
    assert_eq!(create("small", "2", "3"), "small, version 1: 6 members\n");
    assert_eq!(create("large", "3", "5"), "large, version 1: 15 members\n");
    let counted = place.rows(
        "SELECT count(*), count(DISTINCT graph_id), count(*) FILTER (WHERE config_id IN \
         (SELECT CAST(member AS BIGINT) FROM subset_members WHERE name = 'large')) FROM configurations \
         WHERE config_id IN (SELECT CAST(member AS BIGINT) FROM subset_members WHERE name = 'small')",
    );
    assert_eq!(counted, ["6,2,6"]);
    assert_eq!(
        place.rows("SELECT name, tasks, random, seed FROM subsets ORDER BY name"),
        ["large,3,5,7", "small,2,3,7"]
    );
    for (args, reason) in [
        (
            vec!["--tasks", "9", "--programs", "1", "--seed", "7"],
            "cannot draw 9 tasks, the query returns 4",
        ),
        (vec!["--tasks", "1", "--seed", "7"], "--programs"),
        (
            vec!["--query", "SELECT 1", "--seed", "7"],
            "--seed needs --random or --tasks",
        ),
        (
            vec![
                "--query",
                "SELECT 1",
                "--tasks",
                "1",
                "--programs",
                "1",
                "--seed",
                "7",
            ],
            "expected two columns",
        ),
    ] {
        let ran = place.tsql(&[&["subset", "create", "x"][..], &args].concat());
        assert_eq!(ran.code, Some(2), "{}", ran.stderr);
        assert!(ran.stderr.contains(reason), "{}", ran.stderr);
    }
}
