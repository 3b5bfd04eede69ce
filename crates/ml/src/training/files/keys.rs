//! Columns of training files that are not features.

/// Columns that identify a row in any store.
pub(super) const KEYS: [&str; 3] = ["config_key", "platform", "runtime_ns"];

/// Columns copied from `records`, in the order of the files.
pub(super) const OF_RECORDS: [&str; 6] = [
    "graph_id",
    "source_id",
    "line",
    "config_key",
    "platform",
    "runtime_ns",
];
