//! Rows of a result, stored on disk.
//!
//! ```text
//! file   │ part │ part │ part │ ...      each a stream of Arrow's own format: schema, dictionaries, one batch
//! index    first row, offset, bytes      24 bytes a part, in memory
//! ```
//!
//! - A part has at most about [`PART_BYTES`], or one row, so that a window takes little memory for any result length.
//! - Readers see the rows written so far; parts never change.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use arrow::array::{Array as _, ArrayRef, AsArray as _, RecordBatch};
use arrow::compute::concat_batches;
use arrow::datatypes::{DataType, SchemaRef};
use arrow::error::ArrowError;
use arrow::ipc::reader::StreamReader;
use arrow::ipc::writer::StreamWriter;
use tsql_error::{Error, Result};

/// Size of a part in memory, in bytes.
const PART_BYTES: usize = 4 << 20;

/// Number of rows to which small batches are combined.
const PART_ROWS: usize = 4096;

/// Location of a part.
#[derive(Clone, Copy, Debug)]
struct ResultFilePart {
    first_row: u64,
    offset: u64,
    bytes: u64,
}

/// Index of the parts written so far.
#[derive(Debug, Default)]
struct PartIndex {
    parts: Vec<ResultFilePart>,
    rows: u64,
    bytes: u64,
}

/// Stored rows, for readers.
#[derive(Debug)]
pub(super) struct ResultFile {
    path: PathBuf,
    schema: SchemaRef,
    index: Mutex<PartIndex>,
}

impl Drop for ResultFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

fn query_error(error: ArrowError) -> Error {
    Error::Query(error.into())
}

impl ResultFile {
    fn lock_index(&self) -> MutexGuard<'_, PartIndex> {
        self.index.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Number of rows so far.
    pub(super) fn rows(&self) -> u64 {
        self.lock_index().rows
    }

    /// Number of bytes on disk so far.
    pub(super) fn bytes(&self) -> u64 {
        self.lock_index().bytes
    }

    /// Number of parts so far.
    pub(super) fn parts(&self) -> usize {
        self.lock_index().parts.len()
    }

    /// Reads a part, or some of its columns.
    pub(super) fn part(&self, place: usize, columns: Option<&[usize]>) -> Result<RecordBatch> {
        let part = self.lock_index().parts.get(place).copied();
        let part = part
            .ok_or_else(|| Error::Internal(format!("part {place} of the result does not exist")))?;
        let read = || {
            let mut file = File::open(&self.path)?;
            file.seek(SeekFrom::Start(part.offset))?;
            let mut bytes = Vec::new();
            file.take(part.bytes).read_to_end(&mut bytes)?;
            Ok(bytes)
        };
        let bytes = read().map_err(Error::io(&self.path))?;
        let columns = columns.map(<[usize]>::to_vec);
        let mut reader = StreamReader::try_new(bytes.as_slice(), columns).map_err(query_error)?;
        let batch = reader.next();
        batch
            .unwrap_or_else(|| Err(ArrowError::IpcError("no rows".to_owned())))
            .map_err(query_error)
    }

    /// Reads at most `count` rows, starting at `from`, as batches.
    pub(super) fn window(&self, from: u64, count: u64) -> Result<Vec<RecordBatch>> {
        let (mut place, rows) = {
            let index = self.lock_index();
            let after = index.parts.partition_point(|part| part.first_row <= from);
            (after.saturating_sub(1), index.rows)
        };
        let end = from.saturating_add(count).min(rows);
        let mut batches = Vec::new();
        let mut at = from;
        while at < end {
            let first = self
                .lock_index()
                .parts
                .get(place)
                .map(|part| part.first_row);
            let Some(first) = first else { break };
            let batch = self.part(place, None)?;
            let within =
                |row: u64| usize::try_from(row.saturating_sub(first)).unwrap_or(usize::MAX);
            let (begin, stop) = (within(at), within(end).min(batch.num_rows()));
            batches.push(batch.slice(begin, stop.saturating_sub(begin)));
            at = first + batch.num_rows() as u64;
            place += 1;
        }
        Ok(batches)
    }
}

/// Writer of stored rows.
#[derive(Debug)]
pub(super) struct ResultFileWriter {
    stored: std::sync::Arc<ResultFile>,
    file: File,
    waiting: Vec<RecordBatch>,
    waiting_rows: usize,
}

impl ResultFileWriter {
    /// Creates a new file.
    ///
    /// # Errors
    /// [`Error::Io`] if it cannot be created.
    pub(super) fn new(path: &Path, schema: SchemaRef) -> Result<Self> {
        let file = File::create_new(path).map_err(Error::io(path))?;
        let stored = ResultFile {
            path: path.to_owned(),
            schema,
            index: Mutex::default(),
        };
        Ok(Self {
            stored: std::sync::Arc::new(stored),
            file,
            waiting: Vec::new(),
            waiting_rows: 0,
        })
    }

    /// Reader of the rows written so far.
    pub(super) fn reader(&self) -> std::sync::Arc<ResultFile> {
        std::sync::Arc::clone(&self.stored)
    }

