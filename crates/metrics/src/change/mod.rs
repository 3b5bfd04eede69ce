//! Tests whether a kernel became faster or slower, from a list of old and a list of new repeats.
//!
//! The change is the ratio of new to old: timings differ by factors (clock, flags), and a ratio needs no unit. The
//! estimate, the test and the interval use the same ranks, so that the three agree:
//!
//! * estimate: median of all ratios `new_j / old_i` (Hodges and Lehmann, on logarithms);
//! * test: Mann-Whitney U, two-sided (`ranks`), corrected for the number of kernels ([`PValues`]);
//! * 95 % confidence interval: the ratios at the critical ranks of U (Moses; Hollander, Wolfe and Chicken,
//!   *Nonparametric Statistical Methods*, 3rd ed., 4.2 and 4.3).
//!
//! No distribution is assumed, but repeats are assumed to be independent. Repeats of one process share its addresses
//! and its time, so that differences of 1 to 2 % between two processes are "significant" without any change. On a
//! shared machine they are much larger. Therefore:
//!
//! * Only changes of a minimum size are reported.
//! * The fastest repeats must show the change, too: the load of other processes hardly affects them
//!   (`benches/README.md`).
//! * Timings with a flag of [`SPOILING_FLAGS`] prove nothing: they were measured under disturbance, or too few agree.

mod correction;
mod ranks;

pub use correction::{CorrectedPValues, PValues};
pub(crate) use ranks::NORMAL_QUANTILE;
use ranks::{ALPHA, mann_whitney, ratio_interval};

use crate::median::median;

/// Default of the minimum change that is reported: 2 %.
pub const MINIMAL_CHANGE: f64 = 0.02;

/// Flags of timings whose fastest repeat may be too slow as well.
pub const SPOILING_FLAGS: [&str; 5] = [
    "busy_machine",
    "disturbed",
    "not_converged",
    "smt_sibling_busy",
    "throttled",
];

/// Verdict on a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The change, if any, is certainly smaller than the minimum.
    Same,
    /// The new version takes less time.
    Faster,
    /// The new version takes more time.
    Slower,
    /// The repeats are too few, too noisy or spoiled for any of the others.
    Unclear,
}

impl Verdict {
    /// Word in output and storage.
    pub fn word(self) -> &'static str {
        match self {
            Self::Same => "same",
            Self::Faster => "faster",
            Self::Slower => "slower",
            Self::Unclear => "unclear",
        }
    }
}

/// Old and new repeats of one kernel, in nanoseconds per call: at least one each, all above 0.
#[derive(Clone, Debug, PartialEq)]
pub struct RepeatPair {
    old_ns: Vec<f64>,
    new_ns: Vec<f64>,
    spoiled: bool,
}

impl RepeatPair {
    /// Returns `None` if a list is empty or contains an invalid duration.
    pub fn new(old_ns: &[f64], new_ns: &[f64]) -> Option<Self> {
        let is_valid =
            |list: &[f64]| !list.is_empty() && list.iter().all(|&ns| ns.is_finite() && ns > 0.0);
        (is_valid(old_ns) && is_valid(new_ns)).then(|| Self {
            old_ns: old_ns.to_vec(),
            new_ns: new_ns.to_vec(),
            spoiled: false,
        })
    }

    /// Marks whether the repeats have a flag of [`SPOILING_FLAGS`].
    pub fn with_spoiled(self, spoiled: bool) -> Self {
        Self { spoiled, ..self }
    }

    /// Compares the repeats without correction. The verdict requires
    /// [`with_correction`](PairComparison::with_correction) for all comparisons.
    pub fn compare(&self) -> PairComparison {
        let (estimate, low, high) = ratio_interval(&self.old_ns, &self.new_ns);
        let p = mann_whitney(&self.old_ns, &self.new_ns);
        let minimum = |repeats: &[f64]| repeats.iter().copied().fold(f64::INFINITY, f64::min);
        let median_of = |repeats: &[f64]| median(repeats).map_or(f64::NAN, |median| median.value);
        PairComparison {
            old_median_ns: median_of(&self.old_ns),
            new_median_ns: median_of(&self.new_ns),
            change: estimate - 1.0,
            change_low: low - 1.0,
            change_high: high - 1.0,
            minimum_change: minimum(&self.new_ns) / minimum(&self.old_ns) - 1.0,
            p,
            p_corrected: p,
            spoiled: self.spoiled,
            verdict: Verdict::Unclear,
        }
    }
}

