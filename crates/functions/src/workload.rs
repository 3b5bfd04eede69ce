//! `workload_name` and `workload_args`: the parts of a TenSet workload key.

use std::sync::Arc;

use arrow::array::{ArrayRef, StringViewArray};
use arrow::datatypes::DataType;
use datafusion::common::Result;
use datafusion::common::cast::as_string_view_array;
use tsql_codecs::json;

use super::function_docs::FunctionDocs;
use super::scalar::{Scalar, argument};

/// `workload_name`: the first entry of a workload key.
pub(super) fn workload_name_udf() -> Scalar {
    let about = FunctionDocs::new(
        "workload_name",
        "First entry of a workload key. NULL if the key is not a JSON list",
        "SELECT workload_name('[\"12b88b\", 1, 56]')",
    )
    .argument("workload_key", DataType::Utf8View, KEY)
    .source("TVM, `auto_scheduler.workload_registry`");
    Scalar::new(&about, DataType::Utf8View, |args| {
        key_parts(args, first_entry)
    })
}

/// `workload_args`: all other entries.
pub(super) fn workload_args_udf() -> Scalar {
    let about = FunctionDocs::new(
        "workload_args",
        "All entries of a workload key except the first, as a JSON list. NULL if the key is not a JSON list",
        "SELECT workload_args('[\"12b88b\", 1, 56]')",
    )
    .argument("workload_key", DataType::Utf8View, KEY)
    .source("TVM, `auto_scheduler.workload_registry`");
    Scalar::new(&about, DataType::Utf8View, |args| {
        key_parts(args, other_entries)
    })
}

const KEY: &str = "key, as in `graphs.workload_key`";

fn key_parts(args: &[ArrayRef], part: fn(&str) -> Option<String>) -> Result<ArrayRef> {
    let keys = as_string_view_array(argument(args, 0)?)?.iter();
    let parts: StringViewArray = keys.map(|key| key.and_then(part)).collect();
    Ok(Arc::new(parts))
}

fn first_entry(key: &str) -> Option<String> {
    serde_json::from_str(json::elements(key)?.first()?).ok()
}

fn other_entries(key: &str) -> Option<String> {
    Some(format!(
        "[{}]",
        json::elements(key)?.get(1..).unwrap_or_default().join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_of_a_key_has_its_parts() {
        for (key, name, args) in [
            (r#"["55cbf5"]"#, "55cbf5", "[]"),
            (r#"["12b88b", 1, 56]"#, "12b88b", "[1, 56]"),
            (r#"["3f28", [1, 4], [4, 4]]"#, "3f28", "[[1, 4], [4, 4]]"),
            (
                r#"["conv2d", 1, [1, 1], "SAME", true]"#,
                "conv2d",
                r#"[1, [1, 1], "SAME", true]"#,
            ),
        ] {
            assert_eq!(first_entry(key).as_deref(), Some(name));
            assert_eq!(other_entries(key).as_deref(), Some(args));
        }
        assert_eq!((first_entry("matmul"), other_entries("{}")), (None, None));
    }
}
