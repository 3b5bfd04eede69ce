//! Aggregates each input of a `UNION ALL` separately. Grouping columns that are constant in an input are not grouped by
//! there.
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

use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNode as _};
use datafusion::common::{DFSchema, Result};
use datafusion::functions_aggregate::expr_fn::count;
use datafusion::logical_expr::{Aggregate, Expr, LogicalPlan, LogicalPlanBuilder, Union, lit};

use super::two_steps::{
    TwoSteps, column, is_step_column, rows_name, second_name, with_output_names,
};
use crate::rewrites::cardinality::has_few_groups;

/// Rewrites an aggregate over a union. Returns `None` if an input may have many groups.
pub(super) fn rewrite(aggregate: &Aggregate) -> Result<Option<LogicalPlan>> {
    let Some((union, places)) = union_below(&aggregate.input) else {
        return Ok(None);
    };
    if union
        .schema
        .field_names()
        .iter()
        .any(|name| is_step_column(name))
    {
        return Ok(None);
    }
    let Some((steps, results)) = TwoSteps::new(&aggregate.aggr_expr, &aggregate.input)? else {
        return Ok(None);
    };
    let mut inputs = Vec::with_capacity(union.inputs.len());
    for plan in &union.inputs {
        let input = UnionInput {
            plan,
            schema: aggregate.input.schema(),
            places: &places,
        };
        match input.aggregate(&aggregate.group_expr, &steps.first)? {
            Some(plan) => inputs.push(Arc::new(plan)),
            None => return Ok(None),
        }
    }
    let groups = (0..aggregate.group_expr.len()).map(|place| column(second_name(place)));
    let plan = LogicalPlanBuilder::from(LogicalPlan::Union(Union::try_new(inputs)?))
        .aggregate(groups.clone(), steps.second)?
        .build()?;
    with_output_names(aggregate, plan, groups.chain(results))
}

/// Returns the union below aliases and projections of columns, and the position of each column of the plan in it.
fn union_below(plan: &LogicalPlan) -> Option<(&Union, Vec<usize>)> {
    match plan {
        LogicalPlan::Union(union) => Some((union, (0..union.schema.fields().len()).collect())),
        LogicalPlan::SubqueryAlias(alias) => union_below(&alias.input),
        LogicalPlan::Projection(projection) => {
            let (union, places) = union_below(&projection.input)?;
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

/// An input of a union.
struct UnionInput<'a> {
    plan: &'a Arc<LogicalPlan>,
    /// Schema of the columns above the union.
    schema: &'a DFSchema,
    /// Position of each of these columns in the input.
    places: &'a [usize],
}

impl UnionInput<'_> {
    /// Aggregates the input. Returns `None` if that may leave many rows.
    fn aggregate(&self, groups: &[Expr], aggregates: &[Expr]) -> Result<Option<LogicalPlan>> {
        let (mut own, mut columns) = (Vec::new(), Vec::new());
        for (place, expr) in groups.iter().enumerate() {
            let (expr, name) = (self.over_input(expr)?.unalias(), second_name(place));
            if matches!(expr, Expr::GroupingSet(_)) || expr.is_volatile() {
                return Ok(None);
            }
            if expr.column_refs().is_empty() {
                columns.push(expr.alias(name));
            } else {
                columns.push(column(&name));
                own.push(expr.alias(name));
            }
        }
        if !has_few_groups(&own, self.plan) {
            return Ok(None);
        }
        let aggregates = aggregates
            .iter()
            .map(|aggregate| self.over_input(aggregate));
        let mut aggregates = aggregates.collect::<Result<Vec<_>>>()?;
        let names = aggregates.iter().map(|expr| expr.schema_name().to_string());
        columns.extend(names.map(column));
        // An aggregate without groups has one row even for an empty input.
        let may_be_empty = own.is_empty() && !groups.is_empty();
        if may_be_empty {
            aggregates.push(count(lit(1_i64)).alias(rows_name()));
        }
        let mut plan =
            LogicalPlanBuilder::from(Arc::clone(self.plan)).aggregate(own, aggregates)?;
        if may_be_empty {
            plan = plan.filter(column(rows_name()).gt(lit(0_i64)))?;
        }
        plan.project(columns)?.build().map(Some)
    }

    /// Rewrites an expression to the columns of this input, with literals for constant columns.
    fn over_input(&self, expr: &Expr) -> Result<Expr> {
        let replaced = expr.clone().transform(|part| {
            let Expr::Column(column) = &part else {
                return Ok(Transformed::no(part));
            };
            let place = self.schema.index_of_column(column)?;
            let place = self.places.get(place).copied();
            let own = place.and_then(|place| self.column(place));
            Ok(own.map_or_else(|| Transformed::no(part), Transformed::yes))
        })?;
        Ok(replaced.data)
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
