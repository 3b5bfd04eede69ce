//! Join selection under a memory limit: sort-merge joins for inputs that do not fit into memory.
//!
//! A hash join holds one side in memory, and fails if that side does not fit. With a small side it is much faster.
//! Under a memory limit, joins whose build side may take more than a fraction of the limit become sort-merge joins,
//! which can spill:
//!
//! ```text
//! HashJoinExec                   SortMergeJoinExec
//!   large side          ─▶         large side    (sorts are added by a later rule)
//!   other side                     other side
//! ```

use std::sync::Arc;

use arrow::compute::SortOptions;
use arrow::datatypes::{DataType, Schema};
use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult as _, TreeNode as _};
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::joins::{HashJoinExec, SortMergeJoinExec};
use datafusion::physical_plan::projection::{ProjectionExec, ProjectionExpr};
use datafusion::physical_plan::statistics::{StatisticsArgs, StatisticsContext};
use datafusion::physical_plan::union::UnionExec;
use datafusion::physical_plan::unnest::UnnestExec;

/// Fraction of the limit (1/8) that a build side may take. A query may have several, as well as sorts, aggregates and
/// windows.
pub(crate) const BUILD_SIDE_FRACTION: usize = 8;

/// Estimated size of a text or list in memory, and of a hash table entry, in bytes.
const TEXT_BYTES: usize = 64;
const ENTRY_BYTES: usize = 32;

/// The physical optimizer rule.
#[derive(Debug)]
pub(crate) struct SortMergeLargeJoins {
    pub(crate) most_bytes: usize,
}

impl PhysicalOptimizerRule for SortMergeLargeJoins {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        plan.transform_up(|node| match node.downcast_ref::<HashJoinExec>() {
            Some(join) if self.is_large(join.left()) && can_sort_merge(join) => {
                sort_merge_join(join).map(Transformed::yes)
            }
            _ => Ok(Transformed::no(node)),
        })
        .data()
    }

    fn name(&self) -> &'static str {
        "spilling_joins"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

impl SortMergeLargeJoins {
    fn is_large(&self, side: &Arc<dyn ExecutionPlan>) -> bool {
        is_larger(side, self.most_bytes)
    }
}

/// Returns whether the rows of a plan may take more than `most_bytes`.
pub(crate) fn is_larger(plan: &Arc<dyn ExecutionPlan>, most_bytes: usize) -> bool {
    let row_bytes = row_bytes(&plan.schema());
    let bytes = max_rows(plan).map(|rows| rows.saturating_mul(row_bytes));
    bytes.is_none_or(|bytes| bytes > most_bytes)
}

/// Known upper bound of the number of rows of a plan. Estimates of filters are not trusted.
fn max_rows(plan: &Arc<dyn ExecutionPlan>) -> Option<usize> {
    if plan.downcast_ref::<UnnestExec>().is_some() {
        return None;
    }
    let children = plan.children();
    match children.as_slice() {
        [] => {
            let asked = StatisticsArgs::new();
            let known = StatisticsContext::new()
                .compute(plan.as_ref(), &asked)
                .ok()?;
            known.num_rows.get_value().copied()
        }
        [one] => max_rows(one),
        many if plan.downcast_ref::<UnionExec>().is_some() => {
            let rows = many.iter().map(|one| max_rows(one));
            rows.sum()
        }
        _ => None,
    }
}

fn row_bytes(schema: &Schema) -> usize {
    let bytes = |data_type: &DataType| data_type.primitive_width().unwrap_or(TEXT_BYTES);
    let columns = schema.fields().iter().map(|field| bytes(field.data_type()));
    columns.sum::<usize>() + ENTRY_BYTES
}

/// Returns whether a join can be a sort-merge join. `NOT IN` must look for NULL in the build side.
fn can_sort_merge(join: &HashJoinExec) -> bool {
    !join.null_aware && !join.on().is_empty()
}

/// Rewrites a hash join to a sort-merge join.
fn sort_merge_join(join: &HashJoinExec) -> Result<Arc<dyn ExecutionPlan>> {
    let merged = SortMergeJoinExec::try_new(
        Arc::clone(join.left()),
        Arc::clone(join.right()),
        join.on().to_vec(),
        join.filter().cloned(),
        *join.join_type(),
        vec![SortOptions::default(); join.on().len()],
        join.null_equality(),
    )?;
    let Some(projection) = &join.projection else {
        return Ok(Arc::new(merged));
    };
    let schema = merged.schema();
    let chosen = projection.iter().map(|&place| {
        let name = schema.field(place).name();
        ProjectionExpr::new(Arc::new(Column::new(name, place)), name.clone())
    });
    let chosen: Vec<ProjectionExpr> = chosen.collect();
    Ok(Arc::new(ProjectionExec::try_new(chosen, Arc::new(merged))?))
}

#[cfg(test)]
mod tests {
    use datafusion::physical_plan::displayable;

    use crate::context::new_context;

    #[tokio::test]
    async fn only_joins_of_large_sides_are_sorted() {
        let unknown = "(SELECT unnest(range(0, 30)) AS x)";
        let small = "(VALUES (1), (2)) AS v (x)";
        for (limit, join, is_sorted) in [
            (
                None,
                format!("{unknown} AS a JOIN {unknown} AS b USING (x)"),
                false,
            ),
            (
                Some(1 << 26),
                format!("{unknown} AS a JOIN {unknown} AS b USING (x)"),
                true,
            ),
            (
                Some(1 << 26),
                format!("{small} JOIN {unknown} AS b USING (x)"),
                false,
            ),
        ] {
            let context = new_context(limit).unwrap();
            let frame = context.sql(&format!("SELECT x FROM {join}")).await.unwrap();
            let plan = frame.clone().create_physical_plan().await.unwrap();
            let plan = displayable(plan.as_ref()).indent(false).to_string();
            assert_eq!(plan.contains("SortMergeJoinExec"), is_sorted, "{plan}");
            assert_eq!(
                plan.matches("FullSortExec").count(),
                2 * usize::from(is_sorted),
                "{plan}"
            );
            let rows = frame.count().await.unwrap();
            assert_eq!(rows, if join.starts_with(small) { 2 } else { 30 });
        }
    }
}
