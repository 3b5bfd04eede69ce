//! Aggregates below joins and unions.

use arrow::util::pretty::pretty_format_batches;
use datafusion::prelude::SessionContext;
use tsql_dialect::collect;
use tsql_engine::new_context;

use super::preaggregates::{result_lines, store};
use crate::open_session;

/// Asserts which queries are rewritten, and that the results are those without the rule.
async fn check(queries: &[(String, bool)]) {
    let store = store().await;
    let context = open_session(&store).await.unwrap();
    let off = open_session(&store).await.unwrap();
    off.sql("SET tsql.rules.eager_aggregation = false")
        .await
        .unwrap();
    for (sql, is_rewritten) in queries {
        let plan = context.sql(sql).await.unwrap();
        let plan = plan.into_optimized_plan().unwrap().to_string();
        assert_eq!(plan.contains("__eager_"), *is_rewritten, "{sql}: {plan}");
        let rows = result_lines(&context, sql).await;
        assert_eq!(rows, result_lines(&off, sql).await, "{sql}");
        assert!(rows.len() > 4, "{rows:?}");
    }
}

#[tokio::test]
async fn the_larger_side_of_a_join_is_aggregated_by_its_keys() {
    let joined = "FROM records JOIN graphs ON records.graph_id = graphs.graph_id";
    let queries = [
        (
            "SELECT substr(workload_key, 3, 9) AS op, CASE WHEN runtime_ns < 1e3 THEN 'fast' WHEN runtime_ns < 5e3 THEN 'middle' ELSE 'slow' END AS class, count(*) AS n FROM GROUP BY 1, 2",
            true,
        ),
        (
            "SELECT workload_key AS k, CASE platform WHEN 'k80' THEN 1 WHEN 'x' THEN 2 END AS c, round(avg(ln(runtime_ns)), 6) AS l, count(repeat_count) AS n, max(error_no) AS e FROM GROUP BY 1, 2",
            true,
        ),
        (
            "SELECT runtime_ns > 1e3 AS slow, platform, length(workload_key) AS k, sum(runtime_ns * 2) AS s, min(line) AS m, count(*) FILTER (WHERE line % 2 = 0) AS f FROM WHERE error_no = 0 GROUP BY 1, 2, 3",
            true,
        ),
        (
            "SELECT workload_key AS k, sum(line) AS s FROM GROUP BY 1 HAVING count(line % 3) > 2",
            true,
        ),
        (
            "SELECT workload_key AS k, records.graph_id AS g, graphs.dataset AS d, round(max(ln(runtime_ns)), 6) AS m FROM GROUP BY 1, 2, 3",
            true,
        ),
        (
            "SELECT workload_key AS k, repeat_count % 2 AS r, status, sum(line) AS n FROM GROUP BY 1, 2, 3",
            true,
        ),
        (
            "SELECT workload_key AS k, line % 3 AS l, count(*) AS n FROM GROUP BY 1, 2",
            false,
        ),
        (
            "SELECT workload_key AS k, count(DISTINCT line % 3) AS n FROM GROUP BY 1",
            false,
        ),
        (
            "SELECT workload_key AS k, median(runtime_ns) AS n FROM GROUP BY 1",
            false,
        ),
        // Expressions that may fail are evaluated only for joined rows.
        (
            "SELECT workload_key AS k, sum(100 / (line + 1)) AS n FROM GROUP BY 1",
            false,
        ),
        (
            "SELECT workload_key AS k, 100 / (line + 1) > 3 AS f, count(*) AS n FROM GROUP BY 1, 2",
            false,
        ),
        (
            "SELECT workload_key AS k, sum(length(workload_key) * runtime_ns) AS n FROM GROUP BY 1",
            false,
        ),
        (
            "SELECT count(*) AS n, max(length(workload_key)) AS l FROM WHERE runtime_ns > 0",
            false,
        ),
    ];
    let mut all = Vec::new();
    for (sql, is_rewritten) in queries {
        all.push((sql.replace("FROM", joined), is_rewritten));
        // Few rows of the other side prune the scan.
        let filtered = joined.replace(
            "JOIN graphs",
            "JOIN (SELECT * FROM graphs WHERE workload_key LIKE '%3%') AS graphs",
        );
        all.push((sql.replace("FROM", &filtered), false));
    }
    // Rows with several matches count once for each.
    let several = "SELECT g.dataset || 'x' AS d, platform, count(line % 3) AS n, round(avg(ln(runtime_ns)), 6) AS l FROM records JOIN graphs AS g ON g.dataset = records.dataset GROUP BY 1, 2";
    all.push((several.to_owned(), true));
    // Most keys have no match, so the few rows of the other side do not bound the number of keys.
    let others = "SELECT graphs.dataset AS d, count(line % 3) AS n FROM records JOIN graphs ON records.config_id = graphs.graph_id GROUP BY 1";
    all.push((others.to_owned(), false));
    check(&all).await;
}

