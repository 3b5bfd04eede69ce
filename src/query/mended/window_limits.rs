//! A limit stays above the windows whose rows it limits.
//!
//! ```text
//! Sort: x, fetch=1                       Limit: 1
//!   WindowAggr: count(*)          ─▶       Sort: x
//!     rows that come sorted by x             WindowAggr: count(*)
//! ```
//!
//! Where the rows come in the order that is asked for, DataFusion moves a sort with its limit below the
//! window, which then sees one row only. A limit of its own stays, and joins the sort later.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::tree_node::Transformed;
use datafusion::logical_expr::{Limit, LogicalPlan, Sort, lit};
use datafusion::optimizer::optimizer::{ApplyOrder, OptimizerConfig, OptimizerRule};

/// The rule that takes limits out of sorts.
#[derive(Debug)]
pub(super) struct WindowsSeeAllRows;

impl OptimizerRule for WindowsSeeAllRows {
    fn name(&self) -> &'static str {
        "windows_see_all_rows"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::BottomUp)
    }

    fn rewrite(
        &self,
        plan: LogicalPlan,
        _: &dyn OptimizerConfig,
    ) -> Result<Transformed<LogicalPlan>> {
        let LogicalPlan::Sort(sort) = &plan else {
            return Ok(Transformed::no(plan));
        };
        let fetch = sort.fetch.and_then(|fetch| i64::try_from(fetch).ok());
        let Some(fetch) = fetch.filter(|_| has_window(&sort.input)) else {
            return Ok(Transformed::no(plan));
        };
        let sort = Sort {
            fetch: None,
            ..sort.clone()
        };
        Ok(Transformed::yes(LogicalPlan::Limit(Limit {
            skip: None,
            fetch: Some(Box::new(lit(fetch))),
            input: Arc::new(LogicalPlan::Sort(sort)),
        })))
    }
}

/// Do rows come out of a window, below what hands them on one by one?
fn has_window(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::Window(_) => true,
        LogicalPlan::Projection(_) | LogicalPlan::SubqueryAlias(_) | LogicalPlan::Filter(_) => {
            plan.inputs().into_iter().any(has_window)
        }
        _ => false,
    }
}
