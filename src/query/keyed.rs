//! Rows of others about configurations: a file or a query whose rows name them by `config_key`.

use arrow::array::{
    Array as _, AsArray as _, BinaryViewArray, FixedSizeListArray, RecordBatch, UInt8Array,
};
use arrow::datatypes::{DataType, Schema, UInt8Type};
use datafusion::prelude::SessionContext;

use super::files::lines_before_rows;
use super::frame;
use crate::column;
use crate::error::{Error, Result};

/// The column that names the configuration.
pub(crate) const KEY: &str = "config_key";

/// Is it a query, and not a file?
pub(crate) fn is_query(from: &str) -> bool {
    from.trim_start().starts_with('(')
}

/// What stands in FROM for a file, or for a query in parentheses.
pub(crate) fn relation(from: &str) -> String {
    match is_query(from) {
        true => from.to_owned(),
        false => format!("'{}'", from.replace('\'', "''")),
    }
}

/// Where a row, counted from 1, stands in a file: its line, where rows are lines.
pub(crate) fn line_of(from: &str, row: u64) -> u64 {
    match is_query(from) {
        true => row,
        false => row + lines_before_rows(from),
    }
}

/// The columns of a file or a query.
///
/// # Errors
/// [`Error::Query`] and [`Error::Source`] where it cannot be read.
pub(crate) async fn columns_of(context: &SessionContext, from: &str) -> Result<Schema> {
    let sql = format!("SELECT * FROM {} AS p LIMIT 0", relation(from));
    Ok(frame(context, &sql).await?.schema().as_arrow().clone())
}

/// The expression that gives [`Keys`] as a column `key`.
///
/// # Errors
/// [`Error::Source`] for a column of another type.
pub(crate) fn key_sql(from: &str, schema: &Schema) -> Result<String> {
    let kind = schema.field_with_name(KEY).map(|field| field.data_type());
    match kind {
        // Of the columns of a file without rows nothing is known.
        Ok(other) if other.is_null() || is_text(other) => {
            Ok(format!("key_bytes(arrow_cast({KEY}, 'Utf8View'))"))
        }
        Ok(
            DataType::Binary
            | DataType::LargeBinary
            | DataType::BinaryView
            | DataType::FixedSizeBinary(16),
        ) => Ok(format!("arrow_cast({KEY}, 'BinaryView')")),
        // Rows of an array of npz: 16 numbers each.
        Ok(DataType::FixedSizeList(of, 16)) if of.data_type() == &DataType::UInt8 => {
            Ok(KEY.to_owned())
        }
        Ok(other) => Err(wrong(
            from,
            format!(
                "`{KEY}` is {other}, it must be 32 hexadecimal digits, 16 bytes or a row of 16 uint8"
            ),
        )),
        Err(error) => Err(wrong(from, error.to_string())),
    }
}

/// Keys of a batch.
pub(crate) enum Keys<'a> {
    /// Of 16 bytes each, if they are keys.
    Bytes(&'a BinaryViewArray),
    /// Rows of 16 numbers.
    Lists(&'a FixedSizeListArray, &'a UInt8Array),
}

impl<'a> Keys<'a> {
    /// Those of the column `key`.
    ///
    /// # Errors
    /// [`Error::Damaged`] where there is none.
    pub(crate) fn of(batch: &'a RecordBatch) -> Result<Self> {
        let column = batch.column_by_name("key");
        let lists = column.and_then(|column| column.as_fixed_size_list_opt());
        let bytes = lists.and_then(|lists| lists.values().as_primitive_opt::<UInt8Type>());
        match (lists, bytes) {
            (Some(lists), Some(bytes)) => Ok(Self::Lists(lists, bytes)),
            _ => Ok(Self::Bytes(column::bytes(batch, "key")?)),
        }
    }

    /// The key of a row, if it is one.
    pub(crate) fn at(&self, row: usize) -> Option<[u8; 16]> {
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

/// A key as text.
pub(crate) fn key_text(key: [u8; 16]) -> String {
    format!("{:032x}", u128::from_be_bytes(key))
}

/// An error that says what is wrong with a file or a query.
pub(crate) fn wrong(from: &str, reason: String) -> Error {
    Error::Source {
        location: from.to_owned(),
        reason,
    }
}

/// An error that says which column is not there; `renamed` is a query that would give it.
pub(crate) fn lacks(from: &str, schema: &Schema, what: &str, renamed: &str) -> Error {
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
    wrong(
        from,
        format!("it has no column {what}, but {has}\nhint: a query may rename one: {renamed}"),
    )
}

fn is_text(of: &DataType) -> bool {
    match of {
        DataType::Dictionary(_, of) => of.is_string(),
        other => other.is_string(),
    }
}
