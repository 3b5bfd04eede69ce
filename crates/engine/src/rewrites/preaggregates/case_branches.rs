//! Splits an aggregate over a CASE by labels into one aggregate per branch, as for
//! `sum(CASE WHEN platform = 'k80' THEN runtime_ns ELSE 0 END)`.
//!
//! A CASE evaluates its conditions one after another, and a value only if its condition is met. A filter evaluates its
//! conditions for all rows. So a CASE is not split if its conditions or values may fail, as in
//! `WHEN x = 0 THEN 0 WHEN 10 / x > 2 THEN y`.

use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::expr::AggregateFunction;
use datafusion::logical_expr::{Case, Expr, Operator, binary_expr, lit, when};

use crate::rewrites::fallible;

/// Returns whether a condition after the first, or a value, may fail.
pub(super) fn may_fail(case: &Case, schema: &DFSchema) -> bool {
    let conditions = case.when_then_expr.iter().map(|(when, _)| when).skip(1);
    let values = case.when_then_expr.iter().map(|(_, value)| value);
    let values = values.chain(&case.else_expr);
    conditions
        .chain(values)
        .any(|expr| fallible::may_fail(expr, schema))
}

/// Returns the function over each value of the CASE, filtered to the rows of its branch. NULL values are ignored by all
/// functions and left out.
pub(super) fn branch_aggregates(
    function: &AggregateFunction,
    case: &Case,
) -> Vec<AggregateFunction> {
    let mut before: Option<Expr> = None;
    let mut of_values = Vec::with_capacity(case.when_then_expr.len() + 1);
    let mut add = |condition: Option<Expr>, value: &Expr| {
        if matches!(value, Expr::Literal(value, _) if value.is_null()) {
            return;
        }
        let mut of_value = function.clone();
        let given = of_value.params.filter.take().map(|filter| *filter);
        let filter = given.into_iter().chain(condition).reduce(Expr::and);
        of_value.params.filter = filter.map(Box::new);
        of_value.params.args = vec![value.clone()];
        of_values.push(of_value);
    };
    for (when, value) in &case.when_then_expr {
        let when = match &case.expr {
            Some(of) => of.as_ref().clone().eq(when.as_ref().clone()),
            None => when.as_ref().clone(),
        };
        let others = before.clone().map(is_not);
        let condition = others.into_iter().chain([when.clone()]);
        add(condition.reduce(Expr::and), value);
        before = before.into_iter().chain([when]).reduce(Expr::or);
    }
    if let Some(value) = &case.else_expr {
        add(before.map(is_not), value);
    }
    of_values
}

/// Returns a condition for false or NULL. `IS NOT TRUE` is equivalent, but the planner and the operators disagree
/// whether it may be NULL.
fn is_not(condition: Expr) -> Expr {
    binary_expr(condition, Operator::IsDistinctFrom, lit(true))
}

/// Combines the results of the branches; `None` for functions that cannot be combined.
pub(super) fn combine_branches(name: &str, of_values: Vec<Expr>) -> Result<Option<Expr>> {
    let is_one = of_values.len() == 1;
    let mut of_values = of_values.into_iter();
    let Some(first) = of_values.next() else {
        return Ok(None);
    };
    match name {
        _ if is_one => Ok(Some(first)),
        "count" => Ok(Some(of_values.fold(first, |total, more| total + more))),
        "sum" => of_values.try_fold(first, add_nullable).map(Some),
        _ => Ok(None),
    }
}

/// Adds two sums, each of which may be NULL without rows.
fn add_nullable(one: Expr, other: Expr) -> Result<Expr> {
    when(one.clone().is_null(), other.clone())
        .when(other.clone().is_null(), one.clone())
        .otherwise(one + other)
}
