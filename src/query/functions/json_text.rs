//! `json_text(json, key)`: a field of a JSON object; `sample_key(path)`: what names a sample of
//! GraphNet in its own path and in those of logs; `split_lines(text)`.

use std::sync::Arc;

use arrow::array::{ArrayRef, StringViewArray};
use arrow::datatypes::DataType;
use datafusion::common::Result;
use datafusion::common::cast::as_string_view_array;
use serde_json::{Map, Value};
use tsql_formats::graphnet;

use super::about::About;
use super::lists::Lengths;
use super::scalar::{Scalar, argument};

/// A field of a JSON object.
pub(super) fn field() -> Scalar {
    let about = About::new(
        "json_text",
        "A field of a JSON object: text as it is, everything else as JSON; NULL where it is missing or null",
        "SELECT json_text('{\"device\": \"cuda\"}', 'device')",
    ).takes("json", DataType::Utf8View, "the object").takes(
        "key",
        DataType::Utf8View,
        "name of the field",
    ).by("PostgreSQL, `->>`; RFC 8259");
    Scalar::new(&about, DataType::Utf8View, fields)
}

/// What names a sample.
pub(super) fn key() -> Scalar {
    let about = About::new(
        "sample_key",
        "What names a sample of GraphNet: the last parts of a path, from `samples` or `paddle_samples` on",
        "SELECT sample_key('/data/samples/torchvision/resnet18')",
    ).takes(
        "path",
        DataType::Utf8View,
        "the sample's path, as a log or a folder has it",
    ).by("GraphNet's repository, folders of samples");
    Scalar::new(&about, DataType::Utf8View, keys)
}

/// The lines of a text.
pub(super) fn lines() -> Scalar {
    let about = About::new(
        "split_lines",
        "The lines of a text as a list",
        "SELECT split_lines('a.json' || chr(10) || 'b.json')",
    )
    .takes("text", DataType::Utf8View, "the text")
    .by("Python, `str.splitlines`, of line feeds alone");
    let list = DataType::new_list(DataType::Utf8View, true);
    Scalar::new(&about, list, line_lists)
}

fn line_lists(args: &[ArrayRef]) -> Result<ArrayRef> {
    let texts = as_string_view_array(argument(args, 0)?)?;
    let (mut lengths, mut lines) = (Lengths::default(), Vec::new());
    for text in texts {
        let before = lines.len();
        lines.extend(text.into_iter().flat_map(str::lines).map(Some));
        lengths.end(text.map(|_| lines.len() - before));
    }
    let lines: StringViewArray = lines.into_iter().collect();
    lengths.of(Arc::new(lines))
}

fn fields(args: &[ArrayRef]) -> Result<ArrayRef> {
    let objects = as_string_view_array(argument(args, 0)?)?;
    let keys = as_string_view_array(argument(args, 1)?)?;
    let field = |(object, key): (Option<&str>, Option<&str>)| {
        let mut object: Map<String, Value> = serde_json::from_str(object?).ok()?;
        match object.remove(key?)? {
            Value::Null => None,
            Value::String(text) => Some(text),
            other => Some(other.to_string()),
        }
    };
    let fields: StringViewArray = objects.iter().zip(keys).map(field).collect();
    Ok(Arc::new(fields))
}

fn keys(args: &[ArrayRef]) -> Result<ArrayRef> {
    let paths = as_string_view_array(argument(args, 0)?)?;
    let keys = paths.iter().map(|path| path.map(graphnet::sample_key));
    Ok(Arc::new(keys.collect::<StringViewArray>()))
}
