//! Writing of data files: Arrow batches to sorted Parquet with complete statistics.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch, new_empty_array};
use arrow::compute::{SortColumn, concat, lexsort_to_indices, take};
use arrow::datatypes::{
    DataType, FieldRef, Float32Type, Float64Type, Int16Type, Int32Type, Int64Type, TimeUnit,
    TimestampMicrosecondType,
};
use object_store::ObjectStoreExt as _;
use serde_json::Value;

use crate::files::data_file::{file_path, object_path};
use crate::files::encode::{Encoded, STATISTICS_TEXT_BYTES, encode};
use crate::files::verified_blocks::ChecksummedFiles;
use crate::io::location::Location;
use crate::settings::verify_settings::Verify;
use tsql_error::{Error, Result};
use tsql_schema::Table;

pub use crate::files::data_file::{DataFile, invalid_partition_value};
pub use crate::files::encode::Effort;
pub use crate::files::stats::{StatValue, Stats};

/// Writes `batches` (stored columns without the partition columns) as one sorted file.
///
/// # Errors
/// [`Error::Storage`] if the file cannot be written. Nothing refers to it in that case.
pub async fn write(
    location: &Location,
    table: &Table,
    partition: &[(String, Option<String>)],
    batches: &[RecordBatch],
    effort: Effort,
) -> Result<DataFile> {
    let rows = sort_rows(table, batches.to_vec())?;
    write_sorted(location, table, partition, &rows, effort).await
}

