//! `open_sketch`: a sketch without the numbers that were written into it where it was packed.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use arrow::array::{Array as _, ArrayRef, StringViewBuilder};
use arrow::buffer::Buffer;
use arrow::datatypes::DataType;
use datafusion::common::cast::{as_binary_view_array, as_string_view_array};
use datafusion::common::{DataFusionError, Result};
use tsql_codecs::steps;

use super::about::About;
use super::scalar::{Scalar, argument};

pub(super) fn function() -> Scalar {
    let about = About::new(
        "open_sketch",
        "The sketch with a hole for each number, also for those that were written into the stored one",
        "SELECT open_sketch(sketch, params) FROM stored.configurations LIMIT 3",
    )
        .takes("sketch", DataType::Utf8View, "as it is stored")
        .takes("params", DataType::BinaryView, "the numbers, packed").by("tsql: `steps` of the crate `tensorsql-codecs`");
    Scalar::new(&about, DataType::Utf8View, opened)
}

/// All rows of a graph share a sketch of kilobytes, in memory too: it is opened once.
fn opened(args: &[ArrayRef]) -> Result<ArrayRef> {
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
        // A view tells its text: the bytes themselves, or where they are in this array.
        let (block, length) = match known.entry(view) {
            Entry::Occupied(found) => *found.get(),
            Entry::Vacant(place) => {
                let text = steps::open(sketch);
                let too_long = |_| DataFusionError::Execution("a sketch of gigabytes".to_owned());
                let length = u32::try_from(text.len()).map_err(too_long)?;
                let block = out.append_block(Buffer::from(text.into_bytes()));
                *place.insert((block, length))
            }
        };
        out.try_append_view(block, 0, length)?;
    }
    Ok(Arc::new(out.finish()))
}
