//! `x NOT IN (SELECT y ...)` with nullable columns as an ordinary anti join.
//!
//! ```text
//!                                        Filter: rows = 0 OR (rows = known AND x IS NOT NULL)
//! LeftAnti Join: x = y, null-aware         CrossJoin
//!   left                            ─▶       Aggregate: count(*) AS rows, count(y) AS known
//!   right                                      distinct y of right
//!                                            LeftAnti Join: x = y
//!                                              left
//!                                              distinct y of right
//! ```
//!
//! DataFusion holds all of `left` on one thread and compares each of its rows with each equal row of `right`, which is
//! quadratic for frequent values. Here each value of `right` occurs once, and either side may be the build side. A NULL
//! in `right` leaves no rows. A NULL in `left` does not match any value, unless `right` has no rows.
//!
//! [`common_subplan`](crate::operators::common_subplan) computes the distinct values once.

use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNodeRecursion};
use datafusion::common::{Column, JoinType, Result};
use datafusion::functions_aggregate::expr_fn::count;
use datafusion::logical_expr::{Expr, Join, LogicalPlan, LogicalPlanBuilder, lit};
use datafusion::optimizer::{ApplyOrder, OptimizerConfig, OptimizerRule};

/// Names of the columns that the rule adds.
const KEY: &str = "__not_in_key";
const ROWS: &str = "__not_in_rows";
const KNOWN: &str = "__not_in_known";

/// The optimizer rule.
#[derive(Debug)]
pub(crate) struct NotInRewrite;

impl OptimizerRule for NotInRewrite {
    fn name(&self) -> &'static str {
        "not_in"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::BottomUp)
    }

    fn rewrite(
        &self,
        plan: LogicalPlan,
        _: &dyn OptimizerConfig,
    ) -> Result<Transformed<LogicalPlan>> {
        match &plan {
            LogicalPlan::Join(join) => match to_anti_join(join)? {
                Some(ordinary) => Ok(Transformed::yes(ordinary)),
                None => Ok(Transformed::no(plan)),
            },
            _ => Ok(Transformed::no(plan)),
        }
    }
}

/// Rewrites to an ordinary anti join; `None` for other joins.
fn to_anti_join(join: &Join) -> Result<Option<LogicalPlan>> {
    let ([(left_key, right_key)], None) = (join.on.as_slice(), &join.filter) else {
        return Ok(None);
    };
    let is_known = |name: &String| name.starts_with("__not_in_");
    if !join.null_aware
        || join.join_type != JoinType::LeftAnti
        || join.left.schema().field_names().iter().any(is_known)
        || is_volatile(&join.right)?
    {
        return Ok(None);
    }
    let column = |name: &str| Expr::Column(Column::new_unqualified(name));
    let values = LogicalPlanBuilder::from(Arc::clone(&join.right))
        .project([right_key.clone().alias(KEY)])?
        .aggregate([column(KEY)], Vec::<Expr>::new())?
        .build()?;
    let counts = LogicalPlanBuilder::from(values.clone())
        .aggregate(
            Vec::<Expr>::new(),
            [
                count(lit(1_i64)).alias(ROWS),
                count(column(KEY)).alias(KNOWN),
            ],
        )?
        .build()?;
    let others = Join::try_new(
        Arc::clone(&join.left),
        Arc::new(values),
        vec![(left_key.clone(), column(KEY))],
        None,
        JoinType::LeftAnti,
        join.join_constraint,
        join.null_equality,
        false,
    )?;
    let are_known = column(ROWS).eq(column(KNOWN));
    let is_none = column(ROWS).eq(lit(0_i64));
    let columns = join.left.schema().columns().into_iter().map(Expr::Column);
    LogicalPlanBuilder::from(counts)
        .cross_join(LogicalPlan::Join(others))?
        .filter(is_none.or(are_known.and(left_key.clone().is_not_null())))?
        .project(columns)?
        .build()
        .map(Some)
}

