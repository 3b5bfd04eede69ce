//! How far a stream is in the store.

use crate::ledger::{Closed, Source};
use serde::Serialize;

/// How much of a stream is in the store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Position {
    /// Lines from its beginning on.
    pub lines: u64,
    /// Bytes from its beginning on.
    pub bytes: u64,
}

impl Position {
    /// All that the store has of a source.
    pub(in crate::ingest) fn of(source: &Source) -> Self {
        let (lines, bytes) = (source.last_line, source.end_byte);
        Self { lines, bytes }
    }

    pub(super) fn after(file: &Closed) -> Self {
        Self {
            lines: file.reading.first_line - 1 + file.line_count,
            bytes: file.end_byte,
        }
    }
}
