//! Plans `IN (SELECT ...)` and `EXISTS (SELECT ...)` in projections as counts of matching rows.
//!
//! | SQL | here |
//! |---|---|
//! | `SELECT EXISTS (SELECT ... FROM r WHERE r.k = l.k)` | `(SELECT count(*) FROM r WHERE r.k = l.k) > 0` |
//! | `SELECT x IN (SELECT y FROM r)` | `(SELECT count(*) FROM r WHERE y = x) > 0`, or NULL where `x` or a `y` is |
//!
//! DataFusion 55 plans both as joins below filters, and nowhere else.
//!
//! Upstream: <https://github.com/apache/datafusion/issues/23022>

use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult as _, TreeNode as _};
use datafusion::common::{DFSchema, ExprSchema as _, Result, ScalarValue};
use datafusion::functions_aggregate::expr_fn::count;
use datafusion::logical_expr::expr::InSubquery;
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::{
    Expr, FetchType, LogicalPlan, LogicalPlanBuilder, SkipType, Subquery, lit, when,
};
use datafusion::optimizer::AnalyzerRule;

/// Rewrites subqueries of projections to counts.
#[derive(Debug)]
pub(super) struct SelectedSubqueries;

impl AnalyzerRule for SelectedSubqueries {
    fn name(&self) -> &'static str {
        "selected_subqueries"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        plan.transform_up_with_subqueries(|node| {
            let LogicalPlan::Projection(projection) = &node else {
                return Ok(Transformed::no(node));
            };
            let schema = Arc::clone(projection.input.schema());
            let names = NamePreserver::new(&node);
            node.map_expressions(|expr| {
                let name = names.save(&expr);
                let counted = expr.transform_up(|part| to_count(part, &schema))?;
                Ok(counted.update_data(|expr| name.restore(expr)))
            })
        })
        .data()
    }
}

fn to_count(part: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    match part {
        Expr::Exists(exists) => {
            let rows = number_of_rows(&exists.subquery, None)?;
            let zero = lit(0_i64);
            Ok(Transformed::yes(if exists.negated {
                rows.eq(zero)
            } else {
                rows.gt(zero)
            }))
        }
        Expr::InSubquery(part) => in_to_count(part, schema),
        other => Ok(Transformed::no(other)),
    }
}

fn in_to_count(part: InSubquery, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let columns = part.subquery.subquery.schema().columns();
    let is_plain = !part.expr.exists(|part| {
        Ok(matches!(
            part,
            Expr::ScalarSubquery(_) | Expr::OuterReferenceColumn(..)
        ))
    })?;
    let ([column], true) = (columns.as_slice(), is_plain) else {
        return Ok(Transformed::no(Expr::InSubquery(part)));
    };
    let column = Expr::Column(column.clone());
    let mut outer = Vec::new();
    let value = part
        .expr
        .as_ref()
        .clone()
        .transform_up(|value| match value {
            Expr::Column(column) => {
                let field = Arc::clone(schema.field_from_column(&column)?);
                let reference = Expr::OuterReferenceColumn(field, column);
                outer.push(reference.clone());
                Ok(Transformed::yes(reference))
            }
            other => Ok(Transformed::no(other)),
        })?;
    let mut with_value = part.subquery.clone();
    with_value.outer_ref_columns.extend(outer);
    let matches = number_of_rows(&with_value, Some(column.clone().eq(value.data)))?;
    let rows = number_of_rows(&part.subquery, None)?;
    let nulls = number_of_rows(&part.subquery, Some(column.is_null()))?;
    let zero = || lit(0_i64);
    let is_unknown = nulls
        .gt(zero())
        .or(part.expr.is_null().and(rows.gt(zero())));
    when(matches.gt(zero()), lit(!part.negated))
        .when(is_unknown, lit(ScalarValue::Boolean(None)))
        .otherwise(lit(part.negated))
        .map(Transformed::yes)
}

/// Returns the number of rows of a subquery that meet a condition. Without a condition, limits are dropped if they do
/// not change whether there is a row.
fn number_of_rows(subquery: &Subquery, condition: Option<Expr>) -> Result<Expr> {
    let plan = match condition {
        Some(condition) => {
            LogicalPlanBuilder::from(subquery.subquery.as_ref().clone()).filter(condition)?
        }
        None => LogicalPlanBuilder::from(strip_limit(&subquery.subquery)?.clone()),
    };
    let plan = plan
        .aggregate(Vec::<Expr>::new(), [count(lit(1_i64))])?
        .build()?;
    Ok(Expr::ScalarSubquery(subquery.with_plan(plan.into())))
}

/// Returns the plan below sorts and limits that do not change whether there is a row.
fn strip_limit(mut plan: &LogicalPlan) -> Result<&LogicalPlan> {
    loop {
        plan = match plan {
            LogicalPlan::Sort(sort) if sort.fetch.is_none() => &sort.input,
            LogicalPlan::Limit(limit) => {
                let takes_one = matches!(limit.get_fetch_type()?, FetchType::Literal(fetch) if fetch != Some(0));
                let skips_none = matches!(limit.get_skip_type()?, SkipType::Literal(0));
                if !takes_one || !skips_none {
                    return Ok(plan);
                }
                &limit.input
            }
            _ => return Ok(plan),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::rows;
    use crate::context::new_context;

    /// Expected values are DuckDB's.
    #[tokio::test]
    async fn subqueries_are_columns() {
        let context = new_context(None).unwrap();
        let l = "(VALUES (1, 7), (2, 5), (3, NULL)) AS l(k, x)";
        let r = "(VALUES (1, 7), (1, 8), (2, NULL), (4, 9)) AS r(k, y)";
        for (column, expected) in [
            (
                format!("EXISTS (SELECT 1 FROM {r} WHERE r.k = l.k)"),
                ["true", "true", "false"],
            ),
            (
                format!("NOT EXISTS (SELECT 1 FROM {r} WHERE r.k = l.k LIMIT 1)"),
                ["false", "false", "true"],
            ),
            (
                format!("EXISTS (SELECT 1 FROM {r} WHERE y > 8)"),
                ["true", "true", "true"],
            ),
            (format!("x IN (SELECT y FROM {r})"), ["true", "", ""]),
            (
                format!("x NOT IN (SELECT y FROM {r} WHERE y > 1)"),
                ["false", "true", ""],
            ),
            (
                format!("x IN (SELECT y FROM {r} WHERE r.k = l.k)"),
                ["true", "", "false"],
            ),
            (
                format!("7 IN (SELECT y FROM {r})"),
                ["true", "true", "true"],
            ),
            (
                format!("CASE WHEN k + 6 IN (SELECT y FROM {r}) THEN 'a' ELSE 'b' END"),
                ["a", "a", "a"],
            ),
            (
                format!("k + 1 IN (SELECT k FROM {r}) OR x = 5"),
                ["true", "true", "true"],
            ),
        ] {
            let sql = format!("SELECT {column} AS b FROM {l} ORDER BY k");
            assert_eq!(rows(&context, &sql).await, expected, "{sql}");
        }
        let sql = format!(
            "SELECT b, count(*) FROM (SELECT x IN (SELECT y FROM {r}) AS b FROM {l}) GROUP BY b ORDER BY b"
        );
        assert_eq!(rows(&context, &sql).await, ["true|1", "|2"]);
    }
}