/// Comparison of one kernel's new repeats with its old ones.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PairComparison {
    /// Median of the old repeats, in nanoseconds per call.
    pub old_median_ns: f64,
    /// Median of the new repeats, in nanoseconds per call.
    pub new_median_ns: f64,
    /// New over old, minus 1: -0.1 is 10 % less time.
    pub change: f64,
    /// Lower bound of the 95 % interval of `change`; -1 with too few repeats (the upper bound is then infinity).
    pub change_low: f64,
    /// Upper bound of that interval.
    pub change_high: f64,
    /// Minimum of the new repeats over the minimum of the old ones, minus 1.
    pub minimum_change: f64,
    /// p-value of this comparison alone.
    pub p: f64,
    /// p-value corrected for all comparisons.
    pub p_corrected: f64,
    /// Whether the repeats of a side prove nothing: see [`SPOILING_FLAGS`].
    pub spoiled: bool,
    /// Verdict.
    pub verdict: Verdict,
}

impl PairComparison {
    /// Sets the corrected p-value and the verdict. `minimal_change` is a fraction (0.02 for 2 %).
    #[must_use]
    pub fn with_correction(self, all: &CorrectedPValues, minimal_change: f64) -> Self {
        let corrected = Self {
            p_corrected: all.get(self.p),
            ..self
        };
        Self {
            verdict: corrected.verdict_at(minimal_change),
            ..corrected
        }
    }

    /// Returns the verdict for another minimum change. Call [`with_correction`](Self::with_correction) first.
    pub fn verdict_at(&self, minimal_change: f64) -> Verdict {
        self.verdict_with(minimal_change, ALPHA)
    }

    /// Returns the verdict for another minimum change and another probability `alpha` of a false positive.
    pub fn verdict_with(&self, minimal_change: f64, alpha: f64) -> Verdict {
        if self.spoiled {
            Verdict::Unclear
        } else {
            verdict(self, minimal_change, alpha)
        }
    }
}

/// Compares all pairs of one run, with Holm's correction of p. `minimal_change` is a fraction (0.02 for 2 %).
pub fn compare(pairs: &[RepeatPair], minimal_change: f64) -> Vec<PairComparison> {
    let comparisons: Vec<_> = pairs.iter().map(RepeatPair::compare).collect();
    let all: PValues = comparisons.iter().map(|comparison| comparison.p).collect();
    let all = all.holm();
    let corrected = comparisons.into_iter();
    let corrected = corrected.map(|comparison| comparison.with_correction(&all, minimal_change));
    corrected.collect()
}

/// A change is reported if it is significant after correction and large enough, by the estimate and by the fastest
/// repeats. "Same" needs evidence too: the whole interval is within the minimum change (two one-sided tests, Schuirmann
/// 1987; with a 95 % interval each of them at 2.5 %).
///
/// The minimum change is symmetric in ratios: 2 % more time, or its inverse.
fn verdict(comparison: &PairComparison, minimal_change: f64, alpha: f64) -> Verdict {
    let (slow, fast) = (1.0 + minimal_change, 1.0 / (1.0 + minimal_change));
    let (ratio, min_ratio) = (comparison.change + 1.0, comparison.minimum_change + 1.0);
    if comparison.p_corrected < alpha && ratio.min(min_ratio) >= slow {
        Verdict::Slower
    } else if comparison.p_corrected < alpha && ratio.max(min_ratio) <= fast {
        Verdict::Faster
    } else if comparison.change_low + 1.0 > fast && comparison.change_high + 1.0 < slow {
        Verdict::Same
    } else {
        Verdict::Unclear
    }
}

#[cfg(test)]
mod tests;
