//! Splits aggregate functions into partial aggregates and functions of these.

use std::sync::Arc;

use arrow::datatypes::DataType;
use datafusion::common::{Column, Result};
use datafusion::functions_aggregate::count::count_udaf;
use datafusion::functions_aggregate::sum::sum_udaf;
use datafusion::logical_expr::expr::AggregateFunction;
use datafusion::logical_expr::{
    Aggregate, AggregateUDF, Expr, ExprSchemable as _, LogicalPlan, LogicalPlanBuilder, cast, lit,
    when,
};

/// Prefix of the column names of both steps.
const NAME: &str = "__eager_";

/// Returns whether a column belongs to one of the steps.
pub(super) fn is_step_column(name: &str) -> bool {
    name.starts_with(NAME)
}

/// Column name of a group of the first step.
pub(super) fn first_name(place: usize) -> String {
    format!("{NAME}first_{place}")
}

/// Column name of a group of the second step.
pub(super) fn second_name(place: usize) -> String {
    format!("{NAME}second_{place}")
}

/// Column name of the row count.
pub(super) fn rows_name() -> String {
    format!("{NAME}rows")
}

pub(super) fn column(name: impl Into<String>) -> Expr {
    Expr::Column(Column::new_unqualified(name))
}

/// Aggregate expressions of both steps.
#[derive(Default)]
pub(super) struct TwoSteps {
    /// Aggregates of the input rows.
    pub(super) first: Vec<Expr>,
    /// Aggregates of the rows of the first step.
    pub(super) second: Vec<Expr>,
}

impl TwoSteps {
    /// Splits aggregates into two steps. Returns the steps, and each aggregate in terms of the second step. Returns
    /// `None` if an aggregate cannot be split.
    pub(super) fn new(
        aggregates: &[Expr],
        input: &LogicalPlan,
    ) -> Result<Option<(Self, Vec<Expr>)>> {
        let mut steps = Self::default();
        let mut results = Vec::with_capacity(aggregates.len());
        for expr in aggregates {
            let Expr::AggregateFunction(function) = expr.clone().unalias() else {
                return Ok(None);
            };
            let Some(result) = steps.add(&function, input)? else {
                return Ok(None);
            };
            results.push(result);
        }
        Ok(Some((steps, results)))
    }

    fn add(&mut self, function: &AggregateFunction, input: &LogicalPlan) -> Result<Option<Expr>> {
        let params = &function.params;
        let [arg] = params.args.as_slice() else {
            return Ok(None);
        };
        let name = function.func.name();
        let is_extreme = matches!(name, "min" | "max");
        let is_plain = params.order_by.is_empty() && params.null_treatment.is_none();
        if !is_plain || (params.distinct && !is_extreme) {
            return Ok(None);
        }
        let first = |func: &Arc<AggregateUDF>| AggregateFunction {
            func: Arc::clone(func),
            params: params.clone(),
        };
        Ok(match name {
            "min" | "max" | "sum" => Some(self.push(first(&function.func), &function.func)),
            "count" => Some(or_zero(self.push(first(&function.func), &sum_udaf()))?),
            "avg" if arg.get_type(input.schema())? == DataType::Float64 => {
                let total = self.push(first(&sum_udaf()), &sum_udaf());
                let count = self.push(first(&count_udaf()), &sum_udaf());
                Some(total / cast(count, DataType::Float64))
            }
            _ => None,
        })
    }

    fn push(&mut self, first: AggregateFunction, second: &Arc<AggregateUDF>) -> Expr {
        let place = self.first.len();
        let (part, whole) = (
            format!("{NAME}part_{place}"),
            format!("{NAME}whole_{place}"),
        );
        self.first.push(Expr::AggregateFunction(first).alias(&part));
        let args = vec![column(part)];
        let second =
            AggregateFunction::new_udf(Arc::clone(second), args, false, None, Vec::new(), None);
        self.second
            .push(Expr::AggregateFunction(second).alias(&whole));
        column(whole)
    }
}

/// Projects `columns` to the output names of an aggregate. Returns `None` if a type differs.
pub(super) fn with_output_names(
    aggregate: &Aggregate,
    plan: LogicalPlan,
    columns: impl Iterator<Item = Expr>,
) -> Result<Option<LogicalPlan>> {
    let mut outputs = Vec::with_capacity(aggregate.schema.fields().len());
    for (column, (qualifier, field)) in columns.zip(aggregate.schema.iter()) {
        if column.get_type(plan.schema())? != *field.data_type() {
            return Ok(None);
        }
        outputs.push(column.alias_qualified(qualifier.cloned(), field.name()));
    }
    LogicalPlanBuilder::from(plan)
        .project(outputs)?
        .build()
        .map(Some)
}

/// Returns a sum of counts, or zero without rows. `coalesce` would need a simplification that has already run.
fn or_zero(sum: Expr) -> Result<Expr> {
    when(sum.clone().is_not_null(), sum).otherwise(lit(0_i64))
}
