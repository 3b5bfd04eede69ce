//! The columns that random queries name.

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Whole,
    Fraction,
    Text,
    Time,
}

use Kind::{Fraction, Text, Time, Whole};

/// Columns by table. The labels of pre-aggregates are the first columns of `records`.
pub(super) const COLUMNS: [(&str, &[(&str, Kind)]); 5] = [
    (
        "records",
        &[
            ("dataset", Text),
            ("platform", Text),
            ("collection", Text),
            ("split", Text),
            ("graph_id", Whole),
            ("repeat_count", Whole),
            ("error_no", Whole),
            ("environment_id", Whole),
            ("source_id", Whole),
            ("status", Text),
            ("runtime_ns", Fraction),
            ("min_ns", Fraction),
            ("noise", Fraction),
            ("baseline_ns", Fraction),
            ("cpu_ns", Fraction),
            ("all_cost_s", Fraction),
            ("config_id", Whole),
            ("line", Whole),
            ("error_message", Text),
            ("measured_at", Time),
        ],
    ),
    (
        "graphs",
        &[
            ("graph_id", Whole),
            ("dataset", Text),
            ("workload_key", Text),
            ("workload_name", Text),
            ("kind", Text),
            ("node_count", Whole),
        ],
    ),
    (
        "configurations",
        &[("graph_id", Whole), ("config_id", Whole), ("steps", Text)],
    ),
    (
        "sources",
        &[
            ("source_id", Whole),
            ("dataset", Text),
            ("platform", Text),
            ("line_count", Whole),
            ("record_count", Whole),
            ("split", Text),
        ],
    ),
    (
        "environments",
        &[
            ("environment_id", Whole),
            ("dataset", Text),
            ("target", Text),
            ("target_kind", Text),
            ("writer", Text),
        ],
    ),
];

/// Number of labels among the columns of `records`.
const LABELS: usize = 10;

/// Labels with few distinct values, without identifiers.
pub(super) const FEW: [&str; 7] = [
    "dataset",
    "platform",
    "collection",
    "split",
    "repeat_count",
    "error_no",
    "status",
];

/// Measures of a record.
pub(super) const MEASURES: [&str; 8] = [
    "runtime_ns",
    "min_ns",
    "noise",
    "baseline_ns",
    "cpu_ns",
    "all_cost_s",
    "repeats_ns[1]",
    "repeats_ns[2]",
];

pub(super) fn columns(table: &str) -> &'static [(&'static str, Kind)] {
    let found = COLUMNS.iter().find(|(name, _)| *name == table);
    found.unwrap().1
}

pub(super) fn labels() -> &'static [(&'static str, Kind)] {
    &columns("records")[..LABELS]
}
