//! What predictions score.

use std::collections::BTreeMap;

use serde::Serialize;

use super::options::Scoring;

/// What predictions score.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct ScoreReport {
    /// Whose table it is.
    pub scoring: Scoring,
    /// The predictions, as they were given.
    pub predictions: String,
    /// The split with its version (TpuGraphs' own is `official`); `None` where all records were scored, also those that a model may have
    /// learnt from.
    pub split: Option<String>,
    /// The split's digest, the same in every store.
    pub split_digest: Option<String>,
    /// What is wrong with the split, where it is known to leak.
    pub split_warning: Option<String>,
    /// Its part.
    pub part: String,
    /// What a failed record counts as: `tenset` or `valid`.
    pub variant: String,
    /// Seed and number of the resamples behind intervals.
    pub seed: u64,
    /// How often tasks were drawn anew.
    pub resamples: u32,
    /// Records of the part.
    pub records: u64,
    /// Those of them that failed.
    pub failed: u64,
    /// Those of them without a prediction.
    pub missing: u64,
    /// Predictions that are NaN or infinite, or a time of 0 or less.
    pub odd: u64,
    /// Predictions of configurations that the store has, of which no record is in the part.
    pub unused: u64,
    /// Names of the metrics, in order.
    pub metrics: Vec<String>,
    /// Those of them that say most.
    pub main_metrics: Vec<String>,
    /// What has a group of tasks: `network`, `task`, `collection` or `platform`.
    pub groups: String,
    /// Scores, group by group, and over all.
    pub rows: Vec<ScoreRow>,
}

/// Who ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Predictor {
    /// The predictions.
    Predictions,
    /// An order drawn at random: its expected value.
    Random,
    /// The first repeat of each record, which predicts the mean of the others.
    Repeats,
    /// The first record of each configuration, which predicts the mean of the others.
    Remeasured,
    /// One that always chooses the best.
    Best,
}

impl Predictor {
    /// Its name in tables.
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

/// Scores of a group of tasks by one predictor.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct ScoreRow {
    /// Name of the group; `mean of networks` and `ratio of sums` (of tasks, collections) are over all.
    pub group: String,
    /// Its platform, where tasks are of several.
    pub platform: Option<String>,
    /// Who ranks.
    pub predictor: Predictor,
    /// Tasks that are scored.
    pub tasks: u64,
    /// Tasks that the network has, where that is known: a score of fewer is one of a part of the network.
    pub tasks_of_network: Option<u64>,
    /// Records that are ranked.
    pub rows: u64,
    /// Records that failed.
    pub failed: u64,
    /// Records without a prediction.
    pub missing: u64,
    /// Scores, in the order of [`ScoreReport::metrics`].
    pub scores: Vec<Score>,
}

/// A score, and how sure it is.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Score {
    /// The score; `None` where no number would say anything of the predictions.
    pub value: Option<f64>,
    /// Where it lies in 95 % of the resamples: from here.
    pub low: Option<f64>,
    /// To here. `None` for one task.
    pub high: Option<f64>,
    /// Tasks that do not count, by reason.
    pub left_out: BTreeMap<String, u64>,
}
