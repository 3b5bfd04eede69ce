//! Writes the rows of a part into files of bounded size that end with a group. The same rows give the same
//! bytes, whatever the input batches.

use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::compute::{BatchCoalescer, concat_batches};
use arrow::datatypes::{Schema, SchemaRef};
use arrow::ipc::writer::FileWriter;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{WriterProperties, WriterVersion};
use tsql_error::{Error, Result};
use tsql_store::atomic_output::{OutputTarget, WrittenFile};

use super::npz;
use super::options::FileForm;
use crate::training::file::arrow_error;

/// Rows per write.
const PIECE_ROWS: usize = 4096;

/// A file is closed after the group at which its rows reach this size in memory.
const FILE_BYTES: usize = 128 << 20;

/// Maximum number of rows of a Parquet row group.
const ROW_GROUP_ROWS: usize = 1 << 16;

/// Metadata key of the description of a file.
pub(super) const METADATA: &str = "tsql.training";

/// The files of a part.
pub(super) struct Shards<'a> {
    target: &'a OutputTarget,
    folder: String,
    form: FileForm,
    schema: SchemaRef,
    about: String,
    pieces: BatchCoalescer,
    open: Option<OpenFile>,
    /// Size in memory of the rows of the open file, in bytes.
    bytes: usize,
    rows: u64,
    group_sizes: Vec<i64>,
    written: Vec<WrittenFile>,
}

enum OpenFile {
    Parquet(Box<ArrowWriter<Vec<u8>>>),
    Arrow(Box<FileWriter<Vec<u8>>>),
    Npz(Vec<RecordBatch>),
}

impl<'a> Shards<'a> {
    /// Creates a writer for files in a folder; `about` goes into their metadata.
    pub(super) fn new(
        target: &'a OutputTarget,
        folder: &str,
        form: FileForm,
        schema: &Schema,
        about: &str,
    ) -> Self {
        let mut metadata = schema.metadata().clone();
        metadata.insert(METADATA.to_owned(), about.to_owned());
        let schema: SchemaRef = Arc::new(schema.clone().with_metadata(metadata));
        Self {
            target,
            folder: folder.to_owned(),
            form,
            pieces: BatchCoalescer::new(Arc::clone(&schema), PIECE_ROWS),
            schema,
            about: about.to_owned(),
            open: None,
            bytes: 0,
            rows: 0,
            group_sizes: Vec::new(),
            written: Vec::new(),
        }
    }

    /// Adds rows of a group.
    pub(super) fn push(&mut self, batch: &RecordBatch) -> Result<()> {
        let own = batch.clone().with_schema(Arc::clone(&self.schema));
        let own = own.map_err(arrow_error)?;
        self.rows += own.num_rows() as u64;
        self.bytes += own
            .columns()
            .iter()
            .map(|column| {
                let rows = column.to_data().get_slice_memory_size();
                rows.unwrap_or_default()
            })
            .sum::<usize>();
        self.pieces.push_batch(own).map_err(arrow_error)?;
        self.encode()
    }

    /// Ends a group, and the file if it is full.
    pub(super) async fn end_group(&mut self, rows: u64) -> Result<()> {
        self.group_sizes
            .push(i64::try_from(rows).unwrap_or(i64::MAX));
        if self.bytes >= FILE_BYTES {
            self.close().await?;
        }
        Ok(())
    }

    /// Closes the last file; returns all files.
    pub(super) async fn finish(mut self) -> Result<Vec<WrittenFile>> {
        if self.rows > 0 {
            self.close().await?;
        }
        Ok(self.written)
    }

    fn encode(&mut self) -> Result<()> {
        while let Some(piece) = self.pieces.next_completed_batch() {
            if self.open.is_none() {
                self.open = Some(self.open_file()?);
            }
            match &mut self.open {
                Some(OpenFile::Parquet(writer)) => writer.write(&piece).map_err(parquet_error)?,
                Some(OpenFile::Arrow(writer)) => writer.write(&piece).map_err(arrow_error)?,
                Some(OpenFile::Npz(pieces)) => pieces.push(piece),
                None => {}
            }
        }
        Ok(())
    }

    fn open_file(&self) -> Result<OpenFile> {
        let schema = Arc::clone(&self.schema);
        Ok(match self.form {
            FileForm::Parquet => {
                let options = ArrowWriterOptions::new().with_properties(self.properties()?);
                let writer = ArrowWriter::try_new_with_options(Vec::new(), schema, options);
                OpenFile::Parquet(Box::new(writer.map_err(parquet_error)?))
            }
            FileForm::Arrow => {
                let writer = FileWriter::try_new(Vec::new(), &schema);
                OpenFile::Arrow(Box::new(writer.map_err(arrow_error)?))
            }
            FileForm::Npz => OpenFile::Npz(Vec::new()),
        })
    }

    fn properties(&self) -> Result<WriterProperties> {
        let about = KeyValue::new(METADATA.to_owned(), self.about.clone());
        Ok(WriterProperties::builder()
            .set_created_by(concat!("tsql ", env!("CARGO_PKG_VERSION")).to_owned())
            .set_writer_version(WriterVersion::PARQUET_1_0)
            .set_compression(Compression::ZSTD(
                ZstdLevel::try_new(1).map_err(parquet_error)?,
            ))
            .set_max_row_group_row_count(Some(ROW_GROUP_ROWS))
            .set_key_value_metadata(Some(vec![about]))
            .build())
    }

    async fn close(&mut self) -> Result<()> {
        self.pieces.finish_buffered_batch().map_err(arrow_error)?;
        self.encode()?;
        let bytes = match self.open.take() {
            None => return Ok(()),
            Some(OpenFile::Parquet(writer)) => writer.into_inner().map_err(parquet_error)?,
            Some(OpenFile::Arrow(mut writer)) => {
                writer.finish().map_err(arrow_error)?;
                writer.into_inner().map_err(arrow_error)?
            }
            Some(OpenFile::Npz(pieces)) => {
                let all = concat_batches(&self.schema, &pieces).map_err(arrow_error)?;
                drop(pieces);
                npz::encode_archive(&all, Some(&self.group_sizes))?
            }
        };
        let (number, end) = (self.written.len(), self.form.name());
        let path = format!("{}/part-{number:05}.{end}", self.folder);
        let rows = std::mem::take(&mut self.rows);
        self.bytes = 0;
        self.group_sizes.clear();
        self.written
            .push(self.target.write(path, bytes, rows).await?);
        Ok(())
    }
}

fn parquet_error(error: ParquetError) -> Error {
    Error::Internal(format!("rows for training: {error}"))
}
