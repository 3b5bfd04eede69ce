//! `len(x)`: the number of characters of a text, or of entries of a list or map.

use std::sync::Arc;

use arrow::array::{Array as _, ArrayRef, AsArray as _, Int64Array};
use arrow::compute::cast;
use arrow::compute::kernels::length::length;
use arrow::datatypes::DataType;
use datafusion::common::{Result, exec_err};

use super::function_docs::FunctionDocs;
use super::scalar::{Scalar, argument};

pub(super) fn function() -> Scalar {
    let about = FunctionDocs::new(
        "len",
        "Number of characters of a text, or of entries of a list or map, including NULL entries",
        "SELECT len(repeats_ns), len(platform) FROM records LIMIT 3",
    )
    .argument("value", None, "text, list or map")
    .source("DuckDB, len");
    Scalar::new(&about, DataType::Int64, lengths)
}

fn lengths(args: &[ArrayRef]) -> Result<ArrayRef> {
    let values = argument(args, 0)?;
    match values.data_type() {
        DataType::Null => Ok(Arc::new(Int64Array::new_null(values.len()))),
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => character_counts(values),
        DataType::Dictionary(_, of) if of.is_string() => character_counts(values),
        DataType::List(_) | DataType::LargeList(_) | DataType::FixedSizeList(..) => {
            Ok(cast(&length(values.as_ref())?, &DataType::Int64)?)
        }
        DataType::Map(..) => {
            let maps = values.as_map();
            let entries = (0..maps.len()).map(|row| {
                let entries = maps.is_valid(row).then(|| maps.value_length(row));
                entries.map(i64::from)
            });
            Ok(Arc::new(entries.collect::<Int64Array>()))
        }
        other => exec_err!("len expects a text, list or map, not {other}"),
    }
}

fn character_counts(texts: &ArrayRef) -> Result<ArrayRef> {
    let texts = cast(texts, &DataType::Utf8View)?;
    let counted = texts.as_string_view().iter().map(|text| {
        let characters = text?.chars().count();
        i64::try_from(characters).ok()
    });
    Ok(Arc::new(counted.collect::<Int64Array>()))
}
