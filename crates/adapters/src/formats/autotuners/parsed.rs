//! Autotuner files before and after parsing.

use std::sync::Arc;

use tsql_formats::autotuners::TunerFile;
use tsql_formats::autotuners::readers::ReadOptions;
use tsql_formats::rows::LogRows;

use super::spaces::SpaceRow;
use crate::formats::document::Document;
use crate::formats::format_reader::ParseSummary;
use crate::formats::lines::columns::NonRecordLine;

/// A file that was read but not parsed.
pub(crate) struct TunerWork {
    pub(super) document: Document,
    pub(super) file: &'static TunerFile,
    pub(super) options: ReadOptions,
}

/// A parsed file.
pub(crate) struct ParsedFile {
    /// Summary for the report, with the segment for the ingest log.
    pub(super) summary: ParseSummary,
    pub(super) dataset: &'static str,
    /// Records of each platform.
    pub(super) records: Vec<(Arc<str>, Box<LogRows>)>,
    pub(super) rejected: Vec<NonRecordLine>,
    pub(super) space: Vec<SpaceRow>,
    pub(super) text_id: i64,
    pub(super) bytes: Vec<u8>,
}
