//! Operators by what they do, ours as those that they stand for.

use std::sync::Arc;

use datafusion::physical_plan::ExecutionPlan;

use crate::query::by_number::ByNumber;
use crate::query::by_runs::ByRuns;
use crate::query::in_place::original;
use crate::query::ordered::Ordered;
use crate::query::running::Running;

/// The operator that `node` stands for.
pub(super) fn unwrapped(node: &Arc<dyn ExecutionPlan>) -> &Arc<dyn ExecutionPlan> {
    original::<Running>(node)
        .or_else(|| original::<ByRuns>(node))
        .or_else(|| original::<ByNumber>(node))
        .or_else(|| original::<Ordered>(node))
        .unwrap_or(node)
}
