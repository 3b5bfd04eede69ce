//! `lossy_text`: bytes as text, with the replacement character for what is no UTF-8.

use std::sync::Arc;

use arrow::array::StringViewArray;
use arrow::datatypes::DataType;
use datafusion::common::DataFusionError;
use datafusion::common::Result;
use datafusion::common::cast::as_binary_view_array;
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature};

/// bytes as text, with the replacement character for what is no UTF-8.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct LossyText {
    signature: Signature,
}

impl LossyText {
    pub(super) fn new() -> Self {
        Self {
            signature: super::exact(vec![DataType::BinaryView]),
        }
    }
}

impl ScalarUDFImpl for LossyText {
    fn name(&self) -> &'static str {
        "lossy_text"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Utf8View)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let arrays = ColumnarValue::values_to_arrays(&args.args)?;
        let [bytes] = arrays.as_slice() else {
            return Err(DataFusionError::Internal(
                "one argument was promised".to_owned(),
            ));
        };
        let bytes = as_binary_view_array(bytes)?.iter();
        let texts: StringViewArray = bytes
            .map(|bytes| bytes.map(String::from_utf8_lossy))
            .collect();
        Ok(ColumnarValue::Array(Arc::new(texts)))
    }
}
