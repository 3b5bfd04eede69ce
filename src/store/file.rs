//! Data files: Arrow batches to sorted Parquet with complete statistics.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use arrow::compute::{SortColumn, concat_batches, lexsort_to_indices, take_record_batch};
use arrow::datatypes::{
    DataType, Float32Type, Float64Type, Int16Type, Int32Type, Int64Type, TimeUnit,
    TimestampMicrosecondType,
};
use object_store::ObjectStoreExt as _;
use object_store::path::Path;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

use super::Store;
use super::checksum::Checksums;
use super::encode::{Encoded, encode};
use super::location::Location;
use super::rollup::Place;
use super::verified::Files;
use super::verify::Verify;
use crate::error::{Error, Result};
use crate::schema::Table;

/// Longest text whose minimum and maximum are kept; a longer one is no use for pruning.
pub(super) const STATISTICS_TEXT_BYTES: usize = 64;

/// Begin of the names of files that `optimize` has written.
const OPTIMIZED: &str = "optimized-";

/// Folder of the rows without a value, as Hive names it.
const NULL_FOLDER: &str = "__HIVE_DEFAULT_PARTITION__";

/// Bytes of a value in the name of a folder, which has 255 with the column's name.
const LONGEST_FOLDER: usize = 240;

/// How hard to compress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effort {
    /// While data comes in.
    Ingest,
    /// When files are rewritten to stay.
    Optimize,
}

/// A data file as the log names it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct DataFile {
    /// Path in the table's folder.
    pub(crate) path: String,
    /// Values of the partition columns, in the table's order.
    pub(crate) partition: Vec<(String, Option<String>)>,
    pub(crate) size_bytes: u64,
    pub(crate) stats: Stats,
    /// Where the sums of its rows are.
    pub(crate) rollup: Option<Place>,
    /// Where its checksums are; older versions wrote none.
    pub(crate) checksums: Option<Checksums>,
    /// Milliseconds since 1970.
    pub(crate) written_at_ms: i64,
}

impl DataFile {
    /// Was it written by `optimize`?
    pub(crate) fn is_optimized(&self) -> bool {
        self.path
            .rsplit('/')
            .next()
            .is_some_and(|name| name.starts_with(OPTIMIZED))
    }

    /// The object that it is, in the store.
    pub(crate) fn object(&self, table: &str) -> Result<Path> {
        object(table, &self.path)
    }

    /// Is it there?
    pub(crate) async fn exists(&self, store: &Store, table: &str) -> Result<bool> {
        match store.location().objects().head(&self.object(table)?).await {
            Ok(_) => Ok(true),
            Err(object_store::Error::NotFound { .. }) => Ok(false),
            Err(error) => Err(Error::Storage(error)),
        }
    }

    /// Does it lie in the folders that say its partition? Who reads folders instead of the log would take
    /// its rows for others.
    pub(crate) fn is_in_place(&self) -> bool {
        let folder = self.path.rsplit_once('/').map_or("", |(folder, _)| folder);
        folders(&self.partition).trim_end_matches('/') == folder
    }
}

/// Statistics of a file in Delta's JSON form.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Stats {
    pub(crate) num_records: u64,
    #[serde(default)]
    pub(crate) min_values: BTreeMap<String, Value>,
    #[serde(default)]
    pub(crate) max_values: BTreeMap<String, Value>,
    #[serde(default)]
    pub(crate) null_count: BTreeMap<String, Value>,
}

impl Stats {
    /// Reads the JSON form. Numbers with a fraction come as text: serde_json rounds the last digit
    /// of some, and a greatest value that is too small loses rows.
    pub(crate) fn parse(text: &str) -> serde_json::Result<Self> {
        serde_json::from_str(&quoted_fractions(text))
    }
}

/// The JSON text with quotes around all numbers that are no integers.
fn quoted_fractions(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 64);
    let (mut inside, mut escaped, mut number) = (false, false, String::new());
    for letter in text.chars() {
        if !inside
            && matches!(letter, '0'..='9' | '-' | '+' | '.' | 'e' | 'E')
            && (!number.is_empty() || letter == '-' || letter.is_ascii_digit())
        {
            number.push(letter);
            continue;
        }
        if number.contains(['.', 'e', 'E']) {
            quoted.push_str(&format!("\"{number}\""));
        } else {
            quoted.push_str(&number);
        }
        number.clear();
        quoted.push(letter);
        inside ^= letter == '"' && !escaped;
        escaped = inside && letter == '\\' && !escaped;
    }
    quoted + &number
}

/// Writes `batches` (stored columns without the partition columns) as one sorted file.
///
/// # Errors
/// [`Error::Storage`] where the file cannot be written; nothing refers to it then.
pub(crate) async fn write(
    location: &Location,
    table: &Table,
    partition: &[(String, Option<String>)],
    batches: &[RecordBatch],
    effort: Effort,
) -> Result<DataFile> {
    write_sorted(location, table, partition, &sorted(table, batches)?, effort).await
}

