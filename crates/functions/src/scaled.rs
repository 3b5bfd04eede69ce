//! `scaled`: combines digits and a power of ten to a number.

use std::sync::Arc;

use arrow::array::{Array as _, ArrayRef, Float64Array};
use arrow::buffer::{NullBuffer, ScalarBuffer};
use arrow::datatypes::DataType;
use datafusion::common::Result;
use datafusion::common::cast::{as_int16_array, as_int64_array};
use tsql_codecs::number::Decimal;

use super::function_docs::FunctionDocs;
use super::scalar::{Scalar, argument};

pub(super) fn function() -> Scalar {
    let about = FunctionDocs::new(
        "scaled",
        "Double nearest to digits * 10^exponent",
        "SELECT scaled(125, arrow_cast(-2, 'Int16'))",
    )
    .argument("digits", DataType::Int64, "digits as a whole number")
    .argument("exponent", DataType::Int16, "power of ten")
    .source("Clinger, How to Read Floating Point Numbers Accurately, 1990");
    Scalar::new(&about, DataType::Float64, scaled_numbers)
}

fn scaled_numbers(args: &[ArrayRef]) -> Result<ArrayRef> {
    let digits = as_int64_array(argument(args, 0)?)?;
    let exponents = as_int16_array(argument(args, 1)?)?;
    let nulls = NullBuffer::union(digits.nulls(), exponents.nulls());
    let number = |(&digits, &exponent): (&i64, &i16)| {
        let exponent = i32::from(exponent);
        Decimal { digits, exponent }.to_f64(0)
    };
    let numbers = digits.values().iter().zip(exponents.values()).map(number);
    let numbers = ScalarBuffer::from_iter(numbers);
    Ok(Arc::new(Float64Array::new(numbers, nulls)))
}
