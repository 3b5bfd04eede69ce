//! How well a cost model predicts throughputs: the metrics of TenSet (NeurIPS 2021) and TLP (ASPLOS 2023), as
//! upstream's `metric.py` and `eval_model_on_dataset.py` compute them. Higher predictions are of faster programs.
//!
//! A program's *label* is its throughput relative to its task's best: the least cost of the task over its own.
//!
//! | metric | of one task | upstream's name |
//! |---|---|---|
//! | `rmse`, `r2`, `mape` | errors of predicted labels | the same |
//! | `pairwise_accuracy` | share of the pairs that are ranked as they are | `pairwise comparision accuracy` |
//! | `recall_at_k` | how many of the best k are among the k predicted | `top_k_recall` |
//! | `peak_at_k` | mean, over the first 1 to k, of the best label so far | `average peak score` |
//! | `tenset_scores` | all of these from runtimes, with the count of failed rows | |
//! | [`top_k_score`], of a network's tasks | weighted best latency over that of the best of k | `top-k score` |
//!
//! A failed program has a cost of 1e10 s upstream ([`Variant::Tenset`]); [`Variant::Valid`] leaves it out. What upstream
//! makes of equal numbers depends on the order of the rows, so an `index` can say it. Without one, and among equal ones, a pair counts half
//! where it depends on that order, and the slower of equal predictions comes first. So partial results can be joined in any order.
//!
//! Where a number would flatter there is none, but [`Undefined`]: NaN or infinite predictions, rows that are all alike, a task of one row.

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

pub use choice::{least_of_k, peak_at_k, recall_at_k};
pub use error::{mape, r2, rmse};
pub use network::{TaskLatency, top_k_score};
pub use pairs::pairwise_accuracy;
pub use random::{random_least_of_k, random_mape, random_pairwise_accuracy, random_peak_at_k};
pub use row::Row;
pub use task::{
    PEAKS, Program, TOPS, TaskScores, Variant, labels, random_task_scores, task_scores,
};
pub use undefined::Undefined;

use crate::metric::Metric;

/// Those of predicted throughputs.
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
