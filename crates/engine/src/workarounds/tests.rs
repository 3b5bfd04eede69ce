//! Queries that DataFusion gets wrong. Expected values are computed by hand.

use datafusion::prelude::SessionContext;
pub(super) use tsql_test_support::rows;

use crate::context::new_context;

pub(super) async fn error_message(context: &SessionContext, sql: &str) -> String {
    let refused = match context.sql(sql).await {
        Ok(frame) => frame.collect().await.unwrap_err(),
        Err(error) => error,
    };
    refused.strip_backtrace()
}

#[tokio::test]
async fn set_operations_count_rows() {
    let context = new_context(None).unwrap();
    let left = "SELECT * FROM (VALUES (1, 'a'), (1, 'a'), (1, 'a'), (2, 'b'), (NULL, 'c'), (NULL, 'c')) AS a(x, y)";
    let right = "SELECT * FROM (VALUES (1, 'a'), (1, 'a'), (NULL, 'c'), (3, 'd')) AS b(x, y)";
    for (operation, wanted) in [
        ("INTERSECT ALL", vec!["1|a", "1|a", "|c"]),
        ("EXCEPT ALL", vec!["1|a", "2|b", "|c"]),
        ("INTERSECT", vec!["1|a", "|c"]),
        ("EXCEPT", vec!["2|b"]),
    ] {
        let sql = format!("{left} {operation} {right} ORDER BY x NULLS LAST, y");
        assert_eq!(rows(&context, &sql).await, wanted, "{operation}");
    }
    // In a subquery, with different types, in a sequence.
    let sql = "SELECT count(*) FROM (SELECT 1 AS x UNION ALL SELECT 1 EXCEPT ALL SELECT 1.0) AS t";
    assert_eq!(rows(&context, sql).await, ["1"]);
    let sql = "(SELECT 1 AS x UNION ALL SELECT 1 UNION ALL SELECT 1) EXCEPT ALL (SELECT 1) EXCEPT ALL (SELECT 1)";
    assert_eq!(rows(&context, sql).await, ["1"]);
    // Nested set operations, which are analyzed more than once.
    let both = format!("{left} INTERSECT ALL {right}");
    for (sql, wanted) in [
        (
            format!("SELECT count(*) FROM ({both} UNION ALL ({both})) AS u"),
            "6",
        ),
        (
            format!("WITH r AS ({both}) SELECT count(*) FROM r AS p, r AS q"),
            "9",
        ),
        (
            format!("SELECT count(*) FROM (({both}) EXCEPT ALL ({both})) AS u"),
            "0",
        ),
        (
            format!(
                "SELECT count(*) FROM (({both}) INTERSECT ALL ({both} UNION ALL ({both}))) AS u"
            ),
            "3",
        ),
    ] {
        assert_eq!(rows(&context, &sql).await, [wanted], "{sql}");
    }
}

#[tokio::test]
async fn similar_to_takes_patterns_of_sql() {
    let context = new_context(None).unwrap();
    for (text, pattern, matches) in [
        ("abc", "abc", true),
        ("abc", "b", false),
        ("abc", "a%", true),
        ("abc", "_b_", true),
        ("abc", "%(b|d)%", true),
        ("abc", "(b|c)%", false),
        ("a.c", "a.c", true),
        ("abc", "a.c", false),
        ("a%c", "a\\%c", true),
        ("abc", "a\\%c", false),
        ("aab", "a{2}b", true),
        ("ab", "a{2}b", false),
        ("7x", "[0-9][[:alpha:]]", true),
        ("]", "[]]", true),
        ("x", "[^]]", true),
        ("a&&b", "a[&][&]b", true),
        ("^a$", "^a$", true),
        ("a\nb", "a%b", true),
        ("ab|", "ab\\|", true),
        ("", "%", true),
    ] {
        let sql = format!(
            "SELECT v SIMILAR TO '{pattern}', v NOT SIMILAR TO '{pattern}' FROM (VALUES ('{text}')) AS t(v)"
        );
        let wanted = format!("{matches}|{}", !matches);
        assert_eq!(rows(&context, &sql).await, [wanted], "{text} {pattern}");
    }
    let escaped = "SELECT 'a%' SIMILAR TO 'a#%' ESCAPE '#', 'ab' SIMILAR TO 'a#%' ESCAPE '#'";
    assert_eq!(rows(&context, escaped).await, ["true|false"]);
    let null = "SELECT v SIMILAR TO NULL FROM (VALUES ('a')) AS t(v)";
    assert_eq!(rows(&context, null).await, [""]);
    for (sql, reason) in [
        (
            "SELECT 'a' SIMILAR TO v FROM (VALUES ('a')) AS t(v)",
            "constant pattern",
        ),
        ("SELECT 'a' SIMILAR TO '[a'", "without a"),
        ("SELECT 'a' SIMILAR TO 'a\\'", "escape character"),
    ] {
        assert!(error_message(&context, sql).await.contains(reason), "{sql}");
    }
}

