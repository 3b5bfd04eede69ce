//! Computes the NULL of `x IN (SELECT y ...)` and `x NOT IN (SELECT y ...)` if either side may be NULL.
//!
//! DataFusion checks only whether a row of the subquery is equal, so that NULL counts as false:
//! `x NOT IN (1, NULL) OR false` keeps the row of x = 5, and `(x IN (1, NULL)) IS NULL` loses it. Here, counts of the
//! subquery's rows decide whether the result is NULL; for correlated subqueries, `EXISTS` decides. `IN` only below AND
//! and OR stays unchanged, because NULL and false drop the same rows.
//!
//! At the top of a condition, DataFusion plans `NOT IN` as a null-aware anti join. That needs exactly one key of the
//! left side, so constants and correlated subqueries are planned like nested ones. A condition of `ON` with a subquery
//! becomes a filter.
//!
//! Upstream: <https://github.com/apache/datafusion/issues/8241>, <https://github.com/apache/datafusion/issues/25347>, <https://github.com/apache/datafusion/issues/25340>

use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{
    Transformed, TransformedResult as _, TreeNode as _, TreeNodeRecursion,
};
use datafusion::common::{Result, ScalarValue, not_impl_err};
use datafusion::functions_aggregate::expr_fn::count;
use datafusion::logical_expr::expr::{Exists, InSubquery};
use datafusion::logical_expr::utils::{conjunction, split_conjunction_owned};
use datafusion::logical_expr::{
    Expr, Filter, Join, JoinType, LogicalPlan, LogicalPlanBuilder, Operator, Subquery, lit, when,
};
use datafusion::optimizer::AnalyzerRule;

use crate::rewrites::not_in::is_volatile;

/// Rewrites `IN` and `NOT IN` to three-valued conditions.
#[derive(Debug)]
pub(super) struct NestedNotIn;

impl AnalyzerRule for NestedNotIn {
    fn name(&self) -> &'static str {
        "nested_not_in"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        plan.transform_up_with_subqueries(|node| match node {
            LogicalPlan::Filter(filter) => {
                let predicate = condition_with_nulls(filter.predicate)?;
                let filter = Filter::try_new(predicate.data, filter.input)?;
                let node = LogicalPlan::Filter(filter);
                Ok(Transformed::new_transformed(node, predicate.transformed))
            }
            LogicalPlan::Join(join) => lift_join_conditions(join),
            node => Ok(Transformed::no(node)),
        })
        .data()
    }
}

/// Moves the conditions of a join with subqueries into filters, which are planned as joins.
fn lift_join_conditions(mut join: Join) -> Result<Transformed<LogicalPlan>> {
    let Some(condition) = join.filter.take() else {
        return Ok(Transformed::no(LogicalPlan::Join(join)));
    };
    let (moved, stays): (Vec<Expr>, Vec<Expr>) = split_conjunction_owned(condition)
        .into_iter()
        .partition(has_subquery);
    join.filter = conjunction(stays);
    let Some(moved) = conjunction(moved) else {
        return Ok(Transformed::no(LogicalPlan::Join(join)));
    };
    let moved = condition_with_nulls(moved)?.data;
    let is_of = |input: &LogicalPlan| {
        let columns = moved.column_refs();
        columns
            .iter()
            .all(|column| input.schema().has_column(column))
    };
    match join.join_type {
        JoinType::Inner => {
            let filter = Filter::try_new(moved, Arc::new(LogicalPlan::Join(join)))?;
            return Ok(Transformed::yes(LogicalPlan::Filter(filter)));
        }
        JoinType::Left | JoinType::LeftSemi | JoinType::LeftAnti if is_of(&join.right) => {
            join.right = Arc::new(LogicalPlan::Filter(Filter::try_new(moved, join.right)?));
        }
        JoinType::Right if is_of(&join.left) => {
            join.left = Arc::new(LogicalPlan::Filter(Filter::try_new(moved, join.left)?));
        }
        _ => {
            return not_impl_err!(
                "a subquery in the ON of an outer join uses columns of the preserved side\n\
                 hint: compute it as a column in a subquery of FROM"
            );
        }
    }
    Ok(Transformed::yes(LogicalPlan::Join(join)))
}

fn has_subquery(condition: &Expr) -> bool {
    let is_subquery = |part: &Expr| Ok(matches!(part, Expr::InSubquery(_) | Expr::Exists(_)));
    condition.exists(is_subquery).unwrap_or(true)
}

/// Makes the subqueries of a condition three-valued.
fn condition_with_nulls(condition: Expr) -> Result<Transformed<Expr>> {
    let mut is_changed = false;
    let parts = split_conjunction_owned(condition).into_iter();
    let parts = parts.map(|part| {
        let part = part_with_nulls(part)?;
        is_changed |= part.transformed;
        Ok(part.data)
    });
    let parts = parts.collect::<Result<Vec<_>>>()?;
    let condition = conjunction(parts).unwrap_or_else(|| lit(true));
    Ok(Transformed::new_transformed(condition, is_changed))
}

