//! `median(x)`: DataFusion's function. For floats it is tsql's `percentile_cont(x, 0.5)`, which selects the value
//! without a copy of all values.

use std::sync::Arc;

use arrow::datatypes::{DataType, FieldRef};
use datafusion::common::Result;
use datafusion::functions_aggregate::median::Median;
use datafusion::logical_expr::expr::AggregateFunction;
use datafusion::logical_expr::function::{
    AccumulatorArgs, AggregateFunctionSimplification, StateFieldsArgs,
};
use datafusion::logical_expr::simplify::SimplifyContext;
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, Documentation, Expr, GroupsAccumulator, Signature,
    lit,
};
use delegate::delegate;

use super::function_docs::FunctionDocs;
use super::percentile_cont;

pub(super) fn udaf() -> AggregateUDF {
    let about = FunctionDocs::new(
        "median",
        "Median: the middle of the sorted values, or the mean of the two in the middle",
        "SELECT platform, median(runtime_ns) FROM records GROUP BY platform",
    )
    .argument("value", None, "numbers")
    .source("NumPy, median");
    AggregateUDF::from(ExactMedian {
        theirs: Median::new(),
        documentation: about.documentation(),
    })
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct ExactMedian {
    theirs: Median,
    documentation: Documentation,
}

impl AggregateUDFImpl for ExactMedian {
    delegate! {
        to self.theirs {
            fn name(&self) -> &str;
            fn signature(&self) -> &Signature;
            fn return_type(&self, types: &[DataType]) -> Result<DataType>;
            fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>>;
            fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>>;
            fn groups_accumulator_supported(&self, args: AccumulatorArgs) -> bool;
            fn create_groups_accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn GroupsAccumulator>>;
        }
    }

    fn documentation(&self) -> Option<&Documentation> {
        Some(&self.documentation)
    }

    fn simplify(&self) -> Option<AggregateFunctionSimplification> {
        Some(Box::new(rewrite_float_median))
    }
}

fn rewrite_float_median(mut call: AggregateFunction, context: &SimplifyContext) -> Result<Expr> {
    if let [value] = call.params.args.as_slice()
        && context.get_data_type(value)? == DataType::Float64
    {
        call.params.args.push(lit(0.5));
        call.func = Arc::new(percentile_cont::udaf());
    }
    Ok(Expr::AggregateFunction(call))
}
