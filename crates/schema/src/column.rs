//! Access to columns of a batch by name and Rust type. A wrong type is reported as damage and does not panic.

pub mod arrays;
pub mod disturbed;
pub mod value_order;

use arrow::array::{
    Array, AsArray as _, BinaryViewArray, BooleanArray, ListArray, PrimitiveArray, RecordBatch,
    StringViewArray,
};
use arrow::datatypes::ArrowPrimitiveType;

use tsql_error::{Error, Result};

fn column<'a, T: Array + 'static>(batch: &'a RecordBatch, name: &str) -> Result<&'a T> {
    let column = batch
        .column_by_name(name)
        .and_then(|column| column.as_any().downcast_ref());
    column.ok_or_else(|| Error::damaged(name, "the column is missing or of another type"))
}

/// Returns a column of numbers or times.
pub fn numbers<'a, T: ArrowPrimitiveType>(
    batch: &'a RecordBatch,
    name: &str,
) -> Result<&'a PrimitiveArray<T>> {
    column(batch, name)
}

/// Returns a text column.
pub fn text<'a>(batch: &'a RecordBatch, name: &str) -> Result<&'a StringViewArray> {
    column(batch, name)
}

/// Returns a binary column.
pub fn bytes<'a>(batch: &'a RecordBatch, name: &str) -> Result<&'a BinaryViewArray> {
    column(batch, name)
}

/// Returns a list column.
pub fn lists<'a>(batch: &'a RecordBatch, name: &str) -> Result<&'a ListArray> {
    column(batch, name)
}

/// Returns a boolean column.
pub fn flags<'a>(batch: &'a RecordBatch, name: &str) -> Result<&'a BooleanArray> {
    column(batch, name)
}

/// Returns the value of a row, `None` for NULL.
pub fn value<T: ArrowPrimitiveType>(column: &PrimitiveArray<T>, row: usize) -> Option<T::Native> {
    column.is_valid(row).then(|| column.value(row))
}

/// Returns the text of a row, `None` for NULL.
pub fn text_at(column: &StringViewArray, row: usize) -> Option<&str> {
    column.is_valid(row).then(|| column.value(row))
}

/// Returns the list of texts of a row, `None` for NULL.
pub fn texts_at(column: &ListArray, row: usize) -> Option<Vec<String>> {
    let list = column.is_valid(row).then(|| column.value(row))?;
    let owned = |text: Option<&str>| text.unwrap_or_default().to_owned();
    match list.as_string_view_opt() {
        Some(texts) => Some(texts.iter().map(owned).collect()),
        None => Some(list.as_string_opt::<i32>()?.iter().map(owned).collect()),
    }
}

/// Returns the bytes of a row, `None` for NULL.
pub fn bytes_at(column: &BinaryViewArray, row: usize) -> Option<&[u8]> {
    column.is_valid(row).then(|| column.value(row))
}
