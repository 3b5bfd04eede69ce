//! Computes subqueries of aggregates, groups, sorts and windows in a projection below them, and those of the condition
//! of an inner join in a filter above it.
//!
//! | SQL | here |
//! |---|---|
//! | `count(*) FILTER (WHERE x IN (SELECT ...))` | `count(*) FILTER (WHERE s)` over `SELECT *, x IN (SELECT ...) AS s` |
//! | `ORDER BY (SELECT max(y) FROM r WHERE r.k = l.k)` | `ORDER BY s` over `SELECT *, (SELECT ...) AS s` |
//! | `SELECT x FROM l ORDER BY (SELECT max(y) FROM r WHERE r.k = l.k)` | the same over `SELECT x, l.k` |
//! | `l JOIN r ON l.k = r.k AND r.x = (SELECT ...)` | `l JOIN r ON l.k = r.k WHERE r.x = (SELECT ...)` |
//!
//! DataFusion 55 plans `IN` and `EXISTS` only in filters, and correlated scalar subqueries only in filters and
//! projections. In plans for workers, that holds for all scalar subqueries.
//!
//! Upstream: not filed, docs/dev/upstream/lifted_subqueries.md

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{
    Transformed, TransformedResult as _, TreeNode as _, TreeNodeRecursion,
};
use datafusion::common::{Column, Result};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::utils::{conjunction, split_conjunction_owned};
use datafusion::logical_expr::{Expr, JoinType, LogicalPlan, LogicalPlanBuilder};
use datafusion::optimizer::AnalyzerRule;

/// Moves subqueries into a projection.
#[derive(Debug)]
pub(super) struct LiftedSubqueries;

impl AnalyzerRule for LiftedSubqueries {
    fn name(&self) -> &'static str {
        "lifted_subqueries"
    }

    fn analyze(&self, plan: LogicalPlan, options: &ConfigOptions) -> Result<LogicalPlan> {
        let optimizer = &options.optimizer;
        let plans_scalars = optimizer.enable_physical_uncorrelated_scalar_subquery;
        plan.transform_up_with_subqueries(|node| {
            if matches!(node, LogicalPlan::Join(_)) {
                return with_filter_above(node);
            }
            let (node, columns) = with_outer_columns(node)?;
            let lifted = with_projection_below(node, "__subquery", |expr, below| {
                expr.transform_down(|part| {
                    Ok(match &part {
                        Expr::InSubquery(_) | Expr::Exists(_) => below.column(part),
                        Expr::ScalarSubquery(subquery)
                            if !plans_scalars || !subquery.outer_ref_columns.is_empty() =>
                        {
                            below.column(part)
                        }
                        _ => Transformed::no(part),
                    })
                })
            })?;
            let Some(columns) = columns else {
                return Ok(lifted);
            };
            let plan = LogicalPlanBuilder::from(lifted.data).project(columns)?;
            Ok(Transformed::yes(plan.build()?))
        })
        .data()
    }
}

/// Adds columns to the projection below a sort that only subqueries of its keys use. Also returns the columns without them,
/// for a projection above the sort.
fn with_outer_columns(node: LogicalPlan) -> Result<(LogicalPlan, Option<Vec<Expr>>)> {
    let LogicalPlan::Sort(sort) = &node else {
        return Ok((node, None));
    };
    let LogicalPlan::Projection(below) = sort.input.as_ref() else {
        return Ok((node, None));
    };
    let mut missing: Vec<Expr> = Vec::new();
    for key in &sort.expr {
        key.expr.apply(|part| {
            for outer in outer_columns(part) {
                let is_new = !below.schema.has_column(outer)
                    && !below.schema.has_column_with_unqualified_name(&outer.name)
                    && below.input.schema().has_column(outer)
                    && !missing.contains(&Expr::Column(outer.clone()));
                missing.extend(is_new.then(|| Expr::Column(outer.clone())));
            }
            Ok(TreeNodeRecursion::Continue)
        })?;
    }
    if missing.is_empty() {
        return Ok((node, None));
    }
    let columns = sort.input.schema().columns().into_iter().map(Expr::Column);
    let columns: Vec<Expr> = columns.collect();
    let exprs = below.expr.iter().cloned().chain(missing);
    let sorted = LogicalPlanBuilder::from(below.input.as_ref().clone())
        .project(exprs)?
        .sort_with_limit(sort.expr.clone(), sort.fetch)?
        .build()?;
    Ok((sorted, Some(columns)))
}

