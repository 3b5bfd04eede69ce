//! Which columns of a file or a query are the numbers.

use arrow::datatypes::{DataType, Schema};

use crate::error::Result;
use crate::query::keyed::{KEY, key_sql, lacks, relation, wrong};

/// How a query gives columns their names.
const RENAMED: &str = "(SELECT key AS config_key, feature FROM '...')";

/// Rows of `key` and `numbers`, a list of doubles, in the order of the file.
///
/// # Errors
/// [`crate::Error::Source`] where a column is missing, ambiguous or of another type.
pub(super) fn question(from: &str, schema: &Schema, column: Option<&str>) -> Result<String> {
    if schema.column_with_name(KEY).is_none() {
        return Err(lacks(from, schema, &format!("`{KEY}`"), RENAMED));
    }
    let key = key_sql(from, schema)?;
    let numbers = numbers(from, schema, column)?;
    Ok(format!(
        "SELECT {key} AS key, {numbers} AS numbers FROM {} AS p",
        relation(from)
    ))
}

fn numbers(from: &str, schema: &Schema, column: Option<&str>) -> Result<String> {
    let fields = schema.fields().iter().filter(|field| field.name() != KEY);
    let named = |of: fn(&DataType) -> bool| -> Vec<&str> {
        let fields = fields.clone().filter(|field| of(field.data_type()));
        fields.map(|field| field.name().as_str()).collect()
    };
    let lists = named(is_list);
    let list = |name: &str| format!("arrow_cast({}, 'List(Float64)')", quoted(name));
    match (column, lists.as_slice()) {
        (Some(name), lists) if lists.contains(&name) => Ok(list(name)),
        (Some(name), _) if schema.column_with_name(name).is_some() => {
            Err(wrong(from, format!("`{name}` has no lists of numbers")))
        }
        (Some(name), _) => Err(lacks(from, schema, &format!("`{name}`"), RENAMED)),
        (None, [name]) => Ok(list(name)),
        (None, []) => {
            // Of the columns of a file without rows nothing is known.
            let numbers = named(|of| of.is_numeric() || of.is_null());
            if numbers.is_empty() {
                let what = "with a list of numbers, nor one with a number";
                return Err(lacks(from, schema, what, RENAMED));
            }
            let each = numbers.iter();
            let each = each.map(|name| format!("CAST({} AS DOUBLE)", quoted(name)));
            Ok(format!(
                "make_array({})",
                each.collect::<Vec<_>>().join(", ")
            ))
        }
        (None, several) => Err(wrong(
            from,
            format!(
                "several columns have lists of numbers: {}\nhint: --column {}",
                several.join(", "),
                several.first().copied().unwrap_or_default()
            ),
        )),
    }
}

fn is_list(of: &DataType) -> bool {
    match of {
        DataType::List(of) | DataType::LargeList(of) | DataType::FixedSizeList(of, _) => {
            of.data_type().is_numeric()
        }
        _ => false,
    }
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::datatypes::Field;
    use std::sync::Arc;

    fn asked(columns: &[(&str, DataType)], column: Option<&str>) -> Result<String> {
        let fields = columns.iter();
        let fields = fields.map(|(name, kind)| Field::new(*name, kind.clone(), true));
        let schema = Schema::new(fields.collect::<Vec<_>>());
        question("x.parquet", &schema, column)
    }

    #[test]
    fn numbers_are_a_list_or_all_columns_of_numbers() {
        let list = || DataType::List(Arc::new(Field::new_list_field(DataType::Float32, true)));
        let key = ("config_key", DataType::Utf8);
        let of_list = asked(&[key.clone(), ("n", DataType::Int64), ("f", list())], None).unwrap();
        assert!(
            of_list.contains("arrow_cast(\"f\", 'List(Float64)') AS numbers"),
            "{of_list}"
        );
        let plain = [
            key.clone(),
            ("b", DataType::Int64),
            ("a", DataType::Float32),
            ("t", DataType::Utf8),
        ];
        let plain = asked(&plain, None).unwrap();
        let both = "make_array(CAST(\"b\" AS DOUBLE), CAST(\"a\" AS DOUBLE)) AS numbers";
        assert!(plain.contains(both), "{plain}");
        let two = [key.clone(), ("f", list()), ("g", list())];
        let told = asked(&two, None).unwrap_err().to_string();
        assert!(
            told.contains("several columns have lists of numbers: f, g"),
            "{told}"
        );
        assert!(asked(&two, Some("g")).unwrap().contains("\"g\""));
        for (columns, column) in [
            (vec![("f", list())], None),
            (vec![key.clone()], None),
            (vec![key.clone(), ("f", list())], Some("x")),
            (vec![key.clone(), ("t", DataType::Utf8)], Some("t")),
            (vec![("config_key", DataType::Int64), ("f", list())], None),
        ] {
            assert!(asked(&columns, column).is_err(), "{columns:?}");
        }
    }
}
