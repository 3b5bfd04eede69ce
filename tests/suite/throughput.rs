//! TenSet's metrics as aggregates, compared with the code of upstream.

use std::fmt::Write as _;

use serde_json::Value;

use crate::support::{Place, shared};

fn golden(name: &str) -> Option<String> {
    let path = shared()?.join("golden/tenset").join(name);
    Some(std::fs::read_to_string(path).unwrap())
}

fn numbers(list: &Value) -> Vec<f64> {
    let numbers = list.as_array().unwrap().iter();
    numbers.map(|one| one.as_f64().unwrap()).collect()
}

/// Returns the rows of a result, split into cells.
fn split_rows(place: &Place, sql: &str) -> Vec<Vec<String>> {
    let rows = place.rows(sql).into_iter();
    rows.map(|row| row.split(',').map(str::to_owned).collect())
        .collect()
}

fn assert_close(found: &str, wanted: &Value, tolerance: f64, what: &str) {
    let wanted = match wanted {
        Value::String(text) => text.parse().unwrap(),
        other => other.as_f64().unwrap(),
    };
    let found: f64 = found
        .parse()
        .unwrap_or_else(|_| panic!("{what}: `{found}`"));
    let is_close = (found - wanted).abs() <= tolerance * wanted.abs().max(1.0);
    assert!(is_close || found == wanted, "{what}: {found}, not {wanted}");
}

#[test]
fn aggregates_equal_upstream_except_for_misleading_values() {
    let Some(text) = golden("metrics_small.json") else {
        return;
    };
    let cases: Value = serde_json::from_str(&text).unwrap();
    let cases = cases.as_array().unwrap();
    let mut rows = "name,place,label,prediction\n".to_owned();
    for case in cases {
        let both = numbers(&case["labels"])
            .into_iter()
            .zip(numbers(&case["preds"]));
        for (place, (label, prediction)) in both.enumerate() {
            let name = case["name"].as_str().unwrap();
            writeln!(rows, "{name},{place},{label:?},{prediction:?}").unwrap();
        }
    }
    let place = Place::new();
    place.write("cases.csv", rows);
    place.ok(&["init"]);
    let at_k = |name: &str, k: u32| format!("{name}(label, prediction, {k}, place)");
    let ks = [1, 2, 5, 10, 20];
    let mut columns = vec![
        ("rmse".to_owned(), "rmse(label, prediction)".to_owned()),
        ("r2".to_owned(), "r2(label, prediction)".to_owned()),
        ("mape".to_owned(), "mape(label, prediction)".to_owned()),
        (
            "pairwise".to_owned(),
            "pairwise_accuracy(label, prediction, place)".to_owned(),
        ),
    ];
    for k in ks {
        columns.push((format!("recall@{k}"), at_k("recall_at_k", k)));
        columns.push((format!("peak@{k}"), at_k("peak_at_k", k)));
    }
    let expressions: Vec<&str> = columns.iter().map(|(_, sql)| sql.as_str()).collect();
    // Rows are shuffled, so that only `place` breaks ties.
    let sql = format!(
        "SELECT name, {} FROM (SELECT * FROM 'cases.csv' ORDER BY place % 7, place DESC) GROUP BY name",
        expressions.join(", ")
    );
    let found = split_rows(&place, &sql);
    assert_eq!(found.len(), cases.len());
    let mut rejected = 0;
    for row in &found {
        let case = cases
            .iter()
            .find(|case| case["name"] == row[0].as_str())
            .unwrap();
        let flatters = |name: &str| match row[0].as_str() {
            "single" => name != "rmse" && name != "mape",
            "constant_labels" => name != "rmse" && name != "mape",
            _ => false,
        };
        for ((name, _), cell) in columns.iter().zip(&row[1..]) {
            let what = format!("{} {name}", row[0]);
            match &case["expected"][name] {
                Value::Null => {}
                _ if flatters(name) => {
                    assert_eq!(cell, "", "{what}");
                    rejected += 1;
                }
                wanted => assert_close(cell, wanted, 1e-12, &what),
            }
        }
    }
    // Rejected for one row and for equal labels: r2, pairs, and recall and peak at two or three k.
    assert_eq!(rejected, 6 + 8);
}

