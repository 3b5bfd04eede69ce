//! Sorts several partitions under a limit by all keys of their merge.
//!
//! ```text
//! SortPreservingMergeExec: n, x, fetch=3     SortPreservingMergeExec: n, x, fetch=3
//!   SortExec: x, fetch=3              ─▶       SortExec: n, x, fetch=3
//!     UnionExec                                  UnionExec
//!       1 AS n, x                                  1 AS n, x
//!       0 AS n, x                                  0 AS n, x
//! ```
//!
//! DataFusion 55 omits sort keys that are constant in each partition of the input. But the partitions of a limited sort
//! share one threshold, by which they drop rows. If a constant differs between partitions, one partition drops rows by
//! the threshold of another, which usually belongs to later rows. The lost rows depend on which thread is first.
//!
//! Upstream: <https://github.com/apache/datafusion/pull/23528>

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::{AcrossPartitions, ConstExpr, LexOrdering, PhysicalSortExpr};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::coop::CooperativeExec;
use datafusion::physical_plan::execution_plan::replace_children_if_necessary;
use datafusion::physical_plan::limit::LocalLimitExec;
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::sorts::sort_preserving_merge::SortPreservingMergeExec;
use datafusion::physical_plan::windows::BoundedWindowAggExec;
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties as _};

/// Name of DataFusion's rule after which the rule runs. All limits are in their sorts then, and no dynamic filter has
/// been pushed down yet.
pub(super) const TOPK_REPARTITION: &str = "TopKRepartition";

/// Adds omitted keys to limited sorts.
#[derive(Debug)]
pub(super) struct WholeMergeOrder;

impl PhysicalOptimizerRule for WholeMergeOrder {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        match order_sorts(&plan, None)? {
            Some(ordered) => Ok(ordered),
            None => Ok(plan),
        }
    }

    fn name(&self) -> &'static str {
        "topk_order"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// Adds omitted keys to all limited sorts of a plan whose rows are merged by `order`; `None` if nothing changes.
fn order_sorts(
    node: &Arc<dyn ExecutionPlan>,
    order: Option<&LexOrdering>,
) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    let order = if let Some(merge) = node.downcast_ref::<SortPreservingMergeExec>() {
        Some(merge.expr().clone())
    } else if let Some(projection) = node.downcast_ref::<ProjectionExec>() {
        order.and_then(|order| below_projection(projection, order))
    } else if let Some(window) = node.downcast_ref::<BoundedWindowAggExec>() {
        order.and_then(|order| below_window(window, order))
    } else if node.is::<CooperativeExec>() {
        order.cloned()
    } else {
        let sort = node.downcast_ref::<SortExec>();
        let whole = sort.and_then(|sort| sort_by_whole_order(sort, order));
        let inputs = order_inputs(whole.as_ref().unwrap_or(node), None)?;
        return Ok(inputs.or(whole));
    };
    order_inputs(node, order.as_ref())
}

fn order_inputs(
    node: &Arc<dyn ExecutionPlan>,
    order: Option<&LexOrdering>,
) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    let (mut inputs, mut any) = (Vec::new(), false);
    for input in node.children() {
        let changed = order_sorts(input, order)?;
        any |= changed.is_some();
        inputs.push(changed.unwrap_or_else(|| Arc::clone(input)));
    }
    any.then(|| replace_children_if_necessary(Arc::clone(node), inputs))
        .transpose()
}

/// Returns the sort by all keys of `order`; `None` if it omits no key that differs between partitions.
fn sort_by_whole_order(
    sort: &SortExec,
    order: Option<&LexOrdering>,
) -> Option<Arc<dyn ExecutionPlan>> {
    let fetch = sort.fetch()?;
    if sort.properties().output_partitioning().partition_count() == 1 {
        return None;
    }
    let input = sort.input().equivalence_properties();
    let Some(order) = order else {
        // The order of all partitions is unknown, so each gets its own limit.
        let constants = input.constants();
        let differ =
            |constant: &ConstExpr| constant.across_partitions == AcrossPartitions::Heterogeneous;
        let all = || Arc::new(sort.with_fetch(None));
        return constants
            .iter()
            .any(differ)
            .then(|| Arc::new(LocalLimitExec::new(all(), fetch)) as _);
    };
    let is_left_out = |key: &PhysicalSortExpr| {
        input.is_expr_constant(&key.expr) == Some(AcrossPartitions::Heterogeneous)
            && !sort.expr().iter().any(|other| other.expr.eq(&key.expr))
    };
    order.iter().any(is_left_out).then(|| {
        let whole = SortExec::new(order.clone(), Arc::clone(sort.input()))
            .with_preserve_partitioning(sort.preserve_partitioning());
        Arc::new(whole.with_fetch(Some(fetch))) as _
    })
}

