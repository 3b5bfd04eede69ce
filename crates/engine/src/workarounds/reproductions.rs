//! Reproductions of DataFusion bugs: those with a workaround in this folder, and those of replaced functions.
//!
//! A test fails as soon as DataFusion is correct, so that the workaround is removed. Expected results are those of
//! PostgreSQL and DuckDB. `docs/dev/upstream/README.md` lists the issues.

use std::collections::BTreeSet;

use datafusion::common::tree_node::{TreeNode as _, TreeNodeRecursion};
use datafusion::logical_expr::{Expr, Operator};
use datafusion::prelude::SessionContext;
use tsql_test_support::row_texts;

use super::RULES;
use crate::context::new_context;
use crate::test_queries::collect;

const ONE_THREAD: &str = "SET datafusion.execution.target_partitions = 1";
const TWO_THREADS: &str = "SET datafusion.execution.target_partitions = 2";

/// Number of runs after which a query counts as correct. Some results depend on which thread is first.
const RUNS: usize = 24;

/// Number of conditions of a chain.
const CONDITIONS: usize = 200;

/// A query whose result is wrong without a workaround.
struct Reproduction {
    rule: &'static str,
    settings: &'static [&'static str],
    sql: &'static str,
    wanted: &'static [&'static str],
}

/// Rules with their own test below.
const OTHERS: [&str; 4] = [
    "balanced_chains",
    "checked_integers",
    "distinct_from",
    "range_offsets",
];

/// Rules without a reproduction, and the reason.
const WITHOUT_REPRODUCTION: [(&str, &str); 2] = [
    (
        "distinct_on",
        "DataFusion's plan keeps the sort keys of each column, and returns the same rows",
    ),
    (
        "lambda_projections",
        "only scans of a store accept the projection: `lambda_functions_read_lists_of_records` in `tests/suite/sql.rs`",
    ),
];

