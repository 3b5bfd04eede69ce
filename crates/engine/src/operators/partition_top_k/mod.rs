//! Top-k of each partition: drops rows that cannot be among the first rows of their partition before a window sorts them.
//!
//! ```text
//! FilterExec: rn <= 3                         FilterExec: rn <= 3
//!   BoundedWindowAggExec: row_number()  ─▶      BoundedWindowAggExec: row_number()
//!     input                                       PartitionTopKExec: stage=final      (then sorted)
//!                                                   RepartitionExec: by partition key
//!                                                     PartitionTopKExec: stage=partial
//!                                                       input
//! ```
//!
//! The operator is a filter: its output is a subset of its input, and contains each row whose rank is at most k. The
//! window and the filter above it compute the result, so the operator may give up at any time and pass rows on. The
//! partial stage gives up if it drops few rows. Both stages give up if memory runs out, and the sort above them spills.
//!
//! Supports `row_number`, `rank` and `dense_rank`, with any partition and sort keys.
//! `SET tsql.rules.partition_topk = false` switches it off.

mod exec;
mod keys;
mod selection;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use arrow::datatypes::{DataType, Schema};
use arrow::row::RowConverter;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult as _, TreeNode as _};
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::expressions::{BinaryExpr, Column, Literal};
use datafusion::physical_expr::window::{StandardWindowExpr, WindowExpr};
use datafusion::physical_expr::{PhysicalExpr, PhysicalSortExpr, split_conjunction};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::execution_plan::replace_children_if_necessary;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::repartition::RepartitionExec;
use datafusion::physical_plan::windows::{BoundedWindowAggExec, WindowUDFExpr};
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties as _};

use exec::{PartitionTopKExec, Stage};
use keys::{RankFunction, TopKSpec};

/// Maximum k; for a larger k, a sort is as fast.
const MAX_K: u64 = 1000;

/// Places the final stage below windows whose rank is filtered.
#[derive(Debug)]
pub(crate) struct FinalStage;

impl PhysicalOptimizerRule for FinalStage {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        plan.transform_down(|node| match with_final_stage(&node)? {
            Some(plan) => Ok(Transformed::yes(plan)),
            None => Ok(Transformed::no(node)),
        })
        .data()
    }

    fn name(&self) -> &'static str {
        "partition_top_k_final"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// Places the partial stage below the repartition of a final stage.
#[derive(Debug)]
pub(crate) struct PartialStage;

impl PhysicalOptimizerRule for PartialStage {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        plan.transform_down(|node| match with_partial_stage(&node)? {
            Some(plan) => Ok(Transformed::yes(plan)),
            None => Ok(Transformed::no(node)),
        })
        .data()
    }

    fn name(&self) -> &'static str {
        "partition_top_k_partial"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// Returns `node` with the operator below its window, or `None` if `node` does not filter a rank.
fn with_final_stage(node: &Arc<dyn ExecutionPlan>) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    let Some(filter) = node.downcast_ref::<FilterExec>() else {
        return Ok(None);
    };
    let projection = filter.input().downcast_ref::<ProjectionExec>();
    let below = projection.map_or(filter.input(), ProjectionExec::input);
    let Some(window) = below.downcast_ref::<BoundedWindowAggExec>() else {
        return Ok(None);
    };
    if window.input().downcast_ref::<PartitionTopKExec>().is_some() {
        return Ok(None);
    }
    let Some(functions) = rank_functions(window.window_expr()) else {
        return Ok(None);
    };
    let input_columns = window.input().schema().fields().len();
    let terms = split_conjunction(filter.predicate());
    let limits = terms.into_iter().filter_map(|term| {
        let (column, k) = upper_bound(term)?;
        let column = match projection {
            Some(projection) => column_index(&projection.expr().get(column)?.expr)?,
            None => column,
        };
        let function = functions.get(column.checked_sub(input_columns)?)?;
        Some((*function, k))
    });
    let Some((function, k)) = limits.min_by_key(|(_, k)| *k) else {
        return Ok(None);
    };
    let Some(expr) = window.window_expr().first() else {
        return Ok(None);
    };
    let (function, order) = comparison_keys(function, expr.order_by(), &window.input().schema())?;
    let spec = TopKSpec {
        function,
        k,
        partition: expr.partition_by().to_vec(),
        order,
    };
    // Rows that are already sorted need no buffer.
    if is_sorted(window)? || !is_supported(&spec, window.input())? {
        return Ok(None);
    }
    let top_k = PartitionTopKExec::new(Arc::clone(window.input()), Arc::new(spec), Stage::Final);
    let mut plan = replace_children_if_necessary(Arc::clone(below), vec![Arc::new(top_k)])?;
    if projection.is_some() {
        plan = replace_children_if_necessary(Arc::clone(filter.input()), vec![plan])?;
    }
    replace_children_if_necessary(Arc::clone(node), vec![plan]).map(Some)
}