/// Returns an order in terms of a projection's input; `None` if it uses computed columns.
pub(crate) fn below_projection(
    projection: &ProjectionExec,
    order: &LexOrdering,
) -> Option<LexOrdering> {
    let below = order.iter().map(|key| {
        let column = key.expr.downcast_ref::<Column>()?;
        let source = &projection.expr().get(column.index())?.expr;
        Some(PhysicalSortExpr::new(Arc::clone(source), key.options))
    });
    LexOrdering::new(below.collect::<Option<Vec<_>>>()?)
}

/// Returns an order in terms of a window's input; `None` if it uses columns of the window.
pub(crate) fn below_window(
    window: &BoundedWindowAggExec,
    order: &LexOrdering,
) -> Option<LexOrdering> {
    let columns = window.input().schema().fields().len();
    let is_of_input = |key: &PhysicalSortExpr| {
        let column = key.expr.downcast_ref::<Column>();
        column.is_some_and(|column| column.index() < columns)
    };
    order.iter().all(is_of_input).then(|| order.clone())
}

#[cfg(test)]
mod tests {
    use super::super::tests::rows;
    use crate::context::new_context;

    #[tokio::test]
    async fn constants_of_a_union_are_part_of_its_order() {
        let context = new_context(None).unwrap();
        let values =
            "(SELECT value AS x, value % 5 AS y FROM generate_series(1, 20000) AS s(value))";
        for (sql, wanted) in [
            (
                format!(
                    "SELECT n, x FROM (SELECT 1 AS n, x FROM {values} AS a UNION ALL SELECT 0, x + 30000 FROM {values} AS b) AS u ORDER BY n, x LIMIT 2"
                ),
                ["0|30001", "0|30002"],
            ),
            (
                format!(
                    "SELECT x, n FROM (SELECT 'b' AS n, x FROM {values} AS a UNION ALL SELECT 'a', x FROM {values} AS b UNION ALL SELECT NULL, x FROM {values} AS c) AS u ORDER BY n DESC NULLS FIRST, x DESC LIMIT 2"
                ),
                ["20000|", "19999|"],
            ),
            (
                format!(
                    "SELECT n + 1, y, x FROM (SELECT 1 AS n, y, x FROM {values} AS a WHERE y = 2 UNION ALL SELECT 0, y, x FROM {values} AS b WHERE y = 4) AS u ORDER BY y DESC, n + 1, x LIMIT 2"
                ),
                ["1|4|4", "1|4|9"],
            ),
            (
                format!(
                    "SELECT x, n FROM (SELECT 1 AS n, 'tag' || y AS tag, x FROM {values} AS a WHERE y = 2 UNION ALL SELECT 0, 'gat', x + 7 FROM {values} AS b) AS u ORDER BY x, n LIMIT 2"
                ),
                ["2|1", "7|1"],
            ),
            (
                format!(
                    "SELECT n, x FROM (SELECT n, x, row_number() OVER (PARTITION BY n ORDER BY x) AS r FROM (SELECT 1 AS n, x FROM {values} AS a UNION ALL SELECT 0, x + 30000 FROM {values} AS b) AS u) AS w ORDER BY n, x LIMIT 2"
                ),
                ["0|30001", "0|30002"],
            ),
        ] {
            for threads in [1, 2, 4, 8] {
                let set = format!("SET datafusion.execution.target_partitions = {threads}");
                context.sql(&set).await.unwrap();
                // The result depends on the faster thread.
                for _ in 0..6 {
                    assert_eq!(rows(&context, &sql).await, wanted, "{threads}: {sql}");
                }
            }
        }
    }
}
