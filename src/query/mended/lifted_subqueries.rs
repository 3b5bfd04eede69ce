//! Subqueries in aggregates, groups, sorts and windows: columns of a projection below them.
//!
//! | SQL | here |
//! |---|---|
//! | `count(*) FILTER (WHERE x IN (SELECT ...))` | `count(*) FILTER (WHERE s)` over `SELECT *, x IN (SELECT ...) AS s` |
//! | `ORDER BY (SELECT max(y) FROM r WHERE r.k = l.k)` | `ORDER BY s` over `SELECT *, (SELECT ...) AS s` |
//!
//! DataFusion 55 plans `IN` and `EXISTS` in filters only, and correlated scalar subqueries in filters and projections.

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{
    Transformed, TransformedResult as _, TreeNode as _, TreeNodeRecursion,
};
use datafusion::common::{Column, Result};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder};
use datafusion::optimizer::AnalyzerRule;

/// How their columns are called, before a number.
const NAME: &str = "__subquery_";

/// The rule that moves them there.
#[derive(Debug)]
pub(super) struct LiftedSubqueries;

impl AnalyzerRule for LiftedSubqueries {
    fn name(&self) -> &'static str {
        "lifted_subqueries"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        plan.transform_up_with_subqueries(|node| match node {
            LogicalPlan::Aggregate(_) => lifted(node),
            LogicalPlan::Sort(_) | LogicalPlan::Window(_) => {
                let columns = node.schema().columns().into_iter().map(Expr::Column);
                let columns: Vec<Expr> = columns.collect();
                let lifted = lifted(node)?;
                if !lifted.transformed {
                    return Ok(lifted);
                }
                lifted.map_data(|plan| LogicalPlanBuilder::from(plan).project(columns)?.build())
            }
            node => Ok(Transformed::no(node)),
        })
        .data()
    }
}

/// The node over a projection that computes its subqueries.
fn lifted(node: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    let inputs = node.inputs();
    let [input] = inputs.as_slice() else {
        return Ok(Transformed::no(node));
    };
    let mut subqueries: Vec<Expr> = Vec::new();
    let names = NamePreserver::new_for_projection();
    let is_sort = matches!(node, LogicalPlan::Sort(_));
    let exprs = node.expressions().into_iter().map(|expr| {
        let name = names.save(&expr);
        let expr = expr.transform_down(|part| Ok(column_of(part, &mut subqueries)))?;
        // The keys of a sort have no names.
        Ok(match expr.transformed && !is_sort {
            true => name.restore(expr.data),
            false => expr.data,
        })
    });
    let exprs = exprs.collect::<Result<Vec<_>>>()?;
    if subqueries.is_empty() {
        return Ok(Transformed::no(node));
    }
    let columns = input.schema().columns().into_iter().map(Expr::Column);
    let named = subqueries.into_iter().zip(0..);
    let named = named.map(|(subquery, number)| subquery.alias(format!("{NAME}{number}")));
    let input = LogicalPlanBuilder::from((*input).clone())
        .project(columns.chain(named))?
        .build()?;
    node.with_new_exprs(exprs, vec![input])
        .map(Transformed::yes)
}

/// The column of a subquery.
fn column_of(part: Expr, subqueries: &mut Vec<Expr>) -> Transformed<Expr> {
    let is_lifted = match &part {
        Expr::InSubquery(_) | Expr::Exists(_) => true,
        Expr::ScalarSubquery(subquery) => !subquery.outer_ref_columns.is_empty(),
        _ => false,
    };
    if !is_lifted {
        return Transformed::no(part);
    }
    let found = subqueries.iter().position(|other| *other == part);
    let number = found.unwrap_or(subqueries.len());
    if found.is_none() {
        subqueries.push(part);
    }
    let column = Column::new_unqualified(format!("{NAME}{number}"));
    Transformed::new(Expr::Column(column), true, TreeNodeRecursion::Jump)
}

#[cfg(test)]
mod tests {
    use super::super::tests::rows;
    use crate::query::engine::engine;

    /// Expected values are DuckDB's.
    #[tokio::test]
    async fn subqueries_in_aggregates_groups_sorts_and_windows() {
        let context = engine(None).unwrap();
        let l = "(VALUES (1, 7), (2, 5), (3, NULL)) AS l(k, x)";
        let r = "(VALUES (1, 9), (1, 8), (3, NULL)) AS r(k, y)";
        for (sql, wanted) in [
            (
                format!("SELECT count(*) FILTER (WHERE k IN (SELECT k FROM {r})) AS n FROM {l}"),
                vec!["2"],
            ),
            (
                format!(
                    "SELECT count(*) FILTER (WHERE k NOT IN (SELECT y FROM {r})) AS n FROM {l}"
                ),
                vec!["0"],
            ),
            (
                format!(
                    "SELECT sum(CASE WHEN (x IN (SELECT y FROM {r})) IS NULL THEN 1 ELSE 0 END) AS n FROM {l}"
                ),
                vec!["3"],
            ),
            (
                format!(
                    "SELECT k IN (SELECT k FROM {r}) AS i, count(*) AS n FROM {l} GROUP BY i ORDER BY i"
                ),
                vec!["false|1", "true|2"],
            ),
            (
                format!("SELECT sum((SELECT max(y) FROM {r} WHERE r.k = l.k)) AS s FROM {l}"),
                vec!["9"],
            ),
            (
                format!(
                    "SELECT (SELECT count(*) FROM {r} WHERE r.k <= l.k) AS c, count(*) AS n FROM {l} GROUP BY c ORDER BY c"
                ),
                vec!["2|2", "3|1"],
            ),
            (
                format!(
                    "SELECT k FROM {l} ORDER BY (SELECT count(*) FROM {r} WHERE r.k = l.k) DESC, k LIMIT 2"
                ),
                vec!["1", "3"],
            ),
            (
                format!(
                    "SELECT k FROM {l} ORDER BY EXISTS (SELECT 1 FROM {r} WHERE r.k = l.k), k DESC"
                ),
                vec!["2", "3", "1"],
            ),
            (
                format!(
                    "SELECT k, row_number() OVER (PARTITION BY k IN (SELECT k FROM {r}) ORDER BY k DESC) AS n FROM {l} ORDER BY k"
                ),
                vec!["1|2", "2|1", "3|1"],
            ),
            (
                format!(
                    "SELECT k, count(*) OVER (PARTITION BY (SELECT max(y) FROM {r} WHERE r.k = l.k)) AS n FROM {l} ORDER BY k"
                ),
                vec!["1|1", "2|2", "3|2"],
            ),
            (
                format!(
                    "SELECT count(*) AS n FROM {l} GROUP BY k IN (SELECT k FROM {r}) HAVING bool_and(EXISTS (SELECT 1 FROM {r} WHERE r.k = l.k))"
                ),
                vec!["2"],
            ),
        ] {
            assert_eq!(rows(&context, &sql).await, wanted, "{sql}");
        }
    }
}
