//! Columns of a row of the files that are no features.

/// Those that tell a row from others, in any store.
pub(super) const KEYS: [&str; 3] = ["config_key", "platform", "runtime_ns"];

/// Those that come from `records` as they are, in the order of the files.
pub(super) const OF_RECORDS: [&str; 6] = [
    "graph_id",
    "source_id",
    "line",
    "config_key",
    "platform",
    "runtime_ns",
];
