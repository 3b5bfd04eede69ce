//! Selection of the numeric columns of a file or a query.

use arrow::datatypes::{DataType, Schema};
use tsql_error::Result;
use tsql_session::key_columns::{KEY, from_clause, key_expression, missing_column, source_error};

/// Example of a query that renames columns.
const RENAMED: &str = "(SELECT key AS config_key, feature FROM '...')";

/// Returns a query with the columns `key` and `numbers`, a list of doubles, in the order of the file.
///
/// # Errors
/// [`tsql_error::Error::Source`] if a column is missing, ambiguous or of another type.
pub(super) fn column_query(from: &str, schema: &Schema, column: Option<&str>) -> Result<String> {
    if schema.column_with_name(KEY).is_none() {
        return Err(missing_column(from, schema, &format!("`{KEY}`"), RENAMED));
    }
    let key = key_expression(from, schema)?;
    let numbers = numbers(from, schema, column)?;
    Ok(format!(
        "SELECT {key} AS key, {numbers} AS numbers FROM {} AS p",
        from_clause(from)
    ))
}

fn numbers(from: &str, schema: &Schema, column: Option<&str>) -> Result<String> {
    let fields = schema.fields().iter().filter(|field| field.name() != KEY);
    let named = |of: fn(&DataType) -> bool| -> Vec<&str> {
        let fields = fields.clone().filter(|field| of(field.data_type()));
        fields.map(|field| field.name().as_str()).collect()
    };
    let lists = named(is_list);
    let list = |name: &str| format!("arrow_cast({}, 'List(Float64)')", quote_identifier(name));
    match (column, lists.as_slice()) {
        (Some(name), lists) if lists.contains(&name) => Ok(list(name)),
        (Some(name), _) if schema.column_with_name(name).is_some() => Err(source_error(
            from,
            format!("`{name}` does not contain lists of numbers"),
        )),
        (Some(name), _) => Err(missing_column(from, schema, &format!("`{name}`"), RENAMED)),
        (None, [name]) => Ok(list(name)),
        (None, []) => {
            // The columns of a file without rows have the type null.
            let numbers = named(|of| of.is_numeric() || of.is_null());
            if numbers.is_empty() {
                let what = "with lists of numbers or with numbers";
                return Err(missing_column(from, schema, what, RENAMED));
            }
            let each = numbers.iter();
            let each = each.map(|name| format!("CAST({} AS DOUBLE)", quote_identifier(name)));
            Ok(format!(
                "make_array({})",
                each.collect::<Vec<_>>().join(", ")
            ))
        }
        (None, several) => Err(source_error(
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

fn quote_identifier(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::datatypes::Field;
    use std::sync::Arc;

    fn query_for_columns(columns: &[(&str, DataType)], column: Option<&str>) -> Result<String> {
        let fields = columns.iter();
        let fields = fields.map(|(name, kind)| Field::new(*name, kind.clone(), true));
        let schema = Schema::new(fields.collect::<Vec<_>>());
        column_query("x.parquet", &schema, column)
    }

    #[test]
    fn numbers_are_a_list_or_all_columns_of_numbers() {
        let list = || DataType::List(Arc::new(Field::new_list_field(DataType::Float32, true)));
        let key = ("config_key", DataType::Utf8);
        let of_list =
            query_for_columns(&[key.clone(), ("n", DataType::Int64), ("f", list())], None).unwrap();
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
        let plain = query_for_columns(&plain, None).unwrap();
        let both = "make_array(CAST(\"b\" AS DOUBLE), CAST(\"a\" AS DOUBLE)) AS numbers";
        assert!(plain.contains(both), "{plain}");
        let two = [key.clone(), ("f", list()), ("g", list())];
        let told = query_for_columns(&two, None).unwrap_err().to_string();
        assert!(
            told.contains("several columns have lists of numbers: f, g"),
            "{told}"
        );
        assert!(
            query_for_columns(&two, Some("g"))
                .unwrap()
                .contains("\"g\"")
        );
        for (columns, column) in [
            (vec![("f", list())], None),
            (vec![key.clone()], None),
            (vec![key.clone(), ("f", list())], Some("x")),
            (vec![key.clone(), ("t", DataType::Utf8)], Some("t")),
            (vec![("config_key", DataType::Int64), ("f", list())], None),
        ] {
            assert!(query_for_columns(&columns, column).is_err(), "{columns:?}");
        }
    }
}
