//! Rows as the bytes of a Parquet file: which encoding and which compression each column gets.
//!
//! What is seldom read is to be small: zstd, and whichever encoding is smallest where a file is
//! written to stay. Columns that most queries read (`hot` in the schema) are to be fast: LZ4, which
//! is read three times as fast as zstd 19, unless that costs half of the bytes again.
//! Figures: `docs/dev/decisions/002-hot-columns.md`.

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
use crate::files::rollup::{self, Place};
use tsql_error::{Error, Result};
use tsql_schema::{Column, Encoding, Table};

/// Longest text whose minimum and maximum are kept; a longer one is no use for pruning.
pub(crate) const STATISTICS_TEXT_BYTES: usize = 64;

/// How hard to compress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// While data comes in.
    Ingest,
    /// When files are rewritten to stay.
    Optimize,
}

/// Rows of a page: about as many as TenSet has programs of a graph, so that a query after some graphs
/// reads little else. Pages of 20,000 rows are 2 % smaller.
const PAGE_ROWS: usize = 4096;

/// A file of so many rows at most has no index of its pages and no statistics in its footer: those
/// in the log do.
const SMALL_FILE_ROWS: usize = 20_000;

/// Rows of a column on which encodings are tried.
const SAMPLE_ROWS: usize = 1 << 16;

/// Mean size of values from which on no encodings are tried.
const LONG_BYTES: usize = 1024;

/// Name of the column that encodings are tried on.
const SAMPLE: &str = "sample";

/// How the bytes of a column come about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Packing {
    encoding: Encoding,
    compression: Compression,
}

/// A data file.
#[derive(Debug)]
pub(crate) struct Encoded {
    pub(crate) bytes: Vec<u8>,
    /// Where in it the sums of the rows are.
    pub(crate) rollup: Option<Place>,
    pub(crate) checksums: Checksums,
}

/// The file that holds `rows`.
pub(crate) fn encode(table: &Table, rows: &RecordBatch, effort: Effort) -> Result<Encoded> {
    let wrong = |error: ParquetError| Error::damaged(&table.name, error.to_string());
    let sums = rollup::rolled_up(table, rows)
        .and_then(|sums| sums.as_ref().map(rollup::encode).transpose());
    let sums = sums.map_err(|error| wrong(error.into()))?;
    let told = told(table, rows).map_err(|error| wrong(error.into()))?;
    let mut properties = builder(effort).map_err(wrong)?;
    for column in table.stored_columns() {
        if let Some(values) = told.column_by_name(&column.name) {
            let packing = packing(column, values, effort).map_err(wrong)?;
            for path in leaves(&column.name, values.data_type(), packing.encoding) {
                properties = packed(properties, path, packing);
            }
        }
    }
    let properties = indexed(properties, table, rows.num_rows());
    let layout = table.rollup.as_ref().map(rollup::layout);
    let sums = sums.as_deref().zip(layout);
    parquet_bytes(&told, properties, sums).map_err(wrong)
}

/// The rows without the columns that say nothing: what is NULL throughout need not be in a file, and
/// costs 100 bytes of it; it is read as NULL, as a column is that the table did not have then.
fn told(table: &Table, rows: &RecordBatch) -> Result<RecordBatch, ArrowError> {
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
        rollup = Some(Place {
            offset,
            bytes,
            layout,
        });
        writer.write_all(sums)?;
    }
    let checksums = Checksums::new(offset, writer.bytes_written() as u64);
    let place = usize::try_from(checksums.len()).map_err(|error| outside(&error))?;
    writer.write_all(&vec![0; place])?;
    let mut bytes = writer.into_inner()?;
    let checksums = checksums.fill(&mut bytes);
    let checksums = checksums.ok_or_else(|| outside(&"no place for checksums"))?;
    Ok(Encoded {
        bytes,
        rollup,
        checksums,
    })
}

fn outside(reason: &dyn std::fmt::Display) -> ParquetError {
    ParquetError::General(reason.to_string())
}

/// The packing of a column. Of a file that is to stay it is the one in which the beginning of the
/// column is smallest, which depends on the data: runtimes of 100 µs and more are whole nanoseconds,
/// shorter ones are not.
fn packing(column: &Column, values: &ArrayRef, effort: Effort) -> Result<Packing, ParquetError> {
    let hot = column.hot && values.len() > SMALL_FILE_ROWS;
    let encodings: &[Encoding] = match values.data_type() {
        DataType::Int64 => &[Encoding::Delta, Encoding::Dictionary, Encoding::Plain],
        DataType::Float32 | DataType::Float64 => {
            &[Encoding::Plain, Encoding::Split, Encoding::Dictionary]
        }
        DataType::BinaryView => &[Encoding::Plain, Encoding::Lengths],
        _ => &[],
    };
    // How the lengths of long texts are written is neither here nor there.
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
            let properties = packed(builder(effort)?, ColumnPath::from(SAMPLE), packing).build();
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

/// The columns of the file that a column becomes: one, or those of its lists and structs for which the encoding
/// is made.
fn leaves(name: &str, data_type: &DataType, encoding: Encoding) -> Vec<ColumnPath> {
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

fn packed(
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

/// With an index of the pages by the columns that queries ask for.
fn indexed(
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