#[tokio::test]
async fn inputs_of_a_union_are_aggregated_where_they_have_few_groups() {
    let union = "(SELECT 'one' AS p, platform, runtime_ns, line FROM records WHERE platform = 'k80' AND error_no = 0 \
        UNION ALL SELECT 'two', platform, baseline_ns, line * 2 FROM records WHERE error_no <> 0 \
        UNION ALL SELECT 'none', platform, runtime_ns, line FROM records WHERE platform = 't4') AS u";
    let queries = [
        (
            "SELECT p, count(*), min(runtime_ns), sum(line) FROM u GROUP BY p",
            true,
        ),
        (
            "SELECT p, platform, avg(runtime_ns), max(line) FROM u GROUP BY 1, 2",
            true,
        ),
        (
            "SELECT count(*), count(runtime_ns), avg(runtime_ns) FROM u",
            true,
        ),
        ("SELECT DISTINCT platform FROM u", true),
        ("SELECT DISTINCT p FROM u", true),
        (
            "SELECT line > 9 AS late, upper(p) AS p, count(*) FILTER (WHERE line % 2 = 0) FROM u GROUP BY 1, 2",
            true,
        ),
        (
            "SELECT p, platform, sum(line) FROM u GROUP BY ROLLUP (p, platform)",
            true,
        ),
        (
            "SELECT max(n) FROM (SELECT p, count(*) AS n FROM u GROUP BY p) GROUP BY p = 'one'",
            true,
        ),
        ("SELECT line, count(*) FROM u GROUP BY line", false),
        ("SELECT p, median(runtime_ns) FROM u GROUP BY p", false),
        ("SELECT p, count(DISTINCT line) FROM u GROUP BY p", false),
    ];
    let queries = queries.map(|(sql, is_rewritten)| {
        (
            sql.replace("FROM u", &format!("FROM {union}")),
            is_rewritten,
        )
    });
    check(&queries).await;
}

async fn context() -> SessionContext {
    let context = new_context(None).unwrap();
    let rows = "SELECT x % 3 AS a, CASE WHEN x % 5 > 0 THEN 'b' || x % 5 END AS b, x,
        CASE WHEN x % 4 > 0 THEN x / 4.0 END AS y FROM (SELECT unnest(range(0, 1000)) AS x)";
    let batches = collect(&context, rows).await.unwrap();
    let batch = arrow::compute::concat_batches(&batches[0].schema(), &batches).unwrap();
    context.register_batch("t", batch).unwrap();
    context
}

async fn plan_and_run(context: &SessionContext, sql: &str) -> (bool, String) {
    let plan = context.sql(sql).await.unwrap();
    let plan = plan.into_optimized_plan().unwrap().to_string();
    let batches = collect(context, sql).await.unwrap();
    let rows = pretty_format_batches(&batches).unwrap().to_string();
    (plan.contains("__eager_"), rows)
}

const FUNCTIONS: &str = "count(*) AS n, count(y) AS c, count(y) FILTER (WHERE a = 1) AS f, sum(x) AS s, avg(y) AS m, min(b) AS l, max(DISTINCT y) AS g";

/// Returns a union of one GROUP BY per set.
fn union_of_sets(sets: &[&[&str]], filter: &str) -> String {
    let each = sets.iter().map(|set| {
        let shown = ["a", "b"].map(|name| match set.contains(&name) {
            true => name.to_owned(),
            false => format!("NULL AS {name}"),
        });
        let grouped = match set.is_empty() {
            true => String::new(),
            false => format!("GROUP BY {}", set.join(", ")),
        };
        format!(
            "SELECT {}, {FUNCTIONS} FROM t {filter} {grouped}",
            shown.join(", ")
        )
    });
    each.collect::<Vec<_>>().join(" UNION ALL ")
}

#[tokio::test]
async fn grouping_sets_are_their_groups_one_by_one() {
    let context = context().await;
    for (by, sets) in [
        ("ROLLUP (a, b)", &[&["a", "b"][..], &["a"], &[]][..]),
        ("CUBE (a, b)", &[&["a", "b"], &["a"], &["b"], &[]]),
        ("GROUPING SETS ((b), (a))", &[&["b"], &["a"]]),
        (
            "GROUPING SETS ((a, b), (b), (b))",
            &[&["a", "b"], &["b"], &["b"]],
        ),
    ] {
        for filter in ["", "WHERE x > 20 AND b IS NOT NULL"] {
            let sql = format!("SELECT a, b, {FUNCTIONS} FROM t {filter} GROUP BY {by}");
            let sorted = |sql: &str| format!("SELECT * FROM ({sql}) ORDER BY a, b, n");
            let (is_rewritten, rows) = plan_and_run(&context, &sorted(&sql)).await;
            assert!(is_rewritten, "{sql}");
            let (is_rewritten, one_by_one) =
                plan_and_run(&context, &sorted(&union_of_sets(sets, filter))).await;
            assert!(!is_rewritten);
            assert_eq!(rows, one_by_one, "{sql}");
        }
    }
}

#[tokio::test]
async fn grouping_sets_of_expressions_and_of_no_rows() {
    let context = context().await;
    let sql = "SELECT a + 1 AS k, grouping(a + 1) AS g, b, count(*) FROM t WHERE x < 10 GROUP BY ROLLUP (a + 1, b) ORDER BY k, g, b LIMIT 3";
    let (is_rewritten, rows) = plan_and_run(&context, sql).await;
    assert!(is_rewritten);
    assert!(rows.contains("| 1 | 0 | b1 | 1 "), "{rows}");
    // An empty input has the empty grouping set, as SQL requires.
    for by in ["ROLLUP (a)", "CUBE (a, b)"] {
        let sql = format!("SELECT a, count(x) AS n, sum(x) AS s FROM t WHERE x < 0 GROUP BY {by}");
        let (is_rewritten, rows) = plan_and_run(&context, &sql).await;
        assert!(is_rewritten, "{sql}");
        assert_eq!(rows.lines().nth(3), Some("|   | 0 |   |"), "{rows}");
        assert_eq!(rows.lines().count(), 5, "{rows}");
    }
    // Functions that cannot be computed in two steps.
    for function in [
        "median(x)",
        "count(DISTINCT x)",
        "stddev(y)",
        "avg(y), corr(x, y)",
    ] {
        let sql = format!("SELECT a, {function} FROM t GROUP BY ROLLUP (a)");
        assert!(!plan_and_run(&context, &sql).await.0, "{sql}");
    }
}
