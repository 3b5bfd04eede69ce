//! `min_repeat_ns`: the fastest of the packed repeats, in nanoseconds.

use arrow::datatypes::DataType;
use datafusion::common::Result;
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature};
use tsql_codecs::repeats;

/// the fastest of the packed repeats, in nanoseconds.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct MinRepeatNs {
    signature: Signature,
}

impl MinRepeatNs {
    pub(super) fn new() -> Self {
        Self {
            signature: super::repeats_signature(),
        }
    }
}

impl ScalarUDFImpl for MinRepeatNs {
    fn name(&self) -> &'static str {
        "min_repeat_ns"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Float64)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        super::PackedRepeats::from_args(&args)?.numbers(repeats::least_ns)
    }
}
