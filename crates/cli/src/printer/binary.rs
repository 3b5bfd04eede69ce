//! Arrow IPC files and streams, and Parquet: results with their types, for other programs.

use std::io::Write;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::{DataType, SchemaRef};
use arrow::error::ArrowError;
use arrow::ipc::writer::{FileWriter, StreamWriter};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;

use super::sink::Sink;

/// Maximum size of a row group, which stays in memory until it is complete. A number of rows would not bound it,
/// because a graph is one value.
const ROW_GROUP_BYTES: usize = 128 * 1024 * 1024;

/// Writer of the Arrow IPC file format (Feather 2), uncompressed. Its footer lists the batches, so that the file can be
/// memory-mapped.
pub(super) struct ArrowFile<O: Write> {
    writer: FileWriter<O>,
    schema: SchemaRef,
}

impl<O: Write> ArrowFile<O> {
    /// Creates the writer, and writes the schema.
    pub(super) fn new(schema: &SchemaRef, out: O) -> Result<Self, ArrowError> {
        Ok(Self {
            writer: FileWriter::try_new(out, schema)?,
            schema: Arc::clone(schema),
        })
    }
}

impl<O: Write> Sink for ArrowFile<O> {
    fn write(&mut self, batch: &RecordBatch) -> Result<(), ArrowError> {
        self.writer.write(&with_schema(batch, &self.schema)?)?;
        self.writer.flush()
    }

    fn finish(&mut self, _rows: u64) -> Result<(), ArrowError> {
        self.writer.finish()?;
        self.writer.flush()
    }
}

/// Writer of the Arrow IPC stream format, uncompressed: a reader gets each batch at once.
pub(super) struct ArrowStream<O: Write> {
    writer: StreamWriter<O>,
    schema: SchemaRef,
}

impl<O: Write> ArrowStream<O> {
    /// Creates the writer, and writes the schema.
    pub(super) fn new(schema: &SchemaRef, out: O) -> Result<Self, ArrowError> {
        Ok(Self {
            writer: StreamWriter::try_new(out, schema)?,
            schema: Arc::clone(schema),
        })
    }
}

impl<O: Write> Sink for ArrowStream<O> {
    fn write(&mut self, batch: &RecordBatch) -> Result<(), ArrowError> {
        self.writer.write(&with_schema(batch, &self.schema)?)?;
        self.writer.flush()
    }

    fn finish(&mut self, _rows: u64) -> Result<(), ArrowError> {
        self.writer.finish()?;
        self.writer.flush()
    }
}

/// Writer of a Parquet file, compressed with zstd, one row group at a time.
pub(super) struct Parquet<O: Write + Send> {
    writer: ArrowWriter<O>,
    schema: SchemaRef,
}

impl<O: Write + Send> Parquet<O> {
    pub(super) fn new(schema: &SchemaRef, out: O) -> Result<Self, ArrowError> {
        if let Some(field) = schema
            .fields()
            .iter()
            .find(|field| holds_union(field.data_type()))
        {
            return Err(ArrowError::SchemaError(format!(
                "column `{}` is a union",
                field.name()
            )));
        }
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .set_max_row_group_bytes(Some(ROW_GROUP_BYTES))
            .build();
        let writer = ArrowWriter::try_new(out, Arc::clone(schema), Some(properties))?;
        Ok(Self {
            writer,
            schema: Arc::clone(schema),
        })
    }
}

impl<O: Write + Send> Sink for Parquet<O> {
    fn write(&mut self, batch: &RecordBatch) -> Result<(), ArrowError> {
        Ok(self.writer.write(&with_schema(batch, &self.schema)?)?)
    }

    fn finish(&mut self, _rows: u64) -> Result<(), ArrowError> {
        self.writer.finish()?;
        Ok(self.writer.inner_mut().flush()?)
    }
}

/// Returns whether a type contains a union. Parquet has no unions, and its writer panics at one.
fn holds_union(data_type: &DataType) -> bool {
    match data_type {
        DataType::Union(_, _) => true,
        DataType::Struct(fields) => fields.iter().any(|field| holds_union(field.data_type())),
        DataType::Dictionary(_, values) => holds_union(values),
        DataType::List(field)
        | DataType::LargeList(field)
        | DataType::ListView(field)
        | DataType::LargeListView(field)
        | DataType::FixedSizeList(field, _)
        | DataType::Map(field, _)
        | DataType::RunEndEncoded(_, field) => holds_union(field.data_type()),
        _ => false,
    }
}

/// Returns `batch` with the schema that was written first, because operators differ in metadata and nullability.
fn with_schema(batch: &RecordBatch, schema: &SchemaRef) -> Result<RecordBatch, ArrowError> {
    if batch.schema_ref() == schema || batch.num_columns() == 0 {
        return Ok(batch.clone());
    }
    RecordBatch::try_new(Arc::clone(schema), batch.columns().to_vec())
}

#[cfg(test)]
mod tests {
    use arrow::array::RecordBatch;
    use std::io::Cursor;

    use arrow::ipc::reader::{FileReader, StreamReader};
    use bytes::Bytes;
    use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
    use parquet::basic::Compression;

    use super::super::Format;
    use super::super::fixture::{batch, bytes, schema};

    fn read_arrow(bytes: &[u8]) -> Vec<RecordBatch> {
        let reader = StreamReader::try_new(bytes, None).unwrap();
        assert_eq!(reader.schema(), schema());
        reader.map(Result::unwrap).collect()
    }

    #[test]
    fn an_arrow_stream_comes_back_as_it_was() {
        let written = bytes(Format::Arrows, schema(), &[batch(), batch()]).unwrap();
        assert_eq!(
            format!("{:?}", read_arrow(&written)),
            format!("{:?}", [batch(), batch()])
        );
        let end_of_stream = [255, 255, 255, 255, 0, 0, 0, 0];
        assert!(written.ends_with(&end_of_stream));
    }

    #[test]
    fn an_arrow_stream_without_rows_holds_the_schema() {
        assert!(read_arrow(&bytes(Format::Arrows, schema(), &[]).unwrap()).is_empty());
    }

    #[test]
    fn an_arrow_file_comes_back_as_it_was() {
        for batches in [vec![], vec![batch(), batch()]] {
            let written = bytes(Format::Arrow, schema(), &batches).unwrap();
            let reader = FileReader::try_new(Cursor::new(written), None).unwrap();
            assert_eq!(reader.schema(), schema());
            let read: Vec<RecordBatch> = reader.map(Result::unwrap).collect();
            assert_eq!(format!("{read:?}"), format!("{batches:?}"));
        }
    }

    #[test]
    fn parquet_comes_back_as_it_was() {
        let written = Bytes::from(bytes(Format::Parquet, schema(), &[batch()]).unwrap());
        let builder = ParquetRecordBatchReaderBuilder::try_new(written).unwrap();
        let column = builder.metadata().row_group(0).column(0).compression();
        assert!(matches!(column, Compression::ZSTD(_)), "{column}");
        let read: Vec<RecordBatch> = builder.build().unwrap().map(Result::unwrap).collect();
        assert_eq!(
            format!("{:?}", read[0].columns()),
            format!("{:?}", batch().columns())
        );
        assert_eq!(read.len(), 1);
    }

    #[test]
    fn parquet_without_rows_holds_the_schema() {
        let written = Bytes::from(bytes(Format::Parquet, schema(), &[]).unwrap());
        let builder = ParquetRecordBatchReaderBuilder::try_new(written).unwrap();
        assert_eq!(builder.schema().fields(), schema().fields());
        assert_eq!(builder.metadata().file_metadata().num_rows(), 0);
    }
}
