//! `split('by-task') = 'test'` as a list of graphs, by which files and pages are left out.
//!
//! A condition on `part_in_table` says which graphs have rows that it keeps. Where these are few, the list stands beside it; of a
//! table by graph alone it stands in its place.

use datafusion::common::tree_node::Transformed;
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::expr::InList;
use datafusion::logical_expr::utils::{conjunction, split_conjunction_owned};
use datafusion::logical_expr::{BinaryExpr, Expr, Filter, LogicalPlan, Operator, lit};
use datafusion::optimizer::optimizer::{ApplyOrder, OptimizerConfig, OptimizerRule};

use super::functions::part_in_table::{NAME, graphs_with};
use crate::store::LISTED;

/// The rule of the optimizer that does so.
#[derive(Debug)]
pub(super) struct SplitPruning;

impl OptimizerRule for SplitPruning {
    fn name(&self) -> &'static str {
        "graphs_of_parts"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::TopDown)
    }

    fn rewrite(
        &self,
        plan: LogicalPlan,
        _config: &dyn OptimizerConfig,
    ) -> Result<Transformed<LogicalPlan>> {
        match &plan {
            LogicalPlan::Filter(filter) => {
                let kept = kept(&split_conjunction_owned(filter.predicate.clone()));
                let Some(predicate) = kept.and_then(conjunction) else {
                    return Ok(Transformed::no(plan));
                };
                let filter = Filter::try_new(predicate, filter.input.clone())?;
                Ok(Transformed::yes(LogicalPlan::Filter(filter)))
            }
            LogicalPlan::TableScan(scan) => {
                let Some(filters) = kept(&scan.filters) else {
                    return Ok(Transformed::no(plan));
                };
                let mut scan = scan.clone();
                scan.filters = filters;
                Ok(Transformed::yes(LogicalPlan::TableScan(scan)))
            }
            _ => Ok(Transformed::no(plan)),
        }
    }
}

/// The conditions with lists of graphs; `None` where there are none to add.
fn kept(conditions: &[Expr]) -> Option<Vec<Expr>> {
    let mut kept: Vec<Expr> = Vec::with_capacity(conditions.len() + 1);
    let mut changed = false;
    for condition in conditions {
        match listed(condition) {
            Some((list, true)) => {
                kept.push(list);
                changed = true;
            }
            Some((list, false)) if !conditions.contains(&list) => {
                kept.extend([list, condition.clone()]);
                changed = true;
            }
            _ => kept.push(condition.clone()),
        }
    }
    changed.then_some(kept)
}

/// The graphs of the rows for which a condition may hold, and whether it holds for all of these.
fn listed(condition: &Expr) -> Option<(Expr, bool)> {
    let (call, wanted) = match condition {
        Expr::BinaryExpr(BinaryExpr {
            left,
            op: Operator::Eq,
            right,
        }) => match (left.as_ref(), right.as_ref()) {
            (call, Expr::Literal(part, _)) | (Expr::Literal(part, _), call) => {
                (call, vec![text(part)?])
            }
            _ => return None,
        },
        Expr::InList(InList {
            expr,
            list,
            negated: false,
        }) => {
            let parts = list.iter().map(|part| match part {
                Expr::Literal(part, _) => text(part),
                _ => None,
            });
            (expr.as_ref(), parts.collect::<Option<Vec<&str>>>()?)
        }
        // `split(...) <> 'test'` has no part of which a row is none.
        _ => return None,
    };
    let Expr::ScalarFunction(function) = call else {
        return None;
    };
    if function.func.name() != NAME {
        return None;
    }
    let [
        Expr::Literal(ScalarValue::Binary(Some(table)), _),
        graph,
        ..,
    ] = function.args.as_slice()
    else {
        return None;
    };
    if !matches!(graph, Expr::Column(_)) {
        return None;
    }
    let (graphs, is_exact) = graphs_with(table, &wanted)?;
    if graphs.is_empty() {
        return Some((lit(false), true));
    }
    if graphs.len() > LISTED {
        return None;
    }
    // As the simplifier would write it.
    if let [only] = graphs.as_slice() {
        return Some((graph.clone().eq(lit(*only)), is_exact));
    }
    let graphs = graphs.into_iter().map(lit).collect();
    Some((graph.clone().in_list(graphs, false), is_exact))
}

fn text(value: &ScalarValue) -> Option<&str> {
    value.try_as_str().flatten()
}
