//! Arrow arrays from Rust values, for rows that are written to a table.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, StringArray};

/// Arrays by column name.
pub type Columns = BTreeMap<&'static str, ArrayRef>;

/// Returns an array that repeats one text.
pub fn repeat_text(text: &str, count: usize) -> ArrayRef {
    Arc::new(StringArray::from_iter_values(std::iter::repeat_n(
        text, count,
    )))
}

/// Returns an array of texts.
pub fn text_array(texts: impl IntoIterator<Item = impl AsRef<str>>) -> ArrayRef {
    Arc::new(StringArray::from_iter_values(texts))
}

/// Returns an array of integers.
pub fn int64_array(numbers: impl IntoIterator<Item = i64>) -> ArrayRef {
    Arc::new(Int64Array::from_iter_values(numbers))
}
