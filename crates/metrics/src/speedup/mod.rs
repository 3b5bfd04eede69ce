//! Scores S(t) and ES(t) of the GraphNet paper, from samples and from aggregated numbers.
//!
//! | metric | result |
//! |---|---|
//! | `speedup_score` | S(t): geometric mean, a failure counts as b |
//! | `error_aware_speedup_score` | ES(t): from t = 1 on tolerated failures count as 1 |
//! | `aggregate_speedup_score` | weighted mean of log10 ES(t) |
//! | `speedup_statistics` | alpha, beta, lambda, eta, gamma, and the scores by the formula |
//! | [`macro_speedup_score`] | the formula: S(t) for the penalty b, ES(t) for gamma |
//!
//! Upstream stops with a `TypeError` at a correct sample without a speedup. Here such a sample counts as failed with
//! the fail type `no_speedup`, which is tolerated from t = 3 on like a runtime error. A speedup of 0 makes a score 0,
//! as upstream.

mod sample;
mod scores;
mod statistics;
mod tolerance;

pub use sample::{Sample, ScoreParams};
pub use scores::{aggregate_speedup_score, error_aware_speedup_score, speedup_score};
pub use statistics::{Statistics, macro_speedup_score, speedup_statistics};
pub use tolerance::Interpretation;

use crate::metric::Metric;

/// Speedup metrics.
pub const METRICS: &[Metric] = &[
    scores::SCORE,
    scores::ERROR_AWARE,
    scores::AGGREGATE,
    statistics::STATISTICS,
];
