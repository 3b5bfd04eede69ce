//! Has a kernel become faster or slower? Two lists of repeats, an old one and a new one, per kernel.
//!
//! The change is the ratio of new to old: timings differ by factors (clock, flags), and a ratio needs no
//! unit. It is estimated, tested and bounded from the same ranks, so that the three agree:
//!
//! * estimate: median of all ratios `new_j / old_i` (Hodges and Lehmann, on logarithms);
//! * test: Mann-Whitney U, two-sided (`ranks`), corrected for the number of kernels ([`AllP`]);
//! * 95 % confidence interval: the ratios at the critical ranks of U (Moses; Hollander, Wolfe and Chicken,
//!   *Nonparametric Statistical Methods*, 3rd ed., 4.2 and 4.3).
//!
//! None of it assumes a distribution. It does assume that repeats are independent, while those of one process
//! share its addresses and its moment: differences of 1 to 2 % between two processes are found "significant"
//! though nothing changed, and on a machine with neighbours much larger ones. Therefore
//!
//! * there is a smallest change that is called one;
//! * the least repeats must show it, too: they hardly move with the neighbours (`benches/README.md`);
//! * timings with a flag of [`SPOILING`] prove nothing: they were taken at a bad moment, or too few agree.

mod correction;
mod ranks;

pub use correction::{AllP, Corrected};
pub(crate) use ranks::NORMAL_QUANTILE;
use ranks::{ALPHA, mann_whitney, ratio_interval};

use crate::median::median;

/// The smallest change that is called one where the user does not say: 2 %.
pub const MINIMAL_CHANGE: f64 = 0.02;

/// Flags of timings whose least repeat may be too long as well.
pub const SPOILING: [&str; 5] = [
    "busy_machine",
    "disturbed",
    "not_converged",
    "smt_sibling_busy",
    "throttled",
];

/// What is said of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The change, whatever it is, is certainly below the smallest that is called one.
    Same,
    /// It takes less time.
    Faster,
    /// It takes more time.
    Slower,
    /// Too few, too noisy or spoiled repeats for any of the others.
    Unclear,
}

impl Verdict {
    /// As it is printed and stored.
    pub fn word(self) -> &'static str {
        match self {
            Self::Same => "same",
            Self::Faster => "faster",
            Self::Slower => "slower",
            Self::Unclear => "unclear",
        }
    }
}

/// Old and new repeats of one kernel, in nanoseconds of a call: at least one each, all above 0.
#[derive(Clone, Debug, PartialEq)]
pub struct Pair {
    old_ns: Vec<f64>,
    new_ns: Vec<f64>,
    spoiled: bool,
}

impl Pair {
    /// `None` where a list is empty or holds something that is no duration.
    pub fn new(old_ns: &[f64], new_ns: &[f64]) -> Option<Self> {
        let good =
            |list: &[f64]| !list.is_empty() && list.iter().all(|&ns| ns.is_finite() && ns > 0.0);
        (good(old_ns) && good(new_ns)).then(|| Self {
            old_ns: old_ns.to_vec(),
            new_ns: new_ns.to_vec(),
            spoiled: false,
        })
    }

    /// With what is known of the moments at which the repeats were taken: see [`SPOILING`].
    pub fn with_spoiled(self, spoiled: bool) -> Self {
        Self { spoiled, ..self }
    }

    /// Compares it by itself. Nothing is said of it until it is [corrected](Comparison::corrected) for all comparisons.
    pub fn compare(&self) -> Comparison {
        let (estimate, low, high) = ratio_interval(&self.old_ns, &self.new_ns);
        let p = mann_whitney(&self.old_ns, &self.new_ns);
        let least = |repeats: &[f64]| repeats.iter().copied().fold(f64::INFINITY, f64::min);
        let of = |repeats: &[f64]| median(repeats).map_or(f64::NAN, |median| median.value);
        Comparison {
            old_median_ns: of(&self.old_ns),
            new_median_ns: of(&self.new_ns),
            change: estimate - 1.0,
            change_low: low - 1.0,
            change_high: high - 1.0,
            least_change: least(&self.new_ns) / least(&self.old_ns) - 1.0,
            p,
            p_corrected: p,
            spoiled: self.spoiled,
            verdict: Verdict::Unclear,
        }
    }
}

/// How one kernel's new repeats compare with its old ones.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Comparison {
    /// Median of the old repeats, in nanoseconds of a call.
    pub old_median_ns: f64,
    /// Median of the new ones.
    pub new_median_ns: f64,
    /// New over old, minus 1: -0.1 is 10 % less time.
    pub change: f64,
    /// The 95 % interval of `change`; -1 and infinity where there are too few repeats for one.
    pub change_low: f64,
    /// The upper end of that interval.
    pub change_high: f64,
    /// The least new repeat over the least old one, minus 1.
    pub least_change: f64,
    /// Of this comparison alone.
    pub p: f64,
    /// Corrected for all comparisons.
    pub p_corrected: f64,
    /// The repeats of a side prove nothing: see [`SPOILING`].
    pub spoiled: bool,
    /// What is said of it.
    pub verdict: Verdict,
}

impl Comparison {
    /// With p corrected for all comparisons, and what is said of it then; `minimal_change` is a share (0.02 for 2 %).
    #[must_use]
    pub fn corrected(self, all: &Corrected, minimal_change: f64) -> Self {
        let corrected = Self {
            p_corrected: all.of(self.p),
            ..self
        };
        Self {
            verdict: corrected.verdict_at(minimal_change),
            ..corrected
        }
    }

    /// What would be said of it were this the smallest change that is called one. [`corrected`](Self::corrected) comes
    /// before.
    pub fn verdict_at(&self, minimal_change: f64) -> Verdict {
        self.verdict_with(minimal_change, ALPHA)
    }

    /// The same where `alpha` is the probability of calling something changed that did not change.
    pub fn verdict_with(&self, minimal_change: f64, alpha: f64) -> Verdict {
        if self.spoiled {
            Verdict::Unclear
        } else {
            verdict(self, minimal_change, alpha)
        }
    }
}

/// Compares all pairs of one run, with p corrected after Holm; `minimal_change` is a share (0.02 for 2 %).
pub fn compare(pairs: &[Pair], minimal_change: f64) -> Vec<Comparison> {
    let comparisons: Vec<_> = pairs.iter().map(Pair::compare).collect();
    let all: AllP = comparisons.iter().map(|comparison| comparison.p).collect();
    let all = all.holm();
    let corrected = comparisons.into_iter();
    let corrected = corrected.map(|comparison| comparison.corrected(&all, minimal_change));
    corrected.collect()
}

/// A change is called one if it is significant after correction and large enough, by the estimate and
/// by the least repeats; "same" needs proof too: the whole interval lies below the smallest change (two
/// one-sided tests, Schuirmann 1987; with a 95 % interval each of them at 2.5 %).
///
/// The smallest change is symmetric in ratios: 2 % more time, or its inverse.
fn verdict(comparison: &Comparison, minimal_change: f64, alpha: f64) -> Verdict {
    let (slow, fast) = (1.0 + minimal_change, 1.0 / (1.0 + minimal_change));
    let (ratio, least) = (comparison.change + 1.0, comparison.least_change + 1.0);
    if comparison.p_corrected < alpha && ratio.min(least) >= slow {
        Verdict::Slower
    } else if comparison.p_corrected < alpha && ratio.max(least) <= fast {
        Verdict::Faster
    } else if comparison.change_low + 1.0 > fast && comparison.change_high + 1.0 < slow {
        Verdict::Same
    } else {
        Verdict::Unclear
    }
}

#[cfg(test)]
mod tests;