const REPRODUCTIONS: &[Reproduction] = &[
    Reproduction {
        rule: "multiset_set_operations",
        settings: &[],
        sql: "SELECT x FROM (VALUES (1), (1)) AS a(x) INTERSECT ALL SELECT x FROM (VALUES (1)) AS b(x)",
        wanted: &["1"],
    },
    Reproduction {
        rule: "multiset_set_operations",
        settings: &[],
        sql: "SELECT x FROM (VALUES (1), (1)) AS a(x) EXCEPT ALL SELECT x FROM (VALUES (1)) AS b(x)",
        wanted: &["1"],
    },
    Reproduction {
        rule: "similar_to",
        settings: &[],
        sql: "SELECT count(*) FROM (VALUES ('abc')) AS t(v) WHERE v SIMILAR TO 'a%'",
        wanted: &["1"],
    },
    Reproduction {
        rule: "boolean_tests",
        settings: &[],
        sql: "SELECT b, count(*) FROM (SELECT x IS NOT FALSE AS b FROM (VALUES (TRUE), (FALSE), (NULL)) AS t(x)) GROUP BY b ORDER BY b",
        wanted: &["false|1", "true|2"],
    },
    Reproduction {
        rule: "null_in_list",
        settings: &[],
        sql: "SELECT count(*) FROM (VALUES (2)) AS t(x) WHERE x NOT IN (1, NULL) AND x IN (2)",
        wanted: &["0"],
    },
    Reproduction {
        rule: "null_offsets",
        settings: &[],
        sql: "SELECT x, lag(x, NULL) OVER (ORDER BY x) FROM (VALUES (1), (3)) AS t(x) ORDER BY x",
        wanted: &["1|", "3|"],
    },
    Reproduction {
        rule: "correlated_aliases",
        settings: &[],
        sql: "SELECT k, (SELECT max(y) FROM (SELECT y FROM (VALUES (1, 7)) AS t(k, y) WHERE t.k = l.k) AS s) FROM (VALUES (1), (2)) AS l(k) ORDER BY k",
        wanted: &["1|7", "2|"],
    },
    Reproduction {
        rule: "correlated_aliases",
        settings: &[],
        sql: "SELECT l.k FROM (VALUES (1, 2), (3, 3)) AS l(k, n) WHERE l.k IN (SELECT CAST(r.v AS BIGINT) FROM (SELECT CAST(c AS INT) AS v FROM (VALUES (1), (3)) AS q(c)) AS r WHERE r.v = l.n) ORDER BY l.k",
        wanted: &["3"],
    },
    Reproduction {
        rule: "aggregate_filters",
        settings: &[],
        sql: "SELECT g, sum(10 / x) FILTER (WHERE x > 0) FROM (VALUES (1, 0), (1, 5)) AS t(g, x) GROUP BY g",
        wanted: &["1|2"],
    },
    Reproduction {
        rule: "aggregate_filters",
        settings: &[],
        sql: "SELECT stddev_pop(10 / x) FILTER (WHERE x > 0) OVER () FROM (VALUES (0), (5)) AS t(x)",
        wanted: &["0.0", "0.0"],
    },
    Reproduction {
        rule: "aggregate_filters",
        settings: &[],
        sql: "SELECT (array_agg(x ORDER BY 10 / x) FILTER (WHERE x > 0))[1] FROM (VALUES (0), (5)) AS t(x)",
        wanted: &["5"],
    },
    Reproduction {
        rule: "lifted_subqueries",
        settings: &[],
        sql: "SELECT count(*) FILTER (WHERE k IN (SELECT k FROM (VALUES (1)) AS r(k))) FROM (VALUES (1), (2)) AS l(k)",
        wanted: &["1"],
    },
    Reproduction {
        rule: "lifted_subqueries",
        settings: &[],
        sql: "SELECT k FROM (VALUES (1), (2)) AS l(k) ORDER BY (SELECT max(y) FROM (VALUES (1, 9), (2, 8)) AS r(k, y) WHERE r.k = l.k)",
        wanted: &["2", "1"],
    },
    Reproduction {
        rule: "one_row_subqueries",
        settings: &[],
        sql: "SELECT count(*) FROM (VALUES (1), (2)) AS l(k) WHERE EXISTS (SELECT count(*) FROM (VALUES (1)) AS r(k) WHERE r.k = l.k)",
        wanted: &["2"],
    },
    Reproduction {
        rule: "selected_subqueries",
        settings: &[],
        sql: "SELECT k, EXISTS (SELECT 1 FROM (VALUES (1)) AS r(k) WHERE r.k = l.k) FROM (VALUES (1), (2)) AS l(k) ORDER BY k",
        wanted: &["1|true", "2|false"],
    },
    Reproduction {
        rule: "correlated_scalars",
        settings: &[],
        sql: "SELECT k, (SELECT sum(y) FROM (VALUES (1, 7), (2, 8)) AS r(k, y) WHERE r.k < l.k) FROM (VALUES (1), (3)) AS l(k) ORDER BY k",
        wanted: &["1|", "3|15"],
    },
    Reproduction {
        rule: "nested_not_in",
        settings: &[],
        sql: "SELECT count(*) FROM (VALUES (1), (5)) AS l(x) WHERE x NOT IN (SELECT y FROM (VALUES (1), (NULL)) AS r(y)) OR x = 1",
        wanted: &["1"],
    },
    Reproduction {
        rule: "nested_not_in",
        settings: &[],
        sql: "SELECT count(*) FROM (VALUES (1), (5)) AS l(x) WHERE 4 NOT IN (SELECT y FROM (VALUES (1), (NULL)) AS r(y))",
        wanted: &["0"],
    },
    Reproduction {
        rule: "sorted_offsets",
        settings: &[],
        sql: "SELECT sum(v) FROM (SELECT v FROM (VALUES (3, 1), (2, 2), (1, 3)) AS t(a, v) ORDER BY a OFFSET 2) AS r",
        wanted: &["1"],
    },
    Reproduction {
        rule: "signed_zeros",
        settings: &["SET tsql.rules.float_comparisons = false"],
        sql: "SELECT count(*) FROM (SELECT CAST(c AS DOUBLE) AS x, i FROM (VALUES ('0', 1), ('-0', 2)) AS v(c, i)) AS t WHERE x IN (0.0, 3, 4, 5, 6, 7)",
        wanted: &["2"],
    },
    Reproduction {
        rule: "float_keys",
        settings: &[],
        sql: "SELECT i, rank() OVER (ORDER BY x) FROM (SELECT CAST(c AS DOUBLE) AS x, i FROM (VALUES ('0', 1), ('-0', 2)) AS v(c, i)) AS t ORDER BY i",
        wanted: &["1|1", "2|1"],
    },
    Reproduction {
        rule: "float_keys",
        settings: &[],
        sql: "SELECT i FROM (SELECT -CAST(c AS DOUBLE) AS n, i FROM (VALUES ('NaN', 1), ('1', 2)) AS v(c, i)) AS t ORDER BY n",
        wanted: &["2", "1"],
    },
    Reproduction {
        rule: "float_comparisons",
        settings: &[],
        sql: "SELECT i FROM (SELECT -CAST(c AS DOUBLE) AS n, i FROM (VALUES ('NaN', 1), ('1', 2)) AS v(c, i)) AS t WHERE n > 1.0",
        wanted: &["1"],
    },
    Reproduction {
        rule: "float_comparisons",
        settings: &[],
        sql: "SELECT count(nullif(x, 0e0)) FROM (SELECT CAST(c AS DOUBLE) AS x, i FROM (VALUES ('0', 1), ('-0', 2)) AS v(c, i)) AS t",
        wanted: &["0"],
    },
    Reproduction {
        rule: "lifted_keys",
        settings: &[],
        sql: "SELECT x, rank() OVER (ORDER BY -CASE WHEN x > 2 THEN 1 ELSE 2 END) FROM (VALUES (1), (3)) AS t(x) ORDER BY x",
        wanted: &["1|1", "3|2"],
    },
    Reproduction {
        rule: "guarded_conditions",
        settings: &[],
        sql: "SELECT count(*) FROM (SELECT 10 / x AS q FROM (VALUES (0), (5)) AS t(x) WHERE x > 0) AS s WHERE q > 1",
        wanted: &["1"],
    },
    Reproduction {
        rule: "guarded_conditions",
        settings: &[],
        sql: "SELECT count(*) FROM (VALUES (0), (5)) AS t(x) WHERE x = 0 OR 10 / x > 1",
        wanted: &["2"],
    },
    Reproduction {
        rule: "group_filters",
        settings: &[],
        sql: "SELECT count(*) FROM (VALUES (1)) AS t(x) HAVING max(x) = 1 AND max(x) = 2",
        wanted: &[],
    },
    Reproduction {
        rule: "filter_barrier",
        settings: &[],
        sql: "SELECT y.i FROM (VALUES (1, 5)) AS x(i, v) RIGHT JOIN (VALUES (1, 3, 0), (2, 9, 0), (3, 1, 0)) AS y(i, v, z) ON x.i = y.i WHERE y.z = 0 AND coalesce(x.v, 4) > y.v ORDER BY y.i",
        wanted: &["1", "3"],
    },
    Reproduction {
        rule: "null_extension",
        settings: &[ONE_THREAD],
        sql: "SELECT a, count(*) FROM (VALUES (1), (1), (2)) AS t(a) WHERE a = 1 GROUP BY ROLLUP (a) ORDER BY a NULLS LAST",
        wanted: &["1|2", "|2"],
    },
    Reproduction {
        rule: "null_extension",
        settings: &[],
        sql: "SELECT found, l.v FROM (SELECT 1 AS found, v FROM (VALUES (2), (4)) AS s(v)) AS r RIGHT JOIN (VALUES (1), (2), (3), (4)) AS l(v) ON l.v = r.v ORDER BY found NULLS LAST, l.v DESC LIMIT 3",
        wanted: &["1|4", "1|2", "|3"],
    },
    Reproduction {
        rule: "limit_barrier",
        settings: &[TWO_THREADS],
        sql: "SELECT x, count(*) OVER () FROM ((SELECT x FROM (VALUES (3), (1), (2), (4)) AS v(x) ORDER BY x LIMIT 9) UNION ALL (SELECT x FROM (VALUES (3), (1), (2), (4)) AS w(x) ORDER BY x LIMIT 9)) AS s ORDER BY x LIMIT 1",
        wanted: &["1|8"],
    },
    Reproduction {
        rule: "limit_barrier",
        settings: &[TWO_THREADS],
        sql: "WITH v AS (SELECT x FROM (VALUES (0), (1), (2)) AS t(x) ORDER BY x LIMIT 3) SELECT DISTINCT x FROM (SELECT * FROM v UNION ALL SELECT * FROM v UNION ALL SELECT * FROM v) AS u ORDER BY x LIMIT 3",
        wanted: &["0", "1", "2"],
    },
    Reproduction {
        rule: "limit_barrier",
        settings: &[],
        sql: "SELECT x, count(*) OVER () FROM (VALUES (3), (1), (2), (4)) AS v(x) GROUP BY x ORDER BY x LIMIT 1",
        wanted: &["1|4"],
    },
    Reproduction {
        rule: "missing_sorts",
        settings: &[],
        sql: "SELECT n, b FROM (SELECT b AS n, b FROM (VALUES (1), (2)) AS t(b) UNION ALL SELECT a, 1 FROM (VALUES (1), (2)) AS u(a)) AS q ORDER BY n, b",
        wanted: &["1|1", "1|1", "2|1", "2|2"],
    },
    Reproduction {
        rule: "merge_join_filters",
        settings: &[
            "SET datafusion.optimizer.prefer_hash_join = false",
            TWO_THREADS,
        ],
        sql: "SELECT a.k, b.k FROM (VALUES (100, 1, 0)) AS a(x, k, z) JOIN (VALUES (10, 1)) AS b(y, k) ON a.k = b.k AND a.x > b.y",
        wanted: &["1|1"],
    },
    Reproduction {
        rule: "window_limits",
        settings: &[],
        sql: "SELECT x, sum(y) OVER (ORDER BY x ROWS BETWEEN CURRENT ROW AND 2 FOLLOWING) FROM (SELECT x, sum(x) OVER (ORDER BY x ROWS BETWEEN CURRENT ROW AND 2 FOLLOWING) AS y FROM (VALUES (1), (2), (3), (4), (5), (6)) AS s(x)) AS w ORDER BY x LIMIT 1",
        wanted: &["1|27"],
    },
    Reproduction {
        rule: "window_limits",
        settings: &[],
        sql: "SELECT x, lag(x, -2) OVER (ORDER BY x ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) FROM (VALUES (1), (2), (3), (4)) AS t(x) ORDER BY x LIMIT 1",
        wanted: &["1|3"],
    },
    Reproduction {
        rule: "topk_order",
        settings: &["SET tsql.rules.limit_barrier = false", TWO_THREADS],
        sql: "SELECT n, x FROM (SELECT 1 AS n, x FROM (VALUES (1), (2)) AS a(x) UNION ALL SELECT 0, x + 30 FROM (VALUES (1), (2)) AS b(x)) AS u ORDER BY n, x LIMIT 2",
        wanted: &["0|31", "0|32"],
    },
    Reproduction {
        rule: "unordered_limits",
        settings: &[],
        sql: "SELECT DISTINCT x, count(*) OVER (PARTITION BY x) FROM (VALUES (5), (5)) AS v(x) LIMIT 3",
        wanted: &["5|2"],
    },
    Reproduction {
        rule: "unordered_limits",
        settings: &[],
        sql: "SELECT DISTINCT x FROM (SELECT CAST(c AS DOUBLE) AS x FROM (VALUES ('NaN'), ('1'), ('2'), ('NaN')) AS v(c)) AS t ORDER BY x LIMIT 3",
        wanted: &["1.0", "2.0", "NaN"],
    },
];

