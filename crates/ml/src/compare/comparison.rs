//! Result of a comparison.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};
use tsql_metrics::change::Verdict;
use tsql_metrics::geometric_mean::GeometricMean;
use tsql_verdicts::common_shift::CommonShift;
use tsql_verdicts::floor_classes::ClassFloor;
use tsql_verdicts::overall::OverallChange;
use tsql_verdicts::verdict::Reason;

use super::options::Rule;
use super::pair_result::DecidedPair;

/// Result of a comparison. A speedup is the time of A over the time of B: above 1 if B is faster.
#[derive(Clone, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct Comparison {
    /// Version of this document.
    pub version: u32,
    /// Rule of the verdicts.
    pub rule: Rule,
    /// The first side.
    pub a: ComparedSide,
    /// The second side.
    pub b: ComparedSide,
    /// Minimum change that is significant, as a fraction.
    pub minimum_change: f64,
    /// Whether both records of a pair have the same platform. Otherwise each side has one platform, and they may
    /// differ.
    pub is_by_platform: bool,
    /// Noise floors that the verdicts use, by platform and duration; empty for ranks.
    pub floors: Vec<ClassFloor>,
    /// Date of the newest record behind the floors.
    pub floor_date: Option<String>,
    /// Shift that the pairs of each platform have in common.
    pub shifts: Vec<CommonShift>,
    /// Pairs of the control programs.
    pub anchors: Vec<Change>,
    /// Number of configurations that only A has.
    pub only_a: u64,
    /// Number of configurations that only B has.
    pub only_b: u64,
    /// Number of configurations with the same records on both sides: nothing was measured again.
    pub same_records: u64,
    /// Number of configurations that work in A and fail in B.
    pub newly_failing: u64,
    /// Number of configurations that fail in A and work in B.
    pub newly_working: u64,
    /// Number of configurations that fail in both.
    pub failing: u64,
    /// Summary of all compared pairs: those that work on both sides.
    pub all: Summary,
    /// Pairs by operator, the slowest first; `None` for unknown operators.
    pub operators: Vec<PairGroup>,
    /// Pairs by network that contains their graph, the slowest first.
    pub networks: Vec<PairGroup>,
    /// The largest regressions, statistically significant ones first.
    pub regressions: Vec<Change>,
    /// The largest improvements, statistically significant ones first.
    pub gains: Vec<Change>,
    /// The unclear pairs with the largest changes.
    pub unclear: Vec<Change>,
    /// Number of unclear pairs that cannot show a change of the allowed slowdown, by default of the minimum change.
    pub undecided: u64,
    /// Number of unclear pairs by reason; empty for ranks.
    pub unclear_reasons: BTreeMap<Reason, u64>,
    /// All pairs in the order of their ids, up to [`CompareOptions::max_pairs`](super::CompareOptions::max_pairs).
    pub pairs: Vec<Change>,
    /// Some of the newly failing configurations.
    pub failures: Vec<Change>,
    /// Some of the newly working configurations.
    pub fixes: Vec<Change>,
    /// Distribution of the speedups.
    pub histogram: Vec<SpeedupRange>,
    /// Whether B is slower than allowed; `None` without a limit.
    pub regression: Option<Regression>,
}

/// Records of a side.
#[derive(Clone, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct ComparedSide {
    /// The side as written by the user.
    pub name: String,
    /// Number of records, including configurations that were only proposed.
    pub records: u64,
    /// Number of failed records.
    pub failed_records: u64,
    /// Platforms of the records.
    pub platforms: Vec<String>,
    /// First date of the records, in UTC.
    pub first_day: Option<String>,
    /// Last date of the records.
    pub last_day: Option<String>,
    /// Some values of the label `commit`.
    pub commits: Vec<String>,
}

/// Summary of a set of pairs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Summary {
    /// Number of pairs.
    pub pairs: u64,
    /// Geometric mean of the speedups; `None` without pairs.
    pub speedup: Option<f64>,
    /// Lower bound of its 95 % interval, which includes the noise that the pairs share. `None` where the noise is
    /// unknown. For ranks, Student's t on the logarithms; `None` for fewer than two pairs.
    pub speedup_low: Option<f64>,
    /// Upper bound of the interval.
    pub speedup_high: Option<f64>,
    /// Number of pairs that are significantly faster in B.
    pub faster: u64,
    /// Number of pairs that are significantly slower in B.
    pub slower: u64,
    /// Number of pairs whose change is certainly below the minimum change.
    pub same: u64,
    /// Number of inconclusive pairs.
    pub unclear: u64,
}

/// Pairs of an operator or a network.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct PairGroup {
    /// Name; `None` if unknown.
    pub name: Option<String>,
    /// Summary of the pairs.
    #[serde(flatten)]
    pub summary: Summary,
}

