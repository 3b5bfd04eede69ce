//! Splits IN lists with values that are not constants: `x NOT IN (1, y, NULL)` becomes
//! `x NOT IN (1) AND x <> y AND NULL`.
//!
//! DataFusion merges two lists below one operator as if all values were constants, no value were NULL, and `x` were not
//! NULL:
//!
//! | SQL | optimized to | wrong where |
//! |---|---|---|
//! | `x NOT IN (1, NULL) AND x IN (2)` | `x IN (2)` | always: the condition is never true |
//! | `x NOT IN (1, y) AND x IN (2)` | `x IN (2)` | y is 2 or NULL |
//! | `x IN (1, y) AND x IN (2, z)` | `FALSE` | y is z, or y is 2, or z is 1 |
//! | `x NOT IN (1) OR x NOT IN (2)` | `TRUE` | x is NULL |
//! | `x IN (1) AND x IN (2)` | `FALSE` | x is NULL and the condition is negated |
//!
//! Here, a list contains only constants that are not NULL, and other values are compared beside it. Lists without a
//! common value are merged with the NULL of `x`. An expression may become NULL when constants are folded or a prepared
//! statement gets its parameters, so only literals and casts of literals count as constants.
//!
//! Upstream: <https://github.com/apache/datafusion/pull/24258>

use std::collections::HashSet;

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult as _, TreeNode as _};
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::expr::InList;
use datafusion::logical_expr::{BinaryExpr, Expr, LogicalPlan, Operator, binary_expr, lit};
use datafusion::optimizer::optimizer::ApplyOrder;
use datafusion::optimizer::{AnalyzerRule, OptimizerConfig, OptimizerRule};

use super::named_rewrite::rewrite_expressions;

/// Name of DataFusion's rule that merges lists.
pub(super) const SIMPLIFY_EXPRESSIONS: &str = "simplify_expressions";

/// Splits and merges IN lists.
#[derive(Debug)]
pub(super) struct NullInListRewrite;

impl AnalyzerRule for NullInListRewrite {
    fn name(&self) -> &'static str {
        "null_in_list"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        plan.transform_up_with_subqueries(rewrite_lists).data()
    }
}

/// Runs before each simplification, because rules between them combine lists.
impl OptimizerRule for NullInListRewrite {
    fn name(&self) -> &'static str {
        "null_in_list"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::BottomUp)
    }

    fn rewrite(
        &self,
        plan: LogicalPlan,
        _: &dyn OptimizerConfig,
    ) -> Result<Transformed<LogicalPlan>> {
        rewrite_lists(plan)
    }
}

fn rewrite_lists(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    rewrite_expressions(plan, |expr, _| {
        expr.transform_up(|part| {
            Ok(match part {
                Expr::InList(list) => separate_constants(list),
                Expr::BinaryExpr(pair) => merge_lists(pair),
                other => Transformed::no(other),
            })
        })
    })
}

/// Splits a list into its constants and comparisons with its other values.
fn separate_constants(list: InList) -> Transformed<Expr> {
    // A volatile expression must be compared with all values at once.
    if list.expr.is_volatile() || list.list.iter().all(is_constant) {
        return Transformed::no(Expr::InList(list));
    }
    let InList {
        expr,
        list,
        negated,
    } = list;
    let (constants, others): (Vec<Expr>, Vec<Expr>) = list.into_iter().partition(is_constant);
    let (comparison, chain) = if negated {
        (Operator::NotEq, Operator::And)
    } else {
        (Operator::Eq, Operator::Or)
    };
    let (nulls, others): (Vec<Expr>, Vec<Expr>) = others.into_iter().partition(is_null);
    let mut terms = Vec::with_capacity(others.len() + 2);
    if !constants.is_empty() {
        let (expr, list) = (expr.clone(), constants);
        terms.push(Expr::InList(InList {
            expr,
            list,
            negated,
        }));
    }
    let others = others.into_iter();
    terms.extend(others.map(|other| binary_expr(expr.as_ref().clone(), comparison, other)));
    if !nulls.is_empty() {
        terms.push(lit(ScalarValue::Boolean(None)));
    }
    Transformed::yes(balanced_tree(terms, chain))
}

/// Merges two lists of constants, if the result does not depend on their values.
fn merge_lists(pair: BinaryExpr) -> Transformed<Expr> {
    let (Expr::InList(left), Expr::InList(right)) = (pair.left.as_ref(), pair.right.as_ref())
    else {
        return Transformed::no(Expr::BinaryExpr(pair));
    };
    let is_known = |list: &InList| !list.expr.is_volatile() && list.list.iter().all(is_constant);
    let has_common = |of: &InList, other: &InList| {
        let other: HashSet<&Expr> = other.list.iter().collect();
        of.list.iter().any(|value| other.contains(value))
    };
    let is_within = |of: &InList, other: &InList| {
        let other: HashSet<&Expr> = other.list.iter().collect();
        of.list.iter().all(|value| other.contains(value))
    };
    let is_empty = match (pair.op, left.negated, right.negated) {
        (Operator::And, false, false) | (Operator::Or, true, true) => !has_common(left, right),
        (Operator::And, false, true) => is_within(left, right),
        (Operator::And, true, false) => is_within(right, left),
        _ => false,
    };
    if !is_empty || left.expr != right.expr || !is_known(left) || !is_known(right) {
        return Transformed::no(Expr::BinaryExpr(pair));
    }
    let (expr, null) = (left.expr.as_ref().clone(), lit(ScalarValue::Boolean(None)));
    Transformed::yes(match pair.op {
        Operator::Or => expr.is_not_null().or(null),
        _ => expr.is_null().and(null),
    })
}

