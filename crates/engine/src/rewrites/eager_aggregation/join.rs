//! Aggregates one side of a join by its keys, before the join.

use std::sync::Arc;

use datafusion::common::tree_node::{TreeNode as _, TreeNodeRecursion};
use datafusion::common::{DFSchema, JoinType, NullEquality, Result};
use datafusion::logical_expr::{Aggregate, Case, Expr, Join, LogicalPlan, LogicalPlanBuilder, lit};

use super::two_steps::{
    TwoSteps, column, first_name, is_step_column, second_name, with_output_names,
};
use crate::rewrites::cardinality::{estimate_rows, has_few_groups_with_keys};
use crate::rewrites::fallible;

/// Rewrites an aggregate over a join. Returns `None` if neither side is known to have few groups.
pub(super) fn rewrite(aggregate: &Aggregate) -> Result<Option<LogicalPlan>> {
    let Some(join) = join_below(&aggregate.input) else {
        return Ok(None);
    };
    let is_equijoin = join.join_type == JoinType::Inner
        && join.filter.is_none()
        && join.null_equality == NullEquality::NullEqualsNothing;
    let is_filtered = !has_all_rows(&join.left) && !has_all_rows(&join.right);
    if !is_equijoin || aggregate.group_expr.is_empty() || is_filtered {
        return Ok(None);
    }
    // The larger side, as far as sizes are known.
    let sides = match (estimate_rows(&join.left), estimate_rows(&join.right)) {
        (Some(left), Some(right)) if left < right => (&join.right, &join.left),
        (None, Some(_)) => (&join.right, &join.left),
        _ => (&join.left, &join.right),
    };
    aggregate_side(aggregate, join, sides)
}

/// Returns the join below projections of plain columns.
fn join_below(plan: &LogicalPlan) -> Option<&Join> {
    match plan {
        LogicalPlan::Join(join) => Some(join),
        LogicalPlan::Projection(projection) => {
            let is_column = |expr: &Expr| matches!(expr, Expr::Column(_));
            let is_plain = projection.expr.iter().all(is_column);
            join_below(&projection.input).filter(|_| is_plain)
        }
        _ => None,
    }
}

fn aggregate_side(
    aggregate: &Aggregate,
    join: &Join,
    (side, other_side): (&Arc<LogicalPlan>, &Arc<LogicalPlan>),
) -> Result<Option<LogicalPlan>> {
    // The join prunes the scan of this side by the keys of the other side if those are few. An aggregate below the join
    // would read all rows.
    if !has_all_rows(other_side) {
        return Ok(None);
    }
    let schema = side.schema();
    let mut own = FirstGroups::default();
    let keys = join.on.iter().map(|(left, right)| {
        let keys = [left, right].into_iter();
        let key = keys.clone().find(|key| is_over(key, schema))?;
        let partner = keys.clone().find(|key| is_over(key, other_side.schema()))?;
        Some((key.clone(), partner.clone()))
    });
    let Some(keys) = keys.collect::<Option<Vec<(Expr, Expr)>>>() else {
        return Ok(None);
    };
    let on = keys.iter();
    let on: Vec<(Expr, Expr)> = on
        .map(|(key, partner)| (partner.clone(), own.add(key)))
        .collect();
    let own_keys = own.0.len();
    let mut groups = Vec::with_capacity(aggregate.group_expr.len());
    for group in &aggregate.group_expr {
        let group = &group.clone().unalias();
        if matches!(group, Expr::GroupingSet(_)) || group.is_volatile() {
            return Ok(None);
        }
        let second = match group {
            group if is_over(group, other_side.schema()) => group.clone(),
            Expr::Case(case) if is_over(group, schema) => match number_branches(case) {
                Some((number, branches)) => branches.decode(own.add(&number)),
                None => own.add(group),
            },
            group if is_over(group, schema) => own.add(group),
            _ => return Ok(None),
        };
        groups.push(second.alias(second_name(groups.len())));
    }
    // The join drops rows. Expressions that may fail must not be evaluated for these.
    let is_total = |expr: &Expr| {
        is_over(expr, schema) && !expr.is_volatile() && !fallible::may_fail(expr, schema)
    };
    if !own.0.iter().all(is_total) || !aggregate.aggr_expr.iter().all(is_total) {
        return Ok(None);
    }
    let further = own.0.iter().skip(own_keys);
    if !has_few_groups_with_keys(&keys, further, side, other_side) {
        return Ok(None);
    }
    let Some((steps, results)) = TwoSteps::new(&aggregate.aggr_expr, side)? else {
        return Ok(None);
    };
    let by_keys = LogicalPlanBuilder::from(Arc::clone(side))
        .aggregate(own.into_aliased(), steps.first)?
        .build()?;
    let plan = LogicalPlanBuilder::from(Arc::clone(other_side))
        .join_with_expr_keys(by_keys, JoinType::Inner, on.into_iter().unzip(), None)?
        .aggregate(groups, steps.second)?
        .build()?;
    let names = 0..aggregate.group_expr.len();
    let groups = names.map(|place| column(second_name(place)));
    with_output_names(aggregate, plan, groups.chain(results))
}

