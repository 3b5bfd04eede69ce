//! Input of ranking metrics: a configuration, and the SQL arguments that define it.

use crate::metric::{Argument, RowGroup, ValueKind};

pub(super) const RUNTIME: Argument = Argument::per_row(
    "runtime",
    ValueKind::Number,
    "runtime of the configuration, in one unit for all",
);

pub(super) const SCORE: Argument = Argument::per_row(
    "score",
    ValueKind::Number,
    "predicted score, lower for a lower runtime",
);

pub(super) const INDEX: Argument = Argument::per_row(
    "index",
    ValueKind::Whole,
    "index of the configuration, which orders equal scores",
)
.optional();

/// A configuration with its runtime and its predicted score.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScoredConfig {
    /// Measured runtime, in any unit common to all configurations.
    pub runtime: f64,
    /// Predicted score: lower for a lower runtime.
    pub score: f64,
}

/// Returns the configurations with a runtime and a score, ordered by index.
pub(super) fn scored_configs(group: &RowGroup) -> Vec<ScoredConfig> {
    let (scores, indices) = (group.numbers(SCORE.name), group.numbers(INDEX.name));
    let mut rows = Vec::new();
    for (row, runtime) in group.numbers(RUNTIME.name).iter().enumerate() {
        let score = scores.get(row).copied().flatten();
        if let (Some(runtime), Some(score)) = (*runtime, score) {
            let index = indices.get(row).copied().flatten();
            rows.push((index.unwrap_or(f64::NAN), ScoredConfig { runtime, score }));
        }
    }
    rows.sort_by(|a, b| a.0.total_cmp(&b.0));
    rows.into_iter().map(|(_, pair)| pair).collect()
}
