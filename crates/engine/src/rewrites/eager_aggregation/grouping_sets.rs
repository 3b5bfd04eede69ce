//! Computes several grouping sets from the groups of the finest one.
//!
//! ```text
//! Aggregate                              Projection: the same columns
//!   avg(x), count(*)                       Aggregate
//!   by ROLLUP (a, b)             ─▶          sum(sum), sum(count), sum(rows) by ROLLUP (a, b)
//!     rows                                   Aggregate
//!                                              sum(x), count(x), count(*) by a, b
//!                                                rows
//! ```

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::logical_expr::{Aggregate, Expr, GroupingSet, LogicalPlan, LogicalPlanBuilder};

use super::two_steps::{TwoSteps, column, first_name, is_step_column, with_output_names};
use crate::rewrites::cardinality::has_many_groups;

/// Rewrites an aggregate of grouping sets. Returns `None` for other aggregates, and if statistics show that the finest
/// groups are many.
pub(super) fn rewrite(aggregate: &Aggregate) -> Result<Option<LogicalPlan>> {
    let [Expr::GroupingSet(sets)] = aggregate.group_expr.as_slice() else {
        return Ok(None);
    };
    let groups: Vec<Expr> = sets.distinct_expr().into_iter().cloned().collect();
    let is_rewritten =
        |expr: &Expr| matches!(expr, Expr::Column(column) if is_step_column(&column.name));
    let is_volatile = groups.iter().any(Expr::is_volatile);
    if is_volatile || aggregate.aggr_expr.is_empty() || groups.iter().any(is_rewritten) {
        return Ok(None);
    }
    if has_many_groups(&groups, &aggregate.input) {
        return Ok(None);
    }
    let Some((steps, results)) = TwoSteps::new(&aggregate.aggr_expr, &aggregate.input)? else {
        return Ok(None);
    };
    let finest = groups.iter().enumerate();
    let finest = finest.map(|(place, group)| group.clone().alias(first_name(place)));
    let named = |place: usize| column(first_name(place));
    let again = |group: &Expr| groups.iter().position(|other| other == group).map(named);
    let all_again = |groups: &Vec<Expr>| groups.iter().map(again).collect::<Option<Vec<Expr>>>();
    let sets = match sets {
        GroupingSet::Rollup(groups) => all_again(groups).map(GroupingSet::Rollup),
        GroupingSet::Cube(groups) => all_again(groups).map(GroupingSet::Cube),
        GroupingSet::GroupingSets(sets) => {
            let sets: Option<Vec<_>> = sets.iter().map(all_again).collect();
            sets.map(GroupingSet::GroupingSets)
        }
    };
    let Some(sets) = sets else { return Ok(None) };
    let plan = LogicalPlanBuilder::from(Arc::clone(&aggregate.input))
        .aggregate(finest, steps.first)?
        .aggregate([Expr::GroupingSet(sets)], steps.second)?
        .build()?;
    // The groups and the grouping ID keep their positions.
    let own = aggregate.schema.fields().len() - results.len();
    let groups = plan.schema().columns().into_iter().take(own);
    let columns = groups.map(Expr::Column).chain(results);
    with_output_names(aggregate, plan, columns)
}