/// Replaced aggregates with wrong sliding windows: the name, a call, and its result for the last row of [`SLIDING`].
const SLIDING_FUNCTIONS: [(&str, &str, &str); 17] = [
    ("sum", "sum(x)", "6.0"),
    ("avg", "avg(x)", "3.0"),
    ("stddev", "stddev(x)", "1.4142135623730951"),
    ("stddev_pop", "stddev_pop(x)", "1.0"),
    ("var", "var(x)", "2.0"),
    ("var_pop", "var_pop(x)", "1.0"),
    ("covar_samp", "covar_samp(x, i)", "1.0"),
    ("covar_pop", "covar_pop(x, i)", "0.5"),
    ("corr", "corr(x, i)", "1.0"),
    ("regr_slope", "regr_slope(x, i)", "2.0"),
    ("regr_intercept", "regr_intercept(x, i)", "-4.0"),
    ("regr_r2", "regr_r2(x, i)", "1.0"),
    ("regr_avgx", "regr_avgx(i, x)", "3.0"),
    ("regr_avgy", "regr_avgy(x, i)", "3.0"),
    ("regr_sxx", "regr_sxx(i, x)", "2.0"),
    ("regr_syy", "regr_syy(x, i)", "2.0"),
    ("regr_sxy", "regr_sxy(x, i)", "1.0"),
];

