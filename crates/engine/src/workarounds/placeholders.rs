//! Runs a rule of DataFusion on a plan in which placeholders stand for some nodes.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult as _, TreeNode as _};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;

type Plan = Arc<dyn ExecutionPlan>;

/// Optimizes a plan in which `hide` replaces nodes. `restore` returns the node that a placeholder stands for.
pub(super) fn optimize_with_placeholders(
    rule: &dyn PhysicalOptimizerRule,
    plan: Plan,
    config: &ConfigOptions,
    hide: impl Fn(&Plan) -> Result<Option<Plan>>,
    restore: impl Fn(&Plan) -> Option<Plan>,
) -> Result<Plan> {
    let plan = plan.transform_up(|node| {
        let hidden = hide(&node)?;
        Ok(hidden.map_or_else(|| Transformed::no(node), Transformed::yes))
    });
    let plan = rule.optimize(plan.data()?, config)?;
    plan.transform_up(|node| {
        let restored = restore(&node);
        Ok(restored.map_or_else(|| Transformed::no(node), Transformed::yes))
    })
    .data()
}
