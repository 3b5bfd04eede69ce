//! Parquet files of bounded size. Equal rows give equal bytes, independent of the batches.

use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::compute::BatchCoalescer;
use arrow::datatypes::{Schema, SchemaRef};
use arrow::error::ArrowError;
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::arrow::{ArrowWriter, add_encoded_arrow_schema_to_metadata};
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::{WriterProperties, WriterVersion};
use tsql_error::{Error, Result};
use tsql_store::atomic_output::{OutputTarget, WrittenFile};

use super::portable_types;

/// Rows that are encoded at a time, so page boundaries do not depend on the batches.
const PIECE_ROWS: usize = 1024;

/// Maximum number of rows, and of bytes of values, of a row group. A reader has one in memory.
const GROUP_ROWS: usize = 1 << 18;
const GROUP_BYTES: usize = 128 << 20;

/// File size from which no row group is added. A file is in memory until it is written.
const FILE_BYTES: usize = 128 << 20;

/// Dictionary size up to which repeated text (such as the sketch of each configuration of a graph) is stored once per
/// row group.
const DICTIONARY_BYTES: usize = 4 << 20;

/// Maximum length of text statistics in bytes.
const STATISTICS_TEXT_BYTES: usize = 64;

/// Smaller than with the usual level 3, and still fast.
const ZSTD_LEVEL: i32 = 9;

/// Writes the rows of one folder as `part-00000.parquet` and so on.
pub(super) struct ParquetFilesWriter<'a> {
    target: &'a OutputTarget,
    /// Name of the table, for errors.
    table: String,
    /// Path of the folder, with trailing slash.
    folder: String,
    given: SchemaRef,
    properties: WriterProperties,
    pieces: BatchCoalescer,
    open: Option<ArrowWriter<Vec<u8>>>,
    group_bytes: usize,
    written: Vec<WrittenFile>,
    rows: u64,
}

impl<'a> ParquetFilesWriter<'a> {
    /// Creates a writer. `given` is the schema of the rows, `plain` the schema of the files.
    pub(super) fn new(
        target: &'a OutputTarget,
        table: &str,
        folder: String,
        given: &SchemaRef,
        plain: &Schema,
    ) -> Result<Self> {
        let mut files = Self {
            target,
            table: table.to_owned(),
            folder,
            given: Arc::clone(given),
            properties: WriterProperties::default(),
            pieces: BatchCoalescer::new(Arc::clone(given), PIECE_ROWS),
            open: None,
            group_bytes: 0,
            written: Vec::new(),
            rows: 0,
        };
        files.properties = properties(plain).map_err(|error| files.parquet_error(&error))?;
        Ok(files)
    }

    /// Returns the files written so far.
    pub(super) fn written_files(&self) -> &[WrittenFile] {
        &self.written
    }

    /// Adds rows.
    ///
    /// # Errors
    /// [`Error::Storage`] if a file cannot be written.
    pub(super) async fn push(&mut self, batch: RecordBatch) -> Result<()> {
        let pushed = self.pieces.push_batch(batch);
        pushed.map_err(|error| self.arrow_error(&error))?;
        while let Some(piece) = self.pieces.next_completed_batch() {
            self.encode(&piece).await?;
        }
        Ok(())
    }

    /// Writes the remaining rows and returns all files.
    ///
    /// # Errors
    /// As [`ParquetFilesWriter::push`].
    pub(super) async fn finish(mut self) -> Result<Vec<WrittenFile>> {
        let rest = self.pieces.finish_buffered_batch();
        rest.map_err(|error| self.arrow_error(&error))?;
        while let Some(piece) = self.pieces.next_completed_batch() {
            self.encode(&piece).await?;
        }
        self.close().await?;
        Ok(self.written)
    }

    async fn encode(&mut self, piece: &RecordBatch) -> Result<()> {
        if self.open.is_none() {
            let options = ArrowWriterOptions::new()
                .with_properties(self.properties.clone())
                .with_skip_arrow_metadata(true);
            let schema = Arc::clone(&self.given);
            let opened = ArrowWriter::try_new_with_options(Vec::new(), schema, options);
            self.open = Some(opened.map_err(|error| self.parquet_error(&error))?);
        }
        let Some(writer) = &mut self.open else {
            return Ok(());
        };
        let bytes: usize = piece
            .columns()
            .iter()
            .map(portable_types::value_bytes)
            .sum();
        let mut wrote = writer.write(piece);
        self.rows += piece.num_rows() as u64;
        self.group_bytes += bytes;
        if self.group_bytes >= GROUP_BYTES {
            wrote = wrote.and_then(|()| writer.flush());
        }
        let is_flushed = writer.in_progress_rows() == 0;
        let is_full = is_flushed && writer.bytes_written() >= FILE_BYTES;
        wrote.map_err(|error| self.parquet_error(&error))?;
        if is_flushed {
            self.group_bytes = 0;
        }
        if is_full {
            self.close().await?;
        }
        Ok(())
    }

    async fn close(&mut self) -> Result<()> {
        let Some(writer) = self.open.take() else {
            return Ok(());
        };
        let bytes = writer
            .into_inner()
            .map_err(|error| self.parquet_error(&error))?;
        let path = format!("{}part-{:05}.parquet", self.folder, self.written.len());
        let rows = std::mem::take(&mut self.rows);
        self.group_bytes = 0;
        self.written
            .push(self.target.write(path, bytes, rows).await?);
        Ok(())
    }

    fn parquet_error(&self, error: &ParquetError) -> Error {
        Error::Internal(format!("{}: {error}", self.table))
    }

    fn arrow_error(&self, error: &ArrowError) -> Error {
        Error::Internal(format!("{}: {error}", self.table))
    }
}

fn properties(plain: &Schema) -> Result<WriterProperties, ParquetError> {
    let mut properties = WriterProperties::builder()
        .set_created_by(concat!("tsql ", env!("CARGO_PKG_VERSION")).to_owned())
        .set_writer_version(WriterVersion::PARQUET_1_0)
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(ZSTD_LEVEL)?))
        .set_max_row_group_row_count(Some(GROUP_ROWS))
        .set_dictionary_page_size_limit(DICTIONARY_BYTES)
        .set_statistics_truncate_length(Some(STATISTICS_TEXT_BYTES))
        .set_coerce_types(true)
        .build();
    add_encoded_arrow_schema_to_metadata(plain, &mut properties);
    Ok(properties)
}
