//! Conversion of the log's JSON statistics of data files to the engine's values.

use arrow::datatypes::{DataType, FieldRef, SchemaRef, TimeUnit};
use datafusion::common::stats::Precision;
use datafusion::common::{ColumnStatistics, ScalarValue, Statistics};

use crate::files::stats::{StatValue, Stats};

/// Returns the engine's statistics for a file of this many rows.
pub(crate) fn statistics(schema: &SchemaRef, rows: usize, stats: &Stats) -> Statistics {
    let column = |field: &FieldRef| {
        let exact = |value: Option<&StatValue>| {
            let value = value.and_then(|value| scalar(value, field.data_type()));
            value.map_or(Precision::Absent, Precision::Exact)
        };
        let nulls = stats
            .null_count
            .get(field.name())
            .and_then(StatValue::as_u64);
        let nulls = nulls.and_then(|nulls| usize::try_from(nulls).ok());
        ColumnStatistics {
            null_count: nulls.map_or(Precision::Absent, Precision::Exact),
            min_value: exact(stats.min_values.get(field.name())),
            max_value: exact(stats.max_values.get(field.name())),
            ..ColumnStatistics::new_unknown()
        }
    };
    Statistics {
        num_rows: Precision::Exact(rows),
        total_byte_size: Precision::Absent,
        column_statistics: schema.fields().iter().map(column).collect(),
    }
}

/// Converts a JSON statistic to a value of the column's type.
pub(crate) fn scalar(value: &StatValue, data_type: &DataType) -> Option<ScalarValue> {
    let integer = || value.as_i64();
    Some(match data_type {
        DataType::Int16 => ScalarValue::Int16(Some(i16::try_from(integer()?).ok()?)),
        DataType::Int32 => ScalarValue::Int32(Some(i32::try_from(integer()?).ok()?)),
        DataType::Int64 => ScalarValue::Int64(Some(integer()?)),
        DataType::Float64 => ScalarValue::Float64(Some(value.to_string().parse().ok()?)),
        DataType::Float32 => ScalarValue::Float32(Some(value.to_string().parse().ok()?)),
        DataType::Utf8View => ScalarValue::Utf8View(Some(value.as_str()?.to_owned())),
        DataType::Timestamp(TimeUnit::Microsecond, zone) => {
            let time = chrono::DateTime::parse_from_rfc3339(value.as_str()?).ok()?;
            ScalarValue::TimestampMicrosecond(Some(time.timestamp_micros()), zone.clone())
        }
        _ => return None,
    })
}
