//! `scaled`: digits and a power of ten as one number.

use std::sync::Arc;

use arrow::array::{ArrayRef, Float64Array};
use arrow::datatypes::DataType;
use datafusion::common::Result;
use datafusion::common::cast::{as_int16_array, as_int64_array};
use tsql_codecs::number::Decimal;

use super::about::About;
use super::scalar::{Scalar, argument};

pub(super) fn function() -> Scalar {
    let about = About::new(
        "scaled",
        "The double nearest to digits * 10^exponent",
        "SELECT scaled(125, arrow_cast(-2, 'Int16'))",
    )
    .takes("digits", DataType::Int64, "a whole number")
    .takes("exponent", DataType::Int16, "the power of ten")
    .by("Clinger, How to Read Floating Point Numbers Accurately, 1990");
    Scalar::new(&about, DataType::Float64, numbers)
}

fn numbers(args: &[ArrayRef]) -> Result<ArrayRef> {
    let digits = as_int64_array(argument(args, 0)?)?;
    let exponents = as_int16_array(argument(args, 1)?)?;
    let number = |(digits, exponent): (Option<i64>, Option<i16>)| {
        let decimal = Decimal {
            digits: digits?,
            exponent: i32::from(exponent?),
        };
        Some(decimal.to_f64(0))
    };
    let numbers: Float64Array = digits.iter().zip(exponents).map(number).collect();
    Ok(Arc::new(numbers))
}