/// Returns the columns of the surrounding query that a subquery uses.
fn outer_columns(part: &Expr) -> impl Iterator<Item = &Column> {
    let subquery = match part {
        Expr::InSubquery(part) => Some(&part.subquery),
        Expr::Exists(part) => Some(&part.subquery),
        Expr::ScalarSubquery(subquery) => Some(subquery),
        _ => None,
    };
    let columns = subquery.into_iter().flat_map(|one| &one.outer_ref_columns);
    columns.filter_map(|column| match column {
        Expr::OuterReferenceColumn(_, column) => Some(column),
        _ => None,
    })
}

/// Moves the conditions of an inner join that have a subquery into a filter above it.
fn with_filter_above(node: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    let LogicalPlan::Join(mut join) = node else {
        return Ok(Transformed::no(node));
    };
    if join.join_type != JoinType::Inner {
        return Ok(Transformed::no(LogicalPlan::Join(join)));
    }
    let terms = join.filter.take().into_iter();
    let terms = terms.flat_map(split_conjunction_owned);
    let (above, own): (Vec<_>, Vec<_>) = terms.partition(has_subquery);
    join.filter = conjunction(own);
    let join = LogicalPlan::Join(join);
    match conjunction(above) {
        Some(condition) => {
            let filter = LogicalPlanBuilder::from(join).filter(condition)?.build()?;
            Ok(Transformed::yes(filter))
        }
        None => Ok(Transformed::no(join)),
    }
}

fn has_subquery(expr: &Expr) -> bool {
    let is_subquery = |part: &Expr| {
        Ok(matches!(
            part,
            Expr::InSubquery(_) | Expr::Exists(_) | Expr::ScalarSubquery(_)
        ))
    };
    expr.exists(is_subquery).is_ok_and(|found| found)
}

/// Expressions of a projection below a node.
pub(super) struct ProjectedExprs {
    /// Prefix of the column names, which no column of the input has.
    name: String,
    exprs: Vec<Expr>,
}

impl ProjectedExprs {
    /// Adds an expression, and returns its column.
    pub(super) fn column(&mut self, expr: Expr) -> Transformed<Expr> {
        let found = self.exprs.iter().position(|other| *other == expr);
        let place = found.unwrap_or(self.exprs.len());
        if found.is_none() {
            self.exprs.push(expr);
        }
        let column = Column::new_unqualified(self.column_name(place));
        Transformed::new(Expr::Column(column), true, TreeNodeRecursion::Jump)
    }

    fn column_name(&self, place: usize) -> String {
        format!("{}_{place}", self.name)
    }
}

/// Inserts a projection below an aggregate, a sort or a window for the expressions that `replace` exchanges for its
/// columns. Other nodes stay unchanged.
pub(super) fn with_projection_below(
    node: LogicalPlan,
    name: &'static str,
    mut replace: impl FnMut(Expr, &mut ProjectedExprs) -> Result<Transformed<Expr>>,
) -> Result<Transformed<LogicalPlan>> {
    // Sort keys have no output names, and an aggregate has no other columns of its input.
    let (has_names, has_columns) = match &node {
        LogicalPlan::Aggregate(_) => (true, false),
        LogicalPlan::Window(_) => (true, true),
        LogicalPlan::Sort(_) => (false, true),
        _ => return Ok(Transformed::no(node)),
    };
    let inputs = node.inputs();
    let [input] = inputs.as_slice() else {
        return Ok(Transformed::no(node));
    };
    let mut below = ProjectedExprs {
        name: name.to_owned(),
        exprs: Vec::new(),
    };
    let mut fields = input.schema().fields().iter();
    while fields.any(|field| field.name().starts_with(&below.name)) {
        below.name.push('_');
        fields = input.schema().fields().iter();
    }
    let names = NamePreserver::new_for_projection();
    let exprs = node.expressions().into_iter().map(|expr| {
        let name = names.save(&expr);
        let expr = replace(expr, &mut below)?;
        Ok(match expr.transformed && has_names {
            true => name.restore(expr.data),
            false => expr.data,
        })
    });
    let exprs = exprs.collect::<Result<Vec<_>>>()?;
    if below.exprs.is_empty() {
        return Ok(Transformed::no(node));
    }
    let columns = input.schema().columns().into_iter().map(Expr::Column);
    let added = below.exprs.iter().enumerate();
    let added = added.map(|(place, expr)| expr.clone().alias(below.column_name(place)));
    let input = LogicalPlanBuilder::from((*input).clone())
        .project(columns.chain(added))?
        .build()?;
    let columns = node.schema().columns().into_iter().map(Expr::Column);
    let columns: Vec<Expr> = columns.collect();
    let node = node.with_new_exprs(exprs, vec![input])?;
    if !has_columns {
        return Ok(Transformed::yes(node));
    }
    let node = LogicalPlanBuilder::from(node).project(columns)?.build()?;
    Ok(Transformed::yes(node))
}

