//! Streamed windows equal those of DataFusion.

use arrow::util::pretty::pretty_format_batches;
use datafusion::prelude::{SessionConfig, SessionContext};

use crate::context::new_context;
use crate::test_queries::collect;

/// Window expressions, and whether they are streamed.
const WINDOWS: [(&str, bool); 33] = [
    (
        "row_number() OVER (PARTITION BY p ORDER BY o NULLS LAST, x)",
        true,
    ),
    ("rank() OVER (PARTITION BY p ORDER BY o NULLS LAST)", true),
    (
        "dense_rank() OVER (PARTITION BY t, p ORDER BY f DESC NULLS LAST, o NULLS FIRST)",
        true,
    ),
    ("rank() OVER w AS a, dense_rank() OVER w AS b", true),
    ("rank() OVER (ORDER BY f NULLS LAST)", true),
    (
        "dense_rank() OVER (PARTITION BY x ORDER BY f NULLS LAST)",
        true,
    ),
    (
        "rank() OVER (PARTITION BY p ORDER BY o NULLS LAST), row_number() OVER (PARTITION BY t ORDER BY x)",
        true,
    ),
    (
        "rank() OVER (PARTITION BY make_array(p, 1) ORDER BY o NULLS LAST)",
        true,
    ),
    ("rank() OVER w AS a, sum(x) OVER w AS b", true),
    (
        "count(*) OVER w AS a, count(f) OVER w AS b, count(t) OVER w AS c, sum(f) OVER w AS d, avg(f) OVER w AS e, min(f) OVER w AS g, max(f) OVER w AS h, min(x) OVER w AS i, max(x) OVER w AS j",
        true,
    ),
    // Ranks of hundreds of rows in batches of 64.
    (
        "sum(x) OVER (ORDER BY o NULLS LAST), max(f) OVER (ORDER BY o NULLS LAST)",
        true,
    ),
    (
        "min(x) OVER (PARTITION BY p ORDER BY o NULLS LAST, x ROWS UNBOUNDED PRECEDING), row_number() OVER (PARTITION BY p ORDER BY o NULLS LAST, x)",
        true,
    ),
    (
        "avg(x) OVER (ORDER BY x ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)",
        true,
    ),
    (
        "sum(x) OVER (PARTITION BY t ORDER BY o NULLS LAST GROUPS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)",
        true,
    ),
    (
        "sum(x) OVER (PARTITION BY t ORDER BY f NULLS LAST), sum(x) OVER (PARTITION BY t ORDER BY o NULLS LAST)",
        true,
    ),
    (
        "sum(x) OVER l AS a, avg(x) OVER l AS b, count(o) OVER l AS c, sum(o) OVER l AS d, avg(CASE WHEN f < 9 THEN f END) OVER l AS e, count(*) OVER l AS g, min(f) OVER l AS h, max(o) OVER l AS i",
        true,
    ),
    (
        "sum(o) OVER (ORDER BY x ROWS BETWEEN 0 PRECEDING AND CURRENT ROW), sum(x) OVER (ORDER BY x ROWS BETWEEN 999 PRECEDING AND CURRENT ROW)",
        true,
    ),
    (
        "rank() OVER (PARTITION BY t ORDER BY x), lag(x) OVER (PARTITION BY t ORDER BY x)",
        true,
    ),
    (
        "lag(o) OVER (PARTITION BY p ORDER BY x), lag(t) OVER (PARTITION BY p ORDER BY x), lag(make_array(o, x)) OVER (PARTITION BY p ORDER BY x)",
        true,
    ),
    (
        "lag(x * 2) OVER (ORDER BY x), lag(7) OVER (ORDER BY x), sum(x) OVER (ORDER BY x)",
        true,
    ),
    (
        "lag(x) OVER (ORDER BY x) AS a, lead(x) OVER (ORDER BY x DESC) AS b",
        true,
    ),
    // Functions that need other rows, or have other types.
    (
        "lag(o) IGNORE NULLS OVER (PARTITION BY t ORDER BY x)",
        false,
    ),
    ("lag(x, 2) OVER (PARTITION BY t ORDER BY x)", false),
    ("lag(x, 1, 0) OVER (PARTITION BY t ORDER BY x)", false),
    ("lead(x) OVER (PARTITION BY t ORDER BY x)", false),
    (
        "ntile(3) OVER (PARTITION BY t ORDER BY o NULLS LAST, x)",
        false,
    ),
    (
        "sum(x) FILTER (WHERE x % 3 = 0) OVER w, count(*) FILTER (WHERE p > 3) OVER w",
        true,
    ),
    (
        "min(x) FILTER (WHERE o > 3) OVER l, avg(o * 0.5) FILTER (WHERE t IS NULL) OVER l",
        true,
    ),
    ("min(t) OVER w", false),
    (
        "sum(x) OVER (ORDER BY x RANGE BETWEEN 3 PRECEDING AND CURRENT ROW)",
        false,
    ),
    (
        "sum(x) OVER (ORDER BY x ROWS BETWEEN UNBOUNDED PRECEDING AND 1 FOLLOWING)",
        false,
    ),
    ("sum(x) OVER (PARTITION BY t)", false),
    ("count(DISTINCT o) OVER (ORDER BY x)", false),
];

