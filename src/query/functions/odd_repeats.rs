//! `flags(list, text)`, `disturbed_repeats(list, text)`: lists, also of files that keep them as text.

use std::sync::Arc;

use arrow::array::{Array as _, ArrayRef, ListBuilder, StringBuilder};
use arrow::datatypes::DataType;
use datafusion::common::Result;
use datafusion::common::cast::{as_list_array, as_string_view_array};
use tsql_formats::measured::disturbed::values;
use tsql_formats::measured::words;

use crate::column::{disturbed, text_at, texts_at};

use super::about::About;
use super::scalar::{Scalar, argument};

/// Words that were joined by commas.
pub(super) fn flags() -> Scalar {
    let list = DataType::new_list(DataType::Utf8, true);
    let about = About::new(
        "flags",
        "What was said of a measurement, also of files that keep it as text",
        "SELECT flags(flag_list, flags) FROM stored.records LIMIT 3",
    )
    .takes("list", list.clone(), "words as a list")
    .takes(
        "text",
        DataType::Utf8View,
        "words that were joined by commas, where there is no list",
    )
    .by("tsql: `records` in `schemas/records.toml`");
    Scalar::new(&about, list, flag_lists)
}

/// Repeats that were a list of JSON; NULL where that lists something else.
pub(super) fn repeats() -> Scalar {
    let list = disturbed::data_type();
    let about = About::new(
        "disturbed_repeats",
        "Repeats that do not count, also of files that keep them as text",
        "SELECT disturbed_repeats(disturbed_list, disturbed_repeats) FROM stored.records LIMIT 3",
    )
    .takes("list", list.clone(), "repeats as a list")
    .takes(
        "text",
        DataType::Utf8View,
        "a list of JSON, where there is no list",
    )
    .by("tsql: `records` in `schemas/records.toml`");
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
        let words = texts_at(lists, row).or_else(|| Some(words(text_at(texts, row)?)));
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
    let mut made = disturbed::Rows::default();
    for row in 0..lists.len() {
        let repeats = disturbed::at(lists, row);
        let repeats = repeats.or_else(|| values(text_at(texts, row)?));
        made.push(repeats.as_deref());
    }
    Ok(Arc::new(made.finish()))
}
