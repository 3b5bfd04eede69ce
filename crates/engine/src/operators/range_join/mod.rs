//! Joins by inequalities with a search in sorted keys. DataFusion compares each row with each.
//!
//! ```text
//! NestedLoopJoinExec: x >= low AND x < high   ─▶   RangeJoinExec: low <= x, high >= x; x >= low AND x < high
//!   ranges                                           ranges (build side, sorted by low)
//!   records                                          records
//! ```
//!
//! One or two terms compare an expression of the build side with one of the probe side. They select candidate pairs
//! ([`index`]), and the whole condition is evaluated only for those. Keys are compared by their first 16 bytes and
//! without strictness, so no pair is missed. `SET tsql.rules.range_join = false` switches it off.

mod exec;
mod index;
mod output;
mod terms;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult as _, TreeNode as _};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::joins::NestedLoopJoinExec;

use crate::operators::join_selection;
pub(crate) use exec::RangeJoinExec;

/// Optimizer rule that replaces nested loop joins. Runs after all other rules.
#[derive(Debug)]
pub(crate) struct RangeJoins {
    /// Maximum size of the build side in bytes. For a larger one, the nested loop join stays, which spills.
    pub(crate) held_bytes: Option<usize>,
}

impl PhysicalOptimizerRule for RangeJoins {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        plan.transform_up(|node| {
            let Some(join) = node.downcast_ref::<NestedLoopJoinExec>() else {
                return Ok(Transformed::no(node));
            };
            let has_memory = self
                .held_bytes
                .is_none_or(|bytes| !join_selection::is_larger(join.left(), bytes));
            match RangeJoinExec::try_new(&node)? {
                Some(ours) if has_memory => Ok(Transformed::yes(Arc::new(ours) as _)),
                _ => Ok(Transformed::no(node)),
            }
        })
        .data()
    }

    fn name(&self) -> &'static str {
        "range_join"
    }

    fn schema_check(&self) -> bool {
        true
    }
}
