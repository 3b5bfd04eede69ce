//! Pairs of both sides: comparison, correction and the lists of the report.

pub(super) mod pair_counter;
pub(super) mod pairs;
pub(super) mod rule_context;
pub(super) mod shift_tracker;
pub(super) mod top_changes;
pub(super) mod unpaired;