/// Returns whether windows were streamed, and the sorted lines of the result.
async fn run_query(context: &SessionContext, sql: &str) -> (bool, Vec<String>) {
    let plan = context
        .sql(sql)
        .await
        .unwrap()
        .create_physical_plan()
        .await
        .unwrap();
    let is_here = datafusion::physical_plan::displayable(plan.as_ref())
        .indent(false)
        .to_string();
    let rows = collect(context, sql).await.unwrap();
    let rows = pretty_format_batches(&rows).unwrap().to_string();
    let mut rows: Vec<String> = rows.lines().map(str::to_owned).collect();
    rows.sort();
    (is_here.contains("StreamingWindowExec"), rows)
}

#[tokio::test]
async fn windows_are_those_of_the_engine() {
    let rows = "SELECT x, CASE WHEN x % 5 > 0 THEN x % 37 END AS p, CASE WHEN x % 7 > 0 THEN x * 7919 % 11 END AS o,
        CASE x % 6 WHEN 0 THEN CAST('NaN' AS DOUBLE) WHEN 1 THEN NULL ELSE x % 4 / 2.0 END AS f,
        CASE WHEN x % 9 > 0 THEN 'text ' || x % 3 END AS t FROM (SELECT unnest(range(0, 5000)) AS x)";
    let own = new_context(None).unwrap();
    let plain = SessionContext::new_with_config(SessionConfig::new().with_batch_size(64));
    let batches = collect(&own, rows).await.unwrap();
    let batch = arrow::compute::concat_batches(&batches[0].schema(), &batches).unwrap();
    own.sql("SET datafusion.execution.batch_size = 64")
        .await
        .unwrap();
    for context in [&own, &plain] {
        context.register_batch("t", batch.clone()).unwrap();
    }
    for (windows, is_here) in WINDOWS {
        let sql = format!(
            "SELECT x, {windows} FROM t WINDOW w AS (PARTITION BY t ORDER BY o NULLS LAST), \
             l AS (PARTITION BY p ORDER BY x ROWS BETWEEN 4 PRECEDING AND CURRENT ROW)"
        );
        let sql = match windows.contains("OVER w") || windows.contains("OVER l") {
            true => sql,
            false => format!("SELECT x, {windows} FROM t"),
        };
        let (found, numbered) = run_query(&own, &sql).await;
        assert_eq!(found, is_here, "{sql}");
        let (_, wanted) = run_query(&plain, &sql).await;
        assert_eq!(numbered, wanted, "{sql}");
    }
    let few = "SELECT x FROM (SELECT x, row_number() OVER (PARTITION BY p ORDER BY x) AS place FROM t) WHERE place = 2";
    assert_eq!(
        run_query(&own, few).await,
        (true, run_query(&plain, few).await.1)
    );
    let none = "SELECT rank() OVER (PARTITION BY p ORDER BY o) FROM t WHERE x < 0";
    assert_eq!(
        run_query(&own, none).await.1,
        run_query(&plain, none).await.1
    );
}