#[cfg(test)]
mod tests {
    use super::super::tests::rows;
    use crate::context::new_context;

    /// The settings of plans for workers.
    #[tokio::test]
    async fn scalar_subqueries_that_are_joined() {
        let context = new_context(None).unwrap();
        let off = "SET datafusion.optimizer.enable_physical_uncorrelated_scalar_subquery = false";
        context.sql(off).await.unwrap();
        let sql = "SELECT sum(CASE WHEN (column1 NOT IN (0, (SELECT nullif(0, 0))) AND column1 = 7) IS NULL THEN 1 ELSE 0 END), \
                   count(*) FILTER (WHERE column1 < (SELECT 7)) FROM (VALUES (1), (7))";
        assert_eq!(rows(&context, sql).await, ["1|1"]);
        let values = "(VALUES (1), (7), (9)) AS v(x)";
        for (sql, expected) in [
            (
                format!("SELECT count(*) FROM {values} GROUP BY x < (SELECT 8) ORDER BY 1"),
                ["1", "2"],
            ),
            (
                format!("SELECT x FROM {values} ORDER BY abs(x - (SELECT 8)), x LIMIT 2"),
                ["7", "9"],
            ),
            (
                format!(
                    "SELECT count(*) OVER (PARTITION BY x > (SELECT 8)) AS n FROM {values} ORDER BY 1 LIMIT 2"
                ),
                ["1", "2"],
            ),
        ] {
            assert_eq!(rows(&context, &sql).await, expected, "{sql}");
        }
    }

    /// Expected values are DuckDB's.
    #[tokio::test]
    async fn subqueries_in_conditions_of_inner_joins() {
        let context = new_context(None).unwrap();
        let l = "(VALUES (1, 7), (2, 5), (3, NULL)) AS l(k, x)";
        let r = "(VALUES (1, 9), (1, 8), (3, NULL)) AS r(k, y)";
        let s = "(VALUES (1, 8), (3, 4)) AS s(k, z)";
        for (condition, expected) in [
            (
                format!("l.k = r.k AND r.y = (SELECT max(z) FROM {s} WHERE s.k = l.k)"),
                vec!["1|8"],
            ),
            (
                format!("l.k < (SELECT max(z) FROM {s} WHERE s.k = r.k) AND r.y > l.x + 1"),
                vec!["1|9", "2|8", "2|9"],
            ),
            (
                format!("l.k = r.k AND EXISTS (SELECT 1 FROM {s} WHERE s.k = l.k AND s.z = r.y)"),
                vec!["1|8"],
            ),
            (
                format!("l.k = r.k AND (r.y NOT IN (SELECT z FROM {s}) OR l.k = 3)"),
                vec!["1|9", "3|"],
            ),
        ] {
            let sql = format!("SELECT l.k, r.y FROM {l} JOIN {r} ON {condition} ORDER BY 1, 2");
            assert_eq!(rows(&context, &sql).await, expected, "{sql}");
        }
    }

    /// Expected values are DuckDB's.
    #[tokio::test]
    async fn subqueries_in_aggregates_groups_sorts_and_windows() {
        let context = new_context(None).unwrap();
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
                    "SELECT x FROM {l} ORDER BY (SELECT count(*) FROM {r} WHERE r.k = l.k) DESC, x LIMIT 2"
                ),
                vec!["7", ""],
            ),
            (
                format!(
                    "SELECT x + 1 AS z FROM {l} ORDER BY (SELECT max(y) FROM {r} WHERE r.k = l.k), l.k IN (SELECT k FROM {r}), z"
                ),
                vec!["8", "6", ""],
            ),
            (
                format!(
                    "SELECT count(*) AS n FROM {l} GROUP BY k ORDER BY (SELECT max(y) FROM {r} WHERE r.k = l.k) DESC NULLS LAST LIMIT 1"
                ),
                vec!["1"],
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
