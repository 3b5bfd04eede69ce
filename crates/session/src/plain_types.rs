//! Plain Arrow types of rows: values that any Arrow reader supports, not views. Dictionaries are decoded, because a file
//! would store them once for each block.

use std::sync::Arc;

use arrow::datatypes::{DataType, FieldRef, Schema};

/// Returns the schema with plain types; names, units and documentation stay.
#[must_use]
pub fn plain_schema(schema: &Schema) -> Schema {
    let fields = schema.fields().iter().map(plain_field);
    Schema::new(fields.collect::<Vec<_>>())
}

fn plain_field(field: &FieldRef) -> FieldRef {
    let plain = field.as_ref().clone();
    Arc::new(plain.with_data_type(plain_type(field.data_type())))
}

fn plain_type(data_type: &DataType) -> DataType {
    match data_type {
        DataType::Utf8View => DataType::Utf8,
        DataType::BinaryView => DataType::Binary,
        DataType::Dictionary(_, values) => plain_type(values),
        DataType::RunEndEncoded(_, values) => plain_type(values.data_type()),
        DataType::List(field) => DataType::List(plain_field(field)),
        DataType::LargeList(field) => DataType::LargeList(plain_field(field)),
        DataType::FixedSizeList(field, size) => DataType::FixedSizeList(plain_field(field), *size),
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(plain_field).collect()),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::datatypes::Field;

    #[test]
    fn views_and_dictionaries_become_values() {
        let dictionary =
            DataType::Dictionary(Box::new(DataType::Int8), Box::new(DataType::Utf8View));
        let inner = Field::new("a", dictionary, true);
        let lists = DataType::new_fixed_size_list(DataType::Struct(vec![inner].into()), 3, true);
        let schema = Schema::new(vec![
            Field::new("x", lists, true),
            Field::new("y", DataType::Int64, false),
        ]);
        let told = format!("{:?}", plain_schema(&schema));
        assert!(
            !told.contains("View") && !told.contains("Dictionary"),
            "{told}"
        );
        assert_eq!(plain_schema(&schema).field(1), schema.field(1));
    }
}
