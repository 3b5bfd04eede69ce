//! A configuration as rankings see it, and the arguments of a metric that it comes from.

use crate::metric::{Argument, Group, Kind};

pub(super) const RUNTIME: Argument = Argument::of_row(
    "runtime",
    Kind::Number,
    "what the configuration took, in any unit that all have",
);

pub(super) const SCORE: Argument = Argument::of_row(
    "score",
    Kind::Number,
    "what was predicted, lower for a lower runtime",
);

pub(super) const INDEX: Argument = Argument::of_row(
    "index",
    Kind::Whole,
    "which configuration it is: of equal scores the lower one comes first",
)
.optional();

/// One configuration: what it took, and what was predicted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pair {
    /// What it took, in any unit that all have.
    pub runtime: f64,
    /// What was predicted, lower for a lower runtime.
    pub score: f64,
}

/// The configurations with a runtime and a score, by their indices.
pub(super) fn scored(group: &Group) -> Vec<Pair> {
    let (scores, indices) = (group.numbers(SCORE.name), group.numbers(INDEX.name));
    let mut rows = Vec::new();
    for (row, runtime) in group.numbers(RUNTIME.name).iter().enumerate() {
        let score = scores.get(row).copied().flatten();
        if let (Some(runtime), Some(score)) = (*runtime, score) {
            let index = indices.get(row).copied().flatten();
            rows.push((index.unwrap_or(f64::NAN), Pair { runtime, score }));
        }
    }
    rows.sort_by(|a, b| a.0.total_cmp(&b.0));
    rows.into_iter().map(|(_, pair)| pair).collect()
}
