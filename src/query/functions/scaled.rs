//! `scaled`: digits and a power of ten as one number.

use std::sync::Arc;

use arrow::array::Float64Array;
use arrow::datatypes::DataType;
use datafusion::common::cast::{as_int16_array, as_int64_array};
use datafusion::common::{DataFusionError, Result};
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature};
use tsql_codecs::number::Decimal;

/// The double nearest to `digits * 10^exponent`.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct Scaled {
    signature: Signature,
}

impl Scaled {
    pub(super) fn new() -> Self {
        Self {
            signature: super::exact(vec![DataType::Int64, DataType::Int16]),
        }
    }
}

impl ScalarUDFImpl for Scaled {
    fn name(&self) -> &'static str {
        "scaled"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Float64)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let arrays = ColumnarValue::values_to_arrays(&args.args)?;
        let [digits, exponents] = arrays.as_slice() else {
            return Err(DataFusionError::Internal(
                "two arguments were promised".to_owned(),
            ));
        };
        let rows = as_int64_array(digits)?
            .iter()
            .zip(as_int16_array(exponents)?);
        let scaled: Float64Array = rows
            .map(|(digits, exponent)| {
                Some(
                    Decimal {
                        digits: digits?,
                        exponent: i32::from(exponent?),
                    }
                    .to_f64(0),
                )
            })
            .collect();
        Ok(ColumnarValue::Array(Arc::new(scaled)))
    }
}
