//! Proves physical plans in debug builds and tests.
//!
//! | proven | against |
//! |---|---|
//! | each limit | a limit of the logical plan of at most so many rows, below as many windows, aggregations and joins |
//! | each required order | what follows from the inputs, computed anew from the leaves |
//! | constants and orders of grouping sets and outer joins | columns to which these add NULL |
//! | limited sorts of several partitions | the order of the merge above, by which they share a threshold |
//! | filters of joins | the names and types of the columns at their positions |
//!
//! A plan is reported only where something is proven to be wrong. Operators that are not known hold for anything.

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

/// Proves a plan.
///
/// # Errors
/// What is wrong, and the operator where it is.
pub(super) fn validate(logical: &LogicalPlan, plan: &Arc<dyn ExecutionPlan>) -> Result<()> {
    limits::validate(logical, plan)?;
    orders::validate(plan)?;
    filters::validate(plan)
}
