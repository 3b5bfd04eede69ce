//! Rewrites an aggregate over rows to one over their pre-aggregates.

use std::sync::Arc;

use arrow::datatypes::DataType;
use datafusion::common::{Column, Result};
use datafusion::functions_aggregate::sum::sum_udaf;
use datafusion::logical_expr::expr::AggregateFunction;
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::{
    Aggregate, Case, Expr, ExprSchemable as _, LogicalPlan, LogicalPlanBuilder, cast, lit, when,
};

use super::case_branches;
use super::rollup_plan::{Measure, RollupPlan, plan_over_rollups};

/// Name of the function that counts distinct integers in a bitmap.
const BITMAP_DISTINCT: &str = "count_distinct_dense";

/// Rewrites an aggregate to pre-aggregates; `None` if it must read rows.
pub(super) fn rewrite_aggregate(aggregate: &Aggregate) -> Result<Option<LogicalPlan>> {
    let Some(input) = plan_over_rollups(&aggregate.input)? else {
        return Ok(None);
    };
    let names = NamePreserver::new_for_projection();
    let mut groups = Vec::with_capacity(aggregate.group_expr.len());
    for group in &aggregate.group_expr {
        if matches!(group, Expr::GroupingSet(_)) {
            return Ok(None);
        }
        let Some(labels) = input.over_labels(group)? else {
            return Ok(None);
        };
        groups.push(names.save(group).restore(labels));
    }
    let mut parts = RollupAggregates::default();
    let mut answers = Vec::with_capacity(aggregate.aggr_expr.len());
    for expr in &aggregate.aggr_expr {
        let Expr::AggregateFunction(function) = strip_alias(expr) else {
            return Ok(None);
        };
        let Some(answer) = parts.add(function, &input)? else {
            return Ok(None);
        };
        answers.push(answer);
    }
    if groups.is_empty() && input.whole && parts.in_statistics {
        return Ok(None);
    }
    let group_count = groups.len();
    let plan = LogicalPlanBuilder::from(input.plan)
        .aggregate(groups, parts.aggregates)?
        .build()?;
    let mut outputs = Vec::with_capacity(aggregate.schema.fields().len());
    for (place, (qualifier, field)) in aggregate.schema.iter().enumerate() {
        match place.checked_sub(group_count) {
            None => outputs.push(Expr::Column(Column::new(qualifier.cloned(), field.name()))),
            Some(place) => {
                let Some(answer) = answers.get(place).cloned() else {
                    return Ok(None);
                };
                let answer = if answer.get_type(plan.schema())? == *field.data_type() {
                    answer
                } else {
                    cast(answer, field.data_type().clone())
                };
                outputs.push(answer.alias_qualified(qualifier.cloned(), field.name()));
            }
        }
    }
    let plan = LogicalPlanBuilder::from(plan).project(outputs)?.build()?;
    Ok(Some(plan))
}

/// Returns the expression below aliases.
pub(super) fn strip_alias(expr: &Expr) -> &Expr {
    match expr {
        Expr::Alias(alias) => strip_alias(&alias.expr),
        other => other,
    }
}

/// Aggregates over the rows of a [`RollupPlan`].
#[derive(Default)]
struct RollupAggregates {
    aggregates: Vec<Expr>,
    /// Whether file statistics suffice for all functions, if nothing is filtered or grouped.
    in_statistics: bool,
}

