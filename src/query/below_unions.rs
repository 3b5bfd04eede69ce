//! Rows of a `UNION ALL` are put together within each of its queries first, where groups are few: what is constant there is none,
//! and what files know of their rows answers it.
//!
//! ```text
//! Aggregate                               Aggregate
//!   count(*) by p                           sum(count) by p
//!   Union                                   Union
//!     Projection: 'k80' AS p     ─▶           Projection: 'k80' AS p, count
//!       records of k80                          Filter: count > 0
//!     ...                                         Aggregate
//!                                                   count(*)
//!                                                   records of k80
//!                                             ...
//! ```
//!
//! Counts, sums, means and extremes, and `DISTINCT`.

use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNode as _};
use datafusion::common::{Column, DFSchema, Result};
use datafusion::functions_aggregate::expr_fn::count;
use datafusion::logical_expr::{Aggregate, Expr, LogicalPlan, LogicalPlanBuilder, Union, lit};
use datafusion::optimizer::{ApplyOrder, OptimizerConfig, OptimizerRule};

use super::below_joins::is_label;
use super::finest::{Parts, is_part, named_as};

/// What the columns of the queries are called.
const NAME: &str = "__united_";

/// The rule that does so.
#[derive(Debug)]
pub(super) struct BelowUnions;

impl OptimizerRule for BelowUnions {
    fn name(&self) -> &'static str {
        "below_unions"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::TopDown)
    }

    fn rewrite(
        &self,
        plan: LogicalPlan,
        _: &dyn OptimizerConfig,
    ) -> Result<Transformed<LogicalPlan>> {
        if let LogicalPlan::Aggregate(aggregate) = &plan
            && let Some((union, places)) = united(&aggregate.input)
            // What cannot be said so for whatever reason is computed as ever.
            && let Ok(Some(answer)) = below(aggregate, union, &places)
        {
            return Ok(Transformed::yes(answer));
        }
        Ok(Transformed::no(plan))
    }
}

/// The union whose rows a plan has, and which of its columns.
fn united(plan: &LogicalPlan) -> Option<(&Union, Vec<usize>)> {
    match plan {
        LogicalPlan::Union(union) => Some((union, (0..union.schema.fields().len()).collect())),
        LogicalPlan::SubqueryAlias(alias) => united(&alias.input),
        LogicalPlan::Projection(projection) => {
            let (union, places) = united(&projection.input)?;
            let place = |expr: &Expr| {
                let Expr::Column(column) = expr.clone().unalias() else {
                    return None;
                };
                let place = projection.input.schema().maybe_index_of_column(&column)?;
                places.get(place).copied()
            };
            let places = projection.expr.iter().map(place).collect::<Option<_>>()?;
            Some((union, places))
        }
        _ => None,
    }
}

/// The same rows; `None` where groups may be many, or a function of all rows does not follow from those of parts.
fn below(aggregate: &Aggregate, union: &Union, places: &[usize]) -> Result<Option<LogicalPlan>> {
    let is_known = |name: &String| name.starts_with(NAME) || is_part(name);
    if union.schema.field_names().iter().any(is_known) {
        return Ok(None);
    }
    let schema = aggregate.input.schema();
    let Some((parts, answers)) = Parts::of(&aggregate.aggr_expr, &aggregate.input)? else {
        return Ok(None);
    };
    let mut queries = Vec::with_capacity(union.inputs.len());
    for query in &union.inputs {
        let query = Query {
            plan: query,
            schema,
            places,
        };
        match query.put_together(&aggregate.group_expr, &parts.of_rows)? {
            Some(plan) => queries.push(Arc::new(plan)),
            None => return Ok(None),
        }
    }
    let groups = (0..aggregate.group_expr.len()).map(group);
    let plan = LogicalPlanBuilder::from(LogicalPlan::Union(Union::try_new(queries)?))
        .aggregate(groups.clone(), parts.of_parts)?
        .build()?;
    named_as(aggregate, plan, groups.chain(answers))
}

/// A group of all queries.
fn group(place: usize) -> Expr {
    Expr::Column(Column::new_unqualified(format!("{NAME}{place}")))
}

/// A query of a union.
struct Query<'a> {
    plan: &'a Arc<LogicalPlan>,
    /// What the columns are called above the union.
    schema: &'a DFSchema,
    /// Where each of them lies in the query.
    places: &'a [usize],
}