/// Grouping expressions of the first step.
#[derive(Default)]
struct FirstGroups(Vec<Expr>);

impl FirstGroups {
    /// Adds a group, and returns its column above the first step.
    fn add(&mut self, group: &Expr) -> Expr {
        let known = self.0.iter().position(|known| known == group);
        let place = known.unwrap_or(self.0.len());
        if known.is_none() {
            self.0.push(group.clone());
        }
        column(first_name(place))
    }

    fn into_aliased(self) -> impl Iterator<Item = Expr> {
        let groups = self.0.into_iter().enumerate();
        groups.map(|(place, group)| group.alias(first_name(place)))
    }
}

/// Results of a CASE by branch number.
struct Branches(Vec<(Box<Expr>, Box<Expr>)>);

impl Branches {
    /// Returns an expression that maps a branch number to its result.
    fn decode(self, number: Expr) -> Expr {
        Expr::Case(Case::new(Some(Box::new(number)), self.0, None))
    }
}

/// Replaces the results of a CASE by numbers, which are faster to compare. Returns `None` if a result is not a
/// constant.
fn number_branches(case: &Case) -> Option<(Expr, Branches)> {
    let mut known = Vec::new();
    let mut number = |result: &Expr| {
        let number = i8::try_from(known.len()).ok()?;
        let is_constant = matches!(result, Expr::Literal(..));
        known.push((Box::new(lit(number)), Box::new(result.clone())));
        is_constant.then(|| Box::new(lit(number)))
    };
    let branches = case.when_then_expr.iter();
    let branches = branches.map(|(when, then)| Some((when.clone(), number(then)?)));
    let branches = branches.collect::<Option<Vec<_>>>()?;
    let other = match &case.else_expr {
        Some(other) => Some(number(other)?),
        None => None,
    };
    let number = Case::new(case.expr.clone(), branches, other);
    Some((Expr::Case(number), Branches(known)))
}

/// Returns whether an expression reads only columns of `schema`, and none of the first step.
fn is_over(expr: &Expr, schema: &DFSchema) -> bool {
    let mut columns = expr.column_refs().into_iter();
    columns.all(|column| schema.has_column(column) && !is_step_column(&column.name))
}

/// Returns whether a plan has all rows of a table.
fn has_all_rows(plan: &LogicalPlan) -> bool {
    let mut has_all = true;
    let visited = plan.apply(|node| {
        has_all &= match node {
            LogicalPlan::TableScan(scan) => scan.filters.is_empty() && scan.fetch.is_none(),
            LogicalPlan::Projection(_) | LogicalPlan::SubqueryAlias(_) => true,
            _ => false,
        };
        Ok(TreeNodeRecursion::Continue)
    });
    visited.is_ok() && has_all
}