#[test]
fn network_scores_match_upstream_evaluation() {
    let Some(expected) = golden("metrics_real.json") else {
        return;
    };
    let expected: Value = serde_json::from_str(&expected).unwrap();
    let place = Place::new();
    place.ok(&["init"]);
    let mut rows = "noise,task,place,label,prediction,least_s,weight\n".to_owned();
    for noise in ["0.0", "0.1", "1.0"] {
        let tasks = golden(&format!("preds_x86_resnet18_{noise}.jsonl")).unwrap();
        for (task, line) in tasks.lines().enumerate() {
            let golden_task: Value = serde_json::from_str(line).unwrap();
            let both = numbers(&golden_task["labels"])
                .into_iter()
                .zip(numbers(&golden_task["preds"]));
            for (place, (label, prediction)) in both.enumerate() {
                writeln!(
                    rows,
                    "{noise},{task},{place},{label:?},{prediction:?},{},{}",
                    golden_task["min_latency"], golden_task["weight"]
                )
                .unwrap();
            }
        }
    }
    place.write("rows.csv", rows);
    let sql = "WITH tasks AS (SELECT noise, task, count(*) AS n, max(weight) AS weight, max(least_s) AS least_s, \
               rmse(label, prediction) AS rmse, r2(label, prediction) AS r2, mape(label, prediction) AS mape, \
               pairwise_accuracy(label, prediction, place) AS pairs, \
               peak_at_k(label, prediction, 1, place) AS peak_1, peak_at_k(label, prediction, 5, place) AS peak_5, \
               tenset_scores(1e9 * least_s / label, prediction, place) AS scores FROM 'rows.csv' GROUP BY noise, task) \
               SELECT noise, sqrt(sum(n * rmse * rmse) / sum(n)), sum(n * r2) / sum(n), sum(n * pairs) / sum(n), \
               sum(n * mape) / sum(n), sum(n * peak_1) / sum(n), sum(n * peak_5) / sum(n), \
               top_k_score(scores['best_ns'], scores['top_1_ns'], weight), top_k_score(scores['best_ns'], scores['top_5_ns'], weight), \
               top_k_score(scores['best_ns'], scores['top_10_ns'], weight), top_k_score(scores['best_ns'], scores['top_20_ns'], weight), \
               sum(n * scores['pairwise_accuracy']) / sum(n), sum(scores['rows']), sum(scores['failed']) \
               FROM tasks GROUP BY noise";
    let found = split_rows(&place, sql);
    assert_eq!(found.len(), 3);
    for row in found {
        let case = &expected[&format!("x86_resnet18/noise={}", row[0])];
        let metric = |name: &str| &case["evaluate_model"][name];
        let exact = [
            metric("RMSE"),
            metric("R^2"),
            metric("pairwise comparision accuracy"),
            metric("mape"),
            metric("average peak score@1"),
            metric("average peak score@5"),
        ];
        for (cell, wanted) in row[1..7].iter().zip(exact) {
            assert_close(cell, wanted, 1e-12, &row[0]);
        }
        // Labels have single precision, and so have runtimes computed from labels.
        let tops = ["1", "5", "10", "20"].map(|k| &case["topk_score"][k]);
        for (cell, wanted) in row[7..11].iter().zip(tops) {
            assert_close(cell, wanted, 1e-6, &row[0]);
        }
        assert_close(
            &row[11],
            metric("pairwise comparision accuracy"),
            1e-6,
            &row[0],
        );
        assert_eq!(row[12..], ["1025", "0"]);
    }
}

/// Partial aggregates in any order give the same result: over one partition, over several, and over single values.
#[test]
fn groups_over_several_partitions_agree() {
    let place = Place::new();
    place.ok(&["init"]);
    // 40,000 rows of 3 groups in 8 files, with ties of both kinds.
    let mut whole = String::new();
    for file in 0..8_u64 {
        let mut rows = "g,label,prediction\n".to_owned();
        for row in 0..5000_u64 {
            let mixed = (file * 5000 + row).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33;
            let below = |count: u64| f64::from(u32::try_from(mixed % count).unwrap());
            writeln!(
                rows,
                "{},{},{}",
                mixed % 3,
                (below(97) + 1.0) / 97.0,
                below(101) / 101.0
            )
            .unwrap();
        }
        whole.push_str(
            &rows[if file == 0 {
                0
            } else {
                rows.find('\n').unwrap() + 1
            }..],
        );
        place.write(&format!("parts/{file}.csv"), rows);
    }
    place.write("whole.csv", whole);
    let sql = |from: &str| {
        format!(
            "SELECT g, pairwise_accuracy(label, prediction) AS pairs, recall_at_k(label, prediction, 50) AS recall, \
             peak_at_k(label, prediction, 50) AS peak, round(1e9 * rmse(label, prediction)) AS rmse, \
             tenset_scores(1e6 / label, prediction)['top_5_ns'] AS top_5_ns FROM '{from}' GROUP BY g ORDER BY g"
        )
    };
    let one = place.ok(&[&sql("whole.csv"), "--threads", "1"]).stdout;
    assert_eq!(one.lines().count(), 4);
    assert_eq!(
        place.ok(&[&sql("parts/*.csv"), "--threads", "4"]).stdout,
        one
    );
}

#[test]
fn invalid_settings_are_reported() {
    let place = Place::new();
    place.ok(&["init"]);
    for (call, expected) in [
        ("peak_at_k(label, prediction, 0)", "k is 0"),
        (
            "tenset_scores(label, prediction, 1, 'best')",
            "no variant `best`",
        ),
    ] {
        let sql = format!("SELECT {call} FROM (VALUES (1.0, 0.9)) AS t(label, prediction)");
        let ran = place.tsql(&[&sql]);
        assert_eq!(ran.code, Some(1), "{}", ran.stderr);
        assert!(ran.stderr.contains(expected), "{}", ran.stderr);
    }
}
