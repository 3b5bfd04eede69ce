//! Adds a list of graphs to `split('by-task') = 'test'`, which prunes files and pages.
//!
//! A condition on `part_in_table` determines the graphs with matching rows. If these are few, the rule adds the list to
//! the condition. For a split by graph alone the list replaces the condition.

use datafusion::common::tree_node::Transformed;
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::expr::InList;
use datafusion::logical_expr::utils::{conjunction, split_conjunction_owned};
use datafusion::logical_expr::{BinaryExpr, Expr, Filter, LogicalPlan, Operator, lit};
use datafusion::optimizer::optimizer::{ApplyOrder, OptimizerConfig, OptimizerRule};

use tsql_functions::part_in_table::{NAME, graph_ids_of_parts};
use tsql_store::LISTED;

/// The optimizer rule.
#[derive(Debug)]
pub(crate) struct SplitPruning;

impl OptimizerRule for SplitPruning {
    fn name(&self) -> &'static str {
        "split_pruning"
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
                let kept = add_graph_lists(&split_conjunction_owned(filter.predicate.clone()));
                let Some(predicate) = kept.and_then(conjunction) else {
                    return Ok(Transformed::no(plan));
                };
                let filter = Filter::try_new(predicate, filter.input.clone())?;
                Ok(Transformed::yes(LogicalPlan::Filter(filter)))
            }
            LogicalPlan::TableScan(scan) => {
                let Some(filters) = add_graph_lists(&scan.filters) else {
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

/// Adds lists of graphs to conditions; `None` if there are none to add.
fn add_graph_lists(conditions: &[Expr]) -> Option<Vec<Expr>> {
    let mut kept: Vec<Expr> = Vec::with_capacity(conditions.len() + 1);
    let mut changed = false;
    for condition in conditions {
        match graph_list(condition) {
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

/// Graphs of the rows for which a condition may hold, and whether it holds for all of their rows.
fn graph_list(condition: &Expr) -> Option<(Expr, bool)> {
    let (call, wanted) = match condition {
        Expr::BinaryExpr(BinaryExpr {
            left,
            op: Operator::Eq,
            right,
        }) => match (left.as_ref(), right.as_ref()) {
            (call, Expr::Literal(part, _)) | (Expr::Literal(part, _), call) => {
                (call, vec![string_value(part)?])
            }
            _ => return None,
        },
        Expr::InList(InList {
            expr,
            list,
            negated: false,
        }) => {
            let parts = list.iter().map(|part| match part {
                Expr::Literal(part, _) => string_value(part),
                _ => None,
            });
            (expr.as_ref(), parts.collect::<Option<Vec<&str>>>()?)
        }
        // For `split(...) <> 'test'`, rows without a part cannot be listed.
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
    let (graphs, is_exact) = graph_ids_of_parts(table, &wanted)?;
    if graphs.is_empty() {
        return Some((lit(false), true));
    }
    if graphs.len() > LISTED {
        return None;
    }
    // The simplifier would write it in the same way.
    if let [only] = graphs.as_slice() {
        return Some((graph.clone().eq(lit(*only)), is_exact));
    }
    let graphs = graphs.into_iter().map(lit).collect();
    Some((graph.clone().in_list(graphs, false), is_exact))
}

fn string_value(value: &ScalarValue) -> Option<&str> {
    value.try_as_str().flatten()
}