/// Makes the subqueries of one conjunct three-valued.
fn part_with_nulls(part: Expr) -> Result<Transformed<Expr>> {
    let (subquery, is_negated) = match &part {
        Expr::InSubquery(subquery) => (Some(subquery), subquery.negated),
        Expr::Not(part) => match part.as_ref() {
            Expr::InSubquery(subquery) => (Some(subquery), !subquery.negated),
            _ => (None, false),
        },
        _ => (None, false),
    };
    if let Some(subquery) = subquery {
        let is_correlated = !subquery.subquery.outer_ref_columns.is_empty();
        let has_key = !subquery.expr.column_refs().is_empty();
        return if is_negated && (is_correlated || !has_key) {
            part.transform_up(three_valued)
        } else {
            Ok(Transformed::no(part))
        };
    }
    part.transform_down(|part| match &part {
        Expr::BinaryExpr(both) if matches!(both.op, Operator::And | Operator::Or) => {
            Ok(Transformed::no(part))
        }
        Expr::InSubquery(subquery) if !subquery.negated => {
            Ok(Transformed::new(part, false, TreeNodeRecursion::Jump))
        }
        _ => {
            let part = part.transform_up(three_valued)?;
            let is_changed = part.transformed;
            Ok(Transformed::new(
                part.data,
                is_changed,
                TreeNodeRecursion::Jump,
            ))
        }
    })
}

/// Rewrites `IN` or `NOT IN` to a CASE with the condition that makes it NULL.
fn three_valued(part: Expr) -> Result<Transformed<Expr>> {
    let Expr::InSubquery(part) = part else {
        return Ok(Transformed::no(part));
    };
    let columns = part.subquery.subquery.schema().columns();
    let [column] = columns.as_slice() else {
        return Ok(Transformed::no(Expr::InSubquery(part)));
    };
    if is_volatile(&part.subquery.subquery)? {
        return Ok(Transformed::no(Expr::InSubquery(part)));
    }
    let is_null = part.expr.as_ref().clone().is_null();
    let null = lit(ScalarValue::Boolean(None));
    let is_negated = part.negated;
    let is_match = Expr::InSubquery(InSubquery {
        negated: false,
        ..part.clone()
    });
    // One CASE, because `NOT x IN (...)` beside AND would become an anti join.
    let mut cases = when(is_match, lit(!is_negated));
    let has_null = if part.subquery.outer_ref_columns.is_empty() {
        let rows = count_values(&part.subquery, lit(1_i64))?;
        let values = count_values(&part.subquery, Expr::Column(column.clone()))?;
        cases.when(rows.clone().eq(lit(0_i64)), lit(is_negated));
        is_null.or(rows.gt(values))
    } else {
        let has_null = exists(&part.subquery, Some(Expr::Column(column.clone()).is_null()))?;
        has_null.or(is_null.and(exists(&part.subquery, None)?))
    };
    let three_valued = cases.when(has_null, null).otherwise(lit(is_negated))?;
    Ok(Transformed::yes(three_valued))
}

/// Returns the number of rows of a subquery with a non-NULL value.
fn count_values(subquery: &Subquery, value: Expr) -> Result<Expr> {
    let plan = LogicalPlanBuilder::from(subquery.subquery.as_ref().clone())
        .aggregate(Vec::<Expr>::new(), [count(value)])?
        .build()?;
    Ok(Expr::ScalarSubquery(subquery.with_plan(plan.into())))
}

/// Returns whether a subquery has a row that meets a condition.
fn exists(subquery: &Subquery, condition: Option<Expr>) -> Result<Expr> {
    let mut plan = LogicalPlanBuilder::from(subquery.subquery.as_ref().clone());
    if let Some(condition) = condition {
        plan = plan.filter(condition)?;
    }
    Ok(Expr::Exists(Exists::new(
        subquery.with_plan(plan.build()?.into()),
        false,
    )))
}

#[cfg(test)]
mod tests {
    use arrow::util::pretty::pretty_format_batches;

    use crate::context::new_context;
    use crate::test_queries::collect;

