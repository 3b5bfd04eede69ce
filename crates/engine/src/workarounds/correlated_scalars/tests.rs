use super::super::tests::{error_message, rows};
use crate::context::new_context;

/// Expected values are DuckDB's.
#[tokio::test]
async fn aggregates_of_any_condition_on_the_row_around_them() {
    let context = new_context(None).unwrap();
    let l = "(VALUES (1, 7), (2, 5), (2, 5), (3, NULL), (NULL, 8)) AS l(k, x)";
    let r = "(VALUES (1, 7), (1, 8), (2, NULL), (4, 9)) AS r(k, y)";
    for (value, expected) in [
        (
            format!("(SELECT sum(y) FROM {r} WHERE r.k < l.k)"),
            ["", "15", "15", "15", ""],
        ),
        (
            format!("(SELECT count(*) FROM {r} WHERE r.k < l.k)"),
            ["0", "2", "2", "3", "0"],
        ),
        (
            format!("(SELECT count(*) + 1 FROM {r} WHERE r.k = l.k AND y > x)"),
            ["2", "1", "1", "1", "1"],
        ),
        (
            format!("(SELECT count(*) IS NULL FROM {r} WHERE r.k = l.k)"),
            ["false", "false", "false", "false", "false"],
        ),
        (
            format!("(SELECT count(*) * 0 FROM {r} WHERE r.k = l.k)"),
            ["0", "0", "0", "0", "0"],
        ),
        (
            format!("(SELECT coalesce(sum(y), -count(*)) FROM {r} WHERE r.k = l.k)"),
            ["15", "-1", "-1", "0", "0"],
        ),
        (
            format!("(SELECT count(*) FROM {r} WHERE r.k = l.k AND x > 6)"),
            ["2", "0", "0", "0", "0"],
        ),
        (
            format!("(SELECT max(y) FROM {r} WHERE r.k = l.k OR y = x + 1)"),
            ["8", "", "", "", "9"],
        ),
        (
            format!("(SELECT count(*) FROM {r} WHERE r.k + 1 = l.k)"),
            ["0", "2", "2", "1", "0"],
        ),
        (
            format!("(SELECT count(*) FROM {r} WHERE r.k IS NOT DISTINCT FROM l.k)"),
            ["2", "1", "1", "0", "0"],
        ),
        (
            format!("(SELECT y FROM {r} WHERE r.k = l.k ORDER BY y DESC NULLS LAST LIMIT 1)"),
            ["8", "", "", "", ""],
        ),
        (
            format!(
                "(SELECT y + 1 AS z FROM {r} WHERE r.k <= l.k AND y IS NOT NULL ORDER BY z LIMIT 1)"
            ),
            ["8", "8", "8", "8", ""],
        ),
        (
            format!("(SELECT count(*) FILTER (WHERE y > 7) FROM {r} WHERE r.k < l.k)"),
            ["0", "1", "1", "1", "0"],
        ),
        (
            format!("(SELECT sum(y * l.k) FROM {r} WHERE r.k < l.k)"),
            ["", "30", "30", "45", ""],
        ),
        (
            format!("(SELECT n FROM (SELECT count(*) AS n FROM {r} WHERE r.k > l.k) AS s)"),
            ["2", "1", "1", "1", "0"],
        ),
        (
            format!("EXISTS (SELECT 1 FROM {r} WHERE r.k > l.k AND y > x)"),
            ["true", "true", "true", "false", "false"],
        ),
    ] {
        let sql = format!("SELECT {value} AS v FROM {l} ORDER BY k NULLS LAST, x");
        assert_eq!(rows(&context, &sql).await, expected, "{sql}");
    }
    let sql = format!(
        "SELECT count(*) FROM {l} WHERE x <= (SELECT max(y) FROM {r} WHERE r.k < l.k) OR (SELECT count(*) FROM {r} WHERE r.k < l.k) = 0"
    );
    assert_eq!(rows(&context, &sql).await, ["4"]);
}

/// The outer rows of a subquery are evaluated twice. If they differed, some would have no value.
#[tokio::test]
async fn rows_that_another_evaluation_may_change_are_rejected() {
    let context = new_context(None).unwrap();
    let r = "(VALUES (1), (2)) AS r(y)";
    let t = "(VALUES (1, 1.5), (2, 2.5)) AS t(k, f)";
    for (l, is_planned) in [
        (format!("(SELECT k AS x FROM {t})"), true),
        (
            format!("(SELECT k AS x, sum(f) AS s FROM {t} GROUP BY k)"),
            true,
        ),
        (
            format!("(SELECT k, sum(f::DOUBLE) AS x FROM {t} GROUP BY k)"),
            false,
        ),
        (format!("(SELECT k AS x FROM {t} LIMIT 1)"), false),
        (
            format!("(SELECT row_number() OVER () AS x FROM {t})"),
            false,
        ),
        (format!("(SELECT random() AS x FROM {t})"), false),
    ] {
        let sql = format!("SELECT (SELECT count(*) FROM {r} WHERE y < x) FROM {l} AS l");
        if is_planned {
            assert_eq!(rows(&context, &sql).await.len(), 2, "{sql}");
        } else {
            let message = error_message(&context, &sql).await;
            assert!(message.contains("depends on a LIMIT"), "{sql}: {message}");
        }
    }
}

/// Expected values are DuckDB's.
#[tokio::test]
async fn both_zeros_have_the_value_of_zero_in_merge_joins() {
    for memory in [None, Some(40 << 20)] {
        let context = new_context(memory).unwrap();
        let l = "(SELECT i, f::DOUBLE AS f FROM (VALUES (1, '-0.0'), (2, '0.0'), (3, 'NaN'), (4, '1')) AS t(i, f)) AS l";
        let sql = format!(
            "SELECT (SELECT count(*) FROM (VALUES (-1.0), (0.5)) AS r(y) WHERE y < f) AS n FROM {l} ORDER BY i"
        );
        assert_eq!(
            rows(&context, &sql).await,
            ["1", "1", "2", "2"],
            "{memory:?}"
        );
    }
}
