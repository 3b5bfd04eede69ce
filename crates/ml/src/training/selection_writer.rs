//! Writes a selection to disk, one block of rows at a time.
//!
//! ```text
//! <folder>/rows.arrow    the rows, in blocks of 16,384 (Arrow file format, no compression)
//!          groups        ends of groups of rows: unsigned 64-bit integers, little-endian
//!          families      ends of families of groups, or of rows, in the same format
//!          about.json    written last: sizes and XXH3-64 of all files
//! ```

use std::fs::{self, File};
use std::hash::Hasher as _;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch};
use arrow::compute::{BatchCoalescer, cast};
use arrow::datatypes::{Schema, SchemaRef};
use arrow::ipc::writer::FileWriter;
use datafusion::physical_plan::ExecutionPlanProperties as _;
use futures::TryStreamExt as _;
use serde::{Deserialize, Serialize};
use tsql_error::{Error, Result};
use tsql_session::plain_schema;
use twox_hash::XxHash3_64;

use super::boundaries::Boundaries;
use super::file::{BLOCK_ROWS, arrow_error};
use super::selection::Selection;

pub(super) const ROWS: &str = "rows.arrow";
pub(super) const GROUPS: &str = "groups";
pub(super) const FAMILIES: &str = "families";
pub(super) const ABOUT: &str = "about.json";

/// Description of a folder.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct About {
    /// The query, for people.
    pub(super) sql: String,
    pub(super) rows: Content,
    pub(super) groups: Option<Content>,
    #[serde(default)]
    pub(super) families: Option<Content>,
}

/// Size and checksum of a file.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Content {
    pub(super) bytes: u64,
    /// XXH3-64 of all bytes, 16 hexadecimal digits.
    pub(super) xxh3: String,
}

impl Content {
    pub(super) fn from_bytes(bytes: &[u8]) -> Self {
        Self {
            bytes: bytes.len() as u64,
            xxh3: format!("{:016x}", XxHash3_64::oneshot(bytes)),
        }
    }
}

/// Writes the rows of a selection into an empty folder.
pub(super) async fn write(selection: &Selection, sql: &str, folder: &Path) -> Result<()> {
    let schema = Arc::new(plain_schema(&selection.schema));
    let mut rows = RowsWriter::new(&folder.join(ROWS), &schema)?;
    let by = selection.family.into_iter().chain(selection.group);
    let mut groups = selection.group.map(|_| GroupEnds::new(by.collect()));
    let mut families = selection.family.map(|family| GroupEnds::new(vec![family]));
    let parts = selection.plan.output_partitioning().partition_count();
    for part in 0..parts {
        let task = selection.context.task_ctx();
        let stream = selection.plan.execute(part, task);
        let mut stream = stream.map_err(Error::Query)?;
        while let Some(batch) = stream.try_next().await.map_err(Error::Query)? {
            let batch = cast_columns(&batch, &schema)?;
            if let Some(families) = &mut families {
                families.add_batch(&batch)?;
            }
            if let Some(groups) = &mut groups {
                groups.add_batch(&batch)?;
            }
            rows.push(batch)?;
        }
    }
    let groups = groups.map(GroupEnds::finish);
    let mut families = families.map(GroupEnds::finish);
    if let (Some(groups), Some(families)) = (&groups, &mut families) {
        // Ends of families are in rows here; each is also the end of a group.
        for end in families {
            *end = groups.partition_point(|group| group <= end) as u64;
        }
    }
    let written = |ends: Option<Vec<u64>>, name| ends.map(|ends| write_ends(&ends, folder, name));
    let about = About {
        sql: sql.to_owned(),
        rows: rows.finish()?,
        groups: written(groups, GROUPS).transpose()?,
        families: written(families, FAMILIES).transpose()?,
    };
    let text = serde_json::to_vec_pretty(&about);
    let text = text.map_err(|error| Error::Internal(error.to_string()))?;
    let path = folder.join(ABOUT);
    fs::write(&path, text).map_err(Error::io(&path))
}

/// Returns the requested columns, cast to their types.
pub(super) fn cast_columns(batch: &RecordBatch, schema: &SchemaRef) -> Result<RecordBatch> {
    let columns = batch.columns().iter().zip(schema.fields());
    let columns = columns.map(|(column, field)| cast(column, field.data_type()));
    let columns: Vec<ArrayRef> = columns.collect::<Result<_, _>>().map_err(arrow_error)?;
    RecordBatch::try_new(Arc::clone(schema), columns).map_err(arrow_error)
}

/// Writer of rows in blocks.
struct RowsWriter {
    waiting: BatchCoalescer,
    writer: FileWriter<HashingWriter<BufWriter<File>>>,
}

impl RowsWriter {
    fn new(path: &Path, schema: &Schema) -> Result<Self> {
        let file = File::create_new(path).map_err(Error::io(path))?;
        let out = HashingWriter {
            out: BufWriter::with_capacity(1 << 20, file),
            bytes: 0,
            hash: XxHash3_64::new(),
        };
        let writer = FileWriter::try_new(out, schema).map_err(arrow_error)?;
        let waiting = BatchCoalescer::new(Arc::clone(writer.schema()), BLOCK_ROWS);
        Ok(Self { waiting, writer })
    }

    fn push(&mut self, batch: RecordBatch) -> Result<()> {
        self.waiting.push_batch(batch).map_err(arrow_error)?;
        self.write()
    }

    fn write(&mut self) -> Result<()> {
        while let Some(block) = self.waiting.next_completed_batch() {
            self.writer.write(&block).map_err(arrow_error)?;
        }
        Ok(())
    }

    fn finish(mut self) -> Result<Content> {
        self.waiting.finish_buffered_batch().map_err(arrow_error)?;
        self.write()?;
        self.writer.finish().map_err(arrow_error)?;
        let out = self.writer.into_inner().map_err(arrow_error)?;
        Ok(Content {
            bytes: out.bytes,
            xxh3: format!("{:016x}", out.hash.finish()),
        })
    }
}

/// A writer that counts and hashes all bytes.
struct HashingWriter<W> {
    out: W,
    bytes: u64,
    hash: XxHash3_64,
}

impl<W: Write> Write for HashingWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.hash.write(bytes.get(..written).unwrap_or(bytes));
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.out.flush()
    }
}

/// Ends of groups of rows, by the values of some columns.
struct GroupEnds {
    boundaries: Boundaries,
    rows: u64,
    ends: Vec<u64>,
}

impl GroupEnds {
    fn new(columns: Vec<usize>) -> Self {
        Self {
            boundaries: Boundaries::new(columns),
            rows: 0,
            ends: Vec::new(),
        }
    }

    fn add_batch(&mut self, batch: &RecordBatch) -> Result<()> {
        let starts = self.boundaries.find(batch)?.into_iter();
        let ends = starts.map(|start| self.rows + start as u64);
        self.ends.extend(ends.filter(|end| *end > 0));
        self.rows += batch.num_rows() as u64;
        Ok(())
    }

    fn finish(mut self) -> Vec<u64> {
        if self.rows > 0 {
            self.ends.push(self.rows);
        }
        self.ends
    }
}

fn write_ends(ends: &[u64], folder: &Path, name: &str) -> Result<Content> {
    let path = folder.join(name);
    let bytes: Vec<u8> = ends.iter().flat_map(|end| end.to_le_bytes()).collect();
    fs::write(&path, &bytes).map_err(Error::io(&path))?;
    Ok(Content::from_bytes(&bytes))
}
