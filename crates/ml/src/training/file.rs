//! A selection on disk: a memory-mapped Arrow file, of which a row costs only its pages.

use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::buffer::Buffer;
use arrow::compute::interleave_record_batch;
use arrow::datatypes::SchemaRef;
use arrow::error::ArrowError;
use arrow::ipc::convert::fb_to_schema;
use arrow::ipc::reader::{FileDecoder, read_footer_length};
use arrow::ipc::{Block, root_as_footer};
use bytes::Bytes;
use datafusion::error::DataFusionError;
use tsql_error::{Error, Result};
use tsql_folders::MappedFile;

/// Number of rows of each block except the last.
pub(super) const BLOCK_ROWS: usize = 1 << 14;

/// Bytes after the footer of an Arrow file: its length, and `ARROW1`.
const TAIL_BYTES: usize = 10;

/// Random access to the rows of an Arrow file.
#[derive(Debug)]
pub(super) struct RowsFile {
    schema: SchemaRef,
    blocks: Vec<RecordBatch>,
    rows: u64,
}

impl RowsFile {
    /// Opens a mapped file without copying.
    ///
    /// # Errors
    /// The reason why it is not a file of [`super::selection_writer`].
    pub(super) fn from_mapped(mapped: MappedFile) -> Result<Self, String> {
        let bytes = Buffer::from(Bytes::from_owner(mapped));
        Self::decode(&bytes).map_err(|error| error.to_string())
    }

    fn decode(bytes: &Buffer) -> Result<Self, ArrowError> {
        let broken = |what: &str| ArrowError::IpcError(what.to_owned());
        let cut = || broken("it is truncated");
        let end = bytes.len().checked_sub(TAIL_BYTES).ok_or_else(cut)?;
        let tail = bytes.get(end..).and_then(|tail| tail.try_into().ok());
        let length = read_footer_length(tail.ok_or_else(cut)?)?;
        let begin = end.checked_sub(length).ok_or_else(cut)?;
        let footer = bytes.get(begin..end).ok_or_else(cut)?;
        let footer = root_as_footer(footer).map_err(|error| broken(&error.to_string()))?;
        let schema = footer.schema().ok_or_else(|| broken("it has no schema"))?;
        let schema: SchemaRef = Arc::new(fb_to_schema(schema));
        let decoder = FileDecoder::new(Arc::clone(&schema), footer.version());
        let decoder = decoder.with_require_alignment(true);
        let mut blocks = Vec::new();
        for block in footer.recordBatches().iter().flatten() {
            let decoded = decoder.read_record_batch(block, &block_bytes(bytes, block)?)?;
            blocks.push(decoded.ok_or_else(|| broken("a block without rows"))?);
        }
        let full = blocks.iter().rev().skip(1);
        if !full
            .map(RecordBatch::num_rows)
            .all(|rows| rows == BLOCK_ROWS)
        {
            return Err(broken("a block of another size"));
        }
        let rows = blocks.iter().map(|block| block.num_rows() as u64).sum();
        Ok(Self {
            schema,
            blocks,
            rows,
        })
    }

    pub(super) fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    pub(super) fn row_count(&self) -> u64 {
        self.rows
    }

    /// Copies these rows, in this order, into a new batch.
    ///
    /// # Errors
    /// [`Error::Argument`] for a row index beyond the selection.
    pub(super) fn gather(&self, rows: &[u64]) -> Result<RecordBatch> {
        let place = |&row: &u64| {
            let row = Some(row).filter(|row| *row < self.rows);
            let row = row.and_then(|row| usize::try_from(row).ok())?;
            Some((row / BLOCK_ROWS, row % BLOCK_ROWS))
        };
        let Some(places) = rows.iter().map(place).collect::<Option<Vec<_>>>() else {
            let wrong = rows.iter().find(|row| **row >= self.rows).unwrap_or(&0);
            let reason = format!("no row {wrong}, expected an index below {}", self.rows);
            return Err(Error::Argument {
                name: "indices",
                reason,
            });
        };
        if places.is_empty() {
            return Ok(RecordBatch::new_empty(Arc::clone(&self.schema)));
        }
        let blocks: Vec<&RecordBatch> = self.blocks.iter().collect();
        interleave_record_batch(&blocks, &places).map_err(arrow_error)
    }
}

fn block_bytes(bytes: &Buffer, block: &Block) -> Result<Buffer, ArrowError> {
    let cut = || ArrowError::IpcError("a block beyond the end".to_owned());
    let begin = usize::try_from(block.offset()).map_err(|_| cut())?;
    let head = usize::try_from(block.metaDataLength()).map_err(|_| cut())?;
    let body = usize::try_from(block.bodyLength()).map_err(|_| cut())?;
    let length = head.checked_add(body).ok_or_else(cut)?;
    let end = begin.checked_add(length).ok_or_else(cut)?;
    if end > bytes.len() {
        return Err(cut());
    }
    Ok(bytes.slice_with_length(begin, length))
}

/// Wraps an error of an Arrow kernel.
pub(super) fn arrow_error(error: ArrowError) -> Error {
    Error::Query(DataFusionError::from(error))
}
