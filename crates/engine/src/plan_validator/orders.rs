//! Validates the orders on which operators rely.

use std::sync::Arc;

use datafusion::common::{JoinType, Result, internal_err};
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::{AcrossPartitions, LexOrdering, PhysicalExpr};
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateInputMode};
use datafusion::physical_plan::coop::CooperativeExec;
use datafusion::physical_plan::execution_plan::{ChildrenPropertiesMode, ReplaceChildrenOptions};
use datafusion::physical_plan::joins::{HashJoinExec, NestedLoopJoinExec, SortMergeJoinExec};
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::repartition::RepartitionExec;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::sorts::sort_preserving_merge::SortPreservingMergeExec;
use datafusion::physical_plan::windows::BoundedWindowAggExec;
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties as _};

use super::operators::original_operator;
use crate::workarounds::{below_projection, below_window};

/// Validates that inputs have the orders that operators require.
pub(super) fn validate(plan: &Arc<dyn ExecutionPlan>) -> Result<()> {
    check_shared_thresholds(plan, None)?;
    recompute_properties(plan).map(|_| ())
}

/// Validates that limited sorts, whose partitions share a threshold, compare rows by all keys that differ between
/// partitions.
fn check_shared_thresholds(
    node: &Arc<dyn ExecutionPlan>,
    order: Option<&LexOrdering>,
) -> Result<()> {
    let node = original_operator(node);
    if let (Some(sort), Some(order)) = (node.downcast_ref::<SortExec>(), order)
        && sort.fetch().is_some()
        && sort.properties().output_partitioning().partition_count() > 1
    {
        let known = sort.input().equivalence_properties();
        let missing = order.iter().find(|key| {
            known.is_expr_constant(&key.expr) == Some(AcrossPartitions::Heterogeneous)
                && !sort.expr().iter().any(|other| other.expr.eq(&key.expr))
        });
        if let Some(missing) = missing {
            return internal_err!(
                "{} shares a threshold between partitions that differ in `{missing}`",
                node.name()
            );
        }
    }
    let order = if let Some(merge) = node.downcast_ref::<SortPreservingMergeExec>() {
        Some(merge.expr().clone())
    } else if let Some(projection) = node.downcast_ref::<ProjectionExec>() {
        order.and_then(|order| below_projection(projection, order))
    } else if let Some(window) = node.downcast_ref::<BoundedWindowAggExec>() {
        order.and_then(|order| below_window(window, order))
    } else {
        order.filter(|_| node.is::<CooperativeExec>()).cloned()
    };
    for input in node.children() {
        check_shared_thresholds(input, order.as_ref())?;
    }
    Ok(())
}

/// Returns the plan with properties recomputed from its leaves.
fn recompute_properties(node: &Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    let node = original_operator(node);
    let inputs = node.children().into_iter().map(recompute_properties);
    let inputs = inputs.collect::<Result<Vec<_>>>()?;
    for (input, required) in inputs.iter().zip(node.required_input_ordering()) {
        let Some(required) = required else {
            continue;
        };
        let known = input.equivalence_properties();
        let (alternatives, is_soft) = required.into_alternatives();
        let mut is_met = is_soft;
        for alternative in alternatives {
            is_met |= known.ordering_satisfy_requirement(alternative)?;
        }
        if !is_met {
            return internal_err!(
                "{} requires an order that {} does not have",
                node.name(),
                input.name()
            );
        }
    }
    if let Some(merge) = node.downcast_ref::<RepartitionExec>()
        && merge.preserve_order()
        && inputs.iter().any(|input| input.output_ordering().is_none())
    {
        return internal_err!(
            "{} preserves an order that its input does not have",
            node.name()
        );
    }
    let recomputed = match inputs.is_empty() {
        true => Arc::clone(node),
        false => {
            let options = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute);
            Arc::clone(node).replace_children(inputs, options)?
        }
    };
    if let (Some(planned), Some(recomputed)) = (
        node.downcast_ref::<AggregateExec>(),
        recomputed.downcast_ref::<AggregateExec>(),
    ) && planned.input_order_mode() != recomputed.input_order_mode()
    {
        return internal_err!(
            "{} expects its input to be {:?}, found {:?}",
            node.name(),
            planned.input_order_mode(),
            recomputed.input_order_mode()
        );
    }
    check_null_extended(&recomputed)?;
    Ok(recomputed)
}

/// Validates that no column is taken as constant to which an operator adds NULL.
fn check_null_extended(node: &Arc<dyn ExecutionPlan>) -> Result<()> {
    let known = node.equivalence_properties();
    for place in null_extended_columns(node) {
        let schema = node.schema();
        let Some(field) = schema.fields().get(place) else {
            continue;
        };
        let column = Arc::new(Column::new(field.name(), place)) as Arc<dyn PhysicalExpr>;
        if known.is_expr_constant(&column).is_some() {
            return internal_err!(
                "{} treats `{}` as constant, but adds NULL to it",
                node.name(),
                field.name()
            );
        }
    }
    Ok(())
}

/// Returns the columns that an operator sets to NULL in some rows only.
fn null_extended_columns(node: &Arc<dyn ExecutionPlan>) -> Vec<usize> {
    if let Some(aggregate) = node.downcast_ref::<AggregateExec>() {
        let groups = aggregate.group_expr();
        if aggregate.mode().input_mode() != AggregateInputMode::Raw {
            return Vec::new();
        }
        let differs = |place: &usize| {
            let mut sets = groups.groups().iter().map(|set| set.get(*place));
            let first = sets.next();
            sets.any(|is_null| Some(is_null) != first)
        };
        return (0..groups.expr().len()).filter(differs).collect();
    }
    let (join_type, left, projection) = if let Some(join) = node.downcast_ref::<HashJoinExec>() {
        (*join.join_type(), join.left(), join.projection.as_deref())
    } else if let Some(join) = node.downcast_ref::<NestedLoopJoinExec>() {
        (*join.join_type(), join.left(), join.projection().as_deref())
    } else if let Some(join) = node.downcast_ref::<SortMergeJoinExec>() {
        (join.join_type(), join.left(), None)
    } else {
        return Vec::new();
    };
    let left = left.schema().fields().len();
    let is_extended = |place: usize| match join_type {
        JoinType::Left => place >= left,
        JoinType::Right => place < left,
        JoinType::Full => true,
        _ => false,
    };
    let places = 0..node.schema().fields().len();
    let source = |place: usize| match projection {
        Some(projection) => projection.get(place).copied(),
        None => Some(place),
    };
    let extended = places.filter(|place| source(*place).is_some_and(is_extended));
    extended.collect()
}
