//! Metrics of predicted throughputs of TenSet (NeurIPS 2021) and TLP (ASPLOS 2023), as upstream's `metric.py` and
//! `eval_model_on_dataset.py` compute them. Higher predictions mean faster programs.
//!
//! A program's *label* is its throughput relative to its task's best: the minimum cost of the task over its own cost.
//!
//! | metric | of one task | upstream's name |
//! |---|---|---|
//! | `rmse`, `r2`, `mape` | errors of predicted labels | the same |
//! | `pairwise_accuracy` | fraction of correctly ranked pairs | `pairwise comparision accuracy` |
//! | `recall_at_k` | fraction of the best k among the first k by prediction | `top_k_recall` |
//! | `peak_at_k` | mean, over the first k by prediction, of the best label so far | `average peak score` |
//! | `tenset_scores` | all of these from runtimes, with the number of failed rows | |
//! | [`top_k_score`], of a network's tasks | weighted best latency over that of the best of k | `top-k score` |
//!
//! A failed program has a cost of 1e10 s upstream ([`Variant::Tenset`]); [`Variant::Valid`] ignores it. Upstream's
//! treatment of ties depends on the order of the rows, so an optional `index` gives that order. Without it, and for
//! equal indices, a pair that depends on the order counts half, and the slower of equal predictions is first. So
//! partial results can be merged in any order.
//!
//! Scores that would be misleadingly good are [`Undefined`]: for NaN or infinite predictions, rows that are all equal,
//! and a task of one row.

mod choice;
mod error;
mod network;
mod pairs;
mod random;
mod row;
mod task;
#[cfg(test)]
mod tests;
mod undefined;

pub use choice::{min_cost_at_k, peak_at_k, recall_at_k};
pub use error::{mape, r2, rmse};
pub use network::{TaskLatency, top_k_score};
pub use pairs::pairwise_accuracy;
pub use random::{random_mape, random_min_cost_at_k, random_pairwise_accuracy, random_peak_at_k};
pub use row::PredictedRow;
pub use task::{
    PEAKS, Program, TOPS, TaskScores, Variant, labels, random_task_scores, task_scores,
};
pub use undefined::Undefined;

use crate::metric::Metric;

/// Metrics of predicted throughputs.
pub const METRICS: &[Metric] = &[
    error::RMSE,
    error::R2,
    error::MAPE,
    pairs::ACCURACY,
    choice::RECALL,
    choice::PEAK,
    task::SCORES,
    network::TOP_K,
];