/// Writes `rows`, which are in the table's order, as a file.
///
/// # Errors
/// As [`write`].
pub(crate) async fn write_sorted(
    location: &Location,
    table: &Table,
    partition: &[(String, Option<String>)],
    rows: &RecordBatch,
    effort: Effort,
) -> Result<DataFile> {
    let values = partition.iter().filter_map(|(_, value)| value.as_deref());
    for value in values {
        if let Some(reason) = refused_value(value) {
            let table = &table.name;
            return Err(Error::Usage(format!(
                "{table}: `{}` {reason}",
                value.escape_debug()
            )));
        }
    }
    let stats = statistics(rows);
    let Encoded {
        bytes,
        rollup,
        checksums,
    } = encode(table, rows, effort)?;
    let size_bytes = bytes.len() as u64;
    let path = file_path(partition, effort);
    location.write(&object(&table.name, &path)?, bytes).await?;
    Ok(DataFile {
        path,
        partition: partition.to_vec(),
        size_bytes,
        stats,
        rollup,
        checksums: Some(checksums),
        written_at_ms: chrono::Utc::now().timestamp_millis(),
    })
}

/// The object that a data file is. What is escaped in its path stays so: it is the name of a folder.
pub(super) fn object(table: &str, path: &str) -> Result<Path> {
    let object = Path::parse(format!("{table}/{path}"));
    object.map_err(|error| Error::damaged(table, error.to_string()))
}

/// `dataset=tenset/platform=k80/part-....parquet`.
fn file_path(partition: &[(String, Option<String>)], effort: Effort) -> String {
    let kind = match effort {
        Effort::Ingest => "part-",
        Effort::Optimize => OPTIMIZED,
    };
    let name = Uuid::new_v4().simple();
    format!("{}{kind}{name}.parquet", folders(partition))
}

/// The folders of a partition as Hive names them, and whoever takes values from paths reads them: all
/// bytes that a path might mind are `%` and two hexadecimal digits.
fn folders(partition: &[(String, Option<String>)]) -> String {
    let mut path = String::new();
    for (name, value) in partition {
        path.push_str(name);
        path.push('=');
        for byte in value.as_deref().unwrap_or(NULL_FOLDER).bytes() {
            if byte.is_ascii_alphanumeric() || b"-_.".contains(&byte) {
                path.push(char::from(byte));
            } else {
                path.push_str(&format!("%{byte:02X}"));
            }
        }
        path.push('/');
    }
    path
}

/// Why no partition can have this value, if none can.
pub(crate) fn refused_value(value: &str) -> Option<&'static str> {
    let folder = folders(&[(String::new(), Some(value.to_owned()))]);
    if value.is_empty() {
        Some("is empty")
    } else if value.chars().any(char::is_control) {
        Some("has control characters")
    } else if value == NULL_FOLDER {
        Some("stands for a missing value")
    } else if folder.len() > LONGEST_FOLDER {
        Some("is too long for the name of a folder")
    } else {
        None
    }
}

/// Writes the same file anew, into the folders of its partition.
///
/// # Errors
/// [`Error::Storage`] where it cannot be read or written; nothing refers to the new one then.
pub(crate) async fn moved(location: &Location, table: &Table, file: &DataFile) -> Result<DataFile> {
    let files = Arc::new(Files::of(&table.name, [file]));
    let objects = files.within(Arc::clone(location.objects()), Verify::Always);
    let read = objects.get(&file.object(&table.name)?).await;
    let bytes = read.map_err(Error::Storage)?.bytes().await;
    let effort = if file.is_optimized() {
        Effort::Optimize
    } else {
        Effort::Ingest
    };
    let path = file_path(&file.partition, effort);
    let bytes = bytes.map_err(Error::Storage)?.to_vec();
    location.write(&object(&table.name, &path)?, bytes).await?;
    Ok(DataFile {
        path,
        written_at_ms: chrono::Utc::now().timestamp_millis(),
        ..file.clone()
    })
}

/// The rows in the table's order.
pub(crate) fn sorted(table: &Table, batches: &[RecordBatch]) -> Result<RecordBatch> {
    let wrong = |error: arrow::error::ArrowError| Error::damaged(&table.name, error.to_string());
    let rows = concat_batches(&table.row_schema(), batches).map_err(wrong)?;
    let columns = table
        .sort
        .iter()
        .filter_map(|name| rows.column_by_name(name).cloned());
    let columns: Vec<SortColumn> = columns
        .map(|values| SortColumn {
            values,
            options: None,
        })
        .collect();
    if columns.is_empty() {
        return Ok(rows);
    }
    let order = lexsort_to_indices(&columns, None).map_err(wrong)?;
    take_record_batch(&rows, &order).map_err(wrong)
}