/// Joins terms to a tree of minimum depth.
fn balanced_tree(mut terms: Vec<Expr>, chain: Operator) -> Expr {
    let Some(last) = terms.pop() else {
        return lit(chain == Operator::And);
    };
    if terms.is_empty() {
        return last;
    }
    terms.push(last);
    let right = terms.split_off(terms.len() / 2);
    binary_expr(
        balanced_tree(terms, chain),
        chain,
        balanced_tree(right, chain),
    )
}

/// Returns whether a value is a literal, or a cast of one, and not NULL.
fn is_constant(value: &Expr) -> bool {
    match value {
        Expr::Literal(value, _) => !value.is_null(),
        Expr::Cast(cast) => is_constant(&cast.expr),
        _ => false,
    }
}

fn is_null(value: &Expr) -> bool {
    match value {
        Expr::Literal(value, _) => value.is_null(),
        Expr::Cast(cast) => is_null(&cast.expr),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use arrow::util::pretty::pretty_format_batches;

    use crate::context::new_context;
    use crate::test_queries::collect;

    #[tokio::test]
    async fn a_null_in_a_list_stays_one() {
        let context = new_context(None).unwrap();
        for (condition, found) in [
            ("x NOT IN (1, NULL) AND x IN (2)", ""),
            ("x IN (2) AND x NOT IN (NULL, 1)", ""),
            ("x NOT IN (NULL)", ""),
            ("x NOT IN (1, NULL)", ""),
            ("x IN (1, NULL) OR x IN (2)", "1 2"),
            ("(x NOT IN (1, NULL)) IS NULL", "2 3 "),
            ("(x IN (1, NULL)) IS NULL", "2 3 "),
            ("(x NOT IN (1, NULL)) IS FALSE", "1"),
            ("x NOT IN (1) AND x IN (2)", "2"),
            // Values that become NULL when constants are folded, or for some rows.
            ("x NOT IN (1, nullif(1, 1)) AND x IN (2)", ""),
            ("x NOT IN (1, -CAST(NULL AS INT)) AND x IN (2)", ""),
            ("x NOT IN (1, NULL + 1) AND x IN (2)", ""),
            ("x NOT IN (1, TRY_CAST('a' AS INT)) AND x IN (2)", ""),
            ("x NOT IN (1, coalesce(NULL, NULL)) AND x IN (2)", ""),
            ("x NOT IN (1, CASE WHEN 1 > 2 THEN 3 END) AND x IN (2)", ""),
            ("x IN (2, 3) AND x NOT IN (1, nullif(y, 6))", "2"),
            ("x IN (2, 3) AND x NOT IN (1, nullif(y, 4))", "3"),
            ("x NOT IN (nullif(1, 1))", ""),
            ("(x IN (1, nullif(2, 2), 3)) IS NULL", "2 "),
            // Values that are not constants.
            ("x NOT IN (1, y / 2) AND x IN (2, 3)", ""),
            ("x IN (1, y / 2) AND x IN (2, y / 2)", "1 2 3"),
            ("x IN (7, y / 2) AND x IN (8, y - x)", "1 2 3"),
            ("x NOT IN (7, y / 2) OR x NOT IN (8, y / 3)", "1 2 3"),
            ("x IN (1, (SELECT 3))", "1 3"),
            // The condition is NULL if x is NULL.
            ("x NOT IN (1, 2) OR x NOT IN (3, 4)", "1 2 3"),
            ("NOT (x IN (1, 2) AND x IN (3, 4))", "1 2 3"),
            ("NOT (x IN (1, 2) AND x NOT IN (1, 2, 4))", "1 2 3"),
            ("NOT (x NOT IN (1, 2, 3, 4) AND x IN (2, 3))", "1 2 3"),
            (
                "(x IN (1, 2, 5, 6) AND x IN (3, 4, 7, 8)) IS NOT NULL",
                "1 2 3",
            ),
            (
                "(x NOT IN (1, 2, 5, 6) OR x NOT IN (3, 4, 7, 8)) IS NOT NULL",
                "1 2 3",
            ),
            ("(x IN (1, 2) AND x IN (2, 3)) IS NOT NULL", "1 2 3"),
        ] {
            let sql = format!(
                "SELECT coalesce(string_agg(coalesce(CAST(x AS VARCHAR), ''), ' ' ORDER BY x), '') AS found FROM (VALUES (1, 2), (2, 4), (3, 6), (NULL, NULL)) AS t(x, y) WHERE {condition}"
            );
            let rows = collect(&context, &sql).await.unwrap();
            let text = pretty_format_batches(&rows).unwrap().to_string();
            let cell = text.lines().nth(3).unwrap().trim_matches('|').trim();
            assert_eq!(cell, found.trim(), "{condition}");
        }
    }

    #[tokio::test]
    async fn a_parameter_may_be_null() {
        let context = new_context(None).unwrap();
        let rows = "(VALUES (1), (2), (3)) AS t(x)";
        for (condition, value, found) in [
            ("x NOT IN (1, $1) AND x IN (2, 3)", "NULL", 0),
            ("x NOT IN (1, $1) AND x IN (2, 3)", "2", 1),
            ("x NOT IN (1, $1)", "NULL", 0),
            ("x IN ($1, 3)", "NULL", 1),
        ] {
            let prepared = format!("PREPARE p AS SELECT count(*) FROM {rows} WHERE {condition}");
            collect(&context, &prepared).await.unwrap();
            let executed = collect(&context, &format!("EXECUTE p({value})")).await;
            let text = pretty_format_batches(&executed.unwrap())
                .unwrap()
                .to_string();
            let cell = text.lines().nth(3).unwrap().trim_matches('|').trim();
            assert_eq!(cell, found.to_string(), "{condition}: {value}");
            collect(&context, "DEALLOCATE p").await.unwrap();
        }
    }
}