impl Query<'_> {
    /// Its rows, put together; `None` where that leaves many.
    fn put_together(&self, groups: &[Expr], parts: &[Expr]) -> Result<Option<LogicalPlan>> {
        let (mut own, mut columns) = (Vec::new(), Vec::new());
        for (place, expr) in groups.iter().enumerate() {
            let (expr, named) = (self.said(expr)?.unalias(), group(place));
            let name = named.schema_name().to_string();
            let is_set = matches!(expr, Expr::GroupingSet(_));
            if is_set || expr.is_volatile() {
                return Ok(None);
            }
            if expr.column_refs().is_empty() {
                columns.push(expr.alias(name));
            } else if is_label(&expr, self.plan.schema()) {
                own.push(expr.alias(name));
                columns.push(named);
            } else {
                return Ok(None);
            }
        }
        let parts = parts.iter().map(|part| self.said(part));
        let mut parts = parts.collect::<Result<Vec<_>>>()?;
        columns.extend(
            parts
                .iter()
                .map(|part| Expr::Column(Column::new_unqualified(part.schema_name().to_string()))),
        );
        // One row stands for no rows, too, where there is nothing to group by.
        let rows = format!("{NAME}rows");
        let may_be_none = own.is_empty() && !groups.is_empty();
        if may_be_none {
            parts.push(count(lit(1_i64)).alias(&rows));
        }
        let mut plan = LogicalPlanBuilder::from(Arc::clone(self.plan)).aggregate(own, parts)?;
        if may_be_none {
            let rows = Expr::Column(Column::new_unqualified(rows));
            plan = plan.filter(rows.gt(lit(0_i64)))?;
        }
        plan.project(columns)?.build().map(Some)
    }

    /// The same over the columns of this query, or what is constant in their place.
    fn said(&self, expr: &Expr) -> Result<Expr> {
        let said = expr.clone().transform(|part| {
            let Expr::Column(column) = &part else {
                return Ok(Transformed::no(part));
            };
            let place = self.schema.index_of_column(column)?;
            let place = self.places.get(place).copied();
            let own = place.and_then(|place| self.column(place));
            Ok(own.map_or_else(|| Transformed::no(part), Transformed::yes))
        })?;
        Ok(said.data)
    }

    fn column(&self, place: usize) -> Option<Expr> {
        if let LogicalPlan::Projection(projection) = self.plan.as_ref() {
            let expr = projection.expr.get(place)?.clone().unalias();
            if matches!(expr, Expr::Literal(..)) {
                return Some(expr);
            }
        }
        self.plan
            .schema()
            .columns()
            .into_iter()
            .nth(place)
            .map(Expr::Column)
    }
}

#[cfg(test)]
mod tests {
    use crate::query::sums::tests::answer;
    use crate::store::Store;

    #[tokio::test]
    async fn rows_are_put_together_within_each_query() {
        let store = Store::demo().await.unwrap();
        let (context, other) = (
            store.session().await.unwrap(),
            store.session().await.unwrap(),
        );
        other
            .sql("SET tsql.rules.aggregate_through_union = false")
            .await
            .unwrap();
        let union = "(SELECT 'one' AS p, platform, runtime_ns, line FROM records WHERE platform = 'epyc-1t' AND error_no = 0 \
            UNION ALL SELECT 'two', platform, min_ns, line * 2 FROM records WHERE error_no <> 0 \
            UNION ALL SELECT 'none', platform, runtime_ns, line FROM records WHERE platform = 'epyc-3t') AS u";
        for (sql, is_below) in [
            (
                "SELECT p, count(*), min(runtime_ns), sum(line) FROM u GROUP BY p",
                true,
            ),
            (
                "SELECT p, platform, avg(runtime_ns), max(line) FROM u GROUP BY 1, 2",
                true,
            ),
            (
                "SELECT count(*), count(runtime_ns), avg(runtime_ns) FROM u",
                true,
            ),
            ("SELECT DISTINCT platform FROM u", true),
            ("SELECT DISTINCT p FROM u", true),
            (
                "SELECT line > 9 AS late, upper(p) AS p, count(*) FILTER (WHERE line % 2 = 0) FROM u GROUP BY 1, 2",
                true,
            ),
            (
                "SELECT p, platform, sum(line) FROM u GROUP BY ROLLUP (p, platform)",
                true,
            ),
            (
                "SELECT max(n) FROM (SELECT p, count(*) AS n FROM u GROUP BY p) GROUP BY p = 'one'",
                true,
            ),
            ("SELECT line, count(*) FROM u GROUP BY line", false),
            ("SELECT p, median(runtime_ns) FROM u GROUP BY p", false),
            ("SELECT p, count(DISTINCT line) FROM u GROUP BY p", false),
        ] {
            let asked = sql.replace("FROM u", &format!("FROM {union}"));
            let plan = context.sql(&asked).await.unwrap();
            let plan = plan
                .into_optimized_plan()
                .unwrap()
                .display_indent()
                .to_string();
            let is_so = plan.contains("__united_") || plan.contains("__finest_part_");
            assert_eq!(is_so, is_below, "{sql}: {plan}");
            assert_eq!(
                answer(&context, &asked).await,
                answer(&other, &asked).await,
                "{sql}"
            );
        }
    }
}
