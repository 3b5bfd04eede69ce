//! Columns that rows become on their way into a table.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, StringArray};

/// Columns of rows by name.
pub type Columns = BTreeMap<&'static str, ArrayRef>;

/// A column of one text.
pub fn repeated(text: &str, count: usize) -> ArrayRef {
    Arc::new(StringArray::from_iter_values(std::iter::repeat_n(
        text, count,
    )))
}

/// A column of texts.
pub fn texts(texts: impl IntoIterator<Item = impl AsRef<str>>) -> ArrayRef {
    Arc::new(StringArray::from_iter_values(texts))
}

/// A column of whole numbers.
pub fn integers(numbers: impl IntoIterator<Item = i64>) -> ArrayRef {
    Arc::new(Int64Array::from_iter_values(numbers))
}