/// A frame of two rows that a large value has left.
const SLIDING: &str = "OVER (ORDER BY i ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) FROM (VALUES (1, 1e300), (2, 1e0), (3, 2e0), (4, 4e0)) AS t(i, x) ORDER BY i";

/// Other replaced functions with wrong results: the name, a query, and its result. DataFusion's version of the
/// remaining replaced functions is only slower.
const FUNCTIONS: [(&str, &str, &str); 4] = [
    (
        "percentile_cont",
        "SELECT percentile_cont(25e-8) WITHIN GROUP (ORDER BY x) FROM (VALUES (0e0), (1e0), (2e0)) AS t(x)",
        "5e-7",
    ),
    (
        "max",
        "SELECT max(x) FROM (SELECT CAST(c AS DOUBLE) AS x, g FROM (VALUES ('NaN', 1), ('1', 1)) AS v(c, g)) AS t GROUP BY g",
        "NaN",
    ),
    (
        "max",
        "SELECT max(x) FROM (SELECT CAST(c AS DOUBLE) AS x, g FROM (VALUES ('-inf', 1)) AS v(c, g)) AS t GROUP BY g",
        "-inf",
    ),
    (
        "min",
        "SELECT min(x) FROM (SELECT CAST(c AS DOUBLE) AS x, g FROM (VALUES ('1', 1), ('NaN', 1)) AS v(c, g)) AS t GROUP BY g",
        "1.0",
    ),
];

