//! Shift that all programs of a platform share: where more than half moved one way, the machine moved.

use serde::{Deserialize, Serialize};
use tsql_metrics::change::Verdict;
use tsql_metrics::stats::quantile;

use crate::moments::float;

/// Minimum number of pairs for an event of the machine.
pub const MIN_SHIFTED_PAIRS: usize = 5;

/// Common shift of the pairs of a platform.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CommonShift {
    /// Platform; `None` if pairs are not by platform.
    pub platform: Option<String>,
    /// Number of pairs.
    pub pairs: usize,
    /// Median change as a fraction: 0.03 is 3 % slower.
    pub median: f64,
    /// Fraction of pairs that changed by at least the minimum change in the direction of the median.
    pub moved: f64,
    /// Whether more than half of at least [`MIN_SHIFTED_PAIRS`] pairs moved one way.
    pub has_moved: bool,
}

/// Returns the common shift of changes, given as logarithms; `None` without changes. `minimum_change` is a fraction.
pub fn common_shift(
    platform: Option<&str>,
    changes: &[f64],
    minimum_change: f64,
) -> Option<CommonShift> {
    let mut sorted = changes.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    if sorted.is_empty() {
        return None;
    }
    let median = quantile(&sorted, 0.5);
    let minimum = minimum_change.ln_1p();
    let is_moved = |change: &&f64| **change * median.signum() >= minimum;
    let moved = float(sorted.iter().filter(is_moved).count()) / float(sorted.len());
    Some(CommonShift {
        platform: platform.map(str::to_owned),
        pairs: sorted.len(),
        median: median.exp_m1(),
        moved,
        has_moved: sorted.len() >= MIN_SHIFTED_PAIRS && moved > 0.5,
    })
}

/// Returns whether a control program moved: its verdict is faster or slower.
pub fn is_anchor_moved(verdicts: impl IntoIterator<Item = Verdict>) -> bool {
    let is_moved = |verdict| matches!(verdict, Verdict::Faster | Verdict::Slower);
    verdicts.into_iter().any(is_moved)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shift_of_most_programs_is_an_event_of_the_machine() {
        let shift = common_shift(Some("k80"), &[-0.14, -0.15, -0.13, -0.2, 0.01], 0.02).unwrap();
        assert!(shift.has_moved && (shift.moved - 0.8).abs() < 1e-12);
        assert!((shift.median - (-0.14_f64).exp_m1()).abs() < 1e-12);
        // Half of the programs is not more than half, and noise below the minimum is no shift.
        assert!(
            !common_shift(None, &[0.1, 0.1, 0.1, 0.0, 0.0, 0.0], 0.02)
                .unwrap()
                .has_moved
        );
        assert!(!common_shift(None, &[0.01; 50], 0.02).unwrap().has_moved);
        assert!(!common_shift(None, &[0.1; 4], 0.02).unwrap().has_moved);
        assert_eq!(common_shift(None, &[], 0.02), None);
    }

    #[test]
    fn one_moved_anchor_is_enough() {
        assert!(is_anchor_moved([Verdict::Same, Verdict::Faster]));
        assert!(!is_anchor_moved([Verdict::Same, Verdict::Unclear]));
        assert!(!is_anchor_moved([]));
    }
}
