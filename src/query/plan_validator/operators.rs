//! Operators by what they do, ours as those that they stand for.

use std::sync::Arc;

use datafusion::physical_plan::ExecutionPlan;

use crate::query::full_sort::FullSort;
use crate::query::operator_substitution::original;
use crate::query::run_aggregate::RunAggregate;
use crate::query::streaming_window::StreamingWindow;

/// The operator that `node` stands for.
pub(super) fn unwrapped(node: &Arc<dyn ExecutionPlan>) -> &Arc<dyn ExecutionPlan> {
    original::<StreamingWindow>(node)
        .or_else(|| original::<RunAggregate>(node))
        .or_else(|| original::<FullSort>(node))
        .unwrap_or(node)
}
