use arrow::util::pretty::pretty_format_batches;
use datafusion::functions_aggregate::first_last::{first_value_udaf, last_value_udaf};
use datafusion::prelude::SessionContext;
use tsql_dialect::collect;
use tsql_engine::{Limits, new_context};

async fn session(threads: usize, memory_bytes: Option<usize>) -> SessionContext {
    let limits = Limits {
        threads: Some(threads),
        memory_bytes,
        ..Limits::default()
    };
    let context = new_context(limits).unwrap();
    let table = "CREATE TABLE t AS SELECT value AS x, nullif(value % 7, 3) AS few, value * 7919 % 3001 AS many, 'w' || value % 11 AS word, \
        CASE value % 9 WHEN 0 THEN NULL WHEN 1 THEN -0.0 WHEN 2 THEN CAST('NaN' AS DOUBLE) ELSE value * 31 % 101 / 4.0 END AS f, \
        value % 3 = 0 AS flag, DATE '2020-01-01' + CAST(value % 50 AS INT) AS day, CAST(value % 40 AS DECIMAL(12, 2)) AS money, \
        CASE WHEN value % 4 > 0 THEN value * 17 % 50 END AS y FROM generate_series(1, 12000) AS s(value)";
    collect(&context, table).await.unwrap();
    context
}

async fn rows(context: &SessionContext, sql: &str) -> String {
    let rows = collect(context, sql).await.unwrap();
    pretty_format_batches(&rows).unwrap().to_string()
}

#[tokio::test]
#[ignore = "full tier"]
async fn values_are_those_of_the_engine() {
    let plain = session(2, None).await;
    for theirs in [first_value_udaf(), last_value_udaf()] {
        plain.register_udaf(theirs.as_ref().clone());
    }
    let sessions = [
        session(1, None).await,
        session(2, None).await,
        session(8, Some(64 << 20)).await,
    ];
    for key in ["few", "many", "word, few", "x"] {
        for aggregates in [
            "first_value(x ORDER BY f DESC NULLS LAST, x) AS a, last_value(word ORDER BY y NULLS FIRST, x) AS b",
            "first_value(f ORDER BY x DESC) AS a, first_value(day ORDER BY word, x) AS b, max(x) AS m",
            "last_value(money ORDER BY flag, x) AS a, first_value(flag ORDER BY money DESC, x) AS b",
            "first_value(y ORDER BY x) IGNORE NULLS AS a, last_value(y ORDER BY x) IGNORE NULLS AS b",
            "first_value(x ORDER BY f, x) FILTER (WHERE x % 5 = 0) AS a, first_value(x ORDER BY x) FILTER (WHERE x < 0) AS b",
            "first_value(make_array(x) ORDER BY f, x) AS a, first_value(x ORDER BY make_array(y), x) AS b",
            "min_by(x, f) AS a, max_by(word, x) FILTER (WHERE flag) AS b, min_by(f, y) AS c",
        ] {
            let sql = format!("SELECT {key}, {aggregates} FROM t GROUP BY {key} ORDER BY {key}");
            let expected = rows(&plain, &sql).await;
            // DataFusion's list accumulators exceed the memory limit of the last session.
            let are_lists = aggregates.contains("make_array");
            let sessions = sessions.iter().take(if are_lists { 2 } else { 3 });
            for session in sessions {
                assert_eq!(rows(session, &sql).await, expected, "{sql}");
            }
        }
    }
    for sql in [
        "SELECT first_value(x ORDER BY f, x), last_value(word ORDER BY x) FROM t",
        "SELECT few, first_value(x ORDER BY f, x) FROM t WHERE x < 0 GROUP BY few",
        "SELECT x, first_value(y) OVER (PARTITION BY few ORDER BY x) FROM t ORDER BY x LIMIT 50",
    ] {
        for session in &sessions {
            assert_eq!(rows(session, sql).await, rows(&plain, sql).await, "{sql}");
        }
    }
}
