//! Buffers comments and rejected lines for the table `lines`.
//!
//! They are written in bounded groups and committed with their files, so a gigabyte of rejected lines needs
//! no more memory than a few of them.

use tsql_adapters::formats::format_reader::TableRows;
use tsql_error::Result;
use tsql_schema as schema;
use tsql_store::file;

use super::super::commits::RowWriter;

pub(crate) use tsql_adapters::formats::lines::columns::{NonRecordLine, non_record_columns};

/// Maximum number of buffered bytes.
const HELD_BYTES: usize = 32 << 20;

/// Overhead per line in bytes.
const LINE_BYTES: usize = 128;

/// Lines that are not yet written.
#[derive(Default)]
pub(super) struct NonRecordLines {
    lines: Vec<(i64, NonRecordLine)>,
    bytes: usize,
}

impl NonRecordLines {
    /// Adds a line of a source.
    pub(super) fn push(&mut self, source_id: i64, other: NonRecordLine) {
        let reason = other.reason.as_ref().map_or(0, String::len);
        self.bytes += LINE_BYTES + reason + other.text.len();
        self.lines.push((source_id, other));
    }

    /// Returns whether there is enough for a data file.
    pub(super) fn is_full(&self) -> bool {
        self.bytes >= HELD_BYTES
    }

    /// Writes the lines as one data file.
    pub(super) async fn write(&mut self, written: &mut RowWriter<'_>) -> Result<()> {
        let lines = std::mem::take(&mut self.lines);
        self.bytes = 0;
        if lines.is_empty() {
            return Ok(());
        }
        written.add(TableRows {
            table: "lines",
            partition: None,
            rows: file::batch(schema::table("lines")?, non_record_columns(&lines))?,
        });
        written.write_table("lines").await
    }
}