/// A configuration with its results on both sides.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Change {
    /// `records.graph_id`.
    #[serde(serialize_with = "as_text")]
    pub graph_id: i64,
    /// `records.config_id`.
    #[serde(serialize_with = "as_text")]
    pub config_id: i64,
    /// Platform, if both sides have the same.
    pub platform: Option<String>,
    /// `graphs.workload_key`.
    pub workload_key: String,
    /// `configurations.steps`.
    pub steps: Option<String>,
    /// Time in A: geometric mean of the medians of its runs, for ranks the median of the repeats. `None` if it failed.
    pub a_ns: Option<f64>,
    /// Time in B; `None` if it failed.
    pub b_ns: Option<f64>,
    /// Time in A over time in B, for ranks the median of all ratios of repeats. `None` if a side failed.
    pub speedup: Option<f64>,
    /// Lower bound of the 95 % interval. `None` without a test; for ranks, 0 for too few repeats.
    pub speedup_low: Option<f64>,
    /// Upper bound of the interval; `None` without a test, or for too few repeats.
    pub speedup_high: Option<f64>,
    /// Time in B over time in A, minus 1: 0.03 is 3 % slower.
    pub change: Option<f64>,
    /// Lower bound of its 95 % interval.
    pub low: Option<f64>,
    /// Upper bound of its 95 % interval.
    pub high: Option<f64>,
    /// Standard error of the change, as a logarithm; `None` without a test of runs.
    pub se: Option<f64>,
    /// Degrees of freedom of the test of runs.
    pub df: Option<f64>,
    /// p-value of this pair alone; 1 without a test.
    pub p: Option<f64>,
    /// p-value corrected for all pairs.
    pub p_corrected: Option<f64>,
    /// Change that the test finds with a probability of 80 %, as a fraction.
    pub detectable: Option<f64>,
    /// Number of runs on each side that would decide an unclear pair, for a change of the allowed regression, or else of
    /// the minimum change.
    pub runs_needed: Option<u32>,
    /// Number of runs in A; `None` for ranks.
    pub a_runs: Option<usize>,
    /// Number of runs in B.
    pub b_runs: Option<usize>,
    /// Number of days in A.
    pub a_days: Option<usize>,
    /// Number of days in B.
    pub b_days: Option<usize>,
    /// Reason of an unclear verdict; `None` for ranks.
    pub reason: Option<Reason>,
    /// `faster`, `slower`, `same`, `unclear`, or `failed` and `fixed`.
    pub verdict: &'static str,
    /// Error number of the failing side.
    pub error_no: Option<i16>,
}

/// Counts of pairs with similar speedups.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct SpeedupRange {
    /// Lower bound.
    pub speedup_from: f64,
    /// Upper bound, where the next bin begins.
    pub speedup_to: f64,
    /// Significantly faster.
    pub faster: u64,
    /// Significantly slower.
    pub slower: u64,
    /// Certainly unchanged.
    pub same: u64,
    /// Inconclusive.
    pub unclear: u64,
}

/// Result of the check for regressions in B.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Regression {
    /// Allowed slowdown, as a fraction.
    pub allowed: f64,
    /// Number of pairs that are significantly slower by more than the allowed slowdown.
    pub slower: u64,
    /// Whether all pairs together are slower: the upper bound of the interval of the geometric mean is below 1 / (1 +
    /// allowed).
    pub is_slower_overall: bool,
    /// Number of newly failing pairs.
    pub newly_failing: u64,
}

impl Regression {
    /// Returns whether B is slower than allowed.
    pub fn is_exceeded(&self) -> bool {
        self.slower > 0 || self.is_slower_overall || self.newly_failing > 0
    }
}

/// Accumulator of the pairs of a group.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PairTally {
    mean: GeometricMean,
    overall: OverallChange,
    faster: u64,
    slower: u64,
    same: u64,
    unclear: u64,
}

impl PairTally {
    pub(super) fn add(&mut self, pair: &DecidedPair) {
        self.mean.add(pair.speedup());
        self.overall.add(pair.log_change, pair.test.as_ref());
        *match pair.verdict {
            Verdict::Faster => &mut self.faster,
            Verdict::Slower => &mut self.slower,
            Verdict::Same => &mut self.same,
            Verdict::Unclear => &mut self.unclear,
        } += 1;
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.mean.merge(&other.mean);
        self.overall.merge(&other.overall);
        self.faster += other.faster;
        self.slower += other.slower;
        self.same += other.same;
        self.unclear += other.unclear;
    }

    pub(super) fn summary(&self, rule: Rule) -> Summary {
        let interval = match rule {
            Rule::Ranks => self.mean.interval(),
            Rule::Runs => {
                let change = self.overall.interval();
                change.map(|(low, high)| ((-high).exp(), (-low).exp()))
            }
        };
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

    pub(super) fn bin(&self, speedup_from: f64, speedup_to: f64) -> SpeedupRange {
        SpeedupRange {
            speedup_from,
            speedup_to,
            faster: self.faster,
            slower: self.slower,
            same: self.same,
            unclear: self.unclear,
        }
    }
}

/// Ids are strings in JSON, because most readers round numbers above 2^53.
#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde hands on a reference"
)]
pub(crate) fn as_text<S: Serializer>(id: &i64, to: S) -> Result<S::Ok, S::Error> {
    to.collect_str(id)
}
