//! Lines that are no records on their way into the table `lines`.
//!
//! They are written in bounded groups as they come, and committed with the files that they are of:
//! a gigabyte of refused lines takes no more memory than a few of them.

use super::tables::{Other, other_columns};
use crate::error::Result;
use crate::schema;
use crate::store::Store;
use crate::store::file::{self, DataFile, Effort};

/// Bytes that are held before they are written.
const HELD_BYTES: usize = 32 << 20;

/// What a line takes beside its texts.
const LINE_BYTES: usize = 128;

/// Lines that are not committed yet.
#[derive(Default)]
pub(super) struct Others {
    held: Vec<(i64, Other)>,
    bytes: usize,
    files: Vec<DataFile>,
}

impl Others {
    /// Takes a line of a source.
    pub(super) fn push(&mut self, source_id: i64, other: Other) {
        let reason = other.reason.as_ref().map_or(0, String::len);
        self.bytes += LINE_BYTES + reason + other.text.len();
        self.held.push((source_id, other));
    }

    /// There is enough for a file.
    pub(super) fn is_full(&self) -> bool {
        self.bytes >= HELD_BYTES
    }

    /// Writes what is held.
    pub(super) async fn flush(&mut self, store: &Store) -> Result<()> {
        let held = std::mem::take(&mut self.held);
        self.bytes = 0;
        if held.is_empty() {
            return Ok(());
        }
        let table = schema::table("lines")?;
        let batch = file::batch(table, other_columns(&held))?;
        let written = file::write(store.location(), table, &[], &[batch], Effort::Ingest).await?;
        self.files.push(written);
        Ok(())
    }

    /// The files of all lines so far, which nothing refers to yet.
    pub(super) async fn finish(&mut self, store: &Store) -> Result<Vec<DataFile>> {
        self.flush(store).await?;
        Ok(std::mem::take(&mut self.files))
    }
}
