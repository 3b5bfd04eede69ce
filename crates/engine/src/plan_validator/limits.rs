//! Validates the limits of a physical plan against those of its logical plan.

use std::sync::Arc;

use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, internal_err};
use datafusion::logical_expr::{FetchType, LogicalPlan, SkipType};
use datafusion::physical_expr::LexOrdering;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateOutputMode};
use datafusion::physical_plan::buffer::BufferExec;
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::coop::CooperativeExec;
use datafusion::physical_plan::joins::{
    CrossJoinExec, HashJoinExec, NestedLoopJoinExec, PiecewiseMergeJoinExec, SortMergeJoinExec,
    SymmetricHashJoinExec,
};
use datafusion::physical_plan::limit::{GlobalLimitExec, LocalLimitExec};
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::repartition::RepartitionExec;
use datafusion::physical_plan::scalar_subquery::ScalarSubqueryExec;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::sorts::sort_preserving_merge::SortPreservingMergeExec;
use datafusion::physical_plan::union::UnionExec;
use datafusion::physical_plan::windows::{BoundedWindowAggExec, WindowAggExec};

use super::operators::original_operator;
use crate::operators::common_subplan::MaterializeExec;
use crate::operators::range_join::RangeJoinExec;
use crate::workarounds::{below_projection, lookahead_rows};

/// Validates that each limit drops only rows that a limit of the query drops.
pub(super) fn validate(logical: &LogicalPlan, plan: &Arc<dyn ExecutionPlan>) -> Result<()> {
    let mut written = Vec::new();
    collect_logical_limits(logical, OperatorCounts::default(), &mut written)?;
    check_limits(plan, &Demand::All, OperatorCounts::default(), &written)
}

/// Number of operators between a limit and the result whose output depends on all of their rows.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct OperatorCounts {
    windows: usize,
    aggregates: usize,
    joins: usize,
}

/// A limit of a logical plan.
struct LogicalLimit {
    rows: usize,
    above: OperatorCounts,
}

