//! How predictions are scored.

use std::path::PathBuf;

use serde::Serialize;
use tsql_metrics::throughput::Variant;

/// The split of TpuGraphs, by the paths of its files.
pub(super) const OFFICIAL: &str = "official";

/// Whose table the scores make.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Scoring {
    /// TenSet's tables 3 and 4: errors, rankings, peaks and top-k of each network, and the mean of networks. Of all tuning records.
    Tenset,
    /// TLP's table: top-k of each network, and over all of them the ratio of sums. Of all tuning records.
    Tlp,
    /// TpuGraphs: rankings and slowdowns of each file, and Kaggle's score of each collection.
    Tpugraphs,
    /// GraphNet: S(t) and ES(t) of the runs that predictions choose for each graph.
    Graphnet,
}

impl Scoring {
    /// The one of this name.
    pub fn of(name: &str) -> Option<Self> {
        let all = [Self::Tenset, Self::Tlp, Self::Tpugraphs, Self::Graphnet];
        all.into_iter().find(|one| one.name() == name)
    }

    /// Its name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tenset => "tenset",
            Self::Tlp => "tlp",
            Self::Tpugraphs => "tpugraphs",
            Self::Graphnet => "graphnet",
        }
    }
}

/// How predictions are scored; see [`Store::score`](crate::Store::score).
///
/// ```
/// use tsql::score::ScoreOptions;
/// let options = ScoreOptions::default().split("by-task@1").allow_missing(true).resamples(200);
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ScoreOptions {
    pub(crate) split: Option<String>,
    pub(crate) part: Option<String>,
    pub(crate) predicate: String,
    pub(crate) variant: Variant,
    pub(crate) evaluation_indices: Option<PathBuf>,
    pub(crate) allow_missing: bool,
    pub(crate) seed: u64,
    pub(crate) resamples: u32,
}

impl Default for ScoreOptions {
    /// All records, failed ones as TenSet counts them, 1,000 resamples with seed 0.
    fn default() -> Self {
        Self {
            split: None,
            part: None,
            predicate: "true".to_owned(),
            variant: Variant::default(),
            evaluation_indices: None,
            allow_missing: false,
            seed: 0,
            resamples: 1000,
        }
    }
}

impl ScoreOptions {
    /// Only records of one part of this split: its name, or its name and version (`by-task@1`).
    #[must_use]
    pub fn split(mut self, name: impl Into<String>) -> Self {
        self.split = Some(name.into());
        self
    }

    /// Which part of the split; `test` unless it is set, `valid` of TpuGraphs' own, whose test is withheld.
    #[must_use]
    pub fn part(mut self, name: impl Into<String>) -> Self {
        self.part = Some(name.into());
        self
    }

    /// Only records for which this SQL over the columns of `records` holds.
    #[must_use]
    pub fn predicate(mut self, sql: impl Into<String>) -> Self {
        self.predicate = sql.into();
        self
    }

    /// What becomes of failed records in the scores of TenSet and TLP.
    #[must_use]
    pub fn variant(mut self, variant: Variant) -> Self {
        self.variant = variant;
        self
    }

    /// Only the configurations that TpuGraphs' tables are made of: its `eval_indices`, a file or their folder. What stands there
    /// again counts again.
    #[must_use]
    pub fn evaluation_indices(mut self, path: impl Into<PathBuf>) -> Self {
        self.evaluation_indices = Some(path.into());
        self
    }

    /// Leaves out records without a prediction and counts them, instead of refusing.
    #[must_use]
    pub fn allow_missing(mut self, allow: bool) -> Self {
        self.allow_missing = allow;
        self
    }

    /// Where the draws of the intervals begin.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// How often tasks are drawn anew for the intervals; 1,000 unless it is set, 0 for no intervals.
    #[must_use]
    pub fn resamples(mut self, count: u32) -> Self {
        self.resamples = count;
        self
    }

    /// Is it TpuGraphs' own split?
    pub(super) fn is_official(&self, scoring: Scoring) -> bool {
        self.split.is_none() && scoring == Scoring::Tpugraphs
    }

    /// The part that is scored.
    pub(super) fn scored_part(&self, scoring: Scoring) -> &str {
        let usual = if self.is_official(scoring) {
            "valid"
        } else {
            "test"
        };
        self.part.as_deref().unwrap_or(usual)
    }

    /// SQL over `records` that holds for those that are scored, of a split by its name and version.
    pub(super) fn selection(&self, scoring: Scoring, split: Option<&str>) -> String {
        let quoted = |text: &str| format!("'{}'", text.replace('\'', "''"));
        let of_dataset = match scoring {
            Scoring::Tenset | Scoring::Tlp => {
                "dataset IN ('tenset', 'autotvm', 'metaschedule', 'measured') AND status <> 'unmeasured'"
            }
            Scoring::Tpugraphs => "dataset = 'tpugraphs' AND status <> 'unmeasured'",
            Scoring::Graphnet => "dataset = 'graphnet'",
        };
        let part = quoted(self.scored_part(scoring));
        let of_part = match split {
            Some(split) => format!(" AND split({}) = {part}", quoted(split)),
            None if self.is_official(scoring) => format!(" AND split = {part}"),
            None => String::new(),
        };
        let of_user = match self.predicate.as_str() {
            "true" => String::new(),
            predicate => format!(" AND ({predicate})"),
        };
        format!("{of_dataset}{of_part}{of_user}")
    }
}
