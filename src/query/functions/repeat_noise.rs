//! `repeat_noise`: standard deviation of the packed repeats over their mean.

use arrow::datatypes::DataType;
use datafusion::common::Result;
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature};
use tsql_codecs::repeats;

/// standard deviation of the packed repeats over their mean.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct RepeatNoise {
    signature: Signature,
}

impl RepeatNoise {
    pub(super) fn new() -> Self {
        Self {
            signature: super::repeats_signature(),
        }
    }
}

impl ScalarUDFImpl for RepeatNoise {
    fn name(&self) -> &'static str {
        "repeat_noise"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Float64)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        super::PackedRepeats::from_args(&args)?.numbers(repeats::noise)
    }
}
