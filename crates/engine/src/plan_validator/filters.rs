//! Validates filters of joins and the columns that they read.

use std::sync::Arc;

use datafusion::common::tree_node::{TreeNode as _, TreeNodeRecursion};
use datafusion::common::{JoinSide, Result, internal_err};
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::joins::utils::JoinFilter;
use datafusion::physical_plan::joins::{
    HashJoinExec, NestedLoopJoinExec, SortMergeJoinExec, SymmetricHashJoinExec,
};
use datafusion::physical_plan::projection::ProjectionExec;

use super::operators::original_operator;
use crate::operators::range_join::RangeJoinExec;

/// Validates that filters of joins read the columns for which they were written.
pub(super) fn validate(plan: &Arc<dyn ExecutionPlan>) -> Result<()> {
    let node = original_operator(plan);
    if let Some((filter, [left, right])) = join_filter(node) {
        check_filter_columns(node, filter, left, right)?;
    }
    node.children().into_iter().try_for_each(validate)
}

type Sides<'a> = [&'a Arc<dyn ExecutionPlan>; 2];

fn join_filter(node: &Arc<dyn ExecutionPlan>) -> Option<(&JoinFilter, Sides<'_>)> {
    if let Some(join) = node.downcast_ref::<HashJoinExec>() {
        return Some((join.filter()?, [join.left(), join.right()]));
    }
    if let Some(join) = node.downcast_ref::<SortMergeJoinExec>() {
        return Some((join.filter().as_ref()?, [join.left(), join.right()]));
    }
    if let Some(join) = node.downcast_ref::<SymmetricHashJoinExec>() {
        return Some((join.filter()?, [join.left(), join.right()]));
    }
    if let Some(join) = node.downcast_ref::<RangeJoinExec>() {
        return Some(join.filter());
    }
    let join = node.downcast_ref::<NestedLoopJoinExec>()?;
    Some((join.filter()?, [join.left(), join.right()]))
}

/// Validates the columns of a filter: side, type, name and order.
fn check_filter_columns(
    node: &Arc<dyn ExecutionPlan>,
    filter: &JoinFilter,
    left: &Arc<dyn ExecutionPlan>,
    right: &Arc<dyn ExecutionPlan>,
) -> Result<()> {
    let wrong = |what: &str| internal_err!("the filter of {} reads {what}", node.name());
    let fields = filter.schema().fields();
    if fields.len() != filter.column_indices().len() {
        return wrong("a different number of columns than it declares");
    }
    for (field, column) in fields.iter().zip(filter.column_indices()) {
        let side = match column.side {
            JoinSide::Left => left,
            JoinSide::Right => right,
            JoinSide::None => continue,
        };
        let schema = side.schema();
        let Some(found) = schema.fields().get(column.index) else {
            return wrong("a column that its input does not have");
        };
        if found.data_type() != field.data_type() {
            return wrong("a column of another type");
        }
        if !had_name(side, column.index, field.name()) {
            return wrong("a column of another name");
        }
    }
    let is_merged = node.downcast_ref::<SortMergeJoinExec>().is_some();
    let is_left_first = filter
        .column_indices()
        .is_sorted_by_key(|column| column.side != JoinSide::Left);
    if is_merged && !is_left_first {
        return wrong("columns of the right side before columns of the left side");
    }
    let mut is_inside = true;
    filter.expression().apply(|part| {
        if let Some(column) = part.downcast_ref::<Column>() {
            is_inside &= column.index() < fields.len();
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    match is_inside {
        true => Ok(()),
        false => wrong("an undeclared column"),
    }
}

/// Returns whether a column has this name, or has it below projections that rename it.
fn had_name(node: &Arc<dyn ExecutionPlan>, place: usize, name: &str) -> bool {
    let node = original_operator(node);
    let schema = node.schema();
    if schema
        .fields()
        .get(place)
        .is_none_or(|field| field.name() == name)
    {
        return true;
    }
    if let Some(projection) = node.downcast_ref::<ProjectionExec>() {
        let source = projection.expr().get(place).map(|source| &source.expr);
        let column = source.and_then(|source| source.downcast_ref::<Column>());
        return column.is_some_and(|column| had_name(projection.input(), column.index(), name));
    }
    match node.children().as_slice() {
        [input] if input.schema() == schema => had_name(input, place, name),
        // The operator may have absorbed a projection that renames the column. But then no other column may have the
        // name.
        _ => !schema.fields().iter().any(|field| field.name() == name),
    }
}
