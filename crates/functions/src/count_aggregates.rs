//! Aggregates computed from value frequencies: `mode(x)`, `quantile_disc(x, share)`, `histogram(x)`.
//!
//! They accept any sortable type and ignore NULL. Memory is proportional to the number of distinct values.

use arrow::datatypes::{DataType, FieldRef};
use datafusion::common::{Result, ScalarValue, plan_err};
use datafusion::logical_expr::Accumulator;
use datafusion::logical_expr::function::AccumulatorArgs;
use datafusion::physical_expr::expressions::Literal;

use super::aggregate::{Aggregate, AggregateDefinition};
use super::counts::{CountResult, ValueCounts, map_entries_field, value_type};
use super::function_docs::FunctionDocs;

/// All aggregates of this module.
pub(super) fn all() -> [Aggregate; 3] {
    [mode(), quantile_disc(), histogram()]
}

fn mode() -> Aggregate {
    let about = FunctionDocs::new(
        "mode",
        "Most frequent value; the minimum of several such values",
        "SELECT mode(error_no) FROM records",
    )
    .argument("value", None, "values of any type that can be ordered")
    .source("DuckDB, mode; DuckDB returns the first of several such values");
    Aggregate::new(&about, CountAggregate(CountResult::Mode))
}

fn quantile_disc() -> Aggregate {
    let about = FunctionDocs::new(
        "quantile_disc",
        "Minimum value that at least this fraction of the values does not exceed. It is one of the values, without \
         interpolation",
        "SELECT quantile_disc(runtime_ns, 0.9) FROM records",
    )
    .argument("value", None, "values of any type that can be ordered")
    .argument("share", None, "literal number from 0 to 1, or a list of these")
    .source("SQL:2003, percentile_disc; DuckDB, quantile_disc");
    Aggregate::new(&about, CountAggregate(CountResult::Quantile)).alias("quantile")
}

fn histogram() -> Aggregate {
    let about = FunctionDocs::new(
        "histogram",
        "Number of occurrences of each value: a map from the values, in order, to their counts",
        "SELECT histogram(status) FROM records",
    )
    .argument("value", None, "values of any type that can be ordered")
    .source("DuckDB, histogram");
    Aggregate::new(&about, CountAggregate(CountResult::Histogram))
}

#[derive(Debug)]
struct CountAggregate(CountResult);

impl AggregateDefinition for CountAggregate {
    fn return_type(&self, arguments: &[DataType]) -> Result<DataType> {
        let Some(value) = arguments.first() else {
            return plan_err!("expected a value");
        };
        let value = value_type(value);
        Ok(match self.0 {
            CountResult::Mode | CountResult::Quantile => value.clone(),
            CountResult::Histogram => DataType::Map(map_entries_field(value), true),
        })
    }

    fn accumulator(&self, args: &AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        let value = args
            .expr_fields
            .first()
            .map(|field| value_type(field.data_type()));
        let Some(value) = value else {
            return plan_err!("expected a value");
        };
        let share = match self.0 {
            CountResult::Quantile => quantile_fraction(args)?,
            CountResult::Mode | CountResult::Histogram => 0.0,
        };
        let distinct = args.is_distinct;
        Ok(Box::new(ValueCounts::new(self.0, value, share, distinct)?))
    }

    fn state(&self, given: &[FieldRef]) -> Vec<(&'static str, DataType)> {
        let value = given.first().map(|field| value_type(field.data_type()));
        let list = |of: &DataType| DataType::new_list(of.clone(), true);
        vec![
            ("values", list(value.unwrap_or(&DataType::Null))),
            ("counts", list(&DataType::UInt64)),
        ]
    }
}

/// The second argument of a quantile.
fn quantile_fraction(args: &AccumulatorArgs) -> Result<f64> {
    let share = args.exprs.get(1);
    let share = share.and_then(|share| share.downcast_ref::<Literal>());
    let share = share.and_then(|share| share.value().cast_to(&DataType::Float64).ok());
    match share {
        Some(ScalarValue::Float64(Some(share))) if (0.0..=1.0).contains(&share) => Ok(share),
        Some(ScalarValue::Float64(Some(share))) => {
            plan_err!("quantile_disc expects a number from 0 to 1, not {share}")
        }
        _ => plan_err!("quantile_disc expects a literal number from 0 to 1"),
    }
}
