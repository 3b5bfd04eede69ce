//! `sketch_params`: the numbers that fill the holes of a sketch, as a list.

use std::sync::Arc;

use arrow::array::{Array as _, ArrayRef, Int64Builder, ListBuilder};
use arrow::datatypes::DataType;
use datafusion::common::cast::{as_binary_view_array, as_string_view_array};
use datafusion::common::{Result, exec_err};
use datafusion::logical_expr::ScalarUDF;
use tsql_codecs::steps::Numbers;

/// the numbers that fill the holes of a sketch, as a list; of layouts the code of each group.
pub(super) fn udf() -> ScalarUDF {
    let types = vec![DataType::Utf8View, DataType::BinaryView];
    let list = DataType::new_list(DataType::Int64, true);
    super::function("sketch_params", types, list, lists)
}

fn lists(args: &[ArrayRef]) -> Result<ArrayRef> {
    let sketches = as_string_view_array(super::argument(args, 0)?)?;
    let params = as_binary_view_array(super::argument(args, 1)?)?;
    let mut lists = ListBuilder::new(Int64Builder::with_capacity(sketches.len()));
    let mut numbers = Numbers::default();
    for (sketch, params) in sketches.iter().zip(params.iter()) {
        let Some((sketch, params)) = sketch.zip(params) else {
            lists.append_null();
            continue;
        };
        let Some(found) = numbers.of(sketch, params) else {
            return exec_err!("configurations: parameters that do not fit their sketch");
        };
        lists.append_value(found.into_iter().map(Some));
    }
    Ok(Arc::new(lists.finish()))
}
