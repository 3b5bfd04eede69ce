//! What a type is to those who print it: a number or not.

use arrow::datatypes::DataType;

/// Numbers are right-aligned.
pub(super) fn is_number(data_type: &DataType) -> bool {
    match data_type {
        DataType::Dictionary(_, values) => is_number(values),
        DataType::RunEndEncoded(_, values) => is_number(values.data_type()),
        other => other.is_numeric(),
    }
}
