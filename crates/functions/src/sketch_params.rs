//! `sketch_params`: the numbers that fill the holes of a sketch, as a list.

use std::sync::Arc;

use arrow::array::{Array as _, ArrayRef, Int64Builder, ListBuilder};
use arrow::datatypes::DataType;
use datafusion::common::cast::{as_binary_view_array, as_string_view_array};
use datafusion::common::{Result, exec_err};
use tsql_codecs::steps::StepsNumbers;

use super::function_docs::FunctionDocs;
use super::scalar::{Scalar, argument};

pub(super) fn function() -> Scalar {
    let about = FunctionDocs::new(
        "sketch_params",
        "Numbers that fill the holes of a sketch, as a list. Layouts: the code of each slot group",
        "SELECT sketch_params(sketch, params) FROM stored.configurations LIMIT 3",
    )
    .argument(
        "sketch",
        DataType::Utf8View,
        "`stored.configurations.sketch`",
    )
    .argument("params", DataType::BinaryView, "packed numbers")
    .source("tsql: `steps` of the crate `tensorsql-codecs`");
    let list = DataType::new_list(DataType::Int64, true);
    Scalar::new(&about, list, lists)
}

fn lists(args: &[ArrayRef]) -> Result<ArrayRef> {
    let sketches = as_string_view_array(argument(args, 0)?)?;
    let params = as_binary_view_array(argument(args, 1)?)?;
    let mut lists = ListBuilder::new(Int64Builder::with_capacity(sketches.len()));
    let mut numbers = StepsNumbers::default();
    for (sketch, params) in sketches.iter().zip(params.iter()) {
        let Some((sketch, params)) = sketch.zip(params) else {
            lists.append_null();
            continue;
        };
        let Some(found) = numbers.list(sketch, params) else {
            return exec_err!("configurations: parameters do not fit their sketch");
        };
        lists.append_value(found.into_iter().map(Some));
    }
    Ok(Arc::new(lists.finish()))
}