/// Returns a final stage with a partial one below its repartition, or `None` for other nodes.
fn with_partial_stage(node: &Arc<dyn ExecutionPlan>) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    let Some(top_k) = node.downcast_ref::<PartitionTopKExec>() else {
        return Ok(None);
    };
    let Some(repartition) = top_k.input().downcast_ref::<RepartitionExec>() else {
        return Ok(None);
    };
    if top_k.is_partial() || is_partial(repartition.input()) {
        return Ok(None);
    }
    let partial = top_k.partial(Arc::clone(repartition.input()));
    let children = vec![Arc::new(partial) as Arc<dyn ExecutionPlan>];
    let repartition = replace_children_if_necessary(Arc::clone(top_k.input()), children)?;
    replace_children_if_necessary(Arc::clone(node), vec![repartition]).map(Some)
}

/// Returns the function and the sort keys by which rows are compared: the keys up to the first float.
///
/// Both zeros are equal here, because a window may take them as equal. A window may also distinguish them, and then
/// `(-0.0, 2)` comes before `(0.0, 1)`. So the keys after a float are ignored. The rank of a row by the first keys is
/// at most its rank by all keys.
fn comparison_keys(
    function: RankFunction,
    order: &[PhysicalSortExpr],
    schema: &Schema,
) -> Result<(RankFunction, Vec<PhysicalSortExpr>)> {
    let mut keys = Vec::with_capacity(order.len());
    for key in order {
        keys.push(key.clone());
        if key.expr.data_type(schema)?.is_floating() {
            break;
        }
    }
    let function = match function {
        RankFunction::RowNumber if keys.len() < order.len() => RankFunction::Rank,
        _ => function,
    };
    Ok((function, keys))
}

fn is_partial(node: &Arc<dyn ExecutionPlan>) -> bool {
    node.downcast_ref::<PartitionTopKExec>()
        .is_some_and(PartitionTopKExec::is_partial)
}

/// Returns the function of each window expression. Returns `None` if one of them is not a ranking function, because its
/// value may depend on dropped rows.
fn rank_functions(expressions: &[Arc<dyn WindowExpr>]) -> Option<Vec<RankFunction>> {
    let function = |expr: &Arc<dyn WindowExpr>| {
        let standard = expr.as_any().downcast_ref::<StandardWindowExpr>()?;
        let function = standard.get_standard_func_expr();
        let function = function.as_any().downcast_ref::<WindowUDFExpr>()?;
        match function.fun().name() {
            "row_number" => Some(RankFunction::RowNumber),
            "rank" => Some(RankFunction::Rank),
            "dense_rank" => Some(RankFunction::DenseRank),
            _ => None,
        }
    };
    expressions.iter().map(function).collect()
}

/// Returns the column and the maximum k of a predicate that implies `column <= k`.
fn upper_bound(predicate: &Arc<dyn PhysicalExpr>) -> Option<(usize, usize)> {
    let compared = predicate.downcast_ref::<BinaryExpr>()?;
    if *compared.op() == Operator::Or {
        let (left, right) = (
            upper_bound(compared.left())?,
            upper_bound(compared.right())?,
        );
        return (left.0 == right.0).then_some((left.0, left.1.max(right.1)));
    }
    let (column, literal, operator) = match column_index(compared.left()) {
        Some(column) => (column, compared.right(), *compared.op()),
        None => (
            column_index(compared.right())?,
            compared.left(),
            compared.op().swap()?,
        ),
    };
    let ScalarValue::UInt64(Some(bound)) = literal.downcast_ref::<Literal>()?.value() else {
        return None;
    };
    let k = match operator {
        Operator::LtEq | Operator::Eq => *bound,
        Operator::Lt => bound.checked_sub(1)?,
        _ => return None,
    };
    let k = Some(k).filter(|k| (1..=MAX_K).contains(k))?;
    Some((column, usize::try_from(k).ok()?))
}

fn column_index(expr: &Arc<dyn PhysicalExpr>) -> Option<usize> {
    expr.downcast_ref::<Column>().map(Column::index)
}

/// Returns whether keys of these types can be compared as bytes, with exact ties for ranks.
fn is_supported(spec: &TopKSpec, input: &Arc<dyn ExecutionPlan>) -> Result<bool> {
    let schema = input.schema();
    if spec.partition.is_empty()
        || (spec.order.is_empty() && spec.function != RankFunction::RowNumber)
    {
        return Ok(false);
    }
    let ties_are_exact = |data_type: &DataType| match data_type {
        DataType::Dictionary(_, values) => !values.is_floating(),
        _ => !data_type.is_nested(),
    };
    for key in &spec.order {
        let data_type = key.expr.data_type(&schema)?;
        if spec.function != RankFunction::RowNumber && !ties_are_exact(&data_type) {
            return Ok(false);
        }
    }
    let fields = [spec.order_fields(&schema)?, spec.partition_fields(&schema)?];
    Ok(fields
        .iter()
        .all(|fields| RowConverter::supports_fields(fields)))
}

/// Returns whether the input of a window is already sorted.
fn is_sorted(window: &BoundedWindowAggExec) -> Result<bool> {
    let required = window.required_input_ordering().into_iter().next();
    let Some(required) = required.flatten() else {
        return Ok(false);
    };
    let known = window.input().equivalence_properties();
    known.ordering_satisfy_requirement(required.into_single())
}
