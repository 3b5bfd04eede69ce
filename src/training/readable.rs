//! The types of rows in a selection: values themselves, as any reader of Arrow knows them, not views of others or
//! numbers of a dictionary, which a file would keep once for each block.

use std::sync::Arc;

use arrow::datatypes::{DataType, FieldRef, Schema};

/// The schema with these types; names, units and meanings stay.
pub(super) fn readable(schema: &Schema) -> Schema {
    let fields = schema.fields().iter().map(of_field);
    Schema::new(fields.collect::<Vec<_>>())
}

fn of_field(field: &FieldRef) -> FieldRef {
    let plain = field.as_ref().clone();
    Arc::new(plain.with_data_type(of_type(field.data_type())))
}

fn of_type(data_type: &DataType) -> DataType {
    match data_type {
        DataType::Utf8View => DataType::Utf8,
        DataType::BinaryView => DataType::Binary,
        DataType::Dictionary(_, values) => of_type(values),
        DataType::RunEndEncoded(_, values) => of_type(values.data_type()),
        DataType::List(field) => DataType::List(of_field(field)),
        DataType::LargeList(field) => DataType::LargeList(of_field(field)),
        DataType::FixedSizeList(field, size) => DataType::FixedSizeList(of_field(field), *size),
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(of_field).collect()),
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
        let told = format!("{:?}", readable(&schema));
        assert!(
            !told.contains("View") && !told.contains("Dictionary"),
            "{told}"
        );
        assert_eq!(readable(&schema).field(1), schema.field(1));
    }
}
