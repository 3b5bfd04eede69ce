//! `json_text(json, key)`: a field of a JSON object; `sample_key(path)`: what names a sample of
//! GraphNet in its own path and in those of logs; `split_lines(text)`.

use std::sync::Arc;

use arrow::array::{ArrayRef, StringViewArray};
use arrow::datatypes::DataType;
use datafusion::common::Result;
use datafusion::common::cast::as_string_view_array;
use datafusion::logical_expr::ScalarUDF;
use serde_json::{Map, Value};
use tsql_formats::graphnet;

use super::lists::Lengths;

/// A field of a JSON object: text as it is, everything else as JSON; NULL where it is missing or
/// null.
pub(super) fn field() -> ScalarUDF {
    let types = vec![DataType::Utf8View; 2];
    super::function("json_text", types, DataType::Utf8View, fields)
}

/// The last parts of a path, from `samples` or `paddle_samples` on.
pub(super) fn key() -> ScalarUDF {
    let types = vec![DataType::Utf8View];
    super::function("sample_key", types, DataType::Utf8View, keys)
}

/// The lines of a text.
pub(super) fn lines() -> ScalarUDF {
    let list = DataType::new_list(DataType::Utf8View, true);
    super::function("split_lines", vec![DataType::Utf8View], list, line_lists)
}

fn line_lists(args: &[ArrayRef]) -> Result<ArrayRef> {
    let texts = as_string_view_array(super::argument(args, 0)?)?;
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
    let objects = as_string_view_array(super::argument(args, 0)?)?;
    let keys = as_string_view_array(super::argument(args, 1)?)?;
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
    let paths = as_string_view_array(super::argument(args, 0)?)?;
    let keys = paths.iter().map(|path| path.map(graphnet::sample_key));
    Ok(Arc::new(keys.collect::<StringViewArray>()))
}
