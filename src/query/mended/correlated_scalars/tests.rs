use super::super::tests::rows;
use crate::query::engine::engine;

/// Expected values are DuckDB's.
#[tokio::test]
async fn aggregates_of_any_condition_on_the_row_around_them() {
    let context = engine(None).unwrap();
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
