//! `flags(list, text)`, `disturbed_repeats(list, text)`: lists, including those that some files store as text.

use std::sync::Arc;

use arrow::array::{Array as _, ArrayRef, ListBuilder, StringBuilder};
use arrow::datatypes::DataType;
use datafusion::common::Result;
use datafusion::common::cast::{as_list_array, as_string_view_array};
use tsql_formats::measured::disturbed_repeats::parse_list;
use tsql_formats::measured::split_flags;

use tsql_schema::column::{disturbed, text_at, texts_at};

use super::function_docs::FunctionDocs;
use super::scalar::{Scalar, argument};

/// `flags`: words, possibly joined by commas.
pub(super) fn flags() -> Scalar {
    let list = DataType::new_list(DataType::Utf8, true);
    let about = FunctionDocs::new(
        "flags",
        "Flags of a measurement, also from files that store them as text",
        "SELECT flags(flag_list, flags) FROM stored.records LIMIT 3",
    )
    .argument("list", list.clone(), "flags as a list")
    .argument(
        "text",
        DataType::Utf8View,
        "flags separated by commas, if the list is NULL",
    )
    .source("tsql: `records` in `schemas/records.toml`");
    Scalar::new(&about, list, flag_lists)
}

/// `disturbed_repeats`: indices, possibly as a JSON list; NULL if the JSON is not such a list.
pub(super) fn disturbed_repeats_udf() -> Scalar {
    let list = disturbed::data_type();
    let about = FunctionDocs::new(
        "disturbed_repeats",
        "Repeats that do not count, also from files that store them as text",
        "SELECT disturbed_repeats(disturbed_list, disturbed_repeats) FROM stored.records LIMIT 3",
    )
    .argument("list", list.clone(), "repeats as a list")
    .argument("text", DataType::Utf8View, "JSON list, if the list is NULL")
    .source("tsql: `records` in `schemas/records.toml`");
    Scalar::new(&about, list, disturbed_lists)
}

fn flag_lists(args: &[ArrayRef]) -> Result<ArrayRef> {
    let (lists, texts) = (argument(args, 0)?, argument(args, 1)?);
    if texts.null_count() == texts.len() {
        return Ok(Arc::clone(lists));
    }
    let (lists, texts) = (as_list_array(lists)?, as_string_view_array(texts)?);
    let mut made = ListBuilder::new(StringBuilder::new());
    for row in 0..lists.len() {
        let words = texts_at(lists, row).or_else(|| Some(split_flags(text_at(texts, row)?)));
        made.append_option(words.map(|words| words.into_iter().map(Some)));
    }
    Ok(Arc::new(made.finish()))
}

fn disturbed_lists(args: &[ArrayRef]) -> Result<ArrayRef> {
    let (lists, texts) = (argument(args, 0)?, argument(args, 1)?);
    if texts.null_count() == texts.len() {
        return Ok(Arc::clone(lists));
    }
    let (lists, texts) = (as_list_array(lists)?, as_string_view_array(texts)?);
    let mut made = disturbed::DisturbedBuilder::default();
    for row in 0..lists.len() {
        let repeats = disturbed::disturbed_at(lists, row);
        let repeats = repeats.or_else(|| parse_list(text_at(texts, row)?));
        made.push(repeats.as_deref());
    }
    Ok(Arc::new(made.finish()))
}
