//! What was read of a file of workloads.

use tsql_formats::Folder;
use tsql_formats::computation::{Computation, NoForm};
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
    /// What it computes, or why that is not understood.
    pub(super) computation: Result<Computation, NoForm>,
    /// Its text, where hash and module do not give it back.
    pub(super) verbatim: Option<Vec<u8>>,
}

/// Says of how many workloads columns stay empty, because something in them is not understood, and why those of the first
/// do.
pub(super) fn undecoded(lines: &[Line]) -> Option<String> {
    let count = lines.len();
    let mut parts = Vec::new();
    let mut without = lines
        .iter()
        .filter(|line| line.workload.arguments().is_none());
    if let Some(first) = without.next() {
        let all = 1 + without.count();
        parts.push(format!(
            "{all} of {count} workloads have no `arguments`, the first in line {}: an extent that is not constant, or a module of other than one function",
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
