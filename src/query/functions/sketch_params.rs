//! `sketch_params`: the numbers that fill the holes of a sketch, as a list.

use std::sync::Arc;

use arrow::array::{Int64Builder, ListBuilder};
use arrow::datatypes::DataType;
use datafusion::common::Result;
use datafusion::common::cast::as_binary_view_array;
use datafusion::common::{DataFusionError, exec_err};
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature};

use crate::varint;

/// the numbers that fill the holes of a sketch, as a list.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct SketchParams {
    signature: Signature,
}

impl SketchParams {
    pub(super) fn new() -> Self {
        Self {
            signature: super::exact(vec![DataType::BinaryView]),
        }
    }
}

impl ScalarUDFImpl for SketchParams {
    fn name(&self) -> &'static str {
        "sketch_params"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::new_list(DataType::Int64, true))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let arrays = ColumnarValue::values_to_arrays(&args.args)?;
        let [params] = arrays.as_slice() else {
            return Err(DataFusionError::Internal(
                "one argument was promised".to_owned(),
            ));
        };
        let mut lists = ListBuilder::new(Int64Builder::new());
        for params in as_binary_view_array(params)? {
            let Some(mut bytes) = params else {
                lists.append_null();
                continue;
            };
            while !bytes.is_empty() {
                match varint::read_unsigned(&mut bytes) {
                    Some(number) => lists.values().append_value(number),
                    None => return exec_err!("configurations: damaged parameters"),
                }
            }
            lists.append(true);
        }
        Ok(ColumnarValue::Array(Arc::new(lists.finish())))
    }
}