fn statistics(rows: &RecordBatch) -> Stats {
    let mut stats = Stats {
        num_records: rows.num_rows() as u64,
        ..Stats::default()
    };
    for (field, column) in rows.schema().fields().iter().zip(rows.columns()) {
        if field.data_type().is_nested() {
            continue;
        }
        stats
            .null_count
            .insert(field.name().clone(), Value::from(column.null_count()));
        if let Some((min, max)) = range(column) {
            stats.min_values.insert(field.name().clone(), min);
            stats.max_values.insert(field.name().clone(), max);
        }
    }
    stats
}

/// Least and greatest value of a column as JSON, where the type has an order that all readers
/// agree on.
fn range(column: &ArrayRef) -> Option<(Value, Value)> {
    use arrow::compute::{max, max_string_view, min, min_string_view};
    macro_rules! numbers {
        ($kind:ty) => {{
            let values = column.as_primitive::<$kind>();
            Some((Value::from(min(values)?), Value::from(max(values)?)))
        }};
    }
    match column.data_type() {
        DataType::Int16 => numbers!(Int16Type),
        DataType::Int32 => numbers!(Int32Type),
        DataType::Int64 => numbers!(Int64Type),
        DataType::Float32 => numbers!(Float32Type).filter(finite),
        DataType::Float64 => numbers!(Float64Type).filter(finite),
        DataType::Timestamp(TimeUnit::Microsecond, _) => {
            let values = column.as_primitive::<TimestampMicrosecondType>();
            Some((timestamp(min(values)?)?, timestamp(max(values)?)?))
        }
        DataType::Utf8View => {
            let values = column.as_string_view();
            let (min, max) = (min_string_view(values)?, max_string_view(values)?);
            let short = min.len().max(max.len()) <= STATISTICS_TEXT_BYTES;
            short.then(|| (Value::from(min), Value::from(max)))
        }
        _ => None,
    }
}

/// JSON has no NaN and no infinity.
fn finite(range: &(Value, Value)) -> bool {
    !range.0.is_null() && !range.1.is_null()
}

fn timestamp(microseconds: i64) -> Option<Value> {
    let time = chrono::DateTime::from_timestamp_micros(microseconds)?;
    Some(Value::from(
        time.to_rfc3339_opts(chrono::SecondsFormat::Micros, true),
    ))
}

/// A batch of `table`'s file schema from columns by name.
///
/// # Errors
/// [`Error::Damaged`] where a column is missing or of another type: a fault of this crate.
pub(crate) fn batch(table: &Table, mut columns: BTreeMap<&str, ArrayRef>) -> Result<RecordBatch> {
    let schema = table.row_schema();
    let wrong = |error: arrow::error::ArrowError| Error::damaged(&table.name, error.to_string());
    let rows = columns.values().next().map_or(0, |column| column.len());
    let arrays = schema
        .fields()
        .iter()
        .map(|field| match columns.remove(field.name().as_str()) {
            Some(column) => arrow::compute::cast(&column, field.data_type()),
            None => Ok(arrow::array::new_null_array(field.data_type(), rows)),
        });
    let arrays = arrays.collect::<std::result::Result<_, _>>();
    RecordBatch::try_new(Arc::clone(&schema), arrays.map_err(wrong)?).map_err(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_say_what_the_log_says() {
        let path = |value: &str| folders(&[("platform".to_owned(), Some(value.to_owned()))]);
        assert_eq!(path("epyc-1t_a.b"), "platform=epyc-1t_a.b/");
        assert_eq!(path("a b/c%ü"), "platform=a%20b%2Fc%25%C3%BC/");
        for (value, refused) in [
            ("a100", false),
            ("NVIDIA A100-SXM4-40GB", false),
            ("../x", false),
            ("ünï=1&2", false),
            ("", true),
            ("a\nb", true),
            ("__HIVE_DEFAULT_PARTITION__", true),
        ] {
            assert_eq!(refused_value(value).is_some(), refused, "{value:?}");
        }
        assert!(refused_value(&"x".repeat(240)).is_some());
        assert!(refused_value(&"ü".repeat(39)).is_none());
    }

    #[test]
    fn fractions_in_statistics_are_exact() {
        let text = r#"{"numRecords":3,"minValues":{"a":-1.5e-7,"b":"1.5 \"2.5","c":-7},"maxValues":{"a":9007199254740991.0}}"#;
        let stats = Stats::parse(text).unwrap();
        assert_eq!(stats.num_records, 3);
        assert_eq!(stats.min_values["a"], Value::from("-1.5e-7"));
        assert_eq!(stats.min_values["b"], Value::from("1.5 \"2.5"));
        assert_eq!(stats.min_values["c"], Value::from(-7));
        assert_eq!(stats.max_values["a"], Value::from("9007199254740991.0"));
    }
}
