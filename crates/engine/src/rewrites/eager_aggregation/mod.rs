//! Aggregates rows in two steps where the first step leaves few rows: below joins, below unions, and below the coarser
//! sets of `ROLLUP`.
//!
//! ```text
//! Aggregate                                Projection: the same columns
//!   count(*) by operator, class              Aggregate
//!   Join: graph_id                  ─▶         sum(count) by operator, class
//!     records                                  Join: graph_id
//!     graphs                                     Aggregate
//!                                                  count(*) by graph_id, class
//!                                                  records
//!                                                graphs
//! ```
//!
//! Supports counts, sums, means, minima and maxima (Yan and Larson, Eager Aggregation and Lazy Aggregation, VLDB 1995).
//! The number of groups is estimated from table statistics ([`cardinality`](crate::rewrites::cardinality)). Without statistics,
//! aggregates over joins and unions are not rewritten.

mod grouping_sets;
mod join;
mod two_steps;
mod union;

use datafusion::common::Result;
use datafusion::common::tree_node::Transformed;
use datafusion::logical_expr::LogicalPlan;
use datafusion::optimizer::{ApplyOrder, OptimizerConfig, OptimizerRule};

/// Rewrites aggregates over grouping sets, unions and joins.
#[derive(Debug)]
pub(crate) struct EagerAggregation;

impl OptimizerRule for EagerAggregation {
    fn name(&self) -> &'static str {
        "eager_aggregation"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::TopDown)
    }

    fn rewrite(
        &self,
        plan: LogicalPlan,
        _: &dyn OptimizerConfig,
    ) -> Result<Transformed<LogicalPlan>> {
        let LogicalPlan::Aggregate(aggregate) = &plan else {
            return Ok(Transformed::no(plan));
        };
        for rewrite in [grouping_sets::rewrite, union::rewrite, join::rewrite] {
            // If a rewrite fails, the plan stays unchanged.
            if let Ok(Some(rewritten)) = rewrite(aggregate) {
                return Ok(Transformed::yes(rewritten));
            }
        }
        Ok(Transformed::no(plan))
    }
}
