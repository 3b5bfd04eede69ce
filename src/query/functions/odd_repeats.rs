//! `flags(list, text)`, `disturbed_repeats(list, text)`: lists, also of files that keep them as text.

use std::sync::Arc;

use arrow::array::{Array as _, ArrayRef, ListBuilder, StringBuilder};
use arrow::datatypes::DataType;
use datafusion::common::Result;
use datafusion::common::cast::{as_list_array, as_string_view_array};
use datafusion::logical_expr::ScalarUDF;
use tsql_formats::measured::disturbed::values;
use tsql_formats::measured::words;

use crate::column::{disturbed, text_at, texts_at};

/// Words that were joined by commas.
pub(super) fn flags() -> ScalarUDF {
    let list = DataType::new_list(DataType::Utf8, true);
    let types = vec![list.clone(), DataType::Utf8View];
    super::function("flags", types, list, flag_lists)
}

/// Repeats that were a list of JSON; NULL where that lists something else.
pub(super) fn repeats() -> ScalarUDF {
    let list = disturbed::data_type();
    let types = vec![list.clone(), DataType::Utf8View];
    super::function("disturbed_repeats", types, list, disturbed_lists)
}

fn flag_lists(args: &[ArrayRef]) -> Result<ArrayRef> {
    let (lists, texts) = (super::argument(args, 0)?, super::argument(args, 1)?);
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
    let (lists, texts) = (super::argument(args, 0)?, super::argument(args, 1)?);
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
