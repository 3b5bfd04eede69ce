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

use async_trait::async_trait;
use datafusion::catalog::Session;
use datafusion::common::Result;
use datafusion::execution::context::QueryPlanner;
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_planner::{DefaultPhysicalPlanner, PhysicalPlanner as _};

/// DataFusion's planner, whose plans are proven.
#[derive(Debug)]
pub(super) struct ProvingPlanner;

#[async_trait]
impl QueryPlanner for ProvingPlanner {
    async fn create_physical_plan(
        &self,
        logical: &LogicalPlan,
        session: &dyn Session,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let planner = DefaultPhysicalPlanner::default();
        let plan = planner.create_physical_plan(logical, session).await?;
        validate(logical, &plan)?;
        Ok(plan)
    }
}

/// Proves a plan.
///
/// # Errors
/// What is wrong, and the operator where it is.
fn validate(logical: &LogicalPlan, plan: &Arc<dyn ExecutionPlan>) -> Result<()> {
    limits::validate(logical, plan)?;
    orders::validate(plan)?;
    filters::validate(plan)
}