impl RollupAggregates {
    /// Adds the aggregates of a function; returns the function in terms of these. Returns `None` if it cannot be
    /// computed from pre-aggregates.
    fn add(&mut self, function: &AggregateFunction, input: &RollupPlan) -> Result<Option<Expr>> {
        let params = &function.params;
        let [arg] = params.args.as_slice() else {
            return Ok(None);
        };
        if !params.order_by.is_empty() || params.null_treatment.is_some() {
            return Ok(None);
        }
        let filter = match &params.filter {
            Some(filter) => match input.over_labels(filter)? {
                Some(filter) => Some(filter),
                None => return Ok(None),
            },
            None => None,
        };
        let name = function.func.name();
        self.in_statistics = filter.is_none()
            && !params.distinct
            && matches!(name, "count" | "min" | "max")
            && (self.in_statistics || self.aggregates.is_empty());
        if let Some(measure) = input.measure(arg) {
            if params.distinct && !matches!(name, "min" | "max") {
                return Ok(None);
            }
            let column = |column: &Column| Expr::Column(column.clone());
            return Ok(match name {
                "count" => Some(or_zero(self.sum(non_null_rows(input, measure)?, filter))?),
                "sum" => Some(self.sum(column(&measure.sum), filter)),
                "avg" => {
                    let total = self.sum(column(&measure.sum), filter.clone());
                    let count = self.sum(non_null_rows(input, measure)?, filter);
                    Some(total / cast(count, DataType::Float64))
                }
                "min" => Some(self.push_same_function(function, column(&measure.least), filter)),
                "max" => Some(self.push_same_function(function, column(&measure.greatest), filter)),
                _ => None,
            });
        }
        let Some(labels) = input.over_labels(arg)? else {
            return match arg {
                Expr::Case(case)
                    if !params.distinct && !case_branches::may_fail(case, input.plan.schema()) =>
                {
                    self.add_case(function, case, input)
                }
                _ => Ok(None),
            };
        };
        let counts_distinct = (name == "count" && params.distinct) || name == BITMAP_DISTINCT;
        if matches!(name, "min" | "max") || counts_distinct {
            return Ok(Some(self.push_same_function(function, labels, filter)));
        }
        if params.distinct {
            return Ok(None);
        }
        let rows = Expr::Column(input.rows.clone());
        let counted = |labels: &Expr| match labels {
            Expr::Literal(value, _) if !value.is_null() => Ok(rows.clone()),
            labels => when(labels.clone().is_not_null(), rows.clone()).otherwise(lit(0_i64)),
        };
        let number = labels.get_type(input.plan.schema())?;
        Ok(match (name, number) {
            ("count", _) => Some(or_zero(self.sum(counted(&labels)?, filter))?),
            ("sum", DataType::Int64) => Some(self.sum(labels * rows, filter)),
            ("sum", DataType::Float64) => {
                Some(self.sum(labels * cast(rows, DataType::Float64), filter))
            }
            ("avg", DataType::Float64) => {
                let weight = cast(rows.clone(), DataType::Float64);
                let total = self.sum(labels.clone() * weight, filter.clone());
                let count = self.sum(counted(&labels)?, filter);
                Some(total / cast(count, DataType::Float64))
            }
            _ => None,
        })
    }

    /// Adds a function of a CASE over labels, by its branches.
    fn add_case(
        &mut self,
        function: &AggregateFunction,
        case: &Case,
        input: &RollupPlan,
    ) -> Result<Option<Expr>> {
        let of_values = case_branches::branch_aggregates(function, case);
        let of_values = of_values.iter().map(|of_value| self.add(of_value, input));
        match of_values.collect::<Result<Option<Vec<Expr>>>>()? {
            Some(of_values) => case_branches::combine_branches(function.func.name(), of_values),
            None => Ok(None),
        }
    }

    fn sum(&mut self, of: Expr, filter: Option<Expr>) -> Expr {
        let filter = filter.map(Box::new);
        let sum = AggregateFunction::new_udf(sum_udaf(), vec![of], false, filter, vec![], None);
        self.push(sum)
    }

    /// Adds the same function of another expression.
    fn push_same_function(
        &mut self,
        function: &AggregateFunction,
        of: Expr,
        filter: Option<Expr>,
    ) -> Expr {
        let (distinct, filter) = (function.params.distinct, filter.map(Box::new));
        let func = Arc::clone(&function.func);
        let other = AggregateFunction::new_udf(func, vec![of], distinct, filter, vec![], None);
        self.push(other)
    }

    fn push(&mut self, function: AggregateFunction) -> Expr {
        let name = format!("__part_{}", self.aggregates.len());
        let aggregate = Expr::AggregateFunction(function).alias(&name);
        self.aggregates.push(aggregate);
        Expr::Column(Column::new_unqualified(name))
    }
}

/// Returns the number of rows of a pre-aggregate in which a measure is not NULL.
fn non_null_rows(input: &RollupPlan, measure: &Measure) -> Result<Expr> {
    let missing = Expr::Column(measure.missing.clone());
    when(missing, lit(0_i64)).otherwise(Expr::Column(input.rows.clone()))
}

/// Returns a sum of counts, or zero for no rows. Writes out `coalesce`, because this pass may be the last that would
/// simplify it. The planner and the operators know that this CASE is never NULL.
fn or_zero(sum: Expr) -> Result<Expr> {
    when(sum.clone().is_not_null(), sum).otherwise(lit(0_i64))
}
