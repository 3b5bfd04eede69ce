//! Keeps conditions without columns above aggregations.
//!
//! ```text
//! Filter: (SELECT ...) > 3        Aggregate: count(*)
//!   Aggregate: count(*)    not      Filter: (SELECT ...) > 3
//!     rows                            rows
//! ```
//!
//! DataFusion 55's `push_down_filter` moves a condition below an aggregation if all of its columns are groups. That
//! includes conditions without columns: `HAVING max(x) = 1 AND max(x) = 2`, which is false, and
//! `HAVING (SELECT ...) > 3`. But an aggregation without groups, or by grouping sets, returns a row even without input
//! rows. A condition by `random()` would be evaluated per row rather than per group.
//!
//! Upstream: not filed, docs/dev/upstream/group_filters.md

use std::sync::Arc;

use datafusion::common::tree_node::Transformed;
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::utils::{conjunction, split_conjunction_owned};
use datafusion::logical_expr::{Aggregate, EmptyRelation, Expr, Filter, LogicalPlan};
use datafusion::optimizer::simplify_expressions::simplify_predicates;
use datafusion::optimizer::{ApplyOrder, OptimizerConfig, OptimizerRule};

/// Name of DataFusion's rule that moves conditions.
pub(super) const PUSH_DOWN_FILTER: &str = "push_down_filter";

/// Moves conditions, except those without columns.
#[derive(Debug)]
pub(super) struct ConditionsAboveGroups(pub(super) Arc<dyn OptimizerRule + Send + Sync>);

impl OptimizerRule for ConditionsAboveGroups {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        self.0.apply_order()
    }

    fn rewrite(
        &self,
        plan: LogicalPlan,
        config: &dyn OptimizerConfig,
    ) -> Result<Transformed<LogicalPlan>> {
        let LogicalPlan::Filter(filter) = &plan else {
            return self.0.rewrite(plan, config);
        };
        let LogicalPlan::Aggregate(aggregate) = filter.input.as_ref() else {
            return self.0.rewrite(plan, config);
        };
        let conditions = simplify_predicates(split_conjunction_owned(filter.predicate.clone()))?;
        if conditions.iter().any(is_false) {
            return Ok(Transformed::yes(LogicalPlan::EmptyRelation(
                EmptyRelation {
                    produce_one_row: false,
                    schema: Arc::clone(plan.schema()),
                },
            )));
        }
        let (stay, move_down): (Vec<Expr>, Vec<Expr>) = conditions
            .into_iter()
            .partition(|condition| stays_above(condition, aggregate));
        let Some(stay) = conjunction(stay) else {
            return self.0.rewrite(plan, config);
        };
        let Some(move_down) = conjunction(move_down) else {
            return Ok(Transformed::no(plan));
        };
        let below = Filter::try_new(move_down, Arc::clone(&filter.input))?;
        let below = self.0.rewrite(LogicalPlan::Filter(below), config)?;
        let is_moved = below.transformed;
        let above = Filter::try_new(stay, Arc::new(below.data))?;
        match is_moved {
            true => Ok(Transformed::yes(LogicalPlan::Filter(above))),
            false => Ok(Transformed::no(plan)),
        }
    }
}

fn is_false(condition: &Expr) -> bool {
    matches!(
        condition,
        Expr::Literal(
            ScalarValue::Boolean(Some(false) | None) | ScalarValue::Null,
            _
        )
    )
}

/// Returns whether a condition must stay above an aggregation: it is volatile, or without columns where an empty input
/// has a row.
fn stays_above(condition: &Expr, aggregate: &Aggregate) -> bool {
    let has_row_without_rows =
        matches!(aggregate.group_expr.as_slice(), [] | [Expr::GroupingSet(_)]);
    let is_on_no_column = condition.column_refs().is_empty();
    condition.is_volatile() || (is_on_no_column && has_row_without_rows)
}

#[cfg(test)]
mod tests {
    use super::super::tests::rows;
    use crate::context::new_context;

    const RECORDS: &str =
        "(SELECT value % 4 AS a, value AS v FROM generate_series(1, 24) AS s(value)) AS r";

    #[tokio::test]
    async fn groups_without_rows_are_left_out_by_conditions() {
        let context = new_context(None).unwrap();
        for (sql, wanted) in [
            (
                "SELECT count(*) FROM @ HAVING max(v) = 1 AND max(v) = 2",
                vec![],
            ),
            (
                "SELECT count(*) FROM @ HAVING count(*) > 5 AND count(*) < 3",
                vec![],
            ),
            (
                "SELECT count(*) FROM (SELECT count(*) AS n FROM @) AS g WHERE n = 1 AND n = 2",
                vec!["0"],
            ),
            (
                "SELECT a, n FROM (SELECT a, count(*) AS n FROM @ GROUP BY CUBE (a)) AS g WHERE a = 1 AND a = 2",
                vec![],
            ),
            (
                "SELECT a, n FROM (SELECT a, count(*) AS n FROM @ GROUP BY ROLLUP (a)) AS g WHERE n = 24 AND n = 6",
                vec![],
            ),
            (
                "SELECT count(*) FROM @ HAVING (SELECT max(v) FROM @) > 100",
                vec![],
            ),
            (
                "SELECT count(*) FROM @ HAVING (SELECT max(v) FROM @) > 10 AND max(v) > 2",
                vec!["24"],
            ),
            (
                "SELECT * FROM (SELECT count(*) AS n FROM @) AS g WHERE (SELECT max(v) FROM @) > 100",
                vec![],
            ),
            (
                "SELECT a, n FROM (SELECT a, count(*) AS n FROM @ GROUP BY ROLLUP (a)) AS g WHERE (SELECT max(v) FROM @) > 100 AND a = 1",
                vec![],
            ),
            ("SELECT count(*) FROM @ HAVING random() < -1", vec![]),
            (
                "SELECT a, count(*) FROM @ GROUP BY a HAVING (SELECT max(v) FROM @) > 10 AND a = 1",
                vec!["1|6"],
            ),
            (
                "SELECT a, count(*) FROM @ WHERE a = 1 AND a = 2 GROUP BY CUBE (a)",
                vec!["|0"],
            ),
            (
                "SELECT a, count(*), sum(v) FROM @ WHERE a = 1 AND a = 2 GROUP BY a",
                vec![],
            ),
        ] {
            let sql = sql.replace('@', RECORDS);
            assert_eq!(rows(&context, &sql).await, wanted, "{sql}");
        }
    }
}