/// Returns whether two evaluations of a plan may differ.
pub(crate) fn is_volatile(plan: &LogicalPlan) -> Result<bool> {
    let mut is_volatile = false;
    plan.apply_with_subqueries(|node| {
        is_volatile |= node.expressions().iter().any(Expr::is_volatile);
        Ok(if is_volatile {
            TreeNodeRecursion::Stop
        } else {
            TreeNodeRecursion::Continue
        })
    })?;
    Ok(is_volatile)
}

#[cfg(test)]
mod tests {
    use arrow::util::pretty::pretty_format_batches;
    use datafusion::prelude::SessionContext;

    use crate::context::new_context;
    use crate::limits::Limits;
    use crate::test_queries::collect;

    async fn rows(context: &SessionContext, sql: &str) -> Vec<String> {
        let rows = collect(context, sql).await.unwrap();
        let text = pretty_format_batches(&rows).unwrap().to_string();
        let lines = text.lines().filter(|line| line.starts_with('|')).skip(1);
        lines.map(|line| line.replace(['|', ' '], "")).collect()
    }

    fn session(threads: usize, memory_bytes: Option<usize>) -> SessionContext {
        let limits = Limits {
            threads: Some(threads),
            memory_bytes,
            ..Limits::default()
        };
        new_context(limits).unwrap()
    }

    /// Counts computed by hand.
    #[tokio::test]
    async fn nulls_are_unknown_on_either_side() {
        let left = "(VALUES (1), (2), (2), (NULL), (3)) AS l(x)";
        for context in [
            session(1, None),
            session(2, None),
            session(8, Some(64 << 20)),
        ] {
            for (right, expected) in [
                ("SELECT * FROM (VALUES (2), (2), (7)) AS r(y)", "2"),
                ("SELECT * FROM (VALUES (2), (NULL)) AS r(y)", "0"),
                ("SELECT * FROM (VALUES (CAST(NULL AS INT))) AS r(y)", "0"),
                ("SELECT 1 WHERE false", "5"),
                (
                    "SELECT nullif(value, 9) FROM generate_series(1, 2) AS s(value)",
                    "1",
                ),
                (
                    "SELECT nullif(value, 2) FROM generate_series(1, 2) AS s(value)",
                    "0",
                ),
                (
                    "SELECT nullif(value, 2) FROM generate_series(1, 200) AS s(value) WHERE value < 2",
                    "3",
                ),
                (
                    "SELECT nullif(value, 900) FROM generate_series(1, 800) AS s(value) LIMIT 1",
                    "3",
                ),
            ] {
                let sql = format!("SELECT count(*) FROM {left} WHERE x NOT IN ({right})");
                assert_eq!(rows(&context, &sql).await, [expected], "{sql}");
            }
            let expression = format!(
                "SELECT x + 1 FROM {left} WHERE x * 2 NOT IN (SELECT nullif(value, 7) FROM generate_series(3, 5) AS s(value)) ORDER BY 1"
            );
            assert_eq!(rows(&context, &expression).await, ["2", "4"]);
            let both = format!(
                "SELECT x FROM {left} WHERE x NOT IN (SELECT nullif(value, 7) FROM generate_series(3, 5) AS s(value)) \
                AND x NOT IN (SELECT nullif(value, 8) FROM generate_series(1, 1) AS s(value))"
            );
            assert_eq!(rows(&context, &both).await, ["2", "2"]);
        }
    }

    /// Compares each value once, instead of all equal rows with each other.
    #[tokio::test]
    async fn equal_values_are_compared_once() {
        let context = session(2, None);
        let sql = "SELECT count(*) FROM (SELECT nullif(value % 3, 9) AS x FROM generate_series(1, 200000) AS s(value)) \
            WHERE x NOT IN (SELECT nullif(value % 2, 9) FROM generate_series(1, 200000) AS s(value))";
        let plan = rows(&context, &format!("EXPLAIN {sql}")).await.concat();
        assert!(
            !plan.contains("null_aware") && plan.contains("MaterializeExec"),
            "{plan}"
        );
        assert_eq!(rows(&context, sql).await, ["66667"]);
    }
}
