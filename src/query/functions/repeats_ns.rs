//! `repeats_ns`: the packed repeats as a list, in nanoseconds and in the order of timing.

use std::sync::Arc;

use arrow::array::{Float64Builder, ListBuilder};
use arrow::datatypes::DataType;
use datafusion::common::Result;
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature};

/// the packed repeats as a list, in nanoseconds and in the order of timing.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct RepeatsNs {
    signature: Signature,
}

impl RepeatsNs {
    pub(super) fn new() -> Self {
        Self {
            signature: super::repeats_signature(),
        }
    }
}

impl ScalarUDFImpl for RepeatsNs {
    fn name(&self) -> &'static str {
        "repeats_ns"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::new_list(DataType::Float64, true))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let packed = super::PackedRepeats::from_args(&args)?;
        let mut lists = ListBuilder::new(Float64Builder::new());
        for row in packed.rows() {
            lists.append_option(row?.map(|repeats| repeats.into_iter().map(Some)));
        }
        Ok(ColumnarValue::Array(Arc::new(lists.finish())))
    }
}
