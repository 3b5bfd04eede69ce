//! `fill_sketch`: reconstructs the transform steps of a configuration from its sketch and its packed parameters.

use std::sync::Arc;

use arrow::array::{Array as _, ArrayRef, StringViewBuilder};
use arrow::datatypes::DataType;
use datafusion::common::cast::{as_binary_view_array, as_string_view_array};
use datafusion::common::{Result, exec_err};
use tsql_codecs::steps::StepsWriter;

use super::function_docs::FunctionDocs;
use super::scalar::{Scalar, argument};

pub(super) fn function() -> Scalar {
    let about = FunctionDocs::new(
        "fill_sketch",
        "Transform steps of a configuration, from its sketch and its packed parameters",
        "SELECT fill_sketch(sketch, params) FROM stored.configurations LIMIT 3",
    )
    .argument(
        "sketch",
        DataType::Utf8View,
        "steps with holes in place of the numbers",
    )
    .argument("params", DataType::BinaryView, "packed numbers")
    .source("tsql: `steps` of the crate `tensorsql-codecs`");
    Scalar::new(&about, DataType::Utf8View, fill_sketches)
}

fn fill_sketches(args: &[ArrayRef]) -> Result<ArrayRef> {
    let sketches = as_string_view_array(argument(args, 0)?)?;
    let params = as_binary_view_array(argument(args, 1)?)?;
    let mut steps = StringViewBuilder::with_capacity(sketches.len());
    let (mut filler, mut text) = (StepsWriter::default(), Vec::new());
    for (sketch, params) in sketches.iter().zip(params.iter()) {
        text.clear();
        let filled = sketch.map(|sketch| filler.fill(sketch, params, &mut text));
        match (filled, std::str::from_utf8(&text)) {
            (None, _) => steps.append_null(),
            (Some(true), Ok(text)) => steps.append_value(text),
            _ => return exec_err!("configurations: parameters do not fit their sketch"),
        }
    }
    Ok(Arc::new(steps.finish()))
}
