//! What a comparison found.

use serde::{Serialize, Serializer};
use tsql_metrics::change::Verdict;
use tsql_metrics::geometric_mean::GeometricMean;

/// What a comparison found. A speedup is the time of A over the time of B: above 1 where B takes less.
#[derive(Clone, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct Comparison {
    /// The first side.
    pub a: Compared,
    /// The second side.
    pub b: Compared,
    /// The smallest change that is called one, as a share.
    pub minimal_change: f64,
    /// Pairs are of one platform; otherwise each side has one, and they may differ.
    pub is_by_platform: bool,
    /// Configurations that only A has.
    pub only_a: u64,
    /// Configurations that only B has.
    pub only_b: u64,
    /// Configurations whose records are the same ones on both sides: nothing was measured again.
    pub same_records: u64,
    /// Configurations that work in A and fail in B.
    pub newly_failing: u64,
    /// Configurations that fail in A and work in B.
    pub newly_working: u64,
    /// Configurations that fail in both.
    pub failing: u64,
    /// All pairs that were compared: those that work on both sides.
    pub all: Summary,
    /// The pairs of each operator, the slowest first; of those whose operator is not known, under `None`.
    pub operators: Vec<Part>,
    /// The pairs of each network that has their graph, the slowest first.
    pub networks: Vec<Part>,
    /// The worst regressions, those beyond noise first.
    pub regressions: Vec<Change>,
    /// The best gains, those beyond noise first.
    pub gains: Vec<Change>,
    /// Some of those that fail newly.
    pub failures: Vec<Change>,
    /// Some of those that work newly.
    pub repairs: Vec<Change>,
    /// How the speedups are distributed.
    pub histogram: Vec<Bin>,
    /// Whether B is worse than allowed; `None` where nothing was said of it.
    pub regression: Option<Regression>,
}

/// The records of a side.
#[derive(Clone, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct Compared {
    /// As it was given.
    pub name: String,
    /// Its records, those that were only proposed among them.
    pub records: u64,
    /// Those of them that failed.
    pub failed_records: u64,
    /// Their platforms.
    pub platforms: Vec<String>,
}

/// What is said of a number of pairs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Summary {
    /// How many.
    pub pairs: u64,
    /// Geometric mean of their speedups; `None` of none.
    pub speedup: Option<f64>,
    /// Lower end of its 95 % interval: Student's t on the logarithms; `None` of fewer than two.
    pub speedup_low: Option<f64>,
    /// Upper end of it.
    pub speedup_high: Option<f64>,
    /// Pairs that are faster in B beyond noise.
    pub faster: u64,
    /// Pairs that are slower in B beyond noise.
    pub slower: u64,
    /// Pairs whose change is certainly below the smallest that is called one.
    pub same: u64,
    /// Pairs of which nothing can be said: too few or too noisy repeats.
    pub unclear: u64,
}

/// The pairs of an operator or a network.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Part {
    /// Its name; `None` where it is not known.
    pub name: Option<String>,
    /// What is said of them.
    #[serde(flatten)]
    pub summary: Summary,
}

/// A configuration on both sides.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Change {
    /// `records.graph_id`.
    #[serde(serialize_with = "as_text")]
    pub graph_id: i64,
    /// `records.config_id`.
    #[serde(serialize_with = "as_text")]
    pub config_id: i64,
    /// Its platform, where pairs are of one.
    pub platform: Option<String>,
    /// `graphs.workload_key`.
    pub workload_key: String,
    /// `configurations.steps`.
    pub steps: Option<String>,
    /// Median of the repeats in A; `None` where it fails there.
    pub a_ns: Option<f64>,
    /// Median of the repeats in B.
    pub b_ns: Option<f64>,
    /// Median of all ratios of repeats; `None` where a side fails.
    pub speedup: Option<f64>,
    /// Lower end of its 95 % interval; 0 for too few repeats.
    pub speedup_low: Option<f64>,
    /// Upper end of it; `None` for too few repeats.
    pub speedup_high: Option<f64>,
    /// p of the test, corrected for all pairs.
    pub p: Option<f64>,
    /// `faster`, `slower`, `same`, `unclear`, or `failed` and `mended`.
    pub verdict: &'static str,
    /// Error number on the side that fails.
    pub error_no: Option<i16>,
}

/// Pairs whose speedups are alike.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Bin {
    /// Least speedup of the bin.
    pub speedup_from: f64,
    /// Where the next one begins.
    pub speedup_to: f64,
    /// Faster beyond noise.
    pub faster: u64,
    /// Slower beyond noise.
    pub slower: u64,
    /// Certainly the same.
    pub same: u64,
    /// Not clear.
    pub unclear: u64,
}

/// In what B is worse than allowed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Regression {
    /// How much slower it may be, as a share.
    pub allowed: f64,
    /// Pairs that are slower by more than that, beyond noise.
    pub slower: u64,
    /// All of them together are: the upper end of the interval of the geometric mean is below 1 / (1 + allowed).
    pub is_slower_at_all: bool,
    /// Pairs that fail newly.
    pub newly_failing: u64,
}

impl Regression {
    /// B is worse than allowed.
    pub fn is_one(&self) -> bool {
        self.slower > 0 || self.is_slower_at_all || self.newly_failing > 0
    }
}

/// Pairs while they are counted.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tally {
    mean: GeometricMean,
    faster: u64,
    slower: u64,
    same: u64,
    unclear: u64,
}

impl Tally {
    pub(super) fn add(&mut self, speedup: f64, verdict: Verdict) {
        self.mean.add(speedup);
        *match verdict {
            Verdict::Faster => &mut self.faster,
            Verdict::Slower => &mut self.slower,
            Verdict::Same => &mut self.same,
            Verdict::Unclear => &mut self.unclear,
        } += 1;
    }

    pub(super) fn join(&mut self, other: &Self) {
        self.mean.join(&other.mean);
        self.faster += other.faster;
        self.slower += other.slower;
        self.same += other.same;
        self.unclear += other.unclear;
    }

    pub(super) fn summary(&self) -> Summary {
        let interval = self.mean.interval();
        Summary {
            pairs: self.mean.count(),
            speedup: self.mean.value(),
            speedup_low: interval.map(|(low, _)| low),
            speedup_high: interval.map(|(_, high)| high),
            faster: self.faster,
            slower: self.slower,
            same: self.same,
            unclear: self.unclear,
        }
    }

    pub(super) fn bin(&self, speedup_from: f64, speedup_to: f64) -> Bin {
        Bin {
            speedup_from,
            speedup_to,
            faster: self.faster,
            slower: self.slower,
            same: self.same,
            unclear: self.unclear,
        }
    }
}

/// Ids are text in JSON: most readers round numbers beyond 2^53.
#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde hands on a reference"
)]
fn as_text<S: Serializer>(id: &i64, to: S) -> Result<S::Ok, S::Error> {
    to.collect_str(id)
}
