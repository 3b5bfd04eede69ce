//! `open_sketch`: a sketch without the numbers that packing wrote into it.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use arrow::array::{Array as _, ArrayRef, StringViewBuilder};
use arrow::buffer::Buffer;
use arrow::datatypes::DataType;
use datafusion::common::cast::{as_binary_view_array, as_string_view_array};
use datafusion::common::{DataFusionError, Result};
use tsql_codecs::steps;

use super::function_docs::FunctionDocs;
use super::scalar::{Scalar, argument};

pub(super) fn function() -> Scalar {
    let about = FunctionDocs::new(
        "open_sketch",
        "Sketch with a hole for each number, including the numbers that the stored sketch contains",
        "SELECT open_sketch(sketch, params) FROM stored.configurations LIMIT 3",
    )
    .argument(
        "sketch",
        DataType::Utf8View,
        "`stored.configurations.sketch`",
    )
    .argument("params", DataType::BinaryView, "packed numbers")
    .source("tsql: `steps` of the crate `tensorsql-codecs`");
    Scalar::new(&about, DataType::Utf8View, open_sketches)
}

/// All rows of a graph share one sketch of kilobytes, in memory as well, so it is opened once.
fn open_sketches(args: &[ArrayRef]) -> Result<ArrayRef> {
    let sketches = as_string_view_array(argument(args, 0)?)?;
    let params = as_binary_view_array(argument(args, 1)?)?;
    let mut out = StringViewBuilder::with_capacity(sketches.len());
    let mut known: HashMap<u128, (u32, u32)> = HashMap::new();
    let views = sketches.views().iter().zip(sketches.iter());
    for (row, (&view, sketch)) in views.enumerate() {
        let Some(sketch) = sketch else {
            out.append_null();
            continue;
        };
        if params.is_null(row) {
            out.append_value(sketch);
            continue;
        }
        // A view contains either its bytes or their position in this array.
        let (block, length) = match known.entry(view) {
            Entry::Occupied(found) => *found.get(),
            Entry::Vacant(place) => {
                let text = steps::open_sketch(sketch);
                let too_long = |_| DataFusionError::Execution("the sketch is too long".to_owned());
                let length = u32::try_from(text.len()).map_err(too_long)?;
                let block = out.append_block(Buffer::from(text.into_bytes()));
                *place.insert((block, length))
            }
        };
        out.try_append_view(block, 0, length)?;
    }
    Ok(Arc::new(out.finish()))
}
