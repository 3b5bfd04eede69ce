//! Moves an OFFSET next to the sort whose rows it skips.
//!
//! ```text
//! Limit: skip=20             Projection: x
//!   Projection: x      ─▶      Limit: skip=20
//!     Sort: y                    Sort: y
//! ```
//!
//! DataFusion 55 moves a limit next to its sort, but not an offset without a limit. If a projection in between drops
//! the sort keys, the order seems to be unused, and the sort is removed.
//!
//! Upstream: <https://github.com/apache/datafusion/issues/23534>

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::tree_node::Transformed;
use datafusion::logical_expr::{Limit, LogicalPlan, Projection, SubqueryAlias};
use datafusion::optimizer::{ApplyOrder, OptimizerConfig, OptimizerRule};

/// Moves offsets next to their sorts.
#[derive(Debug)]
pub(super) struct PushOffsetsToSorts;

impl OptimizerRule for PushOffsetsToSorts {
    fn name(&self) -> &'static str {
        "offsets"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::TopDown)
    }

    fn rewrite(
        &self,
        plan: LogicalPlan,
        _: &dyn OptimizerConfig,
    ) -> Result<Transformed<LogicalPlan>> {
        let LogicalPlan::Limit(limit) = &plan else {
            return Ok(Transformed::no(plan));
        };
        if limit.fetch.is_some() || limit.skip.is_none() || !is_sorted(&limit.input) {
            return Ok(Transformed::no(plan));
        }
        match push_to_sort(limit, &limit.input)? {
            Some(moved) => Ok(Transformed::yes(moved)),
            None => Ok(Transformed::no(plan)),
        }
    }
}

/// Returns whether rows come from a sort, below operators that preserve their order.
fn is_sorted(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::Sort(_) => true,
        LogicalPlan::Projection(projection) => is_sorted(&projection.input),
        LogicalPlan::SubqueryAlias(alias) => is_sorted(&alias.input),
        _ => false,
    }
}

/// Moves a limit down to the sort; `None` if it is already there.
fn push_to_sort(limit: &Limit, plan: &LogicalPlan) -> Result<Option<LogicalPlan>> {
    let limited = |input: &Arc<LogicalPlan>| -> Result<Arc<LogicalPlan>> {
        let moved = push_to_sort(limit, input)?;
        let limited = moved.unwrap_or_else(|| {
            LogicalPlan::Limit(Limit {
                input: Arc::clone(input),
                ..limit.clone()
            })
        });
        Ok(Arc::new(limited))
    };
    match plan {
        LogicalPlan::Projection(projection) => {
            let input = limited(&projection.input)?;
            let schema = Arc::clone(&projection.schema);
            let exprs = projection.expr.clone();
            let projection = Projection::try_new_with_schema(exprs, input, schema)?;
            Ok(Some(LogicalPlan::Projection(projection)))
        }
        LogicalPlan::SubqueryAlias(alias) => {
            let input = limited(&alias.input)?;
            let alias = SubqueryAlias::try_new(input, alias.alias.clone())?;
            Ok(Some(LogicalPlan::SubqueryAlias(alias)))
        }
        _ => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::rows;
    use crate::context::new_context;

    #[tokio::test]
    async fn an_offset_without_a_limit_counts_sorted_rows() {
        let context = new_context(None).unwrap();
        let view = "CREATE VIEW t AS SELECT value % 4 AS a, value AS v FROM generate_series(1, 24) AS s(value)";
        context.sql(view).await.unwrap();
        for (sql, wanted) in [
            (
                "SELECT sum(v) FROM (SELECT v FROM t ORDER BY a, v OFFSET 20) AS r",
                vec!["68"],
            ),
            (
                "SELECT count(*), max(v) FROM (SELECT v FROM t ORDER BY v OFFSET 21) AS r",
                vec!["3|24"],
            ),
            (
                "SELECT w FROM (SELECT v + 1 AS w FROM t ORDER BY a DESC, v DESC OFFSET 22) AS r ORDER BY w",
                vec!["5", "9"],
            ),
            (
                "SELECT t.v FROM (SELECT v FROM t ORDER BY a, v OFFSET 22) AS r JOIN t ON t.v = r.v ORDER BY 1",
                vec!["19", "23"],
            ),
            (
                "SELECT v FROM t WHERE v IN (SELECT v FROM t ORDER BY a, v OFFSET 22) ORDER BY 1",
                vec!["19", "23"],
            ),
            (
                "SELECT v, row_number() OVER (ORDER BY v) FROM (SELECT v FROM t ORDER BY a, v OFFSET 22) AS r ORDER BY v",
                vec!["19|1", "23|2"],
            ),
        ] {
            for threads in [1, 2, 8] {
                let set = format!("SET datafusion.execution.target_partitions = {threads}");
                context.sql(&set).await.unwrap();
                assert_eq!(rows(&context, sql).await, wanted, "{threads}: {sql}");
            }
        }
    }
}
