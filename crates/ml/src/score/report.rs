//! Report of scores.

use std::collections::BTreeMap;

use serde::Serialize;

use super::options::Scoring;

/// Scores of predictions.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct ScoreReport {
    /// Format of the table.
    pub scoring: Scoring,
    /// Predictions as given by the user.
    pub predictions: String,
    /// Split with its version (`official` for TpuGraphs' own); `None` if all records were scored, including those that
    /// a model may have been trained on.
    pub split: Option<String>,
    /// Digest of the split, the same in every store.
    pub split_digest: Option<String>,
    /// Warning about a known leak of the split.
    pub split_warning: Option<String>,
    /// Part of the split.
    pub part: String,
    /// Treatment of failed records: `tenset` or `valid`.
    pub variant: String,
    /// Seed of the resamples behind intervals.
    pub seed: u64,
    /// Number of resamples.
    pub resamples: u32,
    /// Number of records of the part.
    pub records: u64,
    /// Number of failed records.
    pub failed: u64,
    /// Number of records without a prediction.
    pub missing: u64,
    /// Number of predictions that are NaN or infinite, or a time of 0 or less.
    pub invalid: u64,
    /// Number of predictions for configurations of the store without a record in the part.
    pub unused: u64,
    /// Names of the metrics, in order.
    pub metrics: Vec<String>,
    /// Names of the main metrics.
    pub main_metrics: Vec<String>,
    /// Kind of the groups of tasks: `network`, `task`, `collection` or `platform`.
    pub groups: String,
    /// Scores of each group, and of all groups.
    pub rows: Vec<ScoreRow>,
}

/// Source of a ranking.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Predictor {
    /// The predictions.
    Predictions,
    /// A random order: its expected score.
    Random,
    /// The first repeat of each record, as a prediction of the mean of the others.
    Repeats,
    /// The first record of each configuration, as a prediction of the mean of the others.
    Remeasured,
    /// A predictor that always chooses the best.
    Best,
}

impl Predictor {
    /// Name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Predictions => "predictions",
            Self::Random => "random",
            Self::Repeats => "ceiling: repeats",
            Self::Remeasured => "ceiling: measured again",
            Self::Best => "best",
        }
    }
}

/// Scores of one predictor for a group of tasks.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct ScoreRow {
    /// Name of the group; `mean of networks` and `ratio of sums` (of tasks, collections) are totals.
    pub group: String,
    /// Platform, if tasks have several.
    pub platform: Option<String>,
    /// Source of the ranking.
    pub predictor: Predictor,
    /// Number of scored tasks.
    pub tasks: u64,
    /// Number of tasks of the network, if known. If fewer were scored, the score covers only a part of the network.
    pub network_tasks: Option<u64>,
    /// Number of ranked records.
    pub rows: u64,
    /// Number of failed records.
    pub failed: u64,
    /// Number of records without a prediction.
    pub missing: u64,
    /// Scores, in the order of [`ScoreReport::metrics`].
    pub scores: Vec<Score>,
}

/// A score with its confidence interval.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Score {
    /// Score; `None` if any number would be meaningless.
    pub value: Option<f64>,
    /// Lower bound of the interval with 95 % of the resamples; `None` for one task.
    pub low: Option<f64>,
    /// Upper bound of the interval.
    pub high: Option<f64>,
    /// Number of tasks that do not count, by reason.
    pub excluded_tasks: BTreeMap<String, u64>,
}
