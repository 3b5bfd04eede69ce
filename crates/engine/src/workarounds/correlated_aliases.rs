//! Replaces aliases in correlated subqueries by projections, as `s` in
//! `(SELECT max(y) FROM (SELECT y FROM t WHERE t.k = outer.k) AS s)`.
//!
//! DataFusion turns a subquery into a join by adding the columns of its condition to all relations above them. It does
//! not add them to the schema of an alias, and then rejects the query because of a missing field. A projection with the
//! same names has no such schema.
//!
//! For the same reason, the value of `x IN (SELECT CAST(y AS BIGINT) FROM t WHERE t.y > outer.z)`, whose name is `t.y`,
//! is renamed.
//!
//! Upstream: <https://github.com/apache/datafusion/issues/24139>; values of `IN` not filed, docs/dev/upstream/correlated_aliases.md

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{
    Transformed, TransformedResult as _, TreeNode as _, TreeNodeRecursion,
};
use datafusion::logical_expr::{Expr, LogicalPlan, Projection, Subquery, SubqueryAlias};
use datafusion::optimizer::AnalyzerRule;

/// Name of a value that is compared by `IN`.
const VALUE: &str = "__compared";

/// Replaces aliases in correlated subqueries.
#[derive(Debug)]
pub(super) struct CorrelatedAliasRewrite;

impl AnalyzerRule for CorrelatedAliasRewrite {
    fn name(&self) -> &'static str {
        "correlated_aliases"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        plan.transform_up_with_subqueries(|plan| {
            plan.map_expressions(|expr| expr.transform_up(rewrite_subquery))
        })
        .data()
    }
}

fn rewrite_subquery(mut expr: Expr) -> Result<Transformed<Expr>> {
    let subquery = match &mut expr {
        Expr::ScalarSubquery(subquery) => subquery,
        Expr::Exists(exists) => &mut exists.subquery,
        Expr::InSubquery(within) => &mut within.subquery,
        Expr::SetComparison(comparison) => &mut comparison.subquery,
        _ => return Ok(Transformed::no(expr)),
    };
    if subquery.outer_ref_columns.is_empty() {
        return Ok(Transformed::no(expr));
    }
    let projected = without_aliases(subquery)?;
    subquery.subquery = projected.data;
    let mut is_changed = projected.transformed;
    if let Expr::InSubquery(within) = &mut expr
        && let Some(renamed) = with_renamed_value(&within.subquery.subquery)?
    {
        within.subquery.subquery = Arc::new(renamed);
        is_changed = true;
    }
    Ok(Transformed::new_transformed(expr, is_changed))
}

/// Returns a projection of one computed value with a unique name; `None` for other plans.
fn with_renamed_value(plan: &LogicalPlan) -> Result<Option<LogicalPlan>> {
    let LogicalPlan::Projection(projection) = plan else {
        return Ok(None);
    };
    let [value] = projection.expr.as_slice() else {
        return Ok(None);
    };
    let is_named = matches!(value, Expr::Alias(alias) if alias.name == VALUE);
    if is_named || matches!(value, Expr::Column(_)) {
        return Ok(None);
    }
    let value = value.clone().unalias().alias(VALUE);
    let input = Arc::clone(&projection.input);
    let projection = Projection::try_new(vec![value], input)?;
    Ok(Some(LogicalPlan::Projection(projection)))
}

fn without_aliases(subquery: &Subquery) -> Result<Transformed<Arc<LogicalPlan>>> {
    let plan = Arc::unwrap_or_clone(Arc::clone(&subquery.subquery));
    let projected = plan.transform_up(|plan| match plan {
        LogicalPlan::SubqueryAlias(alias) if is_correlated(&alias)? => {
            to_projection(&alias).map(Transformed::yes)
        }
        plan => Ok(Transformed::no(plan)),
    })?;
    Ok(projected.update_data(Arc::new))
}

/// Returns whether a plan below an alias refers to an outer query.
fn is_correlated(alias: &SubqueryAlias) -> Result<bool> {
    let mut is_correlated = false;
    alias.input.apply(|plan| {
        is_correlated |= plan.contains_outer_reference();
        Ok(if is_correlated {
            TreeNodeRecursion::Stop
        } else {
            TreeNodeRecursion::Continue
        })
    })?;
    Ok(is_correlated)
}

fn to_projection(alias: &SubqueryAlias) -> Result<LogicalPlan> {
    let columns = alias.input.schema().columns().into_iter();
    let named = columns.zip(alias.schema.iter());
    let named = named.map(|(column, (qualifier, field))| {
        Expr::Column(column).alias_qualified(qualifier.cloned(), field.name())
    });
    let projection = Projection::try_new(named.collect(), Arc::clone(&alias.input))?;
    Ok(LogicalPlan::Projection(projection))
}

#[cfg(test)]
mod tests {
    use super::super::tests::rows;
    use crate::context::new_context;

    /// Expected values are DuckDB's.
    #[tokio::test]
    async fn values_of_correlated_in_may_have_another_type() {
        let context = new_context(None).unwrap();
        let l = "(SELECT CAST(column1 AS BIGINT) AS k, CAST(column2 AS INT) AS n FROM (VALUES (1, 2), (3, 3), (5, NULL))) AS l";
        let r = "(SELECT CAST(column1 AS INT) AS v FROM (VALUES (1), (3))) AS r";
        for (condition, wanted) in [
            (
                format!("l.k IN (SELECT r.v FROM {r} WHERE r.v = l.n)"),
                vec!["3"],
            ),
            (
                format!("l.k NOT IN (SELECT r.v FROM {r} WHERE r.v = l.n) OR l.k = 3"),
                vec!["1", "3", "5"],
            ),
            (
                format!("l.k IN (SELECT r.v FROM {r} WHERE r.v >= l.n) OR l.k = 5"),
                vec!["3", "5"],
            ),
            (
                format!("l.k IN (SELECT r.v + 2 FROM {r} WHERE r.v <= l.n)"),
                vec!["3"],
            ),
        ] {
            let sql = format!("SELECT l.k FROM {l} WHERE {condition} ORDER BY l.k");
            assert_eq!(rows(&context, &sql).await, wanted, "{sql}");
        }
    }
}
