//! The first rows of each partition without sorting all of them.
//!
//! ```text
//! FilterExec: place <= 5                        BoundedWindowAggExec: row_number() AS place
//!   BoundedWindowAggExec: row_number()   ─▶       PartitionedTopKExec: fetch=5
//!     rows                                          rows
//! ```
//!
//! DataFusion's own rule (`enable_window_topn`, off by default) does so beside other windows, which then see
//! only those rows, and forgets filters. This one takes a single `row_number()` and a single
//! comparison with at least 1, with nothing but chosen columns in between.

use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult as _, TreeNode as _};
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::expressions::{BinaryExpr, Column, Literal};
use datafusion::physical_expr::window::StandardWindowExpr;
use datafusion::physical_expr::{LexOrdering, PhysicalExpr, PhysicalSortExpr};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_optimizer::optimizer::PhysicalOptimizer;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::execution_plan::replace_children_if_necessary;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::sorts::partitioned_topk::{PartitionedTopKExec, WindowFnKind};
use datafusion::physical_plan::windows::{BoundedWindowAggExec, WindowUDFExpr};

/// Name of the rule that this one stands in for.
const REPLACED: &str = "WindowTopN";

/// Rows of a partition that are worth keeping at hand; for more, a sort does as well.
const MOST_ROWS: u64 = 1000;

/// DataFusion's rules in their order, ours in the place of its own: before sorts are added.
pub(super) fn physical_rules() -> Vec<Arc<dyn PhysicalOptimizerRule + Send + Sync>> {
    let rules = PhysicalOptimizer::new().rules.into_iter();
    rules
        .map(|rule| match rule.name() {
            REPLACED => Arc::new(FirstOfEach) as Arc<_>,
            _ => rule,
        })
        .collect()
}

/// The rule that does so.
#[derive(Debug)]
struct FirstOfEach;

impl PhysicalOptimizerRule for FirstOfEach {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        plan.transform_down(|node| match first_of_each(&node)? {
            Some(faster) => Ok(Transformed::yes(faster)),
            None => Ok(Transformed::no(node)),
        })
        .data()
    }

    fn name(&self) -> &'static str {
        "first_of_each"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// The same rows with fewer to sort; `None` for anything but the plain case.
fn first_of_each(node: &Arc<dyn ExecutionPlan>) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    let Some(filter) = node.downcast_ref::<FilterExec>() else {
        return Ok(None);
    };
    let projection = filter.input().downcast_ref::<ProjectionExec>();
    let below = projection.map_or(filter.input(), ProjectionExec::input);
    let Some(window) = below.downcast_ref::<BoundedWindowAggExec>() else {
        return Ok(None);
    };
    let [place] = window.window_expr() else {
        return Ok(None);
    };
    if filter.projection().is_some() || filter.fetch().is_some() || !is_row_number(place.as_ref()) {
        return Ok(None);
    }
    let Some((column, rows)) = at_most(filter.predicate()) else {
        return Ok(None);
    };
    let column = projection.map_or(Some(column), |projection| {
        let expr = &projection.expr().get(column)?.expr;
        expr.downcast_ref::<Column>().map(Column::index)
    });
    if column != Some(window.input().schema().fields().len()) {
        return Ok(None);
    }
    let (partition, order) = (place.partition_by(), place.order_by());
    let labels = partition.iter().cloned().map(PhysicalSortExpr::new_default);
    let keys = labels.chain(order.iter().cloned());
    // A key that occurs twice is left out of an ordering: then the parts cannot be told apart.
    let Some(keys) = LexOrdering::new(keys).filter(|keys| {
        keys.len() == partition.len() + order.len() && !partition.is_empty() && !order.is_empty()
    }) else {
        return Ok(None);
    };
    let first = PartitionedTopKExec::try_new(
        Arc::clone(window.input()),
        keys,
        partition.len(),
        rows,
        WindowFnKind::RowNumber,
    )?;
    let window = replace_children_if_necessary(Arc::clone(below), vec![Arc::new(first)])?;
    match projection {
        Some(_) => replace_children_if_necessary(Arc::clone(filter.input()), vec![window]),
        None => Ok(window),
    }
    .map(Some)
}

fn is_row_number(expr: &dyn datafusion::physical_expr::window::WindowExpr) -> bool {
    let standard = expr.as_any().downcast_ref::<StandardWindowExpr>();
    let function = standard.map(StandardWindowExpr::get_standard_func_expr);
    let function = function.and_then(|function| function.as_any().downcast_ref::<WindowUDFExpr>());
    function.is_some_and(|function| function.fun().name() == "row_number")
}

/// The column and the number where `predicate` says no more than `column <= k`.
fn at_most(predicate: &Arc<dyn PhysicalExpr>) -> Option<(usize, usize)> {
    let compared = predicate.downcast_ref::<BinaryExpr>()?;
    let (left, right) = (compared.left(), compared.right());
    let (place, literal, operator) = match (
        left.downcast_ref::<Column>(),
        right.downcast_ref::<Column>(),
    ) {
        (Some(place), None) => (place, right.downcast_ref::<Literal>()?, *compared.op()),
        (None, Some(place)) => (
            place,
            left.downcast_ref::<Literal>()?,
            compared.op().swap()?,
        ),
        _ => return None,
    };
    let ScalarValue::UInt64(Some(bound)) = literal.value() else {
        return None;
    };
    let rows = match operator {
        Operator::LtEq => *bound,
        Operator::Lt => bound.checked_sub(1)?,
        // There is no place before the first.
        Operator::Eq if *bound == 1 => 1,
        _ => return None,
    };
    let rows = Some(rows).filter(|rows| (1..=MOST_ROWS).contains(rows))?;
    Some((place.index(), usize::try_from(rows).ok()?))
}