/// Returns whether a query has another result than `wanted`, or an error, in any of [`RUNS`] runs.
async fn is_wrong(context: &SessionContext, sql: &str, wanted: &[&str]) -> bool {
    for _ in 0..RUNS {
        let result = collect(context, sql).await;
        if !result.is_ok_and(|batches| row_texts(&batches) == wanted) {
            return true;
        }
    }
    false
}

async fn switch_off(context: &SessionContext, rule: &str) {
    let off = format!("SET tsql.rules.{rule} = false");
    collect(context, &off).await.unwrap();
}

#[test]
fn each_workaround_has_a_reproduction_or_a_reason() {
    let reproduced = REPRODUCTIONS.iter().map(|reproduction| reproduction.rule);
    let without = WITHOUT_REPRODUCTION.iter().map(|(rule, _)| *rule);
    let known: BTreeSet<&str> = reproduced.chain(OTHERS).chain(without).collect();
    let rules: BTreeSet<&str> = RULES.iter().map(|rule| rule.name).collect();
    assert_eq!(known, rules);
}

#[tokio::test]
async fn datafusion_is_wrong_without_each_workaround() {
    for Reproduction {
        rule,
        settings,
        sql,
        wanted,
    } in REPRODUCTIONS
    {
        let context = new_context(None).unwrap();
        for setting in *settings {
            collect(&context, setting).await.unwrap();
        }
        let batches = collect(&context, sql).await.unwrap();
        assert_eq!(row_texts(&batches), *wanted, "{rule}: {sql}");
        switch_off(&context, rule).await;
        assert!(
            is_wrong(&context, sql, wanted).await,
            "DataFusion is right without `{rule}`: remove the workaround, or its handling of {sql}"
        );
    }
}

