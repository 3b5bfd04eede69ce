//! Encoding of rows as Parquet: the encoding and compression of each column.
//!
//! Rarely read columns are optimized for size: zstd, and in rewritten files the smallest encoding. Columns that most
//! queries read (`hot` in the schema) are optimized for speed: LZ4, which decodes three times as fast as zstd 19,
//! unless the column grows by more than half. Figures: `docs/dev/decisions/002-hot-columns.md`.

use arrow::array::{Array as _, ArrayRef, RecordBatch};
use arrow::datatypes::DataType;
use arrow::error::ArrowError;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::basic::{Compression, Encoding as ParquetEncoding, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterPropertiesBuilder};
use parquet::schema::types::ColumnPath;

use crate::files::checksum::Checksums;
use crate::files::rollup::{self, RollupLocation};
use tsql_error::{Error, Result};
use tsql_schema::{Column, Encoding, Table};

/// Maximum length of text statistics. Longer bounds do not help pruning.
pub(crate) const STATISTICS_TEXT_BYTES: usize = 64;

/// Compression effort.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// For incoming data.
    Ingest,
    /// For files that `optimize` rewrites.
    Optimize,
}

/// Rows per page. This is about the number of TenSet programs of a graph, so a query for some graphs reads few other
/// rows. Pages of 20,000 rows are 2 % smaller.
const PAGE_ROWS: usize = 4096;

/// Maximum number of rows of a file without a page index and footer statistics. The statistics in the log suffice.
const SMALL_FILE_ROWS: usize = 20_000;

/// Number of rows of a column on which encodings are tried.
const SAMPLE_ROWS: usize = 1 << 16;

/// Mean value size in bytes from which no encodings are tried.
const LONG_BYTES: usize = 1024;

/// Name of the trial column.
const SAMPLE: &str = "sample";

/// Encoding and compression of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Packing {
    encoding: Encoding,
    compression: Compression,
}

/// An encoded data file.
#[derive(Debug)]
pub(crate) struct Encoded {
    pub(crate) bytes: Vec<u8>,
    /// Location of the pre-aggregates in the file.
    pub(crate) rollup: Option<RollupLocation>,
    pub(crate) checksums: Checksums,
}

/// Encodes `rows` as a data file.
pub(crate) fn encode(table: &Table, rows: &RecordBatch, effort: Effort) -> Result<Encoded> {
    let wrong = |error: ParquetError| Error::damaged(&table.name, error.to_string());
    let sums = rollup::compute_rollup(table, rows)
        .and_then(|sums| sums.as_ref().map(rollup::encode).transpose());
    let sums = sums.map_err(|error| wrong(error.into()))?;
    let told = drop_null_columns(table, rows).map_err(|error| wrong(error.into()))?;
    let mut properties = builder(effort).map_err(wrong)?;
    for column in table.stored_columns() {
        if let Some(values) = told.column_by_name(&column.name) {
            let packing = choose_packing(column, values, effort).map_err(wrong)?;
            for path in leaf_columns(&column.name, values.data_type(), packing.encoding) {
                properties = apply_packing(properties, path, packing);
            }
        }
    }
    let properties = with_page_index(properties, table, rows.num_rows());
    let layout = table.rollup.as_ref().map(rollup::layout);
    let sums = sums.as_deref().zip(layout);
    parquet_bytes(&told, properties, sums).map_err(wrong)
}

/// Removes nullable columns that are NULL in all rows. Each would cost 100 bytes, and readers return NULL for missing
/// columns anyway.
fn drop_null_columns(table: &Table, rows: &RecordBatch) -> Result<RecordBatch, ArrowError> {
    let schema = rows.schema();
    let columns = schema.fields().iter().zip(rows.columns()).enumerate();
    let told = columns.filter(|(_, (field, values))| {
        values.null_count() < values.len()
            || !field.is_nullable()
            || table.key.contains(field.name())
    });
    let told: Vec<usize> = told.map(|(place, _)| place).collect();
    rows.project(&told)
}

fn parquet_bytes(
    rows: &RecordBatch,
    properties: WriterProperties,
    sums: Option<(&[u8], u64)>,
) -> Result<Encoded, ParquetError> {
    let options = ArrowWriterOptions::new()
        .with_properties(properties)
        .with_skip_arrow_metadata(true);
    let mut writer = ArrowWriter::try_new_with_options(Vec::new(), rows.schema(), options)?;
    writer.write(rows)?;
    writer.flush()?;
    let offset = writer.bytes_written() as u64;
    let mut rollup = None;
    if let Some((sums, layout)) = sums {
        let bytes = sums.len() as u64;
        rollup = Some(RollupLocation {
            offset,
            bytes,
            layout,
        });
        writer.write_all(sums)?;
    }
    let checksums = Checksums::new(offset, writer.bytes_written() as u64);
    let place = usize::try_from(checksums.len()).map_err(|error| external_error(&error))?;
    writer.write_all(&vec![0; place])?;
    let mut bytes = writer.into_inner()?;
    let checksums = checksums.fill(&mut bytes);
    let checksums = checksums.ok_or_else(|| external_error(&"no space for checksums"))?;
    Ok(Encoded {
        bytes,
        rollup,
        checksums,
    })
}

fn external_error(reason: &dyn std::fmt::Display) -> ParquetError {
    ParquetError::General(reason.to_string())
}

