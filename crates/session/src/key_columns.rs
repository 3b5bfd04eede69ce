//! External rows about configurations: a file or a query that identifies them by `config_key`.

use arrow::array::{
    Array as _, AsArray as _, BinaryViewArray, FixedSizeListArray, RecordBatch, UInt8Array,
};
use arrow::datatypes::{DataType, Schema, UInt8Type};
use datafusion::prelude::SessionContext;
use tsql_dialect::plan_query;
use tsql_engine::lines_before_rows;
use tsql_error::{Error, Result};
use tsql_schema::column;

/// Name of the key column.
pub const KEY: &str = "config_key";

/// Returns whether the text is a query rather than a file.
pub fn is_query(from: &str) -> bool {
    from.trim_start().starts_with('(')
}

/// FROM item for a file, or for a query in parentheses.
pub fn from_clause(from: &str) -> String {
    match is_query(from) {
        true => from.to_owned(),
        false => format!("'{}'", from.replace('\'', "''")),
    }
}

/// Line number of a row, counted from 1: the line in the file for formats with one row per line.
pub fn line_number(from: &str, row: u64) -> u64 {
    match is_query(from) {
        true => row,
        false => row + lines_before_rows(from),
    }
}

/// Columns of a file or a query.
///
/// # Errors
/// [`Error::Query`] and [`Error::Source`] if it cannot be read.
pub async fn source_columns(context: &SessionContext, from: &str) -> Result<Schema> {
    let sql = format!("SELECT * FROM {} AS p LIMIT 0", from_clause(from));
    Ok(plan_query(context, &sql).await?.schema().as_arrow().clone())
}

/// SQL expression that returns the [`KeyColumn`] `key`.
///
/// # Errors
/// [`Error::Source`] for a column of another type.
pub fn key_expression(from: &str, schema: &Schema) -> Result<String> {
    let kind = schema.field_with_name(KEY).map(|field| field.data_type());
    match kind {
        // The column types of a file without rows are unknown.
        Ok(other) if other.is_null() || is_text_type(other) => {
            Ok(format!("key_bytes(arrow_cast({KEY}, 'Utf8View'))"))
        }
        Ok(
            DataType::Binary
            | DataType::LargeBinary
            | DataType::BinaryView
            | DataType::FixedSizeBinary(16),
        ) => Ok(format!("arrow_cast({KEY}, 'BinaryView')")),
        // Rows of an npz array with 16 numbers each.
        Ok(DataType::FixedSizeList(of, 16)) if of.data_type() == &DataType::UInt8 => {
            Ok(KEY.to_owned())
        }
        Ok(other) => Err(source_error(
            from,
            format!(
                "`{KEY}` is {other}, expected 32 hexadecimal digits, 16 bytes or a row of 16 uint8"
            ),
        )),
        Err(error) => Err(source_error(from, error.to_string())),
    }
}

/// Keys of a batch.
pub enum KeyColumn<'a> {
    /// 16 bytes each if they are valid keys.
    Bytes(&'a BinaryViewArray),
    /// Rows of 16 numbers.
    Lists(&'a FixedSizeListArray, &'a UInt8Array),
}

impl<'a> KeyColumn<'a> {
    /// Reads the column `key`.
    ///
    /// # Errors
    /// [`Error::Damaged`] if there is none.
    pub fn from_batch(batch: &'a RecordBatch) -> Result<Self> {
        let column = batch.column_by_name("key");
        let lists = column.and_then(|column| column.as_fixed_size_list_opt());
        let bytes = lists.and_then(|lists| lists.values().as_primitive_opt::<UInt8Type>());
        match (lists, bytes) {
            (Some(lists), Some(bytes)) => Ok(Self::Lists(lists, bytes)),
            _ => Ok(Self::Bytes(column::bytes(batch, "key")?)),
        }
    }

    /// Key of a row; `None` if it is not a valid key.
    pub fn at(&self, row: usize) -> Option<[u8; 16]> {
        let key = match self {
            Self::Bytes(keys) => keys.is_valid(row).then(|| keys.value(row))?,
            Self::Lists(keys, bytes) => {
                let start = usize::try_from(keys.value_offset(row)).ok()?;
                let whole = keys
                    .is_valid(row)
                    .then(|| bytes.values().get(start..start + 16));
                whole.flatten()?
            }
        };
        key.try_into().ok()
    }
}

/// Text representation of a key.
pub fn key_text(key: [u8; 16]) -> String {
    format!("{:032x}", u128::from_be_bytes(key))
}

/// Error about a file or a query.
pub fn source_error(from: &str, reason: String) -> Error {
    Error::Source {
        location: from.to_owned(),
        reason,
    }
}

/// Error for a missing column. `renamed` is a query that would provide it.
pub fn missing_column(from: &str, schema: &Schema, what: &str, renamed: &str) -> Error {
    let names: Vec<String> = schema
        .fields()
        .iter()
        .take(12)
        .map(|field| format!("`{}`", field.name()))
        .collect();
    let has = match names.is_empty() {
        true => "no columns".to_owned(),
        false => names.join(", "),
    };
    source_error(
        from,
        format!(
            "it has no column {what}, and has {has}\nhint: rename a column in a query: {renamed}"
        ),
    )
}

fn is_text_type(of: &DataType) -> bool {
    match of {
        DataType::Dictionary(_, of) => of.is_string(),
        other => other.is_string(),
    }
}
