//! `speedup`: the ratio of two runtimes.

use std::sync::Arc;

use arrow::array::{ArrayRef, Float64Array};
use arrow::datatypes::DataType;
use datafusion::common::Result;
use datafusion::common::cast::as_float64_array;

use super::function_docs::FunctionDocs;
use super::scalar::{Scalar, argument};

pub(super) fn function() -> Scalar {
    let about = FunctionDocs::new(
        "speedup",
        "Old time divided by new time: 2 for half the time. NULL if a number is not a time (0 or less, infinite, NaN)",
        "SELECT speedup(baseline_ns, runtime_ns) FROM records LIMIT 3",
    )
    .argument("base_ns", DataType::Float64, "old time")
    .argument("new_ns", DataType::Float64, "new time, in the same unit")
    .source("Hennessy and Patterson, Computer Architecture, section 1.9");
    Scalar::new(&about, DataType::Float64, speedups).coerce_numbers()
}

fn speedups(args: &[ArrayRef]) -> Result<ArrayRef> {
    let base = as_float64_array(argument(args, 0)?)?;
    let new = as_float64_array(argument(args, 1)?)?;
    let is_time = |time: &f64| time.is_finite() && *time > 0.0;
    let ratio = |(base, new): (Option<f64>, Option<f64>)| {
        Some(base.filter(is_time)? / new.filter(is_time)?)
    };
    let ratios: Float64Array = base.iter().zip(new).map(ratio).collect();
    Ok(Arc::new(ratios))
}
