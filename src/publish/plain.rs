//! The types of published columns, as any reader of Parquet knows them.
//!
//! Beside the columns a file says, for readers of Arrow, what they mean and their units, and for pandas that whole
//! numbers with gaps stay whole: pandas makes floats of them otherwise, and ids are hashes that a float cannot hold.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray as _};
use arrow::datatypes::{DataType, Field, FieldRef, Schema};
use serde_json::{Value, json};

use super::shown::Shown;

/// What readers call the elements of a list.
const ELEMENT: &str = "element";

/// The schema of a table's files: `given` is that of the rows as the session gives them.
pub(super) fn schema(shown: &Shown, given: &Schema) -> Schema {
    let fields = given.fields().iter().map(|field| {
        let mut metadata = HashMap::new();
        if let Some(column) = shown.column(field.name()) {
            metadata.insert("comment".to_owned(), column.doc.clone());
            let unit = column.unit.clone();
            metadata.extend(unit.map(|unit| ("unit".to_owned(), unit)));
        }
        let plain = Field::new(field.name(), plain(field.data_type()), field.is_nullable());
        plain.with_metadata(metadata)
    });
    let plain = Schema::new(fields.collect::<Vec<_>>());
    let mut metadata = HashMap::from([("comment".to_owned(), shown.doc.clone())]);
    metadata.extend(for_pandas(&plain).map(|told| ("pandas".to_owned(), told)));
    plain.with_metadata(metadata)
}

/// The type by which others know the values: texts, not views of them or numbers of a dictionary.
fn plain(data_type: &DataType) -> DataType {
    let element = |field: &FieldRef| {
        let plain = plain(field.data_type());
        Arc::new(Field::new(ELEMENT, plain, field.is_nullable()))
    };
    match data_type {
        DataType::Utf8View | DataType::LargeUtf8 => DataType::Utf8,
        DataType::BinaryView | DataType::LargeBinary => DataType::Binary,
        DataType::Dictionary(_, values) => plain(values),
        DataType::List(field) | DataType::LargeList(field) => DataType::List(element(field)),
        DataType::Struct(fields) => {
            let fields = fields.iter().map(|field| {
                let plain = plain(field.data_type());
                Field::new(field.name(), plain, field.is_nullable())
            });
            DataType::Struct(fields.collect())
        }
        other => other.clone(),
    }
}

/// What pandas is to make of columns whose gaps would change their values; `None` where there are none such.
fn for_pandas(schema: &Schema) -> Option<String> {
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

/// Bytes of the values, whatever they take in memory or in a file.
pub(super) fn bytes_of(values: &ArrayRef) -> usize {
    match values.data_type() {
        DataType::Utf8View => lengths(values.as_string_view().iter().flatten().map(str::len)),
        DataType::Utf8 => lengths(values.as_string::<i32>().iter().flatten().map(str::len)),
        DataType::BinaryView => lengths(values.as_binary_view().iter().flatten().map(<[u8]>::len)),
        DataType::List(_) => {
            let lists = values.as_list::<i32>().iter().flatten();
            lengths(lists.map(|list| bytes_of(&list)))
        }
        DataType::Struct(_) => {
            let columns = values.as_struct().columns().iter();
            columns.map(bytes_of).sum()
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
        assert_eq!(plain(&dictionary), DataType::Utf8);
        let inner = DataType::Struct(vec![Field::new("a", DataType::BinaryView, true)].into());
        let list = DataType::new_list(inner, true);
        let DataType::List(element) = plain(&list) else {
            panic!("a list stays one");
        };
        assert_eq!(element.name(), ELEMENT);
        assert_eq!(
            format!("{:?}", element.data_type()).matches("View").count(),
            0
        );
    }

    #[test]
    fn only_whole_numbers_with_gaps_need_pandas_to_be_told() {
        let of = |nullable: bool| Schema::new(vec![Field::new("id", DataType::Int64, nullable)]);
        assert_eq!(for_pandas(&of(false)), None);
        assert!(
            for_pandas(&of(true))
                .unwrap()
                .contains("\"numpy_type\":\"Int64\"")
        );
    }
}
