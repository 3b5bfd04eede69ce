//! `merge_labels(text)`: the labels of a source, from those of its segments.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{ArrayRef, StringViewArray};
use arrow::datatypes::DataType;
use datafusion::common::Result;
use datafusion::common::cast::as_string_view_array;

use super::about::About;
use super::scalar::{Scalar, argument};

/// Labels with each key once.
pub(super) fn function() -> Scalar {
    let about = About::new(
        "merge_labels",
        "Labels with each key once, by key: of lines `key=value` that have the same key, the last one counts",
        "SELECT merge_labels('night=7' || chr(10) || 'driver=550' || chr(10) || 'night=8')",
    )
    .takes(
        "labels",
        DataType::Utf8View,
        "lines `key=value`, as `source_segments.labels` has them",
    )
    .by("tsql");
    Scalar::new(&about, DataType::Utf8View, merged)
}

fn merged(args: &[ArrayRef]) -> Result<ArrayRef> {
    let texts = as_string_view_array(argument(args, 0)?)?;
    let merged = texts.iter().map(|text| text.map(merge));
    Ok(Arc::new(merged.collect::<StringViewArray>()))
}

fn merge(text: &str) -> String {
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
            assert_eq!(merge(text), wanted, "{text}");
        }
    }
}