    /// Adds rows. Small batches are buffered.
    pub(super) fn push(&mut self, batch: RecordBatch) -> Result<()> {
        if batch.num_rows() == 0 {
            return Ok(());
        }
        self.waiting_rows += batch.num_rows();
        self.waiting.push(batch);
        match self.waiting_rows >= PART_ROWS || self.stored.parts() == 0 {
            true => self.flush(),
            false => Ok(()),
        }
    }

    /// Writes the buffered rows, so that readers see them.
    pub(super) fn flush(&mut self) -> Result<()> {
        let waiting = std::mem::take(&mut self.waiting);
        self.waiting_rows = 0;
        let batch = match waiting.as_slice() {
            [] => return Ok(()),
            [only] => only.clone(),
            several => concat_batches(&self.stored.schema, several).map_err(query_error)?,
        };
        let pieces = batch.get_array_memory_size().div_ceil(PART_BYTES).max(1);
        let rows = batch.num_rows().div_ceil(pieces).max(1);
        let mut from = 0;
        while from < batch.num_rows() {
            let count = rows.min(batch.num_rows() - from);
            self.write(&batch.slice(from, count))?;
            from += count;
        }
        Ok(())
    }

    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        let columns = batch.columns().iter().map(compact).collect();
        let options =
            arrow::array::RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        let batch =
            RecordBatch::try_new_with_options(self.stored.schema.clone(), columns, &options);
        let batch = batch.map_err(query_error)?;
        let mut writer =
            StreamWriter::try_new(Vec::new(), &self.stored.schema).map_err(query_error)?;
        writer.write(&batch).map_err(query_error)?;
        let bytes = writer.into_inner().map_err(query_error)?;
        self.file
            .write_all(&bytes)
            .map_err(Error::io(&self.stored.path))?;
        let mut index = self.stored.lock_index();
        let part = ResultFilePart {
            first_row: index.rows,
            offset: index.bytes,
            bytes: bytes.len() as u64,
        };
        index.parts.push(part);
        index.rows += batch.num_rows() as u64;
        index.bytes += part.bytes;
        Ok(())
    }
}

/// Copies text views without unreferenced buffer content, which would be written repeatedly.
fn compact(array: &ArrayRef) -> ArrayRef {
    match array.data_type() {
        DataType::Utf8View => std::sync::Arc::new(array.as_string_view().gc()),
        DataType::BinaryView => std::sync::Arc::new(array.as_binary_view().gc()),
        _ => array.clone(),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{DictionaryArray, Int64Array, ListArray, StringViewArray};
    use arrow::datatypes::{Int32Type, Int64Type};

    use super::*;

    #[test]
    fn windows_are_the_rows_that_were_written() {
        let folder = tempfile::tempdir().unwrap();
        let of = |from: i64, count: i64| {
            let numbers: Int64Array = (from..from + count).collect();
            let texts: StringViewArray = (from..from + count)
                .map(|n| Some(format!("a text that is not short {n}")))
                .collect();
            let words: DictionaryArray<Int32Type> = (from..from + count)
                .map(|n| if n % 2 == 0 { "even" } else { "odd" })
                .collect();
            let lists = ListArray::from_iter_primitive::<Int64Type, _, _>(
                (from..from + count).map(|n| Some(vec![Some(n), None])),
            );
            let columns: [(&str, ArrayRef); 4] = [
                ("n", Arc::new(numbers)),
                ("t", Arc::new(texts)),
                ("w", Arc::new(words)),
                ("l", Arc::new(lists)),
            ];
            RecordBatch::try_from_iter(columns).unwrap()
        };
        let mut writer =
            ResultFileWriter::new(&folder.path().join("rows"), of(0, 1).schema()).unwrap();
        let stored = writer.reader();
        let mut from = 0;
        for count in [1, 10, 5000, 3, 3, 100_000, 0, 7] {
            writer.push(of(from, count)).unwrap();
            from += count;
        }
        assert!(stored.rows() < u64::try_from(from).unwrap(), "a few wait");
        writer.flush().unwrap();
        assert_eq!(stored.rows(), 105_024);
        assert!(stored.parts() >= 4);
        for (from, count, expected) in [
            (0, 5, 5),
            (0, 0, 0),
            (4990, 50, 50),
            (105_020, 100, 4),
            (200_000, 5, 0),
        ] {
            let window = stored.window(from, count).unwrap();
            let rows: usize = window.iter().map(RecordBatch::num_rows).sum();
            assert_eq!(rows, expected, "{from} {count}");
            let mut next = i64::try_from(from).unwrap();
            for batch in window {
                let rows = i64::try_from(batch.num_rows()).unwrap();
                assert_eq!(batch, of(next, rows), "{from} {count}");
                next += rows;
            }
        }
        assert_eq!(stored.part(1, Some(&[1])).unwrap().num_columns(), 1);
        let path = stored.path.clone();
        drop((writer, stored));
        assert!(!path.exists());
    }
}
