//! Portable types of published columns.
//!
//! The files also contain metadata: descriptions and units for Arrow readers, and nullable integer types for pandas.
//! Otherwise pandas converts integers with NULLs to floats, which cannot represent ids that are hashes.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray as _};
use arrow::datatypes::{DataType, Field, FieldRef, Schema};
use serde_json::{Value, json};

use super::published_relations::PublishedRelation;

/// Name of list elements that readers expect.
const ELEMENT: &str = "element";

/// Returns the schema of a table's files. `given` is the schema of the session's rows.
pub(super) fn portable_schema(shown: &PublishedRelation, given: &Schema) -> Schema {
    let fields = given.fields().iter().map(|field| {
        let mut metadata = HashMap::new();
        if let Some(column) = shown.column(field.name()) {
            metadata.insert("comment".to_owned(), column.doc.clone());
            let unit = column.unit.clone();
            metadata.extend(unit.map(|unit| ("unit".to_owned(), unit)));
        }
        let plain = Field::new(
            field.name(),
            portable_type(field.data_type()),
            field.is_nullable(),
        );
        plain.with_metadata(metadata)
    });
    let plain = Schema::new(fields.collect::<Vec<_>>());
    let mut metadata = HashMap::from([("comment".to_owned(), shown.doc.clone())]);
    metadata.extend(pandas_metadata(&plain).map(|told| ("pandas".to_owned(), told)));
    plain.with_metadata(metadata)
}

/// Returns a portable type: plain text instead of views and dictionaries.
fn portable_type(data_type: &DataType) -> DataType {
    let element = |field: &FieldRef| {
        let plain = portable_type(field.data_type());
        Arc::new(Field::new(ELEMENT, plain, field.is_nullable()))
    };
    match data_type {
        DataType::Utf8View | DataType::LargeUtf8 => DataType::Utf8,
        DataType::BinaryView | DataType::LargeBinary => DataType::Binary,
        DataType::Dictionary(_, values) => portable_type(values),
        DataType::List(field) | DataType::LargeList(field) => DataType::List(element(field)),
        DataType::Struct(fields) => {
            let fields = fields.iter().map(|field| {
                let plain = portable_type(field.data_type());
                Field::new(field.name(), plain, field.is_nullable())
            });
            DataType::Struct(fields.collect())
        }
        other => other.clone(),
    }
}

/// Returns the pandas metadata for integer columns with NULLs. `None` if there are none.
fn pandas_metadata(schema: &Schema) -> Option<String> {
    let columns = schema.fields().iter().filter_map(|field| {
        let (own, pandas) = match field.data_type() {
            DataType::Int16 => ("int16", "Int16"),
            DataType::Int32 => ("int32", "Int32"),
            DataType::Int64 => ("int64", "Int64"),
            DataType::Boolean => ("bool", "boolean"),
            _ => return None,
        };
        let name = field.name();
        field.is_nullable().then(|| {
            json!({"name": name, "field_name": name, "pandas_type": own, "numpy_type": pandas, "metadata": null})
        })
    });
    let columns: Vec<Value> = columns.collect();
    let all = json!({
        "index_columns": [],
        "column_indexes": [],
        "columns": columns,
        "creator": {"library": "tsql", "version": env!("CARGO_PKG_VERSION")},
        "pandas_version": "2.0.0",
    });
    let columns = all.get("columns").and_then(Value::as_array);
    columns
        .is_some_and(|columns| !columns.is_empty())
        .then(|| all.to_string())
}

/// Returns the size of the values in bytes, independent of the encoding.
pub(super) fn value_bytes(values: &ArrayRef) -> usize {
    match values.data_type() {
        DataType::Utf8View => lengths(values.as_string_view().iter().flatten().map(str::len)),
        DataType::Utf8 => lengths(values.as_string::<i32>().iter().flatten().map(str::len)),
        DataType::BinaryView => lengths(values.as_binary_view().iter().flatten().map(<[u8]>::len)),
        DataType::List(_) => {
            let lists = values.as_list::<i32>().iter().flatten();
            lengths(lists.map(|list| value_bytes(&list)))
        }
        DataType::Struct(_) => {
            let columns = values.as_struct().columns().iter();
            columns.map(value_bytes).sum()
        }
        other => values.len() * other.primitive_width().unwrap_or(1),
    }
}

fn lengths(each: impl Iterator<Item = usize>) -> usize {
    each.map(|bytes| bytes + size_of::<i32>()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn views_and_dictionaries_become_plain() {
        let dictionary =
            DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8View));
        assert_eq!(portable_type(&dictionary), DataType::Utf8);
        let inner = DataType::Struct(vec![Field::new("a", DataType::BinaryView, true)].into());
        let list = DataType::new_list(inner, true);
        let DataType::List(element) = portable_type(&list) else {
            panic!("a list stays one");
        };
        assert_eq!(element.name(), ELEMENT);
        assert_eq!(
            format!("{:?}", element.data_type()).matches("View").count(),
            0
        );
    }

    #[test]
    fn only_integers_with_nulls_need_a_pandas_type() {
        let of = |nullable: bool| Schema::new(vec![Field::new("id", DataType::Int64, nullable)]);
        assert_eq!(pandas_metadata(&of(false)), None);
        assert!(
            pandas_metadata(&of(true))
                .unwrap()
                .contains("\"numpy_type\":\"Int64\"")
        );
    }
}
