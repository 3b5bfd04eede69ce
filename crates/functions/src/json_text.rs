//! `json_text(json, key)`: a field of a JSON object; `json_keys(json)`: its names; `json_elements(json)`: a JSON list;
//! `sample_key(path)`: the key of a GraphNet sample in its own path and in paths of logs; `split_lines(text)`.

use std::fmt::{self, Formatter};
use std::sync::Arc;

use arrow::array::{ArrayRef, StringViewArray};
use arrow::datatypes::DataType;
use datafusion::common::Result;
use datafusion::common::cast::as_string_view_array;
use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};
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

/// `json_keys`: the names of the fields of a JSON object.
pub(super) fn json_keys_udf() -> Scalar {
    let about = FunctionDocs::new(
        "json_keys",
        "Names of the fields of a JSON object, in the order of the text. NULL for other texts",
        "SELECT json_keys('{\"tile\": 8, \"unroll\": 2}')",
    )
    .argument("json", DataType::Utf8View, "JSON object")
    .source("DuckDB, `json_keys`");
    let list = DataType::new_list(DataType::Utf8View, true);
    Scalar::new(&about, list, key_lists)
}

/// `json_elements`: the elements of a JSON list.
pub(super) fn json_elements_udf() -> Scalar {
    let about = FunctionDocs::new(
        "json_elements",
        "Elements of a JSON list: strings as their text, all other values as JSON, null as NULL. NULL for other texts",
        "SELECT json_elements('[{\"tile\": 8}, \"fast\"]')[1]",
    )
    .argument("json", DataType::Utf8View, "JSON list")
    .source("PostgreSQL, `json_array_elements_text`; RFC 8259");
    let list = DataType::new_list(DataType::Utf8View, true);
    Scalar::new(&about, list, element_lists)
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
        text_of(object.remove(key?)?)
    };
    let fields: StringViewArray = objects.iter().zip(keys).map(field).collect();
    Ok(Arc::new(fields))
}

/// A string as its text, and all other values as JSON. `None` for null.
fn text_of(value: Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text),
        other => Some(other.to_string()),
    }
}

fn element_lists(args: &[ArrayRef]) -> Result<ArrayRef> {
    let texts = as_string_view_array(argument(args, 0)?)?;
    let (mut lengths, mut elements) = (ListLengths::default(), Vec::new());
    for text in texts {
        let values = text.and_then(|text| serde_json::from_str::<Vec<Value>>(text).ok());
        lengths.push(values.as_ref().map(Vec::len));
        elements.extend(values.into_iter().flatten().map(text_of));
    }
    let elements: StringViewArray = elements.into_iter().collect();
    lengths.into_lists(Arc::new(elements))
}

/// Names of the fields of an object, in order.
struct Keys(Vec<String>);

impl<'de> Deserialize<'de> for Keys {
    fn deserialize<D: Deserializer<'de>>(from: D) -> std::result::Result<Self, D::Error> {
        from.deserialize_map(KeysVisitor)
    }
}

struct KeysVisitor;

impl<'de> Visitor<'de> for KeysVisitor {
    type Value = Keys;

    fn expecting(&self, to: &mut Formatter) -> fmt::Result {
        to.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> std::result::Result<Keys, A::Error> {
        let mut keys = Vec::new();
        while let Some((key, _)) = fields.next_entry::<String, IgnoredAny>()? {
            keys.push(key);
        }
        Ok(Keys(keys))
    }
}

fn key_lists(args: &[ArrayRef]) -> Result<ArrayRef> {
    let texts = as_string_view_array(argument(args, 0)?)?;
    let (mut lengths, mut names) = (ListLengths::default(), Vec::new());
    for text in texts {
        let keys = text.and_then(|text| serde_json::from_str::<Keys>(text).ok());
        lengths.push(keys.as_ref().map(|keys| keys.0.len()));
        names.extend(keys.into_iter().flat_map(|keys| keys.0).map(Some));
    }
    let names: StringViewArray = names.into_iter().collect();
    lengths.into_lists(Arc::new(names))
}

fn sample_keys(args: &[ArrayRef]) -> Result<ArrayRef> {
    let paths = as_string_view_array(argument(args, 0)?)?;
    let keys = paths.iter().map(|path| path.map(graphnet::sample_key));
    Ok(Arc::new(keys.collect::<StringViewArray>()))
}

#[cfg(test)]
mod tests {
    use arrow::array::{Array as _, AsArray as _};

    use super::*;

    #[test]
    fn elements_are_texts_or_json() {
        let texts = [Some(r#"["a", 2, {"b": [1]}, null]"#), Some("{}"), Some("[")];
        let texts: ArrayRef = Arc::new(StringViewArray::from_iter(texts));
        let lists = element_lists(&[texts]).unwrap();
        let lists = lists.as_list::<i32>();
        let list = lists.value(0);
        let elements: Vec<Option<&str>> = list.as_string_view().iter().collect();
        assert_eq!(elements, [Some("a"), Some("2"), Some("{\"b\":[1]}"), None]);
        assert!(lists.is_null(1) && lists.is_null(2));
    }

    #[test]
    fn keys_are_those_of_objects_in_their_order() {
        let texts = [
            Some(r#"{"b": 1, "a": {"c": [2]}, "é\n": null}"#),
            Some("{}"),
            Some("[1]"),
            Some("{\"a\": 1"),
            None,
        ];
        let texts: ArrayRef = Arc::new(StringViewArray::from_iter(texts));
        let lists = key_lists(&[texts]).unwrap();
        let lists = lists.as_list::<i32>();
        let keys = |row: usize| {
            let list = lists.value(row);
            let keys = list.as_string_view().iter().flatten();
            keys.map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(keys(0), ["b", "a", "é\n"]);
        let valid: Vec<bool> = (0..lists.len()).map(|row| lists.is_valid(row)).collect();
        assert_eq!(valid, [true, true, false, false, false]);
        assert!(keys(1).is_empty());
    }
}
