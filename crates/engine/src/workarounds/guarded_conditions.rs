//! Evaluates conditions that may fail only for rows that pass the others. `WHERE x > 0 AND 10 / x > 2` becomes
//! `x > 0 AND CASE WHEN x > 0 THEN 10 / x > 2 ELSE FALSE END`. `WHERE x = 0 OR 10 / x > 2` divides only if x is not
//! zero.
//!
//! DataFusion joins the conditions of a query and its subqueries in any order, and evaluates each for all rows unless
//! few pass the one before. So `SELECT * FROM (SELECT 10 / x AS q FROM t WHERE x > 0) WHERE q > 2` divides by zero.
//! Here, conditions that may fail are evaluated for the rows that pass all others. Elsewhere, as in `count(*) FILTER (WHERE
//! x > 0 AND 10 / x > 2)`, the right side of AND and OR is evaluated if the left one does not decide. DataFusion turns a
//! CASE of booleans into AND and OR.
//!
//! Upstream: <https://github.com/apache/datafusion/issues/8927>

use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNode as _};
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::utils::{conjunction, split_conjunction_owned};
use datafusion::logical_expr::{
    Expr, LogicalPlan, Operator, TableProviderFilterPushDown, binary_expr, lit, when,
};
use datafusion::optimizer::optimizer::ApplyOrder;
use datafusion::optimizer::{OptimizerConfig, OptimizerRule};

use super::named_rewrite::rewrite_expressions;
use crate::rewrites::fallible::has_fallible_operator;

/// Guards conditions that may fail.
#[derive(Debug)]
pub(super) struct GuardedConditions;

impl OptimizerRule for GuardedConditions {
    fn name(&self) -> &'static str {
        "guarded_conditions"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::BottomUp)
    }

    fn rewrite(
        &self,
        plan: LogicalPlan,
        _: &dyn OptimizerConfig,
    ) -> Result<Transformed<LogicalPlan>> {
        match plan {
            LogicalPlan::Filter(mut filter) => {
                let schema = filter.input.schema();
                let fails = |condition: &Expr| has_fallible_operator(condition, schema);
                if !fails(&filter.predicate) {
                    return Ok(Transformed::no(LogicalPlan::Filter(filter)));
                }
                let conditions = split_conjunction_owned(filter.predicate.clone());
                let guarded = guard_conditions(conditions, fails)?;
                let is_changed = guarded.transformed;
                if let Some(predicate) = conjunction(guarded.data).filter(|_| is_changed) {
                    filter.predicate = predicate;
                }
                let filter = LogicalPlan::Filter(filter);
                Ok(Transformed::new_transformed(filter, is_changed))
            }
            LogicalPlan::TableScan(mut scan) => {
                let schema = scan.source.schema();
                let table = scan.table_name.clone();
                let schema = DFSchema::try_from_qualified_schema(table, &schema)?;
                // Conditions that a scan decides by its files alone are not repeated in a filter above.
                let source = Arc::clone(&scan.source);
                let is_settled = |condition: &Expr| {
                    let how = source.supports_filters_pushdown(&[condition]);
                    how.is_ok_and(|how| how.contains(&TableProviderFilterPushDown::Exact))
                };
                let fails = |condition: &Expr| {
                    has_fallible_operator(condition, &schema) && !is_settled(condition)
                };
                if !scan.filters.iter().any(fails) {
                    return Ok(Transformed::no(LogicalPlan::TableScan(scan)));
                }
                let guarded = guard_conditions(std::mem::take(&mut scan.filters), fails)?;
                scan.filters = guarded.data;
                let scan = LogicalPlan::TableScan(scan);
                Ok(Transformed::new_transformed(scan, guarded.transformed))
            }
            LogicalPlan::Projection(_)
            | LogicalPlan::Aggregate(_)
            | LogicalPlan::Window(_)
            | LogicalPlan::Sort(_) => rewrite_expressions(plan, |expr, schema| {
                let fails = |part: &Expr| has_fallible_operator(part, schema);
                match fails(&expr) {
                    true => expr.transform_down(|part| guard_right_operand(part, fails)),
                    false => Ok(Transformed::no(expr)),
                }
            }),
            plan => Ok(Transformed::no(plan)),
        }
    }
}

