//! Parsed workload files.

use tsql_formats::Folder;
use tsql_formats::computation::{Computation, NoCanonicalForm};
use tsql_formats::metaschedule::workload::Workload;

use crate::formats::lines::columns::NonRecordLine;
use crate::ingest_log::SourceSegment;

/// A parsed file.
pub(crate) struct ParsedFile {
    /// The folder of the file: its database.
    pub(super) folder: Folder,
    pub(super) lines: Vec<Line>,
    /// Lines that are not workloads.
    pub(super) others: Vec<NonRecordLine>,
    pub(super) bytes: u64,
    pub(super) closed: SourceSegment,
}

/// A line with a workload.
pub(super) struct Line {
    /// Line number, from 1.
    pub(super) number: u64,
    pub(super) workload: Workload,
    /// The canonical computation, or why it is not understood.
    pub(super) computation: Result<Computation, NoCanonicalForm>,
    /// Its text, if hash and module do not restore it.
    pub(super) verbatim: Option<Vec<u8>>,
}

/// Describes how many workloads have empty columns because something in them is not understood. Gives the
/// reason for the first one.
pub(super) fn describe_undecoded(lines: &[Line]) -> Option<String> {
    let count = lines.len();
    let mut parts = Vec::new();
    let mut without = lines
        .iter()
        .filter(|line| line.workload.arguments().is_none());
    if let Some(first) = without.next() {
        let all = 1 + without.count();
        parts.push(format!(
            "{all} of {count} workloads have no `arguments`, the first in line {}: an extent is \
             not constant, or the module does not have exactly one function",
            first.number
        ));
    }
    let without = lines
        .iter()
        .filter_map(|line| Some((line, line.computation.as_ref().err()?)));
    let without: Vec<_> = without.collect();
    if let Some((first, reason)) = without.first() {
        parts.push(format!(
            "{} of {count} workloads have no `computation`, the first in line {}: {reason}",
            without.len(),
            first.number
        ));
    }
    (!parts.is_empty()).then(|| parts.join("; "))
}
