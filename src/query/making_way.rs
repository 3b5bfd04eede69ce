//! Plans that can be ended.

use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TransformedResult as _, TreeNode as _};
use datafusion::error::Result;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::coop::CooperativeExec;

/// Nodes that make many rows of a few.
const MANY: [&str; 3] = ["CrossJoinExec", "NestedLoopJoinExec", "UnnestExec"];

/// The plan with nodes that make way where a few rows become many: a task ends only where it makes way, and what reads
/// these rows may take all that one batch of files makes before it does.
pub(crate) fn making_way(plan: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    let made = plan.transform_up(|node| {
        if !MANY.contains(&node.name()) {
            return Ok(Transformed::no(node));
        }
        let makes_way: Arc<dyn ExecutionPlan> = Arc::new(CooperativeExec::new(node));
        Ok(Transformed::yes(makes_way))
    });
    made.data()
}
