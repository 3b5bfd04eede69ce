//! Ranking metrics of the TpuGraphs paper (arXiv 2308.13490, section 4) and of its Kaggle competition: how well scores
//! rank runtimes. Lower scores predict lower runtimes.
//!
//! | metric | of a configuration without a score | of one graph |
//! |---|---|---|
//! | `top_k_error` | not among the k, but among all | best of the k lowest scores over the best of all, minus 1 |
//! | `tile_score` | the same | 1 - `top_k_error` of 5 |
//! | `kendall_tau_b`, `layout_score` | left out | tau-b, with ties corrected |
//! | `ordered_pair_accuracy` | left out | pairs in the right order; equal scores are wrong |
//!
//! Rows without a runtime are ignored. Equal scores are ordered by `index`, or by the order of the rows if no index is
//! given.

pub(crate) mod agreement;
mod kendall;
mod ordered_pairs;
mod pair;
mod top_k;

pub use kendall::kendall_tau_b;
pub use ordered_pairs::ordered_pair_accuracy;
pub use pair::ScoredConfig;
pub use top_k::{TILE_K, tile_score, top_k_error};

use crate::metric::Metric;

/// Ranking metrics.
pub const METRICS: &[Metric] = &[
    top_k::ERROR,
    kendall::TAU_B,
    ordered_pairs::ACCURACY,
    top_k::TILE_SCORE,
    kendall::LAYOUT_SCORE,
];
