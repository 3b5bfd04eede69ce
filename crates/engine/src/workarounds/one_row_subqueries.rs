//! Plans `EXISTS` and `IN` over correlated aggregates without groups, which return exactly one row.
//!
//! | SQL | here |
//! |---|---|
//! | `EXISTS (SELECT max(y) FROM r WHERE r.k = l.k)` | `TRUE` |
//! | `x IN (SELECT count(*) FROM r WHERE r.k = l.k)` | `x = (SELECT count(*) FROM r WHERE r.k = l.k)` |
//! | `EXISTS (SELECT 1 FROM r WHERE r.k = l.k HAVING count(*) = 0)` | `(SELECT count(*) = 0 FROM r WHERE r.k = l.k) IS TRUE` |
//! | `(SELECT sum(n) FROM (SELECT count(*) AS n FROM r WHERE r.k = l.k) AS s)` | rejected |
//!
//! DataFusion 55 groups such an aggregate by the correlated keys, so that keys without rows have no row. It restores
//! the values of empty groups for scalar subqueries, but not for these: the "count bug" (Kim, "On optimizing an
//! SQL-like nested query", 1982).
//!
//! Upstream: <https://github.com/apache/datafusion/issues/24960>

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{
    Transformed, TransformedResult as _, TreeNode as _, TreeNodeRecursion,
};
use datafusion::common::{Result, not_impl_err};
use datafusion::logical_expr::expr::{Exists, InSubquery};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::{
    Expr, LogicalPlan, LogicalPlanBuilder, Operator, Subquery, binary_expr, lit, when,
};
use datafusion::optimizer::AnalyzerRule;

/// Rewrites `EXISTS` and `IN` over one-row subqueries.
#[derive(Debug)]
pub(super) struct OneRowSubqueries;

impl AnalyzerRule for OneRowSubqueries {
    fn name(&self) -> &'static str {
        "one_row_subqueries"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        plan.transform_up_with_subqueries(|node| {
            let names = NamePreserver::new(&node);
            node.map_expressions(|expr| {
                let name = names.save(&expr);
                let rewritten = expr.transform_up(rewrite_expr)?;
                Ok(rewritten.update_data(|expr| name.restore(expr)))
            })
        })
        .data()
    }
}

fn rewrite_expr(expr: Expr) -> Result<Transformed<Expr>> {
    if let Expr::Exists(Exists { subquery, .. })
    | Expr::InSubquery(InSubquery { subquery, .. })
    | Expr::ScalarSubquery(subquery) = &expr
    {
        if subquery.outer_ref_columns.is_empty() {
            return Ok(Transformed::no(expr));
        }
        reject_nested(&subquery.subquery)?;
    }
    match expr {
        Expr::Exists(exists) => match OneRowSubquery::try_new(&exists.subquery)? {
            Some(row) => {
                let exists_row = row.condition.map_or(lit(true), Expr::is_true);
                Ok(Transformed::yes(if exists.negated {
                    !exists_row
                } else {
                    exists_row
                }))
            }
            None => Ok(Transformed::no(Expr::Exists(exists))),
        },
        Expr::InSubquery(part) => match OneRowSubquery::try_new(&part.subquery)? {
            Some(row) => {
                let value = Expr::ScalarSubquery(row.value);
                let operator = if part.negated {
                    Operator::NotEq
                } else {
                    Operator::Eq
                };
                let compared = binary_expr(*part.expr, operator, value);
                Ok(Transformed::yes(match row.condition {
                    Some(condition) => {
                        when(condition.is_true(), compared).otherwise(lit(part.negated))?
                    }
                    None => compared,
                }))
            }
            None => Ok(Transformed::no(Expr::InSubquery(part))),
        },
        other => Ok(Transformed::no(other)),
    }
}

/// A subquery with one row, or with none if `condition` is not true.
struct OneRowSubquery {
    /// Subquery of the row.
    value: Subquery,
    /// Condition of `HAVING`, as a scalar subquery.
    condition: Option<Expr>,
}

impl OneRowSubquery {
    /// Returns `None` for subqueries with any number of rows.
    fn try_new(subquery: &Subquery) -> Result<Option<Self>> {
        let mut conditions = Vec::new();
        let mut node = subquery.subquery.as_ref();
        while let Some(input) = row_input(node) {
            if let LogicalPlan::Filter(filter) = node {
                let condition = LogicalPlanBuilder::from(input.clone())
                    .project([filter.predicate.clone()])?
                    .build()?;
                conditions.push(condition);
            }
            node = input;
        }
        if !is_one_row(node) {
            return Ok(None);
        }
        let condition = match conditions.len() {
            0 => None,
            1 => conditions.pop(),
            _ => return Ok(None),
        };
        let value = subquery.subquery.as_ref().clone().transform_down(|node| {
            Ok(match node {
                LogicalPlan::Filter(filter) => {
                    Transformed::new(filter.input.as_ref().clone(), true, TreeNodeRecursion::Stop)
                }
                LogicalPlan::Aggregate(_) => Transformed::new(node, false, TreeNodeRecursion::Stop),
                node => Transformed::no(node),
            })
        })?;
        Ok(Some(Self {
            value: subquery.with_plan(value.data.into()),
            condition: condition.map(|plan| Expr::ScalarSubquery(subquery.with_plan(plan.into()))),
        }))
    }
}

