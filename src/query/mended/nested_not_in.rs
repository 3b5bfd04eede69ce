//! `x IN (SELECT y ...)` and `x NOT IN (SELECT y ...)` within other conditions, where either may be NULL.
//!
//! DataFusion asks only whether a row of the subquery is equal, so that NULL counts as false: `x NOT IN (1, NULL) OR false` keeps
//! the row of x = 5, and `(x IN (1, NULL)) IS NULL` loses it. Here the counts of the subquery say whether it is NULL. `IN` below AND
//! and OR alone stays: NULL and false leave out the same rows. Correlated subqueries are left as they are.

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{
    Transformed, TransformedResult as _, TreeNode as _, TreeNodeRecursion,
};
use datafusion::common::{Result, ScalarValue};
use datafusion::functions_aggregate::expr_fn::count;
use datafusion::logical_expr::expr::InSubquery;
use datafusion::logical_expr::utils::{conjunction, split_conjunction_owned};
use datafusion::logical_expr::{
    Expr, Filter, LogicalPlan, LogicalPlanBuilder, Operator, Subquery, lit, not, when,
};
use datafusion::optimizer::AnalyzerRule;

use crate::query::not_in::is_volatile;

/// The rule that does so.
#[derive(Debug)]
pub(super) struct NestedNotIn;

impl AnalyzerRule for NestedNotIn {
    fn name(&self) -> &'static str {
        "nested_not_in"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        plan.transform_up_with_subqueries(|node| {
            let LogicalPlan::Filter(filter) = node else {
                return Ok(Transformed::no(node));
            };
            let mut is_changed = false;
            let parts = split_conjunction_owned(filter.predicate).into_iter();
            let parts = parts.map(|part| {
                let part = with_nulls(part)?;
                is_changed |= part.transformed;
                Ok(part.data)
            });
            let parts = parts.collect::<Result<Vec<_>>>()?;
            let predicate = conjunction(parts).unwrap_or_else(|| lit(true));
            let filter = Filter::try_new(predicate, filter.input)?;
            Ok(Transformed::new_transformed(
                LogicalPlan::Filter(filter),
                is_changed,
            ))
        })
        .data()
    }
}

/// A condition whose subqueries are NULL where they should be.
fn with_nulls(part: Expr) -> Result<Transformed<Expr>> {
    let is_anti_join = match &part {
        Expr::InSubquery(_) => true,
        Expr::Not(part) => matches!(part.as_ref(), Expr::InSubquery(_)),
        _ => false,
    };
    if is_anti_join {
        return Ok(Transformed::no(part));
    }
    part.transform_down(|part| match &part {
        Expr::BinaryExpr(both) if matches!(both.op, Operator::And | Operator::Or) => {
            Ok(Transformed::no(part))
        }
        Expr::InSubquery(asked) if !asked.negated => {
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

/// `IN` or `NOT IN` with what makes it NULL.
fn three_valued(part: Expr) -> Result<Transformed<Expr>> {
    let Expr::InSubquery(asked) = &part else {
        return Ok(Transformed::no(part));
    };
    let is_correlated = !asked.subquery.outer_ref_columns.is_empty();
    if is_correlated || is_volatile(&asked.subquery.subquery)? {
        return Ok(Transformed::no(part));
    }
    let Some(column) = asked
        .subquery
        .subquery
        .schema()
        .columns()
        .into_iter()
        .next()
    else {
        return Ok(Transformed::no(part));
    };
    let rows = counted(&asked.subquery, lit(1_i64))?;
    let values = counted(&asked.subquery, Expr::Column(column))?;
    let has_null = asked.expr.as_ref().clone().is_null();
    let has_null = has_null.or(rows.clone().gt(values));
    let of_no_match = when(rows.eq(lit(0_i64)), lit(asked.negated))
        .when(has_null, lit(ScalarValue::Boolean(None)))
        .otherwise(lit(asked.negated))?;
    let is_match = Expr::InSubquery(InSubquery {
        negated: false,
        ..asked.clone()
    });
    Ok(Transformed::yes(if asked.negated {
        not(is_match).and(of_no_match)
    } else {
        is_match.or(of_no_match)
    }))
}

/// How many rows of a subquery have a value.
fn counted(subquery: &Subquery, value: Expr) -> Result<Expr> {
    let plan = LogicalPlanBuilder::from(subquery.subquery.as_ref().clone())
        .aggregate(Vec::<Expr>::new(), [count(value)])?
        .build()?;
    Ok(Expr::ScalarSubquery(subquery.with_plan(plan.into())))
}

#[cfg(test)]
mod tests {
    use arrow::util::pretty::pretty_format_batches;

    use crate::query::collect;
    use crate::query::engine::engine;

    /// Expected values are DuckDB's.
    #[tokio::test]
    async fn nulls_are_unknown_below_other_conditions() {
        let context = engine(None).unwrap();
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
}
