//! Sums of a data file, kept in the file: so many rows of these labels, their sum, their extremes.
//!
//! A question that asks for no more than counts, sums, means and extremes by such labels needs no
//! row then: 51.6 million records of TenSet have 100,000 rows of sums. They are made from the rows
//! that are written and lie in the same file, so they cannot differ from them.
//!
//! ```text
//! PAR1 | row groups | sums: Arrow IPC stream, zstd | checksums | footer
//! ```
//!
//! Other readers of Parquet skip them. The log says where they are and what they are by, as a tag of the
//! file: sums by other labels than today's are not read, rows are.

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

use tsql_schema::{Rollup, Table, viewed};

/// Name of the tag.
const TAG: &str = "tsql.rollup";

/// Rows that a row of sums stands for at least, in the mean; fewer are not worth the bytes.
const WORTH_ROWS: usize = 16;

/// Level of zstd; the sums are small.
const LEVEL: i32 = 9;

/// Sums that were read before, by file.
pub(crate) type KnownSums = Arc<Mutex<HashMap<Path, Arc<Vec<RecordBatch>>>>>;

/// Most bytes of a file's sums, inflated.
const MOST_BYTES: u64 = 1 << 30;

/// Labels and measures of sums whose tag does not say them: those of the first tsql that kept sums.
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

/// Where the sums lie in a file, and what they are by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    pub(crate) offset: u64,
    pub(crate) bytes: u64,
    /// What [`layout`] gave when they were made.
    pub layout: u64,
}

/// What tells sums by these labels, of these measures, from others.
pub fn layout(rollup: &Rollup) -> u64 {
    hash(&rollup.by, &rollup.of)
}

fn hash(by: &[impl AsRef<str>], of: &[impl AsRef<str>]) -> u64 {
    let mut text = String::new();
    for (kind, names) in [("by", named(by)), ("of", named(of))] {
        text.push_str(kind);
        for name in names {
            text.push(' ');
            text.push_str(name);
        }
        text.push('\n');
    }
    twox_hash::XxHash3_64::oneshot(text.as_bytes())
}

fn named(names: &[impl AsRef<str>]) -> Vec<&str> {
    names.iter().map(AsRef::as_ref).collect()
}

impl Place {
    pub(crate) fn range(self) -> Range<u64> {
        self.offset..self.offset.saturating_add(self.bytes)
    }

    /// The tag that names it.
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

    /// Reads the place from the tags of a file.
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
            .ok_or_else(|| format!("`{text}` is no place of sums"))
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

/// Column with the number of rows that a row of sums stands for.
pub const ROWS: &str = "__rows";

/// Column that says whether `measure` is NULL in these rows.
pub fn missing(measure: &str) -> String {
    format!("__{measure}_is_null")
}

/// Column with the sum of `measure`.
pub fn sum(measure: &str) -> String {
    format!("__{measure}_sum")
}

/// Column with the least `measure`.
pub fn least(measure: &str) -> String {
    format!("__{measure}_min")
}

/// Column with the greatest `measure`.
pub fn greatest(measure: &str) -> String {
    format!("__{measure}_max")
}

/// Columns of the sums of a file of `table`: labels, which measures are NULL, rows, sums, extremes.
pub fn schema(table: &Table, rollup: &Rollup) -> SchemaRef {
    let stored = table.stored_schema();
    let labels = stored
        .fields()
        .iter()
        .filter(|field| rollup.by.contains(field.name()));
    let mut fields: Vec<Field> = labels.map(|field| viewed(field)).collect();
    let of = &rollup.of;
    fields.extend(
        of.iter()
            .map(|name| Field::new(missing(name), DataType::Boolean, false)),
    );
    fields.push(Field::new(ROWS, DataType::Int64, false));
    for name in of {
        let number = |name: String| Field::new(name, DataType::Float64, true);
        fields.extend([
            number(sum(name)),
            number(least(name)),
            number(greatest(name)),
        ]);
    }
    Arc::new(Schema::new(fields))
}

/// The sums of `rows`; `None` where they would not be much fewer.
pub(crate) fn rolled_up(
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
        let Some(sums) = sums(
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

/// For each row the group of rows with the same labels, and the first row of each group.
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

/// Sum, least and greatest value of each group; `None` where a value is no finite number.
fn sums(values: &Float64Array, group_of: &[usize], groups: usize) -> Option<[ArrayRef; 3]> {
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

/// The sums as they lie in the file.
pub(crate) fn encode(sums: &RecordBatch) -> Result<Vec<u8>, ArrowError> {
    let mut writer = StreamWriter::try_new(Vec::new(), &sums.schema())?;
    writer.write(sums)?;
    let stream = writer.into_inner()?;
    Ok(zstd::bulk::compress(&stream, LEVEL)?)
}

/// The sums from the bytes of a file that has so many rows; an error where they are not its. Of files of older
/// versions nothing else tells that they are damaged, and Arrow's reader may panic then.
pub fn decode(bytes: &[u8], rows: u64) -> Result<Vec<RecordBatch>, ArrowError> {
    let read = || -> Result<Vec<RecordBatch>, ArrowError> {
        // Memory follows the bytes that are there, not the lengths that they name.
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
    let damaged = || ArrowError::IpcError(format!("sums that are not those of {rows} rows"));
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
    fn tags_say_what_sums_are_by() {
        let place = Place {
            offset: 12,
            bytes: 34,
            layout: 0x5e,
        };
        assert_eq!(
            Place::from_tags(&HashMap::from([place.tag()])),
            Ok(Some(place))
        );
        let tag = |text: &str| {
            Place::from_tags(&HashMap::from([(TAG.to_owned(), Some(text.to_owned()))]))
        };
        let records = tsql_schema::table("records").unwrap();
        let today = layout(records.rollup.as_ref().unwrap());
        // A tag that does not say it is one of the first, whose sums are still those of today.
        assert_eq!(tag("12,34").unwrap().unwrap().layout, today);
        assert!(tag("12,34,x").is_err());
        assert!(tag("12").is_err());
    }
}