/// Returns the input of an operator that returns one row per input row, or filters rows.
fn row_input(node: &LogicalPlan) -> Option<&LogicalPlan> {
    match node {
        LogicalPlan::Projection(projection) => Some(&projection.input),
        LogicalPlan::SubqueryAlias(alias) => Some(&alias.input),
        LogicalPlan::Sort(sort) if sort.fetch.is_none() => Some(&sort.input),
        LogicalPlan::Filter(filter) => Some(&filter.input),
        _ => None,
    }
}

fn is_one_row(node: &LogicalPlan) -> bool {
    matches!(node, LogicalPlan::Aggregate(aggregate) if aggregate.group_expr.is_empty())
}

/// Rejects correlated aggregates without groups below operators that do not return one row per input row.
fn reject_nested(plan: &LogicalPlan) -> Result<()> {
    let mut node = plan;
    loop {
        if is_one_row(node) {
            // Aggregates below this one determine its input.
            let LogicalPlan::Aggregate(aggregate) = node else {
                return Ok(());
            };
            return reject_correlated_aggregates(&aggregate.input);
        }
        match (row_input(node), node) {
            (Some(input), _) => node = input,
            (None, LogicalPlan::Limit(limit)) => node = &limit.input,
            (None, _) => return reject_correlated_aggregates(node),
        }
    }
}

fn reject_correlated_aggregates(plan: &LogicalPlan) -> Result<()> {
    let mut is_correlated = false;
    plan.apply(|node| {
        if is_one_row(node) {
            node.apply(|node| {
                is_correlated |= node.contains_outer_reference();
                Ok(TreeNodeRecursion::Continue)
            })?;
        }
        Ok(if is_correlated {
            TreeNodeRecursion::Stop
        } else {
            TreeNodeRecursion::Continue
        })
    })?;
    if is_correlated {
        return not_impl_err!(
            "a correlated subquery computes an aggregate of another aggregate without GROUP BY\n\
             hint: GROUP BY the key in a subquery of FROM, and LEFT JOIN it"
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::tests::{error_message, rows};
    use crate::context::new_context;

    /// Expected values are DuckDB's.
    #[tokio::test]
    async fn an_aggregate_without_groups_has_a_row_for_each_key() {
        let context = new_context(None).unwrap();
        let l = "(VALUES (1, 0), (1, 2), (2, 0), (2, 7), (3, NULL)) AS l(k, x)";
        let r = "(VALUES (1, 7), (1, 8), (4, 9)) AS r(k, y) WHERE r.k = l.k";
        for (condition, expected) in [
            (format!("EXISTS (SELECT max(y) FROM {r})"), 5),
            (format!("NOT EXISTS (SELECT max(y) FROM {r})"), 0),
            (format!("x IN (SELECT count(*) FROM {r})"), 2),
            (format!("x NOT IN (SELECT count(*) FROM {r})"), 2),
            (format!("x IN (SELECT count(*) FROM {r}) OR x = 7"), 3),
            (format!("x NOT IN (SELECT max(y) FROM {r})"), 2),
            (format!("(x IN (SELECT max(y) FROM {r})) IS NULL"), 3),
            (format!("EXISTS (SELECT 1 FROM {r} HAVING count(*) = 0)"), 3),
            (
                format!("NOT EXISTS (SELECT 1 FROM {r} HAVING count(*) = 0)"),
                2,
            ),
            (format!("EXISTS (SELECT 1 FROM {r} HAVING max(y) > 1)"), 2),
            (
                format!("x IN (SELECT count(*) FROM {r} HAVING count(*) < 2)"),
                1,
            ),
            (
                format!("x NOT IN (SELECT count(*) FROM {r} HAVING count(*) < 2)"),
                3,
            ),
            (format!("EXISTS (SELECT max(y) FROM {r} GROUP BY y)"), 2),
            (format!("(SELECT count(*) FROM {r}) = 0"), 3),
        ] {
            let sql = format!("SELECT count(*) AS n FROM {l} WHERE {condition}");
            assert_eq!(rows(&context, &sql).await, [expected.to_string()], "{sql}");
        }
    }

    #[tokio::test]
    async fn aggregates_of_correlated_aggregates_are_rejected() {
        let context = new_context(None).unwrap();
        let sql = "SELECT (SELECT sum(n) FROM (SELECT count(*) AS n FROM (VALUES (1)) AS r(k) WHERE r.k = l.k) AS s) FROM (VALUES (1), (2)) AS l(k)";
        let message = error_message(&context, sql).await;
        assert!(message.contains("without GROUP BY"), "{message}");
    }
}