#[tokio::test]
async fn ambiguous_sql_is_rejected() {
    let context = new_context(None).unwrap();
    for sql in [
        "SELECT (x IS NULL) IS DISTINCT FROM TRUE AND x > 1 FROM (VALUES (1)) AS t(x)",
        "SELECT * FROM (VALUES (1)) AS t(x) WHERE (x IS NULL) IS NOT DISTINCT FROM FALSE OR x > 1",
        "SELECT count(*) FILTER (WHERE (x = 1) IS DISTINCT FROM (x = 2) AND x > 1) FROM (VALUES (1)) AS t(x)",
    ] {
        assert!(
            error_message(&context, sql).await.contains("is ambiguous"),
            "{sql}"
        );
    }
    let clear = "SELECT ((x IS NULL) IS DISTINCT FROM TRUE) AND x > 1, (x = 1 AND x = 2) IS DISTINCT FROM NULL FROM (VALUES (1)) AS t(x)";
    assert_eq!(rows(&context, clear).await, ["false|true"]);
}

#[tokio::test]
async fn tablesample_is_rejected() {
    let context = new_context(None).unwrap();
    for sql in [
        "SELECT * FROM generate_series(1, 9) AS t TABLESAMPLE BERNOULLI (1)",
        "SELECT * FROM information_schema.tables TABLESAMPLE BERNOULLI (1)",
        "SELECT * FROM (SELECT 1) AS t TABLESAMPLE SYSTEM (1)",
    ] {
        let refused = error_message(&context, sql).await;
        assert!(
            refused.contains("TABLESAMPLE") || refused.contains("Expected"),
            "{refused}"
        );
    }
}

#[tokio::test]
async fn the_first_groups_of_floats_are_whole() {
    let context = new_context(None).unwrap();
    let values = "(VALUES ('NaN'::DOUBLE), (1.0), (2.0), ('NaN'), (-0.0), (0.0), (NULL)) AS t(x)";
    for (order, expected) in [
        ("x", ["0.0", "1.0", "2.0"]),
        ("x DESC NULLS LAST", ["NaN", "2.0", "1.0"]),
    ] {
        let sql = format!("SELECT DISTINCT x FROM {values} ORDER BY {order} LIMIT 3");
        let found = rows(&context, &sql).await;
        let found: Vec<&str> = found
            .iter()
            .map(|row| row.trim_start_matches('-'))
            .collect();
        assert_eq!(found, expected, "{sql}");
        let sql = format!(
            "SELECT x, count(*) OVER () AS n FROM (SELECT x FROM {values} GROUP BY x ORDER BY {order} LIMIT 4) AS g ORDER BY {order}"
        );
        assert_eq!(rows(&context, &sql).await.len(), 4, "{sql}");
    }
}

#[tokio::test]
async fn conditions_that_may_fail_are_evaluated_where_those_before_do_not_decide() {
    let context = new_context(None).unwrap();
    let values = "(VALUES (0, 1), (1, 2), (5, 3), (NULL, 4), (0, 5)) AS t(x, n)";
    for (condition, expected) in [
        ("x = 0 OR 10 / x > 3", "3"),
        ("NOT (x = 0 OR 10 / x > 3)", "1"),
        ("n = 4 OR x <> 0 AND 10 / x > 3", "2"),
        ("NOT (x <> 0 AND 10 / x > 3)", "3"),
        ("(x = 0 OR 10 / x > 3) IS NULL", "1"),
        ("n < 5 AND (x = 0 OR 10 / x > 3)", "2"),
    ] {
        let sql = format!("SELECT count(*) FROM {values} WHERE {condition}");
        assert_eq!(rows(&context, &sql).await, [expected], "{sql}");
    }
}

#[tokio::test]
async fn join_keys_with_fields_fail_with_leaf_pushdown() {
    let sql = "SELECT n.k FROM (SELECT point FROM (SELECT named_struct('a', x) AS point FROM (VALUES (1), (2)) AS v(x)) AS i) AS c \
               JOIN (VALUES (2), (9)) AS n(k) ON n.k = c.point.a + 1";
    let context = new_context(None).unwrap();
    assert_eq!(rows(&context, sql).await, ["2"]);
    let on = "SET datafusion.optimizer.enable_leaf_expression_pushdown = true";
    context.sql(on).await.unwrap().collect().await.unwrap();
    let result = context.sql(sql).await.unwrap().collect().await;
    assert!(result.is_err(), "DataFusion is right: remove the setting");
}
