//! What was read of a file of workloads.

use tsql_formats::Folder;
use tsql_formats::computation::Computation;
use tsql_formats::metaschedule::workload::Workload;

use crate::formats::lines::columns::Other;
use crate::ledger::Closed;

/// A file that was parsed.
pub(crate) struct Read {
    /// The folder that it lies in: its database.
    pub(super) folder: Folder,
    pub(super) lines: Vec<Line>,
    /// Lines that are no workloads.
    pub(super) others: Vec<Other>,
    pub(super) bytes: u64,
    pub(super) closed: Closed,
}

/// A line with a workload.
pub(super) struct Line {
    /// From 1.
    pub(super) number: u64,
    pub(super) workload: Workload,
    /// What it computes, where that is understood.
    pub(super) computation: Option<Computation>,
    /// Its text, where hash and module do not give it back.
    pub(super) verbatim: Option<Vec<u8>>,
}
