//! Maps substituted operators to their originals.

use std::sync::Arc;

use datafusion::physical_plan::ExecutionPlan;

use crate::operators::full_sort::FullSort;
use crate::operators::operator_substitution::original;
use crate::operators::run_aggregate::RunAggregate;
use crate::operators::streaming_window::StreamingWindow;

/// Returns the operator that `node` replaces, or `node` itself.
pub(super) fn original_operator(node: &Arc<dyn ExecutionPlan>) -> &Arc<dyn ExecutionPlan> {
    original::<StreamingWindow>(node)
        .or_else(|| original::<RunAggregate>(node))
        .or_else(|| original::<FullSort>(node))
        .unwrap_or(node)
}
