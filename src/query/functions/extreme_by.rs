//! `min_by(value, key)` and `max_by(value, key)`, also `arg_min` and `arg_max`: the value where the key is
//! least or greatest.
//!
//! As in DuckDB, a row in which either is NULL does not count; NULL where none counts. Of several rows
//! with that key it is the least value, so that the answer does not depend on the order of rows.

use std::sync::Arc;

use arrow::datatypes::DataType;
use datafusion::common::{Result, plan_err};
use datafusion::functions_aggregate::first_last::first_value_udaf;
use datafusion::logical_expr::expr::AggregateFunction;
use datafusion::logical_expr::function::{AccumulatorArgs, AggregateFunctionSimplification};
use datafusion::logical_expr::utils::conjunction;
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, Expr, Signature, Volatility,
};

pub(super) fn all() -> [AggregateUDF; 2] {
    let function = |name, alias: &str, ascending| {
        AggregateUDF::from(ExtremeBy {
            name,
            aliases: vec![alias.to_owned()],
            ascending,
            signature: Signature::any(2, Volatility::Immutable),
        })
    };
    [
        function("min_by", "arg_min", true),
        function("max_by", "arg_max", false),
    ]
}

/// One of the two functions; the planner writes it as the `first_value` in the order of the key.
#[derive(Debug, PartialEq, Eq, Hash)]
struct ExtremeBy {
    name: &'static str,
    aliases: Vec<String>,
    /// Is the least key wanted?
    ascending: bool,
    signature: Signature,
}

impl AggregateUDFImpl for ExtremeBy {
    fn name(&self) -> &str {
        self.name
    }

    fn aliases(&self) -> &[String] {
        &self.aliases
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        match types {
            [value, _] => Ok(value.clone()),
            _ => plan_err!("{} takes a value and a key", self.name),
        }
    }

    fn accumulator(&self, _: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        let name = self.name;
        plan_err!(
            "{name} is no window function\nhint: first_value(value) OVER (PARTITION BY ... ORDER BY key)"
        )
    }

    fn simplify(&self) -> Option<AggregateFunctionSimplification> {
        let ascending = self.ascending;
        Some(Box::new(move |call, _| first_value(call, ascending)))
    }
}

/// The first value in the order of the key, then of the values.
fn first_value(call: AggregateFunction, ascending: bool) -> Result<Expr> {
    let mut params = call.params;
    let [value, key] = params.args.as_slice() else {
        return plan_err!("{} takes a value and a key", call.func.name());
    };
    let order = vec![
        key.clone().sort(ascending, false),
        value.clone().sort(true, false),
    ];
    let there = [value.clone().is_not_null(), key.clone().is_not_null()];
    let filter = params.filter.take().map(|filter| *filter);
    let filter = conjunction(there.into_iter().chain(filter)).map(Box::new);
    let args = vec![value.clone()];
    let first = first_value_udaf();
    let first = AggregateFunction::new_udf(Arc::clone(&first), args, false, filter, order, None);
    Ok(Expr::AggregateFunction(first))
}
