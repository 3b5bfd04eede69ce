//! `merge_labels(text)`: the labels of a source, merged from those of its segments.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{ArrayRef, StringViewArray};
use arrow::datatypes::DataType;
use datafusion::common::Result;
use datafusion::common::cast::as_string_view_array;

use super::function_docs::FunctionDocs;
use super::scalar::{Scalar, argument};

/// `merge_labels`: labels with one value per key.
pub(super) fn function() -> Scalar {
    let about = FunctionDocs::new(
        "merge_labels",
        "Labels with each key once, sorted by key. If several lines `key=value` have the same key, the last one counts",
        "SELECT merge_labels('night=7' || chr(10) || 'driver=550' || chr(10) || 'night=8')",
    )
    .argument(
        "labels",
        DataType::Utf8View,
        "lines `key=value`, as in `source_segments.labels`",
    )
    .source("tsql");
    Scalar::new(&about, DataType::Utf8View, merge_label_texts)
}

fn merge_label_texts(args: &[ArrayRef]) -> Result<ArrayRef> {
    let texts = as_string_view_array(argument(args, 0)?)?;
    let merged = texts.iter().map(|text| text.map(merge_labels));
    Ok(Arc::new(merged.collect::<StringViewArray>()))
}

fn merge_labels(text: &str) -> String {
    let labels = text.lines().filter_map(|line| line.split_once('='));
    let labels: BTreeMap<&str, &str> = labels.collect();
    let lines = labels.iter().map(|(key, value)| format!("{key}={value}"));
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_value_of_a_key_counts() {
        for (text, wanted) in [
            ("", ""),
            ("a=1", "a=1"),
            ("b=1\na=2\nb=3", "a=2\nb=3"),
            ("a=x=y\na= ", "a= "),
            ("a.b=1\na=2\na-b=3", "a=2\na-b=3\na.b=1"),
        ] {
            assert_eq!(merge_labels(text), wanted, "{text}");
        }
    }
}
