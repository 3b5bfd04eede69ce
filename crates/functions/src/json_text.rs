//! `json_text(json, key)`: a field of a JSON object; `sample_key(path)`: the key of a GraphNet sample in its own path
//! and in paths of logs; `split_lines(text)`.

use std::sync::Arc;

use arrow::array::{ArrayRef, StringViewArray};
use arrow::datatypes::DataType;
use datafusion::common::Result;
use datafusion::common::cast::as_string_view_array;
use serde_json::{Map, Value};
use tsql_formats::graphnet;

use super::function_docs::FunctionDocs;
use super::lists::ListLengths;
use super::scalar::{Scalar, argument};

/// `json_text`: a field of a JSON object.
pub(super) fn json_text_udf() -> Scalar {
    let about = FunctionDocs::new(
        "json_text",
        "Field of a JSON object: a string as its text, all other values as JSON. NULL if the field is missing or null",
        "SELECT json_text('{\"device\": \"cuda\"}', 'device')",
    ).argument("json", DataType::Utf8View, "JSON object").argument(
        "key",
        DataType::Utf8View,
        "name of the field",
    ).source("PostgreSQL, `->>`; RFC 8259");
    Scalar::new(&about, DataType::Utf8View, json_fields)
}

/// `sample_key`: the key of a sample.
pub(super) fn sample_key_udf() -> Scalar {
    let about = FunctionDocs::new(
        "sample_key",
        "Key of a GraphNet sample: the last parts of its path, from `samples` or `paddle_samples` on",
        "SELECT sample_key('/data/samples/torchvision/resnet18')",
    ).argument(
        "path",
        DataType::Utf8View,
        "path of the sample in a log or a folder",
    ).source("GraphNet's repository, folders of samples");
    Scalar::new(&about, DataType::Utf8View, sample_keys)
}

/// `split_lines`: the lines of a text.
pub(super) fn lines_udf() -> Scalar {
    let about = FunctionDocs::new(
        "split_lines",
        "Lines of a text as a list",
        "SELECT split_lines('a.json' || chr(10) || 'b.json')",
    )
    .argument("text", DataType::Utf8View, "text")
    .source("Python, `str.splitlines`, for line feeds only");
    let list = DataType::new_list(DataType::Utf8View, true);
    Scalar::new(&about, list, line_lists)
}

fn line_lists(args: &[ArrayRef]) -> Result<ArrayRef> {
    let texts = as_string_view_array(argument(args, 0)?)?;
    let (mut lengths, mut lines) = (ListLengths::default(), Vec::new());
    for text in texts {
        let before = lines.len();
        lines.extend(text.into_iter().flat_map(str::lines).map(Some));
        lengths.push(text.map(|_| lines.len() - before));
    }
    let lines: StringViewArray = lines.into_iter().collect();
    lengths.into_lists(Arc::new(lines))
}

fn json_fields(args: &[ArrayRef]) -> Result<ArrayRef> {
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

fn sample_keys(args: &[ArrayRef]) -> Result<ArrayRef> {
    let paths = as_string_view_array(argument(args, 0)?)?;
    let keys = paths.iter().map(|path| path.map(graphnet::sample_key));
    Ok(Arc::new(keys.collect::<StringViewArray>()))
}