fn collect_logical_limits(
    plan: &LogicalPlan,
    above: OperatorCounts,
    found: &mut Vec<LogicalLimit>,
) -> Result<()> {
    let rows = match plan {
        LogicalPlan::Limit(limit) => match (limit.get_skip_type()?, limit.get_fetch_type()?) {
            (SkipType::Literal(skip), FetchType::Literal(fetch)) => {
                fetch.map(|fetch| fetch.saturating_add(skip))
            }
            _ => Some(0),
        },
        LogicalPlan::Sort(sort) => sort.fetch,
        LogicalPlan::TableScan(scan) => scan.fetch,
        _ => None,
    };
    found.extend(rows.map(|rows| LogicalLimit { rows, above }));
    let mut below = above;
    match plan {
        LogicalPlan::Window(_) => below.windows += 1,
        LogicalPlan::Aggregate(_) | LogicalPlan::Distinct(_) => below.aggregates += 1,
        LogicalPlan::Join(_) => below.joins += 1,
        _ => {}
    }
    for input in plan.inputs() {
        collect_logical_limits(input, below, found)?;
    }
    plan.apply_subqueries(|query| {
        collect_logical_limits(query, OperatorCounts::default(), found)?;
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(())
}

/// The rows of an operator on which the result depends.
#[derive(Clone, Debug)]
enum Demand {
    All,
    /// The first rows of each partition, in input order.
    First(usize),
    /// The first rows of all partitions by an order.
    FirstBy(usize, LexOrdering),
}

impl Demand {
    /// Returns whether a limit by `order` (`None`: in input order) drops none of these rows.
    fn is_met(&self, rows: usize, order: Option<&LexOrdering>) -> bool {
        match self {
            Self::All => false,
            Self::First(wanted) => rows >= *wanted,
            Self::FirstBy(wanted, by) => rows >= *wanted && order == Some(by),
        }
    }

    fn rows(&self) -> Option<usize> {
        match self {
            Self::All => None,
            Self::First(rows) | Self::FirstBy(rows, _) => Some(*rows),
        }
    }
}

fn check_limits(
    node: &Arc<dyn ExecutionPlan>,
    demand: &Demand,
    above: OperatorCounts,
    written: &[LogicalLimit],
) -> Result<()> {
    let node = original_operator(node);
    if node.is::<MaterializeExec>() {
        // This plan was validated against its own logical plan.
        return Ok(());
    }
    if let Some(rows) = effective_fetch(node)
        && !demand.is_met(rows, order_of(node))
        && !written
            .iter()
            .any(|limit| limit.rows <= rows && limit.above == above)
    {
        return internal_err!(
            "{} returns at most {rows} rows below {} windows, {} aggregations and {} joins, but \
             the query has no such limit",
            node.name(),
            above.windows,
            above.aggregates,
            above.joins
        );
    }
    if let Some(subqueries) = node.downcast_ref::<ScalarSubqueryExec>() {
        for (place, input) in subqueries.children().into_iter().enumerate() {
            match place {
                0 => check_limits(input, demand, above, written)?,
                _ => check_limits(input, &Demand::All, OperatorCounts::default(), written)?,
            }
        }
        return Ok(());
    }
    let below = OperatorCounts {
        windows: above.windows + usize::from(is_window(node)),
        aggregates: above.aggregates + usize::from(is_last_stage(node)),
        joins: above.joins + usize::from(is_join(node)),
    };
    let demand = demand_below(node, demand);
    for input in node.children() {
        check_limits(input, &demand, below, written)?;
    }
    Ok(())
}

/// Returns the limit of an operator, including the rows that it skips.
fn effective_fetch(node: &Arc<dyn ExecutionPlan>) -> Option<usize> {
    if let Some(limit) = node.downcast_ref::<GlobalLimitExec>() {
        return Some(limit.fetch()?.saturating_add(limit.skip()));
    }
    // These operators report the limit of their input.
    let is_of_input = node.is::<ProjectionExec>()
        || node.is::<CooperativeExec>()
        || node.is::<BufferExec>()
        || node.is::<ScalarSubqueryExec>();
    node.fetch().filter(|_| !is_of_input)
}

fn order_of(node: &Arc<dyn ExecutionPlan>) -> Option<&LexOrdering> {
    let sort = node.downcast_ref::<SortExec>().map(SortExec::expr);
    let merge = node.downcast_ref::<SortPreservingMergeExec>();
    sort.or_else(|| merge.map(SortPreservingMergeExec::expr))
}

/// Returns the demand on the inputs of an operator, given the demand on its output.
fn demand_below(node: &Arc<dyn ExecutionPlan>, demand: &Demand) -> Demand {
    let own = effective_fetch(node);
    let rows = match (own, demand.rows()) {
        (Some(own), Some(rows)) => Some(own.min(rows)),
        (own, rows) => own.or(rows),
    };
    let Some(rows) = rows else {
        return Demand::All;
    };
    if let Some(limit) = node.downcast_ref::<GlobalLimitExec>() {
        // A skip without a fetch needs the skipped rows, too.
        return match limit.fetch() {
            Some(_) => Demand::First(own.unwrap_or(rows)),
            None => Demand::First(rows.saturating_add(limit.skip())),
        };
    }
    if let Some(sort) = node.downcast_ref::<SortExec>() {
        return Demand::FirstBy(rows, sort.expr().clone());
    }
    if let Some(window) = node.downcast_ref::<BoundedWindowAggExec>() {
        return match (demand, lookahead_rows(window)) {
            (Demand::First(_), Some(ahead)) => Demand::First(rows.saturating_add(ahead)),
            _ => Demand::All,
        };
    }
    if let Some(projection) = node.downcast_ref::<ProjectionExec>() {
        return match demand {
            Demand::FirstBy(rows, by) => below_projection(projection, by)
                .map_or(Demand::All, |by| Demand::FirstBy(*rows, by)),
            other => other.clone(),
        };
    }
    if node.is::<RepartitionExec>() {
        return match demand {
            Demand::FirstBy(..) => demand.clone(),
            _ => Demand::All,
        };
    }
    let is_passed_on = node.is::<LocalLimitExec>()
        || node.is::<SortPreservingMergeExec>()
        || node.is::<CoalescePartitionsExec>()
        || node.is::<CooperativeExec>()
        || node.is::<BufferExec>()
        || node.is::<UnionExec>();
    match (is_passed_on, demand) {
        (false, _) => Demand::All,
        (true, Demand::FirstBy(_, by)) if own.is_none() => Demand::FirstBy(rows, by.clone()),
        (true, _) => Demand::First(rows),
    }
}

fn is_window(node: &Arc<dyn ExecutionPlan>) -> bool {
    node.is::<WindowAggExec>() || node.is::<BoundedWindowAggExec>()
}

fn is_last_stage(node: &Arc<dyn ExecutionPlan>) -> bool {
    let aggregate = node.downcast_ref::<AggregateExec>();
    aggregate.is_some_and(|aggregate| aggregate.mode().output_mode() == AggregateOutputMode::Final)
}

fn is_join(node: &Arc<dyn ExecutionPlan>) -> bool {
    node.is::<HashJoinExec>()
        || node.is::<SortMergeJoinExec>()
        || node.is::<NestedLoopJoinExec>()
        || node.is::<CrossJoinExec>()
        || node.is::<SymmetricHashJoinExec>()
        || node.is::<PiecewiseMergeJoinExec>()
        || node.is::<RangeJoinExec>()
}
