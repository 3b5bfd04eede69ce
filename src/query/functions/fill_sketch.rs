//! `fill_sketch`: the transform steps of a configuration from its sketch and its packed parameters.

use std::sync::Arc;

use arrow::array::{Array, StringViewBuilder};
use arrow::datatypes::DataType;
use datafusion::common::Result;
use datafusion::common::cast::{as_binary_view_array, as_string_view_array};
use datafusion::common::{DataFusionError, exec_err};
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature};
use tsql_codecs::steps::Filler;

/// the transform steps of a configuration from its sketch and its packed parameters.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct FillSketch {
    signature: Signature,
}

impl FillSketch {
    pub(super) fn new() -> Self {
        Self {
            signature: super::exact(vec![DataType::Utf8View, DataType::BinaryView]),
        }
    }
}

impl ScalarUDFImpl for FillSketch {
    fn name(&self) -> &'static str {
        "fill_sketch"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Utf8View)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let arrays = ColumnarValue::values_to_arrays(&args.args)?;
        let [sketches, params] = arrays.as_slice() else {
            return Err(DataFusionError::Internal(
                "two arguments were promised".to_owned(),
            ));
        };
        let (sketches, params) = (
            as_string_view_array(sketches)?,
            as_binary_view_array(params)?,
        );
        let mut steps = StringViewBuilder::with_capacity(sketches.len());
        let (mut filler, mut text) = (Filler::default(), Vec::new());
        for (sketch, params) in sketches.iter().zip(params.iter()) {
            text.clear();
            let filled = sketch.map(|sketch| filler.fill(sketch, params, &mut text));
            match (filled, std::str::from_utf8(&text)) {
                (None, _) => steps.append_null(),
                (Some(true), Ok(text)) => steps.append_value(text),
                _ => return exec_err!("configurations: parameters that do not fit their sketch"),
            }
        }
        Ok(ColumnarValue::Array(Arc::new(steps.finish())))
    }
}
