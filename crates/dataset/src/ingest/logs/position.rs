//! Stored position of a stream.

use serde::Serialize;
use tsql_adapters::ingest_log::{Source, SourceSegment};

/// Amount of a stream that is in the store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Position {
    /// Number of lines from the beginning.
    pub lines: u64,
    /// Number of bytes from the beginning.
    pub bytes: u64,
}

impl Position {
    /// Position of a source in the store.
    pub(in crate::ingest) fn from_source(source: &Source) -> Self {
        let (lines, bytes) = (source.last_line, source.end_byte);
        Self { lines, bytes }
    }

    pub(super) fn from_segment(file: &SourceSegment) -> Self {
        Self {
            lines: file.reading.first_line - 1 + file.line_count,
            bytes: file.end_byte,
        }
    }
}