/// Bypasses `collect`, which would add parentheses to the text.
#[tokio::test]
async fn the_parser_is_wrong_without_distinct_from() {
    let context = new_context(None).unwrap();
    switch_off(&context, "distinct_from").await;
    let sql = "SELECT (x = 1) IS DISTINCT FROM (x = 2) AND x > 1 FROM (VALUES (1)) AS t(x)";
    let batches = context.sql(sql).await.unwrap().collect().await.unwrap();
    assert_ne!(
        row_texts(&batches),
        ["false"],
        "the parser is right without `distinct_from`: remove the workaround"
    );
}

#[tokio::test]
async fn text_has_distances_without_range_offsets() {
    let context = new_context(None).unwrap();
    let sql = "SELECT sum(x) OVER (ORDER BY s RANGE 1 PRECEDING) FROM (VALUES (1, 'a')) AS t(x, s)";
    assert!(collect(&context, sql).await.is_err());
    switch_off(&context, "range_offsets").await;
    assert!(
        collect(&context, sql).await.is_ok(),
        "DataFusion rejects it without `range_offsets`: remove the workaround"
    );
}

#[tokio::test]
async fn chains_are_deep_without_balanced_chains() {
    let context = new_context(None).unwrap();
    let conditions: Vec<String> = (0..CONDITIONS)
        .map(|number| match number % 2 {
            0 => format!("b <> {number}"),
            _ => format!("a <> {number}"),
        })
        .collect();
    let sql = format!(
        "SELECT count(*) FROM (VALUES (300, 400)) AS t(a, b) WHERE {}",
        conditions.join(" AND ")
    );
    let balanced = depth(&context, &sql).await;
    assert!(balanced < CONDITIONS / 4, "{balanced}");
    switch_off(&context, "balanced_chains").await;
    assert!(
        depth(&context, &sql).await > CONDITIONS / 2,
        "DataFusion is right without `balanced_chains`: remove the workaround"
    );
}

/// Returns the depth of the deepest condition of an optimized plan.
async fn depth(context: &SessionContext, sql: &str) -> usize {
    let frame = context.sql(sql).await.unwrap();
    let plan = frame.into_optimized_plan().unwrap();
    let mut deepest = 0;
    plan.apply(|node| {
        node.apply_expressions(|expr| {
            deepest = deepest.max(levels(expr));
            Ok(TreeNodeRecursion::Continue)
        })
    })
    .unwrap();
    deepest
}

fn levels(expr: &Expr) -> usize {
    match expr {
        Expr::BinaryExpr(both) if both.op == Operator::And => {
            1 + levels(&both.left).max(levels(&both.right))
        }
        _ => 0,
    }
}

#[tokio::test]
async fn datafusion_is_wrong_without_each_replaced_function() {
    let (plain, own) = (SessionContext::new(), new_context(None).unwrap());
    let sliding = SLIDING_FUNCTIONS.map(|(name, call, wanted)| {
        let sql = format!("SELECT {call} {SLIDING}");
        (name, sql, wanted)
    });
    let others = FUNCTIONS.map(|(name, sql, wanted)| (name, sql.to_owned(), wanted));
    for (name, sql, wanted) in sliding.into_iter().chain(others) {
        let last = async |context: &SessionContext| {
            let frame = context.sql(&sql).await.unwrap();
            let batches = frame.collect().await.unwrap();
            row_texts(&batches).pop().unwrap()
        };
        assert_eq!(last(&own).await, wanted, "{sql}");
        assert_ne!(
            last(&plain).await,
            wanted,
            "DataFusion's `{name}` is right: use it"
        );
    }
}
