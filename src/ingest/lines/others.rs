//! Lines that are no records on their way into the table `lines`.
//!
//! They are written in bounded groups as they come, and committed with the files that they are of:
//! a gigabyte of refused lines takes no more memory than a few of them.

use super::super::commits::Written;
use crate::error::Result;
use crate::formats::lines::columns::{Other, other_columns};
use crate::formats::taking::Batch;
use crate::schema;
use crate::store::file;

/// Bytes that are held before they are written.
const HELD_BYTES: usize = 32 << 20;

/// What a line takes beside its texts.
const LINE_BYTES: usize = 128;

/// Lines that are not written yet.
#[derive(Default)]
pub(super) struct Others {
    lines: Vec<(i64, Other)>,
    bytes: usize,
}

impl Others {
    /// Takes a line of a source.
    pub(super) fn push(&mut self, source_id: i64, other: Other) {
        let reason = other.reason.as_ref().map_or(0, String::len);
        self.bytes += LINE_BYTES + reason + other.text.len();
        self.lines.push((source_id, other));
    }

    /// There is enough for a file.
    pub(super) fn is_full(&self) -> bool {
        self.bytes >= HELD_BYTES
    }

    /// Writes them as one file.
    pub(super) async fn write(&mut self, written: &mut Written<'_>) -> Result<()> {
        let lines = std::mem::take(&mut self.lines);
        self.bytes = 0;
        if lines.is_empty() {
            return Ok(());
        }
        written.add(Batch {
            table: "lines",
            partition: None,
            rows: file::batch(schema::table("lines")?, other_columns(&lines))?,
        });
        written.write_table("lines").await
    }
}
