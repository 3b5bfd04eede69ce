//! `min_by(value, key)` and `max_by(value, key)`, also `arg_min` and `arg_max`: the value with the minimum or maximum
//! key.
//!
//! As in DuckDB, rows with NULL in either argument are ignored, and the result is NULL if none remain. Ties are
//! resolved by the smallest value, so that the result does not depend on the row order.

use std::sync::Arc;

use arrow::datatypes::{DataType, FieldRef};
use datafusion::common::{Result, plan_err};
use datafusion::logical_expr::expr::AggregateFunction;
use datafusion::logical_expr::function::{AccumulatorArgs, AggregateFunctionSimplification};
use datafusion::logical_expr::utils::conjunction;
use datafusion::logical_expr::{Accumulator, Expr};

use super::aggregate::{Aggregate, AggregateDefinition};
use super::first_by_order;
use super::function_docs::FunctionDocs;

pub(super) fn all() -> [Aggregate; 2] {
    let function = |about: FunctionDocs, alias, name, ascending| {
        let about = about
            .argument("value", None, "value to return")
            .argument("key", None, "value to compare")
            .source(
                "DuckDB, arg_min and arg_max; DuckDB returns the value of any row with that key",
            );
        Aggregate::new(&about, ExtremeBy { name, ascending }).alias(alias)
    };
    let [least, greatest] = ["min_by", "max_by"];
    [
        function(
            FunctionDocs::new(
                least,
                "Value in the row with the minimum key; the minimum value of several such rows",
                "SELECT platform, min_by(config_id, runtime_ns) FROM records GROUP BY platform",
            ),
            "arg_min",
            least,
            true,
        ),
        function(
            FunctionDocs::new(
                greatest,
                "Value in the row with the maximum key; the minimum value of several such rows",
                "SELECT platform, max_by(config_id, runtime_ns) FROM records GROUP BY platform",
            ),
            "arg_max",
            greatest,
            false,
        ),
    ]
}

/// One of the two functions. The planner replaces it by `first_value` in the order of the key.
#[derive(Debug)]
struct ExtremeBy {
    name: &'static str,
    /// Whether the function returns the value of the minimum key.
    ascending: bool,
}

impl AggregateDefinition for ExtremeBy {
    fn return_type(&self, arguments: &[DataType]) -> Result<DataType> {
        match arguments {
            [value, _] => Ok(value.clone()),
            _ => plan_err!("{} expects a value and a key", self.name),
        }
    }

    fn accumulator(&self, _: &AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        let name = self.name;
        plan_err!(
            "{name} is not a window function\nhint: use first_value(value) OVER (PARTITION BY ... ORDER BY key)"
        )
    }

    fn state(&self, _: &[FieldRef]) -> Vec<(&'static str, DataType)> {
        Vec::new()
    }

    fn simplify(&self) -> Option<AggregateFunctionSimplification> {
        let ascending = self.ascending;
        Some(Box::new(move |call, _| first_value(call, ascending)))
    }
}

/// The first value in the order of the key, then of the value.
fn first_value(call: AggregateFunction, ascending: bool) -> Result<Expr> {
    let mut params = call.params;
    let [value, key] = params.args.as_slice() else {
        return plan_err!("{} expects a value and a key", call.func.name());
    };
    let order = vec![
        key.clone().sort(ascending, false),
        value.clone().sort(true, false),
    ];
    let there = [value.clone().is_not_null(), key.clone().is_not_null()];
    let filter = params.filter.take().map(|filter| *filter);
    let filter = conjunction(there.into_iter().chain(filter)).map(Box::new);
    let args = vec![value.clone()];
    let first = Arc::new(first_by_order::first_value());
    let first = AggregateFunction::new_udf(first, args, false, filter, order, None);
    Ok(Expr::AggregateFunction(first))
}
