//! Pre-aggregates of a data file, stored in the file: count, sums, minima and maxima for each combination of labels.
//!
//! Queries for counts, sums, means, minima and maxima by such labels need no rows: 51.6 million TenSet records have
//! 100,000 rows of pre-aggregates. They are computed from the rows that are written and are in the same file, so they
//! cannot differ from them.
//!
//! ```text
//! PAR1 | row groups | pre-aggregates: Arrow IPC stream, zstd | checksums | footer
//! ```
//!
//! Other Parquet readers skip them. A tag of the file in the log holds their location and layout. Pre-aggregates by
//! other labels than the current ones are ignored, and the rows are read.

use std::collections::HashMap;
use std::io::Read as _;
use std::ops::Range;
use std::sync::{Arc, Mutex};

use ahash::RandomState;
use arrow::array::{
    Array as _, ArrayRef, AsArray as _, Float64Array, Int64Array, RecordBatch, UInt32Array,
};
use arrow::buffer::Buffer;
use arrow::compute::{is_null, take};
use arrow::datatypes::{DataType, Field, Float64Type, Int64Type, Schema, SchemaRef};
use arrow::error::ArrowError;
use arrow::ipc::reader::StreamDecoder;
use arrow::ipc::writer::StreamWriter;
use arrow::row::{RowConverter, SortField};
use object_store::path::Path;

use tsql_schema::{Rollup, Table, view_field};

/// Name of the tag.
const TAG: &str = "tsql.rollup";

/// Minimum mean number of rows per row of pre-aggregates. Fewer do not pay for the bytes.
const WORTH_ROWS: usize = 16;

/// Level of zstd. The pre-aggregates are small.
const LEVEL: i32 = 9;

/// Cached pre-aggregates by file.
pub(crate) type RollupCache = Arc<Mutex<HashMap<Path, Arc<Vec<RecordBatch>>>>>;

/// Maximum uncompressed size of the pre-aggregates of a file, in bytes.
const MOST_BYTES: u64 = 1 << 30;

/// Labels and measures of pre-aggregates whose tag does not name a layout: those of the first tsql with pre-aggregates.
const FIRST: (&[&str], &[&str]) = (
    &[
        "collection",
        "split",
        "graph_id",
        "repeat_count",
        "error_no",
        "environment_id",
        "source_id",
    ],
    &["runtime_ns"],
);

/// Location and layout of the pre-aggregates in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RollupLocation {
    pub(crate) offset: u64,
    pub(crate) bytes: u64,
    /// Value of [`layout`] when they were written.
    pub layout: u64,
}

/// Returns a hash of the labels and measures.
pub fn layout(rollup: &Rollup) -> u64 {
    hash(&rollup.by, &rollup.of)
}

fn hash(by: &[impl AsRef<str>], of: &[impl AsRef<str>]) -> u64 {
    let mut text = String::new();
    for (kind, names) in [("by", as_strs(by)), ("of", as_strs(of))] {
        text.push_str(kind);
        for name in names {
            text.push(' ');
            text.push_str(name);
        }
        text.push('\n');
    }
    twox_hash::XxHash3_64::oneshot(text.as_bytes())
}

fn as_strs(names: &[impl AsRef<str>]) -> Vec<&str> {
    names.iter().map(AsRef::as_ref).collect()
}

impl RollupLocation {
    pub(crate) fn range(self) -> Range<u64> {
        self.offset..self.offset.saturating_add(self.bytes)
    }

    /// Returns the tag of this location.
    pub(crate) fn tag(self) -> (String, Option<String>) {
        let Self {
            offset,
            bytes,
            layout,
        } = self;
        (
            TAG.to_owned(),
            Some(format!("{offset},{bytes},{layout:016x}")),
        )
    }

    /// Parses the location from the tags of a file.
    pub(crate) fn from_tags(
        tags: &HashMap<String, Option<String>>,
    ) -> Result<Option<Self>, String> {
        let Some(text) = tags.get(TAG) else {
            return Ok(None);
        };
        let text = text.as_deref().unwrap_or_default();
        let place = Self::parse(text);
        place
            .map(Some)
            .ok_or_else(|| format!("`{text}` is not a location of pre-aggregates"))
    }

    fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split(',');
        let (offset, bytes) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
        let layout = match parts.next() {
            Some(layout) => u64::from_str_radix(layout, 16).ok()?,
            None => hash(FIRST.0, FIRST.1),
        };
        Some(Self {
            offset,
            bytes,
            layout,
        })
    }
}

/// Column with the number of rows of a group.
pub const ROWS: &str = "__rows";

/// Column that is true if `measure` is NULL in the rows of the group.
pub fn is_null_column(measure: &str) -> String {
    format!("__{measure}_is_null")
}

/// Column with the sum of `measure`.
pub fn sum_column(measure: &str) -> String {
    format!("__{measure}_sum")
}

/// Column with the minimum of `measure`.
pub fn min_column(measure: &str) -> String {
    format!("__{measure}_min")
}

/// Column with the maximum of `measure`.
pub fn max_column(measure: &str) -> String {
    format!("__{measure}_max")
}

/// Returns the schema of the pre-aggregates of `table`: labels, NULL flags of the measures, row counts, sums, minima
/// and maxima.
pub fn schema(table: &Table, rollup: &Rollup) -> SchemaRef {
    let stored = table.stored_schema();
    let labels = stored
        .fields()
        .iter()
        .filter(|field| rollup.by.contains(field.name()));
    let mut fields: Vec<Field> = labels.map(|field| view_field(field)).collect();
    let of = &rollup.of;
    fields.extend(
        of.iter()
            .map(|name| Field::new(is_null_column(name), DataType::Boolean, false)),
    );
    fields.push(Field::new(ROWS, DataType::Int64, false));
    for name in of {
        let number = |name: String| Field::new(name, DataType::Float64, true);
        fields.extend([
            number(sum_column(name)),
            number(min_column(name)),
            number(max_column(name)),
        ]);
    }
    Arc::new(Schema::new(fields))
}

/// Computes the pre-aggregates of `rows`. Returns `None` if they would not be much fewer than the rows.
pub(crate) fn compute_rollup(
    table: &Table,
    rows: &RecordBatch,
) -> Result<Option<RecordBatch>, ArrowError> {
    let Some(rollup) = &table.rollup else {
        return Ok(None);
    };
    let schema = schema(table, rollup);
    let mut labels = Vec::new();
    for field in schema
        .fields()
        .iter()
        .filter(|field| rollup.by.contains(field.name()))
    {
        labels.push(column(rows, field.name())?);
    }
    let measures = rollup.of.iter().map(|name| column(rows, name));
    let measures: Vec<ArrayRef> = measures.collect::<Result<_, _>>()?;
    for measure in &measures {
        labels.push(Arc::new(is_null(measure)?));
    }
    let (group_of, firsts) = groups(&labels)?;
    if firsts.len() * WORTH_ROWS > rows.num_rows() {
        return Ok(None);
    }
    let firsts = UInt32Array::from(firsts);
    let labels = labels.iter().map(|label| take(label, &firsts, None));
    let mut columns: Vec<ArrayRef> = labels.collect::<Result<_, _>>()?;
    let mut counts = vec![0_i64; firsts.len()];
    for &group in &group_of {
        if let Some(count) = counts.get_mut(group) {
            *count += 1;
        }
    }
    columns.push(Arc::new(Int64Array::from(counts)));
    for measure in &measures {
        let Some(sums) = aggregate_groups(
            measure.as_primitive::<Float64Type>(),
            &group_of,
            firsts.len(),
        ) else {
            return Ok(None);
        };
        columns.extend(sums);
    }
    RecordBatch::try_new(schema, columns).map(Some)
}

fn column(rows: &RecordBatch, name: &str) -> Result<ArrayRef, ArrowError> {
    rows.schema()
        .index_of(name)
        .map(|index| Arc::clone(rows.column(index)))
}