    /// Expected values are DuckDB's.
    #[tokio::test]
    async fn nulls_are_unknown_below_other_conditions() {
        let context = new_context(None).unwrap();
        let left = "(VALUES (1), (2), (5), (NULL)) AS l(x)";
        for (condition, expected) in [
            (
                "x NOT IN (SELECT * FROM (VALUES (1), (NULL)) AS r(y)) OR x <> 5",
                2,
            ),
            (
                "x NOT IN (SELECT * FROM (VALUES (1), (2)) AS r(y)) OR x = 2",
                2,
            ),
            ("x NOT IN (SELECT 1 WHERE false) OR x = 2", 4),
            (
                "NOT (x NOT IN (SELECT * FROM (VALUES (1), (NULL)) AS r(y)) OR x = 2)",
                1,
            ),
            ("x NOT IN (SELECT * FROM (VALUES (1), (NULL)) AS r(y))", 0),
            ("NOT (x IN (SELECT * FROM (VALUES (1), (NULL)) AS r(y)))", 0),
            (
                "NOT (x IN (SELECT * FROM (VALUES (1), (NULL)) AS r(y)) OR x = 2)",
                0,
            ),
            (
                "(x IN (SELECT * FROM (VALUES (1), (NULL)) AS r(y))) IS NULL",
                3,
            ),
            (
                "(x IN (SELECT * FROM (VALUES (1), (NULL)) AS r(y))) = false",
                0,
            ),
            ("(x IN (SELECT 1 WHERE false)) IS NULL", 0),
            (
                "x IN (SELECT * FROM (VALUES (1), (NULL)) AS r(y)) OR x = 5",
                2,
            ),
            (
                "CASE WHEN x NOT IN (SELECT * FROM (VALUES (1), (NULL)) AS r(y)) THEN false ELSE x = 5 END",
                1,
            ),
        ] {
            let sql = format!("SELECT count(*) AS n FROM {left} WHERE {condition}");
            let rows = collect(&context, &sql).await.unwrap();
            let text = pretty_format_batches(&rows).unwrap().to_string();
            assert!(text.contains(&format!("| {expected} |")), "{sql}: {text}");
        }
    }

    /// Expected values are DuckDB's.
    #[tokio::test]
    async fn nulls_are_unknown_to_constants_to_correlated_subqueries_and_in_joins() {
        let context = new_context(None).unwrap();
        let a = "(VALUES (1, 1), (2, 1), (5, 2), (NULL, 2), (NULL, 3), (7, 3)) AS a(x, k)";
        let b = "(VALUES (1, 1), (NULL, 1), (5, 2), (6, 2)) AS b(y, k)";
        let of_key = format!("(SELECT y FROM {b} WHERE b.k = a.k)");
        let up_to_key = format!("(SELECT y FROM {b} WHERE b.k <= a.k)");
        let all = format!("(SELECT y FROM {b})");
        for (condition, expected) in [
            (format!("5 NOT IN {all}"), 0),
            (format!("4 NOT IN {all}"), 0),
            (format!("4 NOT IN (SELECT y FROM {b} WHERE y > 1)"), 6),
            (format!("NOT (4 IN {all})"), 0),
            (format!("NULL NOT IN {all}"), 0),
            (format!("NULL NOT IN (SELECT y FROM {b} WHERE k = 9)"), 6),
            (format!("5 IN {all}"), 6),
            (format!("x NOT IN {of_key}"), 2),
            (format!("NOT (x IN {of_key})"), 2),
            (format!("x IN {of_key}"), 2),
            (format!("x NOT IN {of_key} OR x = 2"), 3),
            (format!("(x IN {of_key}) IS NULL"), 2),
            (format!("(x NOT IN {of_key}) IS NULL"), 2),
            (format!("(x IN {of_key}) = false"), 2),
            (format!("x NOT IN {up_to_key}"), 0),
            (format!("(x IN {up_to_key}) IS NULL"), 4),
            (format!("k = 3 AND x NOT IN {of_key}"), 2),
        ] {
            let sql = format!("SELECT count(*) AS n FROM {a} WHERE {condition}");
            let rows = collect(&context, &sql).await.unwrap();
            let text = pretty_format_batches(&rows).unwrap().to_string();
            assert!(text.contains(&format!("| {expected} |")), "{sql}: {text}");
        }
        for (condition, expected) in [
            (format!("a.k = c.k AND (a.x NOT IN {all} OR a.x = 2)"), 1),
            (format!("a.k = c.k AND (a.x IN {all}) IS NULL"), 4),
            (format!("a.k = c.k AND a.x IN {all}"), 2),
            (format!("a.k = c.k AND 4 NOT IN {all}"), 0),
            (
                format!("a.k = c.k AND a.x + c.k NOT IN (SELECT y FROM {b} WHERE y > 1)"),
                4,
            ),
            (
                format!("a.k = c.k AND EXISTS (SELECT y FROM {b} WHERE b.k = c.k)"),
                4,
            ),
        ] {
            let sql = format!(
                "SELECT count(*) AS n FROM {a} JOIN (VALUES (1), (2), (3)) AS c(k) ON {condition}"
            );
            let rows = collect(&context, &sql).await.unwrap();
            let text = pretty_format_batches(&rows).unwrap().to_string();
            assert!(text.contains(&format!("| {expected} |")), "{sql}: {text}");
        }
        let left = format!(
            "SELECT count(a.x) AS n FROM (VALUES (1), (2), (3)) AS c(k) LEFT JOIN {a} ON a.k = c.k"
        );
        let sql = format!("{left} AND (a.x NOT IN {all} OR a.x = 7)");
        let rows = collect(&context, &sql).await.unwrap();
        let text = pretty_format_batches(&rows).unwrap().to_string();
        assert!(text.contains("| 1 |"), "{text}");
        let sql = format!("{left} AND c.k NOT IN {all}");
        let message = collect(&context, &sql).await.unwrap_err().to_string();
        assert!(message.contains("ON of an outer join"), "{message}");
    }
}
