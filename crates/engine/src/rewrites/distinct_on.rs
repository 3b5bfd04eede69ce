//! `DISTINCT ON` as the first row of each partition.
//!
//! ```text
//! DistinctOn: on=[a], select=[a, x], sort=[a, b]      Projection: a, x
//!   input                                       ─▶      Sort: a
//!                                                         Filter: row_number = 1
//!                                                           WindowAggr: row_number() PARTITION BY a ORDER BY a, b
//!                                                             input
//! ```
//!
//! DataFusion plans a `first_value` for each column. Each of them stores the sort keys of each group, and tied rows may
//! contribute columns of different rows. The window takes all columns from one row, and
//! [`partition_top_k`](crate::operators::partition_top_k) reduces it to few rows.
//!
//! Upstream: <https://github.com/apache/datafusion/issues/16620>

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult as _};
use datafusion::common::{Column, Result};
use datafusion::functions_window::expr_fn::row_number;
use datafusion::logical_expr::{
    Distinct, DistinctOn, Expr, ExprFunctionExt as _, LogicalPlan, LogicalPlanBuilder, lit,
};
use datafusion::optimizer::AnalyzerRule;

/// Name of the column with the row number.
const ROW_NUMBER: &str = "__distinct_on_row";

/// The optimizer rule.
#[derive(Debug)]
pub(crate) struct DistinctOnRewrite;

impl AnalyzerRule for DistinctOnRewrite {
    fn name(&self) -> &'static str {
        "distinct_on"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        plan.transform_up_with_subqueries(|plan| match &plan {
            LogicalPlan::Distinct(Distinct::On(distinct)) => match rewrite_distinct_on(distinct)? {
                Some(first) => Ok(Transformed::yes(first)),
                None => Ok(Transformed::no(plan)),
            },
            _ => Ok(Transformed::no(plan)),
        })
        .data()
    }
}

/// Rewrites to the first row of each partition; `None` for nested statements that use the same name.
fn rewrite_distinct_on(distinct: &DistinctOn) -> Result<Option<LogicalPlan>> {
    let DistinctOn {
        on_expr,
        select_expr,
        sort_expr,
        input,
        schema,
    } = distinct;
    let names = input.schema().field_names();
    if on_expr.is_empty() || names.iter().any(|name| name == ROW_NUMBER) {
        return Ok(None);
    }
    let sort = sort_expr.clone().unwrap_or_default();
    // A partition key has a single value in each partition.
    let order: Vec<_> = sort
        .iter()
        .filter(|key| !on_expr.contains(&key.expr))
        .cloned()
        .collect();
    let mut window = row_number().partition_by(on_expr.clone());
    if !order.is_empty() {
        window = window.order_by(order);
    }
    let number = Expr::Column(Column::new_unqualified(ROW_NUMBER));
    let is_first = number.eq(lit(1_u64));
    let mut plan = LogicalPlanBuilder::from(input.as_ref().clone())
        .window(vec![window.build()?.alias(ROW_NUMBER)])?
        .filter(is_first)?;
    let keys: Vec<_> = sort.into_iter().take(on_expr.len()).collect();
    if !keys.is_empty() {
        plan = plan.sort(keys)?;
    }
    let columns = select_expr.iter().zip(schema.iter());
    let columns = columns.map(|(expr, (qualifier, field))| {
        let expr = expr.clone();
        expr.alias_qualified(qualifier.cloned(), field.name())
    });
    plan.project(columns)?.build().map(Some)
}

#[cfg(test)]
mod tests {
    use arrow::util::pretty::pretty_format_batches;
    use datafusion::prelude::{SessionConfig, SessionContext};

    use crate::context::new_context;
    use crate::test_queries::collect;

    const ROWS: &str = "CREATE TABLE t AS SELECT value AS x, nullif(value % 7, 3) AS a, 'w' || (value % 3) AS \"W\", \
        CASE value % 5 WHEN 0 THEN NULL ELSE value * 7919 % 101 / 4.0 END AS f FROM generate_series(1, 500)";

    async fn rows(context: &SessionContext, sql: &str) -> String {
        let rows = collect(context, sql).await.unwrap();
        pretty_format_batches(&rows).unwrap().to_string()
    }

    #[tokio::test]
    async fn rows_are_those_of_first_values() {
        let own = new_context(None).unwrap();
        let config = SessionConfig::new()
            .set_str("datafusion.sql_parser.default_null_ordering", "nulls_last");
        let plain = SessionContext::new_with_config(config);
        for context in [&own, &plain] {
            context.sql(ROWS).await.unwrap().collect().await.unwrap();
        }
        for sql in [
            "SELECT DISTINCT ON (a) a, x, f FROM t ORDER BY a, f, x",
            "SELECT DISTINCT ON (a) x, \"W\" || 'z' FROM t ORDER BY a DESC NULLS LAST, f DESC, x",
            "SELECT DISTINCT ON (a, \"W\") x + 1, t.* FROM t ORDER BY a, \"W\", f NULLS FIRST, x LIMIT 5",
            "SELECT DISTINCT ON (x % 4) x % 4 AS k, m FROM (SELECT x, max(f) OVER (PARTITION BY a) AS m FROM t) ORDER BY x % 4, x",
            "SELECT DISTINCT ON (a) a, n FROM (SELECT a, \"W\", count(*) AS n FROM t GROUP BY a, \"W\") ORDER BY a, n DESC, \"W\"",
            "SELECT sum(x), count(*) FROM (SELECT DISTINCT ON (f) x FROM t AS u ORDER BY f, x)",
            "SELECT x FROM t WHERE x IN (SELECT DISTINCT ON (a) x FROM t ORDER BY a, x) ORDER BY x",
        ] {
            assert_eq!(rows(&own, sql).await, rows(&plain, sql).await, "{sql}");
            let plan = rows(&own, &format!("EXPLAIN {sql}")).await;
            assert!(plan.contains("PartitionTopKExec"), "{plan}");
        }
        // Without an order, any row of each group.
        let any = "SELECT count(*), count(DISTINCT k), bool_and(k IS NOT DISTINCT FROM nullif(y % 7, 3)) \
            FROM (SELECT DISTINCT ON (a) a AS k, x AS y FROM t)";
        assert!(rows(&own, any).await.contains("| 7        | 6 "));
    }

    /// For tied rows, all columns come from the same row.
    #[tokio::test]
    async fn columns_are_those_of_one_row() {
        let context = new_context(None).unwrap();
        context.sql(ROWS).await.unwrap().collect().await.unwrap();
        let sql = "SELECT count(*) FROM (SELECT DISTINCT ON (a) x, x * 2 AS y FROM t ORDER BY a, f IS NULL) WHERE y <> x * 2";
        assert!(rows(&context, sql).await.contains("| 0 "));
    }
}
