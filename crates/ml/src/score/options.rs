//! Options of scoring.

use std::path::PathBuf;

use derive_setters::Setters;
use serde::Serialize;
use tsql_metrics::throughput::Variant;

/// Name of the split of TpuGraphs, which is defined by file paths.
pub(super) const OFFICIAL: &str = "official";

/// Format of the table of scores.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Scoring {
    /// TenSet's tables 3 and 4: errors, rankings, peaks and top-k of each network, and the mean over networks. For all
    /// tuning records.
    Tenset,
    /// TLP's table: top-k of each network, and the ratio of sums over all of them. For all tuning records.
    Tlp,
    /// TpuGraphs: rankings and slowdowns of each file, and Kaggle's score of each collection.
    Tpugraphs,
    /// GraphNet: S(t) and ES(t) of the runs that predictions select for each graph.
    Graphnet,
}

impl Scoring {
    /// Finds a format by name.
    pub fn from_name(name: &str) -> Option<Self> {
        let all = [Self::Tenset, Self::Tlp, Self::Tpugraphs, Self::Graphnet];
        all.into_iter().find(|one| one.name() == name)
    }

    /// Name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tenset => "tenset",
            Self::Tlp => "tlp",
            Self::Tpugraphs => "tpugraphs",
            Self::Graphnet => "graphnet",
        }
    }
}

/// Options of scoring; see [`score`](crate::score::score).
///
/// ```
/// use tsql_ml::score::ScoreOptions;
/// let options = ScoreOptions::default().split("by-task@1").allow_missing(true).resamples(200);
/// ```
#[derive(Clone, Debug, PartialEq, Setters)]
#[setters(strip_option)]
#[non_exhaustive]
pub struct ScoreOptions {
    /// Restricts scoring to one part of this split: its name, or its name and version (`by-task@1`).
    #[setters(into)]
    pub(crate) split: Option<String>,
    /// Sets the part of the split. Default: `test`; `valid` for TpuGraphs' own split, whose test targets are withheld.
    #[setters(into)]
    pub(crate) part: Option<String>,
    /// Restricts scoring to records that satisfy this SQL predicate over the columns of `records`.
    #[setters(into)]
    pub(crate) predicate: String,
    /// Sets the treatment of failed records in the scores of TenSet and TLP.
    pub(crate) variant: Variant,
    /// Restricts scoring to the configurations of TpuGraphs' tables: its `eval_indices`, a file or their folder.
    /// Repeated indices count repeatedly.
    #[setters(into)]
    pub(crate) evaluation_indices: Option<PathBuf>,
    /// Ignores and counts records without a prediction, instead of rejecting them.
    pub(crate) allow_missing: bool,
    /// Sets the seed of the resamples.
    pub(crate) seed: u64,
    /// Sets the number of resamples for the intervals. Default: 1,000; 0 for no intervals.
    pub(crate) resamples: u32,
}

impl Default for ScoreOptions {
    /// All records, failed ones as in TenSet, 1,000 resamples with seed 0.
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
    /// Returns whether the split is TpuGraphs' own.
    pub(super) fn is_official(&self, scoring: Scoring) -> bool {
        self.split.is_none() && scoring == Scoring::Tpugraphs
    }

    /// Name of the scored part.
    pub(super) fn scored_part(&self, scoring: Scoring) -> &str {
        let usual = if self.is_official(scoring) {
            "valid"
        } else {
            "test"
        };
        self.part.as_deref().unwrap_or(usual)
    }

    /// SQL predicate over `records` for the scored records of a split, given by name and version.
    pub(super) fn selection(&self, scoring: Scoring, split: Option<&str>) -> String {
        let quoted = |text: &str| format!("'{}'", text.replace('\'', "''"));
        let of_dataset = match scoring {
            Scoring::Tenset | Scoring::Tlp => {
                let logs = tsql_adapters::formats::line_datasets();
                format!("dataset IN ({logs}) AND status <> 'unmeasured'")
            }
            Scoring::Tpugraphs => "dataset = 'tpugraphs' AND status <> 'unmeasured'".to_owned(),
            Scoring::Graphnet => "dataset = 'graphnet'".to_owned(),
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
