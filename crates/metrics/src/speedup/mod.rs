//! Scores S(t) and ES(t) of the GraphNet paper, from samples and from aggregated numbers.
//!
//! | metric | gives |
//! |---|---|
//! | `speedup_score` | S(t): geometric mean, a failure counts b |
//! | `error_aware_speedup_score` | ES(t): from t = 1 on tolerated failures count 1 |
//! | `aggregate_speedup_score` | weighted mean of log10 ES(t) |
//! | `speedup_statistics` | alpha, beta, lambda, eta, gamma, and the scores by the formula |
//! | [`macro_speedup_score`] | the formula: S(t) for the penalty b, ES(t) for gamma |
//!
//! A sample that is correct but has no speedup stops upstream with a `TypeError`. Here it counts as
//! failed with the fail type `no_speedup`, which is tolerated from t = 3 on like a runtime error.
//! A speedup of 0 makes a score 0, as upstream.

mod sample;
mod scores;
mod statistics;
mod tolerance;

pub use sample::{Params, Sample};
pub use scores::{aggregate_speedup_score, error_aware_speedup_score, speedup_score};
pub use statistics::{Statistics, macro_speedup_score, speedup_statistics};
pub use tolerance::Interpretation;

use crate::metric::Metric;

/// Those of speedups.
pub const METRICS: &[Metric] = &[
    scores::SCORE,
    scores::ERROR_AWARE,
    scores::AGGREGATE,
    statistics::STATISTICS,
];
