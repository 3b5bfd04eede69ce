//! Aggregates that are answered from the sums that data files keep, without reading a row.
//!
//! ```text
//! Aggregate                                Projection: what was asked for
//!   avg(runtime_ns) by platform              Aggregate
//!   Filter: error_no = 0            ─▶         sum(__runtime_ns_sum), sum(__rows ...) by platform
//!     records                                  Filter: error_no = 0
//!                                                sums of records
//! ```
//!
//! Between the aggregate and the table may lie filters, projections and joins, as long as they look
//! at labels only: all rows that a row of sums stands for fare alike then.

mod aggregate;
mod cases;
mod rollup_plan;
#[cfg(test)]
pub(super) mod tests;
mod window;

use datafusion::common::Result;
use datafusion::common::tree_node::Transformed;
use datafusion::logical_expr::LogicalPlan;
use datafusion::optimizer::optimizer::{ApplyOrder, OptimizerConfig, OptimizerRule};

use aggregate::answered;

/// The rule of the optimizer that does so.
#[derive(Debug)]
pub(super) struct RollupRewrite;

impl OptimizerRule for RollupRewrite {
    fn name(&self) -> &'static str {
        "answer_from_sums"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::TopDown)
    }

    fn rewrite(
        &self,
        plan: LogicalPlan,
        _config: &dyn OptimizerConfig,
    ) -> Result<Transformed<LogicalPlan>> {
        // What cannot be expressed over sums for whatever reason is read from rows.
        if let LogicalPlan::Aggregate(aggregate) = &plan
            && let Ok(Some(answer)) = answered(aggregate)
        {
            return Ok(Transformed::yes(answer));
        }
        if let LogicalPlan::Window(window) = &plan
            && let Ok(Some(joined)) = window::joined(window)
        {
            return Ok(Transformed::yes(joined));
        }
        Ok(Transformed::no(plan))
    }
}