/// Moves conditions that may fail behind the others, and guards them.
fn guard_conditions(
    conditions: Vec<Expr>,
    fails: impl Fn(&Expr) -> bool,
) -> Result<Transformed<Vec<Expr>>> {
    let conditions = conditions.into_iter().map(|condition| {
        if fails(&condition) && !is_guarded(&condition) {
            condition.transform_down(|part| guard_right_operand(part, &fails))
        } else {
            Ok(Transformed::no(condition))
        }
    });
    let mut is_changed = false;
    let conditions = conditions
        .map(|condition| {
            let condition = condition?;
            is_changed |= condition.transformed;
            Ok(condition.data)
        })
        .collect::<Result<Vec<_>>>()?;
    let (failing, mut others): (Vec<Expr>, Vec<Expr>) = conditions
        .into_iter()
        .partition(|condition| fails(condition) || condition.is_volatile());
    let guard = conjunction(others.iter().cloned());
    for condition in failing {
        others.push(match &guard {
            Some(guard) if !is_guarded(&condition) && !condition.is_volatile() => {
                is_changed = true;
                when(guard.clone(), condition).otherwise(lit(false))?
            }
            _ => condition,
        });
    }
    Ok(Transformed::new_transformed(others, is_changed))
}

/// Guards the right operand of AND or OR if it may fail: `b` in `a OR b` is evaluated if `a` is not true, in `a AND b`
/// if `a` is not false.
fn guard_right_operand(part: Expr, fails: impl Fn(&Expr) -> bool) -> Result<Transformed<Expr>> {
    let Expr::BinaryExpr(both) = &part else {
        return Ok(Transformed::no(part));
    };
    let decides = match both.op {
        Operator::Or => true,
        Operator::And => false,
        _ => return Ok(Transformed::no(part)),
    };
    let is_in_order = matches!(both.right.as_ref(), Expr::Case(case)
        if case.when_then_expr.first().is_some_and(|(_, then)| **then == lit(decides)));
    let is_volatile = part.is_volatile();
    if is_in_order || is_volatile || fails(&both.left) || !fails(&both.right) {
        return Ok(Transformed::no(part));
    }
    let left = both.left.as_ref().clone();
    let is_decided = if decides { left.clone() } else { !left.clone() };
    let right = when(is_decided, lit(decides)).otherwise(both.right.as_ref().clone())?;
    Ok(Transformed::yes(binary_expr(left, both.op, right)))
}

/// Returns whether a condition is already guarded: evaluated for some rows, and false for others.
fn is_guarded(condition: &Expr) -> bool {
    let Expr::Case(case) = condition else {
        return false;
    };
    let other = case.else_expr.as_deref();
    case.expr.is_none() && case.when_then_expr.len() == 1 && other == Some(&lit(false))
}

#[cfg(test)]
mod tests {
    use super::super::tests::rows;
    use crate::context::new_context;

    /// Expected values are DuckDB's. Each condition divides by zero in the row with `x` = 0.
    #[tokio::test]
    async fn and_or_and_case_divide_only_where_the_left_side_does_not_decide() {
        let context = new_context(None).unwrap();
        let from = "FROM (VALUES (0, 'a'), (2, 'a'), (5, 'b')) AS t(x, k)";
        for (sql, expected) in [
            ("SELECT count(*) FILTER (WHERE x <> 0 AND 10 / x > 2)", "1"),
            (
                "SELECT sum(CASE WHEN x <> 0 AND 10 / x > 2 THEN 1 ELSE 0 END)",
                "1",
            ),
            (
                "SELECT bool_or(CASE WHEN x = 0 THEN false ELSE 10 / x > 9 END)",
                "false",
            ),
            ("SELECT count(*) FILTER (WHERE x = 0 OR 10 / x > 2)", "2"),
            (
                "SELECT string_agg(k, '' ORDER BY x <> 0 AND 10 / x > 2, x)",
                "aba",
            ),
        ] {
            assert_eq!(
                rows(&context, &format!("{sql} {from}")).await,
                [expected],
                "{sql}"
            );
        }
        for (sql, expected) in [
            ("SELECT x <> 0 AND 10 / x > 2", ["false", "true", "false"]),
            (
                "SELECT count(*) OVER (PARTITION BY x <> 0 AND 10 / x > 2)",
                ["2", "1", "2"],
            ),
        ] {
            let sql = format!("{sql} AS v {from} ORDER BY x");
            assert_eq!(rows(&context, &sql).await, expected, "{sql}");
        }
        let grouped = format!(
            "SELECT CASE WHEN x = 0 THEN false ELSE 10 / x > 2 END AS c, count(*) {from} GROUP BY 1 ORDER BY 1"
        );
        assert_eq!(rows(&context, &grouped).await, ["false|2", "true|1"]);
    }
}
