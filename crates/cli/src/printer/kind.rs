//! Kinds of types, which determine the layout.

use arrow::datatypes::DataType;

/// Returns whether values of a type are numbers, which are right-aligned.
pub(super) fn is_number(data_type: &DataType) -> bool {
    match data_type {
        DataType::Dictionary(_, values) => is_number(values),
        DataType::RunEndEncoded(_, values) => is_number(values.data_type()),
        other => other.is_numeric(),
    }
}

/// Returns whether values of a type are floats, which have many digits.
pub(super) fn is_float(data_type: &DataType) -> bool {
    match data_type {
        DataType::Dictionary(_, values) => is_float(values),
        DataType::RunEndEncoded(_, values) => is_float(values.data_type()),
        other => other.is_floating(),
    }
}