/// Returns the group of each row by its labels, and the first row of each group.
fn groups(labels: &[ArrayRef]) -> Result<(Vec<usize>, Vec<u32>), ArrowError> {
    let fields = labels
        .iter()
        .map(|label| SortField::new(label.data_type().clone()));
    let rows = RowConverter::new(fields.collect())?.convert_columns(labels)?;
    let mut known: HashMap<&[u8], usize, RandomState> = HashMap::default();
    let (mut group_of, mut firsts) = (Vec::with_capacity(rows.num_rows()), Vec::new());
    for (number, row) in (0_u32..).zip(&rows) {
        let new = known.len();
        let group = *known.entry(row.data()).or_insert(new);
        if group == new {
            firsts.push(number);
        }
        group_of.push(group);
    }
    Ok((group_of, firsts))
}

/// Returns sum, minimum and maximum of each group. `None` if a value is not finite.
fn aggregate_groups(
    values: &Float64Array,
    group_of: &[usize],
    groups: usize,
) -> Option<[ArrayRef; 3]> {
    let mut sums: Vec<Option<[f64; 3]>> = vec![None; groups];
    for (value, &group) in values.iter().zip(group_of) {
        let (Some(value), Some(group)) = (value, sums.get_mut(group)) else {
            continue;
        };
        if !value.is_finite() {
            return None;
        }
        *group = Some(match *group {
            Some([sum, least, greatest]) => [sum + value, least.min(value), greatest.max(value)],
            None => [value; 3],
        });
    }
    let column = |place: usize| -> ArrayRef {
        let values = sums
            .iter()
            .map(|sums| sums.and_then(|sums| sums.get(place).copied()));
        Arc::new(values.collect::<Float64Array>())
    };
    Some([column(0), column(1), column(2)])
}

/// Encodes the pre-aggregates as stored in the file.
pub(crate) fn encode(sums: &RecordBatch) -> Result<Vec<u8>, ArrowError> {
    let mut writer = StreamWriter::try_new(Vec::new(), &sums.schema())?;
    writer.write(sums)?;
    let stream = writer.into_inner()?;
    Ok(zstd::bulk::compress(&stream, LEVEL)?)
}

/// Decodes the pre-aggregates of a file with this many rows. Returns an error if they do not match. In files of older
/// versions nothing else detects damage, and Arrow's reader may panic.
pub fn decode(bytes: &[u8], rows: u64) -> Result<Vec<RecordBatch>, ArrowError> {
    let read = || -> Result<Vec<RecordBatch>, ArrowError> {
        // Memory is bounded by the available bytes, not by the lengths in them.
        let mut stream = Vec::new();
        zstd::Decoder::new(bytes)?
            .take(MOST_BYTES)
            .read_to_end(&mut stream)?;
        let (mut stream, mut sums) = (Buffer::from_vec(stream), Vec::new());
        let mut decoder = StreamDecoder::new();
        while !stream.is_empty() {
            sums.extend(decoder.decode(&mut stream)?);
        }
        decoder.finish()?;
        Ok(sums)
    };
    let damaged = || ArrowError::IpcError(format!("the pre-aggregates do not match {rows} rows"));
    let sums = std::panic::catch_unwind(read).map_err(|_| damaged())??;
    let mut sum = Some(0_u64);
    for batch in &sums {
        let counts = batch.column_by_name(ROWS).ok_or_else(damaged)?;
        let counts = counts.as_primitive_opt::<Int64Type>().ok_or_else(damaged)?;
        for count in counts.values() {
            sum = sum.and_then(|sum| sum.checked_add(u64::try_from(*count).ok()?));
        }
    }
    if sum == Some(rows) {
        Ok(sums)
    } else {
        Err(damaged())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_name_the_keys_of_a_rollup() {
        let place = RollupLocation {
            offset: 12,
            bytes: 34,
            layout: 0x5e,
        };
        assert_eq!(
            RollupLocation::from_tags(&HashMap::from([place.tag()])),
            Ok(Some(place))
        );
        let tag = |text: &str| {
            RollupLocation::from_tags(&HashMap::from([(TAG.to_owned(), Some(text.to_owned()))]))
        };
        let records = tsql_schema::table("records").unwrap();
        let today = layout(records.rollup.as_ref().unwrap());
        // A tag without a layout has the first layout, which is still the current one.
        assert_eq!(tag("12,34").unwrap().unwrap().layout, today);
        assert!(tag("12,34,x").is_err());
        assert!(tag("12").is_err());
    }
}
