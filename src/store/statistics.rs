//! Statistics of data files: what the log says in JSON, as the engine's values.

use arrow::datatypes::{DataType, FieldRef, SchemaRef, TimeUnit};
use datafusion::common::stats::Precision;
use datafusion::common::{ColumnStatistics, DataFusionError, Result, ScalarValue, Statistics};
use serde_json::Value;

use super::file::Stats;

/// What the log knows of the columns of a file, as the engine wants it.
pub(super) fn statistics(schema: &SchemaRef, stats: &Stats) -> Result<Statistics> {
    let wrong = |_| DataFusionError::Internal("a file has more rows than memory has bytes".into());
    let rows = usize::try_from(stats.num_records).map_err(wrong)?;
    let column = |field: &FieldRef| {
        let exact = |value: Option<&Value>| {
            let value = value.and_then(|value| scalar(value, field.data_type()));
            value.map_or(Precision::Absent, Precision::Exact)
        };
        let nulls = stats.null_count.get(field.name()).and_then(Value::as_u64);
        let nulls = nulls.and_then(|nulls| usize::try_from(nulls).ok());
        ColumnStatistics {
            null_count: nulls.map_or(Precision::Absent, Precision::Exact),
            min_value: exact(stats.min_values.get(field.name())),
            max_value: exact(stats.max_values.get(field.name())),
            ..ColumnStatistics::new_unknown()
        }
    };
    Ok(Statistics {
        num_rows: Precision::Exact(rows),
        total_byte_size: Precision::Absent,
        column_statistics: schema.fields().iter().map(column).collect(),
    })
}

/// A number as it is written; those with a fraction are text (see [`Stats::parse`]).
fn digits(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

/// A JSON statistic as a value of the column's type.
fn scalar(value: &Value, data_type: &DataType) -> Option<ScalarValue> {
    let integer = || value.as_i64();
    Some(match data_type {
        DataType::Int16 => ScalarValue::Int16(Some(i16::try_from(integer()?).ok()?)),
        DataType::Int32 => ScalarValue::Int32(Some(i32::try_from(integer()?).ok()?)),
        DataType::Int64 => ScalarValue::Int64(Some(integer()?)),
        DataType::Float64 => ScalarValue::Float64(Some(digits(value).parse().ok()?)),
        DataType::Float32 => ScalarValue::Float32(Some(digits(value).parse().ok()?)),
        DataType::Utf8View => ScalarValue::Utf8View(Some(value.as_str()?.to_owned())),
        DataType::Timestamp(TimeUnit::Microsecond, zone) => {
            let time = chrono::DateTime::parse_from_rfc3339(value.as_str()?).ok()?;
            ScalarValue::TimestampMicrosecond(Some(time.timestamp_micros()), zone.clone())
        }
        _ => return None,
    })
}