/// Writes `rows`, sorted in the table's order, as a file.
///
/// # Errors
/// As [`write()`].
pub async fn write_sorted(
    location: &Location,
    table: &Table,
    partition: &[(String, Option<String>)],
    rows: &RecordBatch,
    effort: Effort,
) -> Result<DataFile> {
    let values = partition.iter().filter_map(|(_, value)| value.as_deref());
    for value in values {
        if let Some(reason) = invalid_partition_value(value) {
            let table = &table.name;
            let reason = format!("{table}: `{}` {reason}", value.escape_debug());
            return Err(Error::Argument {
                name: "partition",
                reason,
            });
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
    location
        .write(&object_path(&table.name, &path)?, bytes)
        .await?;
    Ok(DataFile {
        path,
        partition: partition.to_vec(),
        size_bytes,
        stats: Arc::new(stats),
        rollup,
        checksums: Some(checksums),
        counts: ingest_log_counts(rows),
        written_at_ms: chrono::Utc::now().timestamp_millis(),
    })
}

/// Returns the sums of the record and other line counts of ingest log rows.
fn ingest_log_counts(rows: &RecordBatch) -> Option<(u64, u64)> {
    let sum = |name: &str| {
        let numbers = rows.column_by_name(name)?.as_primitive_opt::<Int64Type>()?;
        Some(numbers.iter().flatten().map(i64::unsigned_abs).sum::<u64>())
    };
    Some((sum("record_count")?, sum("other_count")?))
}

/// Copies a file into the folders of its partition.
///
/// # Errors
/// [`Error::Storage`] if it cannot be read or written. Nothing refers to the new file in that case.
pub async fn copy_to_partition(
    location: &Location,
    table: &Table,
    file: &DataFile,
) -> Result<DataFile> {
    copy_to_store(location, location, table, file).await
}

/// Copies a file from one store to another.
///
/// # Errors
/// As [`copy_to_partition`].
pub async fn copy_to_store(
    from: &Location,
    to: &Location,
    table: &Table,
    file: &DataFile,
) -> Result<DataFile> {
    let files = Arc::new(ChecksummedFiles::new(&table.name, [file]));
    let objects = files.wrap(Arc::clone(from.objects()), Verify::Always);
    let read = objects.get(&file.object_path(&table.name)?).await;
    let bytes = read.map_err(Error::Storage)?.bytes().await;
    let effort = if file.is_optimized() {
        Effort::Optimize
    } else {
        Effort::Ingest
    };
    let path = file_path(&file.partition, effort);
    let bytes = bytes.map_err(Error::Storage)?.to_vec();
    to.write(&object_path(&table.name, &path)?, bytes).await?;
    Ok(DataFile {
        path,
        written_at_ms: chrono::Utc::now().timestamp_millis(),
        ..file.clone()
    })
}

/// Sorts rows, which may lack columns, in the table's order. Sorts column by column and releases each input column, so
/// a million rows are in memory about once.
pub fn sort_rows(table: &Table, batches: Vec<RecordBatch>) -> Result<RecordBatch> {
    let wrong = |error: arrow::error::ArrowError| Error::damaged(&table.name, error.to_string());
    let schema = batches
        .first()
        .map_or_else(|| table.row_schema(), RecordBatch::schema);
    let mut columns: Vec<Vec<ArrayRef>> = vec![Vec::new(); schema.fields().len()];
    for batch in batches {
        for (column, values) in columns.iter_mut().zip(batch.columns()) {
            column.push(Arc::clone(values));
        }
    }
    let whole = |field: &FieldRef, parts: &[ArrayRef]| {
        if parts.is_empty() {
            return Ok(new_empty_array(field.data_type()));
        }
        concat(&parts.iter().map(AsRef::as_ref).collect::<Vec<_>>())
    };
    let mut by = Vec::new();
    for name in &table.sort {
        if let Some((field, parts)) = schema
            .fields()
            .iter()
            .zip(&mut columns)
            .find(|(field, _)| field.name() == name)
        {
            let values = whole(field, parts).map_err(wrong)?;
            *parts = vec![Arc::clone(&values)];
            by.push(SortColumn {
                values,
                options: None,
            });
        }
    }
    let order = (!by.is_empty()).then(|| lexsort_to_indices(&by, None));
    let order = order.transpose().map_err(wrong)?;
    drop(by);
    let columns = schema.fields().iter().zip(columns).map(|(field, parts)| {
        let values = whole(field, &parts)?;
        drop(parts);
        order
            .as_ref()
            .map_or(Ok(Arc::clone(&values)), |order| take(&values, order, None))
    });
    let columns = columns
        .collect::<std::result::Result<_, _>>()
        .map_err(wrong)?;
    RecordBatch::try_new(schema, columns).map_err(wrong)
}

fn statistics(rows: &RecordBatch) -> Stats {
    let fields = rows.schema();
    let columns = fields.fields().iter().zip(rows.columns());
    let columns = columns.filter(|(field, _)| !field.data_type().is_nested());
    let ranges = columns
        .clone()
        .filter_map(|(field, column)| Some((field.name(), min_max(column)?)));
    let (mut least, mut greatest) = (Vec::new(), Vec::new());
    for (name, (min, max)) in ranges {
        least.push((name.clone(), min.into()));
        greatest.push((name.clone(), max.into()));
    }
    let null_count = columns.map(|(field, column)| {
        let count = Value::from(column.null_count());
        (field.name().clone(), count.into())
    });
    Stats {
        num_records: rows.num_rows() as u64,
        min_values: least.into_iter().collect(),
        max_values: greatest.into_iter().collect(),
        null_count: null_count.collect(),
    }
}

/// Returns minimum and maximum of a column as JSON, for types with an order that all readers agree on.
fn min_max(column: &ArrayRef) -> Option<(Value, Value)> {
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
        DataType::Float32 => numbers!(Float32Type).filter(is_finite),
        DataType::Float64 => numbers!(Float64Type).filter(is_finite),
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

/// Returns whether JSON can represent the bounds: it has no NaN and no infinity.
fn is_finite(range: &(Value, Value)) -> bool {
    !range.0.is_null() && !range.1.is_null()
}

fn timestamp(microseconds: i64) -> Option<Value> {
    let time = chrono::DateTime::from_timestamp_micros(microseconds)?;
    Some(Value::from(
        time.to_rfc3339_opts(chrono::SecondsFormat::Micros, true),
    ))
}

/// Returns the rows in the file schema of `table`. Missing columns are NULL.
///
/// # Errors
/// As [`batch`].
pub fn fit_to_schema(table: &Table, rows: &RecordBatch) -> Result<RecordBatch> {
    let fields = rows.schema();
    let names = fields.fields().iter().map(|field| field.name().as_str());
    batch(table, names.zip(rows.columns().iter().cloned()).collect())
}

/// Returns a batch with the file schema of `table` from columns by name.
///
/// # Errors
/// [`Error::Damaged`] if a column is missing or has another type: a bug of this crate.
pub fn batch(table: &Table, mut columns: BTreeMap<&str, ArrayRef>) -> Result<RecordBatch> {
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