/// Chooses the encoding and compression of a column. In a rewritten file, the encoding that is smallest for the first
/// rows. The best one depends on the data: runtimes of 100 µs and more are whole nanoseconds, shorter ones are not.
fn choose_packing(
    column: &Column,
    values: &ArrayRef,
    effort: Effort,
) -> Result<Packing, ParquetError> {
    let hot = column.hot && values.len() > SMALL_FILE_ROWS;
    let encodings: &[Encoding] = match values.data_type() {
        DataType::Int64 => &[Encoding::Delta, Encoding::Dictionary, Encoding::Plain],
        DataType::Float32 | DataType::Float64 => {
            &[Encoding::Plain, Encoding::Split, Encoding::Dictionary]
        }
        DataType::BinaryView => &[Encoding::Plain, Encoding::Lengths],
        _ => &[],
    };
    // The encoding of the lengths does not matter for long texts.
    let long = values.get_buffer_memory_size() / LONG_BYTES > values.len();
    if effort == Effort::Ingest || long || (encodings.is_empty() && !hot) {
        let fast = hot && effort == Effort::Ingest;
        return Ok(Packing {
            encoding: column.encoding,
            compression: if fast {
                Compression::LZ4_RAW
            } else {
                zstd(effort)?
            },
        });
    }
    let sample = values.slice(0, values.len().min(SAMPLE_ROWS));
    let rows = sample.len();
    let sample = RecordBatch::try_from_iter_with_nullable([(SAMPLE, sample, true)])?;
    let smallest = |compression: Compression| {
        let size = |encoding: Encoding| {
            let packing = Packing {
                encoding,
                compression,
            };
            let properties =
                apply_packing(builder(effort)?, ColumnPath::from(SAMPLE), packing).build();
            let encoded = parquet_bytes(&sample, properties, None)?;
            Ok::<_, ParquetError>((encoded.bytes.len(), packing))
        };
        let mut best = size(column.encoding)?;
        for &encoding in encodings {
            let tried = size(encoding)?;
            if tried.0 < best.0 {
                best = tried;
            }
        }
        Ok::<_, ParquetError>(best)
    };
    let (bytes, small) = smallest(zstd(effort)?)?;
    if hot {
        let (fast_bytes, fast) = smallest(Compression::LZ4_RAW)?;
        if fast_bytes <= bytes + bytes / 2 + rows / 8 {
            return Ok(fast);
        }
    }
    Ok(small)
}

fn zstd(effort: Effort) -> Result<Compression, ParquetError> {
    let level = match effort {
        Effort::Ingest => 3,
        Effort::Optimize => 19,
    };
    Ok(Compression::ZSTD(ZstdLevel::try_new(level)?))
}

fn builder(effort: Effort) -> Result<WriterPropertiesBuilder, ParquetError> {
    Ok(WriterProperties::builder()
        .set_created_by(concat!("tsql ", env!("CARGO_PKG_VERSION")).to_owned())
        .set_compression(zstd(effort)?)
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_dictionary_enabled(false)
        .set_data_page_row_count_limit(PAGE_ROWS)
        .set_dictionary_page_size_limit(16 << 20)
        .set_statistics_truncate_length(Some(STATISTICS_TEXT_BYTES)))
}

/// Returns the leaf columns of a column: itself, or the leaves of its lists and structs that the encoding supports.
fn leaf_columns(name: &str, data_type: &DataType, encoding: Encoding) -> Vec<ColumnPath> {
    let mut leaves = Vec::new();
    let mut inner = vec![(vec![name.to_owned()], data_type)];
    while let Some((path, data_type)) = inner.pop() {
        let within = |names: &[&str]| {
            let names = names.iter().map(|name| (*name).to_owned());
            path.iter().cloned().chain(names).collect::<Vec<_>>()
        };
        match data_type {
            DataType::List(field) => {
                inner.push((within(&["list", field.name()]), field.data_type()))
            }
            DataType::Struct(fields) => {
                let fields = fields.iter();
                inner.extend(fields.map(|field| (within(&[field.name()]), field.data_type())));
            }
            _ => {
                let suits = match encoding {
                    Encoding::Split => data_type.is_floating(),
                    Encoding::Delta => data_type.is_integer(),
                    _ => true,
                };
                if suits || path.len() == 1 {
                    leaves.push(ColumnPath::new(path));
                }
            }
        }
    }
    leaves
}

fn apply_packing(
    properties: WriterPropertiesBuilder,
    path: ColumnPath,
    packing: Packing,
) -> WriterPropertiesBuilder {
    let properties = properties.set_column_compression(path.clone(), packing.compression);
    match packing.encoding {
        Encoding::Plain => properties,
        Encoding::Dictionary => properties.set_column_dictionary_enabled(path, true),
        Encoding::Delta => {
            properties.set_column_encoding(path, ParquetEncoding::DELTA_BINARY_PACKED)
        }
        Encoding::Lengths => {
            properties.set_column_encoding(path, ParquetEncoding::DELTA_LENGTH_BYTE_ARRAY)
        }
        Encoding::Split => properties.set_column_encoding(path, ParquetEncoding::BYTE_STREAM_SPLIT),
    }
}

/// Enables the page index for columns that queries filter by.
fn with_page_index(
    mut properties: WriterPropertiesBuilder,
    table: &Table,
    rows: usize,
) -> WriterProperties {
    if rows <= SMALL_FILE_ROWS {
        return properties
            .set_offset_index_disabled(true)
            .set_statistics_enabled(EnabledStatistics::None)
            .build();
    }
    let hot = table.stored_columns().filter(|column| column.hot);
    let hot = hot.map(|column| column.name.as_str());
    for column in table.sort.iter().map(String::as_str).chain(hot) {
        let path = ColumnPath::from(column);
        properties = properties.set_column_statistics_enabled(path, EnabledStatistics::Page);
    }
    properties.build()
}
