//! What a type is to those who print it: a number, or something nested.

use arrow::datatypes::DataType;

/// Whether text formats show a value of this type as JSON.
pub(super) fn is_json(data_type: &DataType) -> bool {
    data_type.is_nested() && !matches!(data_type, DataType::Union(_, _))
}

/// Numbers are right-aligned.
pub(super) fn is_number(data_type: &DataType) -> bool {
    match data_type {
        DataType::Dictionary(_, values) => is_number(values),
        DataType::RunEndEncoded(_, values) => is_number(values.data_type()),
        other => other.is_numeric(),
    }
}
