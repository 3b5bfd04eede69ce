//! Computes aggregates from the pre-aggregates that data files store, without reading rows.
//!
//! ```text
//! Aggregate                                Projection: the same columns
//!   avg(runtime_ns) by platform              Aggregate
//!   Filter: error_no = 0            ─▶         sum(__runtime_ns_sum), sum(__rows ...) by platform
//!     records                                  Filter: error_no = 0
//!                                                pre-aggregates of records
//! ```
//!
//! Between the aggregate and the table there may be filters, projections and joins, as long as they read only labels.
//! Then all rows that a pre-aggregate stands for are treated alike.

mod aggregate;
mod case_branches;
mod rollup_plan;
mod window;

use datafusion::common::Result;
use datafusion::common::tree_node::Transformed;
use datafusion::logical_expr::LogicalPlan;
use datafusion::optimizer::optimizer::{ApplyOrder, OptimizerConfig, OptimizerRule};

use aggregate::rewrite_aggregate;

/// Optimizer rule that rewrites aggregates and windows to pre-aggregates.
#[derive(Debug)]
pub(crate) struct RollupRewrite;

impl OptimizerRule for RollupRewrite {
    fn name(&self) -> &'static str {
        "preaggregates"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::TopDown)
    }

    fn rewrite(
        &self,
        plan: LogicalPlan,
        _config: &dyn OptimizerConfig,
    ) -> Result<Transformed<LogicalPlan>> {
        // A plan that cannot be rewritten reads rows.
        if let LogicalPlan::Aggregate(aggregate) = &plan
            && let Ok(Some(answer)) = rewrite_aggregate(aggregate)
        {
            return Ok(Transformed::yes(answer));
        }
        if let LogicalPlan::Window(window) = &plan
            && let Ok(Some(joined)) = window::rewrite_window(window)
        {
            return Ok(Transformed::yes(joined));
        }
        Ok(Transformed::no(plan))
    }
}
