//! `tsql score`: rejected predictions, and rows without a score.

use serde_json::Value;

use crate::score::{
    BY_LINE, close, measured, predict, record, rejected, report, score, store, value,
};
use crate::support::{Place, Ran};

fn assert_reports(ran: &Ran, words: &str) {
    assert!(ran.stderr.contains(words), "{}", ran.stderr);
}

#[test]
fn missing_and_unknown_predictions_are_counted_and_rejected() {
    let place = store();
    predict(&place, "p.csv", BY_LINE);
    let some = |sql: &str, file: &str| {
        place.ok(&[sql, "-o", file]);
    };
    some("SELECT * FROM 'p.csv' WHERE prediction > 0.4", "few.csv");
    let ran = rejected(&place, &["tenset", "few.csv"]);
    assert_reports(&ran, "few.csv: 2 of 5 records have no prediction");
    assert_reports(&ran, "hint: --allow-missing");
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
    let ran = rejected(&place, &["tenset", "twice.csv", "--allow-missing"]);
    assert_reports(&ran, "1 predictions are duplicates, such as ");

    some(
        "SELECT replace(config_key, substr(config_key, 1, 1), CASE substr(config_key, 1, 1) WHEN 'a' THEN 'b' ELSE 'a' END) AS config_key, \
         prediction FROM 'p.csv'",
        "other.csv",
    );
    let ran = rejected(&place, &["tenset", "other.csv"]);
    assert_reports(&ran, "5 of 5 records have no prediction");
    assert_reports(
        &ran,
        "5 are for configurations that are not in the store, such as ",
    );
}

#[test]
fn invalid_predictions_are_rejected() {
    let place = store();
    predict(&place, "p.csv", BY_LINE);
    let some = |sql: &str, file: &str| {
        place.ok(&[sql, "-o", file]);
    };
    place.write("nothing.csv", "config_key,prediction\n");
    rejected(&place, &["tenset", "nothing.csv"]);
    let ran = rejected(&place, &["tenset", "nothing.csv", "--allow-missing"]);
    assert_reports(&ran, "none of its 0 predictions");

    some(
        "SELECT config_key, prediction, 1.0 AS predicted_ns FROM 'p.csv'",
        "both.csv",
    );
    let ran = rejected(&place, &["tenset", "both.csv"]);
    assert_reports(&ran, "both `prediction` and `predicted_ns`");
    some(
        "SELECT config_key, prediction AS score FROM 'p.csv'",
        "named.csv",
    );
    let ran = rejected(&place, &["tenset", "named.csv"]);
    assert_reports(&ran, "no column `prediction`");
    assert_reports(&ran, "has `config_key`, `score`");
    some(
        "SELECT 1 AS config_key, prediction FROM 'p.csv'",
        "numbers.csv",
    );
    let ran = rejected(&place, &["tenset", "numbers.csv"]);
    assert_reports(
        &ran,
        "`config_key` is Int64, expected 32 hexadecimal digits",
    );
    place.write("short.csv", "config_key,prediction\nabc,1\n");
    let ran = rejected(&place, &["tenset", "short.csv", "--allow-missing"]);
    assert_reports(&ran, "1 have no key");
    let ran = rejected(&place, &["tenset", "p.csv", "--where", "platform = 'tpu'"]);
    assert_reports(&ran, "there are no records to score");
    let ran = rejected(&place, &["tenset", "p.csv", "--split", "nothing@1"]);
    assert_reports(&ran, "nothing");
}

#[test]
#[ignore = "full tier"]
fn infinite_and_nan_predictions_get_no_score() {
    let place = store();
    for odd in ["'NaN'", "'inf'", "'-inf'"] {
        let prediction = format!(
            "CASE line WHEN 1 THEN CAST({odd} AS DOUBLE) ELSE 1.0 / line END AS prediction"
        );
        predict(&place, "odd.parquet", &prediction);
        let ran = place.ok(&["score", "tenset", "odd.parquet"]);
        assert_reports(&ran, "1 prediction NaN, infinite or not a time");
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
        // The other task is unchanged, and the random score does not depend on predictions.
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
    // Equal predictions: line order decides each pair, and the top one is the first line.
    predict(&place, "equal.parquet", "0.5 AS prediction");
    let found = report(&place, &["tenset", "equal.parquet", "--variant", "valid"]);
    close(value(&found, "[\"k\", 4]", "predictions", "top_1"), 0.5);
    close(
        value(&found, "[\"k\", 4]", "predictions", "pairwise_accuracy"),
        1.0 / 3.0,
    );

    // All failed, and all with the same runtime.
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
        assert_eq!(all["excluded_tasks"]["all rows failed"], 1);
        assert_eq!(all["excluded_tasks"]["all labels are equal"], 1);
        assert_eq!(value(&found, "[\"f\", 4]", "predictions", "top_1"), None);
    }
}

#[test]
#[ignore = "full tier"]
fn several_platforms_need_a_platform_column() {
    let place = Place::new();
    place.write("a/log.json", measured());
    place.write("b/log.json", measured().replace("0.004", "0.0001"));
    place.ok(&["ingest", "-q", "a", "b"]);
    place.ok(&[
        "SELECT DISTINCT config_key, length(config_key) * 1.0 AS prediction FROM records",
        "-o",
        "p.csv",
    ]);
    let ran = rejected(&place, &["tenset", "p.csv"]);
    assert_reports(
        &ran,
        "no column `platform`, but the records are from 2 platforms (a, b)",
    );
    place.ok(&["score", "tenset", "p.csv", "--where", "platform = 'a'"]);
    place.ok(&[
        "SELECT config_key, platform, 1 / runtime_ns AS prediction FROM records WHERE error_no = 0",
        "-o",
        "both.csv",
    ]);
    let found = report(&place, &["tenset", "both.csv", "--variant", "valid"]);
    close(value(&found, "ratio of sums", "predictions", "top_1"), 1.0);
    assert_eq!(
        (&found["missing"], &found["rows"][0]["platform"]),
        (&0.into(), &"a".into())
    );
    // In TenSet's variant failed records need predictions, too.
    let ran = rejected(&place, &["tenset", "both.csv"]);
    assert_reports(&ran, "2 of 10 records have no prediction");
}
