//! Pushes limits below windows that look ahead by a bounded number of rows.
//!
//! ```text
//! SortPreservingMergeExec: x, fetch=3             SortPreservingMergeExec: x, fetch=3
//!   BoundedWindowAggExec: lead(y, 2)    ─▶          BoundedWindowAggExec: lead(y, 2)
//!     SortExec: x                                     SortExec: x, fetch=5
//! ```
//!
//! DataFusion 55's `LimitPushPastWindows` passes too few rows to one window below another, because it takes the maximum
//! of their lookahead rather than the sum. The same happens for `lead(...) IGNORE NULLS`, for `lag` with a negative
//! offset, and for windows whose partitions are not adjacent. This rule replaces it, and passes only windows whose
//! results are proven to be the same.
//!
//! Upstream: <https://github.com/apache/datafusion/issues/25471>; stacked windows not filed, docs/dev/upstream/window_limits.md

use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult as _, TreeNode as _};
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::{LimitEffect, WindowFrameBound, WindowFrameUnits};
use datafusion::physical_expr::window::{
    PlainAggregateWindowExpr, SlidingAggregateWindowExpr, StandardWindowExpr, WindowExpr,
};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::coop::CooperativeExec;
use datafusion::physical_plan::execution_plan::replace_children_if_necessary;
use datafusion::physical_plan::limit::{GlobalLimitExec, LocalLimitExec};
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::sorts::sort_preserving_merge::SortPreservingMergeExec;
use datafusion::physical_plan::windows::BoundedWindowAggExec;
use datafusion::physical_plan::{ExecutionPlan, InputOrderMode};

/// Name of DataFusion's rule that this one replaces.
pub(super) const LIMIT_PUSH_PAST_WINDOWS: &str = "LimitPushPastWindows";

/// Row and size of a long partition for which evaluators report the rows that they read.
const ROW: usize = 1 << 20;
const ROWS: usize = usize::MAX / 2;

/// Pushes limits past windows.
#[derive(Debug)]
pub(super) struct LimitsPastWindows;

impl PhysicalOptimizerRule for LimitsPastWindows {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        config: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        if !config.optimizer.enable_window_limits {
            return Ok(plan);
        }
        plan.transform_down(|node| {
            let Some((input, rows)) = limit(&node) else {
                return Ok(Transformed::no(node));
            };
            match push_limit(input, rows, false)? {
                Some(input) => {
                    replace_children_if_necessary(node, vec![input]).map(Transformed::yes)
                }
                None => Ok(Transformed::no(node)),
            }
        })
        .data()
    }

    fn name(&self) -> &'static str {
        LIMIT_PUSH_PAST_WINDOWS
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// Returns the input of a limit, and the number of its first rows that are needed.
fn limit(node: &Arc<dyn ExecutionPlan>) -> Option<(&Arc<dyn ExecutionPlan>, usize)> {
    if let Some(limit) = node.downcast_ref::<GlobalLimitExec>() {
        let rows = limit.fetch()?.checked_add(limit.skip())?;
        return Some((limit.input(), rows));
    }
    if let Some(limit) = node.downcast_ref::<LocalLimitExec>() {
        return Some((limit.input(), limit.fetch()));
    }
    let merge = node.downcast_ref::<SortPreservingMergeExec>()?;
    Some((merge.input(), merge.fetch()?))
}

/// Limits the sort below windows, if only the first `rows` rows of the plan are needed.
fn push_limit(
    node: &Arc<dyn ExecutionPlan>,
    rows: usize,
    below_window: bool,
) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    if let Some(sort) = node.downcast_ref::<SortExec>() {
        let is_fewer = below_window && sort.fetch().is_none_or(|fetch| rows < fetch);
        return Ok(is_fewer.then(|| Arc::new(sort.with_fetch(Some(rows))) as _));
    }
    let (input, rows, below_window) =
        if let Some(window) = node.downcast_ref::<BoundedWindowAggExec>() {
            match lookahead_rows(window).and_then(|ahead| rows.checked_add(ahead)) {
                Some(rows) => (window.input(), rows, true),
                None => return Ok(None),
            }
        } else if let Some(projection) = node.downcast_ref::<ProjectionExec>() {
            (projection.input(), rows, below_window)
        } else if let Some(cooperative) = node.downcast_ref::<CooperativeExec>() {
            (cooperative.input(), rows, below_window)
        } else {
            return Ok(None);
        };
    match push_limit(input, rows, below_window)? {
        Some(input) => replace_children_if_necessary(Arc::clone(node), vec![input]).map(Some),
        None => Ok(None),
    }
}

/// Returns the number of following rows on which the results for a row depend; `None` if unknown.
pub(crate) fn lookahead_rows(window: &BoundedWindowAggExec) -> Option<usize> {
    let ahead = window.window_expr().iter().map(lookahead);
    let ahead = ahead.collect::<Option<Vec<usize>>>()?.into_iter().max()?;
    // In other modes, rows of a partition are not adjacent.
    (ahead == 0 || matches!(window.input_order_mode, InputOrderMode::Sorted)).then_some(ahead)
}

fn lookahead(expr: &Arc<dyn WindowExpr>) -> Option<usize> {
    let frame = expr.get_window_frame();
    if frame.units != WindowFrameUnits::Rows {
        return None;
    }
    let of_frame = match frame.end_bound {
        WindowFrameBound::Preceding(_) | WindowFrameBound::CurrentRow => 0,
        WindowFrameBound::Following(ScalarValue::UInt64(Some(rows))) => {
            usize::try_from(rows).ok()?
        }
        WindowFrameBound::Following(_) => return None,
    };
    let any = expr.as_any();
    if any.is::<PlainAggregateWindowExpr>() || any.is::<SlidingAggregateWindowExpr>() {
        return Some(of_frame);
    }
    let function = any.downcast_ref::<StandardWindowExpr>()?;
    let function = function.get_standard_func_expr();
    match function.limit_effect() {
        LimitEffect::None | LimitEffect::Relative(_) => {}
        LimitEffect::Absolute(_) | LimitEffect::Unknown => return None,
    }
    // The evaluator reports its range: a reversed `lag` looks ahead, and so does `lag` with a negative offset.
    let evaluator = function.create_evaluator().ok()?;
    if evaluator.uses_window_frame() {
        return Some(of_frame);
    }
    if evaluator.is_causal() {
        return Some(0);
    }
    let range = evaluator.get_range(ROW, ROWS).ok()?;
    // The next value that is not NULL may be in any row.
    (range.end < ROWS).then(|| range.end.saturating_sub(ROW))
}
