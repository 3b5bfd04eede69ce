//! Validates physical plans in debug builds and tests.
//!
//! | validated | against |
//! |---|---|
//! | each limit | a limit of the logical plan of at most as many rows, below as many windows, aggregations and joins |
//! | each required order | the order that follows from the inputs, recomputed from the leaves |
//! | constants of grouping sets and outer joins | columns to which these add NULL |
//! | limited sorts of several partitions | the order of the merge above, because they share a threshold |
//! | filters of joins | the names and types of the columns at their positions |
//!
//! Only proven errors are reported. Unknown operators pass.

mod filters;
mod limits;
mod operators;
mod orders;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_plan::ExecutionPlan;

/// Validates a plan.
///
/// # Errors
/// An internal error that names the operator and the violated property.
pub(crate) fn validate(logical: &LogicalPlan, plan: &Arc<dyn ExecutionPlan>) -> Result<()> {
    limits::validate(logical, plan)?;
    orders::validate(plan)?;
    filters::validate(plan)
}
