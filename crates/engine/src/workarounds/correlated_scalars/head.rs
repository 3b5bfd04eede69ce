//! Operators of a scalar subquery down to its aggregates, which return one row per input row.

use datafusion::common::tree_node::{
    Transformed, TransformedResult as _, TreeNode as _, TreeNodeRecursion,
};
use datafusion::common::{Column, Result};
use datafusion::functions_aggregate::expr_fn::first_value;
use datafusion::logical_expr::expr::Sort;
use datafusion::logical_expr::{Expr, FetchType, LogicalPlan, SkipType};

/// Part of a subquery down to its aggregates.
pub(super) struct SubqueryHead<'a> {
    /// Value in terms of the aggregates.
    pub(super) value: Expr,
    pub(super) aggregates: Vec<Expr>,
    /// Input of the aggregates.
    pub(super) input: &'a LogicalPlan,
    /// Whether the subquery has a limit.
    pub(super) is_limited: bool,
}

impl<'a> SubqueryHead<'a> {
    /// Returns `None` for subqueries with any number of rows.
    pub(super) fn try_new(plan: &'a LogicalPlan) -> Result<Option<Self>> {
        let Some(column) = plan.schema().columns().into_iter().next() else {
            return Ok(None);
        };
        let mut value = Expr::Column(column);
        let mut order: Option<Vec<Sort>> = None;
        let mut node = plan;
        let mut is_limited = false;
        let aggregates = loop {
            match node {
                LogicalPlan::Limit(limit) if order.is_none() => {
                    let is_first = matches!(limit.get_fetch_type()?, FetchType::Literal(Some(1)))
                        && matches!(limit.get_skip_type()?, SkipType::Literal(0));
                    if !is_first {
                        return Ok(None);
                    }
                    order = Some(Vec::new());
                    is_limited = true;
                    node = &limit.input;
                }
                LogicalPlan::Sort(sort) if sort.fetch.is_none() => {
                    if let Some(order) = order.as_mut().filter(|order| order.is_empty()) {
                        order.clone_from(&sort.expr);
                    }
                    node = &sort.input;
                }
                LogicalPlan::Projection(_) | LogicalPlan::SubqueryAlias(_) => {
                    value = over_input(value, node)?;
                    for key in order.iter_mut().flatten() {
                        key.expr = over_input(std::mem::take(&mut key.expr), node)?;
                    }
                    let inputs = node.inputs();
                    let [input] = inputs.as_slice() else {
                        return Ok(None);
                    };
                    node = input;
                }
                LogicalPlan::Aggregate(aggregate) if aggregate.group_expr.is_empty() => {
                    node = &aggregate.input;
                    let columns = aggregate.schema.columns();
                    let names = columns.into_iter().zip(0..);
                    let names: Vec<(Column, String)> = names
                        .map(|(column, number)| (column, aggregate_name(number)))
                        .collect();
                    value = value
                        .transform(|part| {
                            let Expr::Column(column) = &part else {
                                return Ok(Transformed::no(part));
                            };
                            let found = names.iter().find(|(name, _)| name == column);
                            Ok(match found {
                                Some((_, name)) => Transformed::yes(unqualified_column(name)),
                                None => Transformed::no(part),
                            })
                        })
                        .data()?;
                    break aggregate.aggr_expr.clone();
                }
                _ => match order.take() {
                    Some(order) => {
                        let first = first_value(std::mem::take(&mut value), order);
                        value = unqualified_column(&aggregate_name(0));
                        break vec![first];
                    }
                    None => return Ok(None),
                },
            }
        };
        Ok(Some(Self {
            value,
            aggregates,
            input: node,
            is_limited,
        }))
    }
}

pub(super) fn aggregate_name(number: usize) -> String {
    format!("__aggregate_{number}")
}

pub(super) fn unqualified_column(name: &str) -> Expr {
    Expr::Column(Column::new_unqualified(name))
}

/// Rewrites an expression over a projection or an alias to the columns of its input.
pub(super) fn over_input(expr: Expr, node: &LogicalPlan) -> Result<Expr> {
    let of_column = |column: &Column| -> Result<Option<Expr>> {
        let Some(place) = node.schema().maybe_index_of_column(column) else {
            return Ok(None);
        };
        Ok(match node {
            LogicalPlan::Projection(projection) => projection
                .expr
                .get(place)
                .map(|expr| expr.clone().unalias_nested().data),
            LogicalPlan::SubqueryAlias(alias) => alias
                .input
                .schema()
                .columns()
                .get(place)
                .cloned()
                .map(Expr::Column),
            _ => None,
        })
    };
    expr.transform(|part| {
        let Expr::Column(column) = &part else {
            return Ok(Transformed::no(part));
        };
        Ok(match of_column(column)? {
            Some(below) => Transformed::new(below, true, TreeNodeRecursion::Jump),
            None => Transformed::no(part),
        })
    })
    .data()
}
