//! Rates of false alarms and of found changes of the rule, on pairs of runs in which nothing changed.

use serde::{Deserialize, Serialize};
use tsql_metrics::change::Verdict;

use crate::floor::{Floor, fit_floor};
use crate::moments::float;
use crate::run_test::run_test;
use crate::verdict::verdicts;

/// The 97.5 % quantile of the normal distribution.
const NORMAL_QUANTILE: f64 = 1.959_963_984_540_054;

/// A rate with its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rate {
    /// Number of pairs that were called.
    pub called: usize,
    /// Number of pairs.
    pub pairs: usize,
    /// Lower bound of the interval, as a fraction.
    pub low: f64,
    /// Upper bound.
    pub high: f64,
}

impl Rate {
    /// Returns the rate of `called` among `pairs`, at least 1, with Wilson's score interval (Journal of the American
    /// Statistical Association 22, 1927).
    pub fn new(called: usize, pairs: usize) -> Self {
        let (k, n) = (float(called), float(pairs.max(1)));
        let square = NORMAL_QUANTILE.powi(2);
        let centre = (k + square / 2.0) / (n + square);
        let half =
            NORMAL_QUANTILE / (n + square) * (k * (n - k) / n + square / 4.0).max(0.0).sqrt();
        Self {
            called,
            pairs,
            low: (centre - half).max(0.0),
            high: (centre + half).min(1.0),
        }
    }

    /// The rate as a fraction.
    pub fn value(&self) -> f64 {
        float(self.called) / float(self.pairs.max(1))
    }
}

/// Verdicts of the rule at an injected change.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct InjectedChange {
    /// The change as a fraction; 0 for none.
    pub change: f64,
    /// Pairs called slower; without a change false alarms of one direction.
    pub slower: Rate,
    /// Pairs called faster.
    pub faster: Rate,
    /// Pairs called the same.
    pub same: Rate,
    /// Undecided pairs.
    pub unclear: Rate,
}

impl InjectedChange {
    /// Rate of pairs called faster or slower. Without a change these are the false alarms.
    pub fn called(&self) -> Rate {
        Rate::new(self.slower.called + self.faster.called, self.slower.pairs)
    }
}

/// Returns the floor of each pair from the differences of the other half: pairs at even places get the floor of those at
/// odd places, and the reverse. A floor that its own pair helped to fit would hide the pair's difference.
pub fn crossed_floors(pairs: &[[f64; 2]]) -> Vec<Option<Floor>> {
    let half = |parity: usize| {
        let of_half = pairs.iter().skip(parity).step_by(2);
        let differences: Vec<f64> = of_half
            .map(|[a, b]| (b - a) * std::f64::consts::FRAC_1_SQRT_2)
            .collect();
        fit_floor(&differences)
    };
    let floors = [half(1), half(0)];
    floors.into_iter().cycle().take(pairs.len()).collect()
}

/// Applies the rule to pairs of unchanged runs (levels: natural logarithms), with each of `changes` (fractions)
/// multiplied to the second run. Returns `None` for too few pairs for two floors.
pub fn calibrate(
    pairs: &[[f64; 2]],
    changes: &[f64],
    minimum_change: f64,
) -> Option<Vec<InjectedChange>> {
    let floors: Option<Vec<Floor>> = crossed_floors(pairs).into_iter().collect();
    let floors = floors.filter(|floors| !floors.is_empty())?;
    let at = |change: &f64| {
        let shift = change.ln_1p();
        let tests = pairs.iter().zip(&floors);
        let tests: Vec<_> = tests
            .map(|([a, b], floor)| run_test(&[*a], &[b + shift], Some(floor), None))
            .collect();
        let found = verdicts(&tests, minimum_change);
        let rate = |wanted| {
            let called = found.iter().filter(|verdict| **verdict == wanted);
            Rate::new(called.count(), found.len())
        };
        InjectedChange {
            change: *change,
            slower: rate(Verdict::Slower),
            faster: rate(Verdict::Faster),
            same: rate(Verdict::Same),
            unclear: rate(Verdict::Unclear),
        }
    };
    Some(changes.iter().map(at).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SciPy: `binomtest(k, n).proportion_ci(method='wilson')`.
    #[test]
    fn rates_have_scipys_intervals() {
        for (called, pairs, low, high) in [
            (0, 300, 0.0, 0.012_642_971_224_546_036),
            (
                3,
                492,
                0.002_075_843_248_514_515_3,
                0.017_772_151_802_365_22,
            ),
            (8, 10, 0.490_162_471_536_641_8, 0.943_317_848_545_624_8),
        ] {
            let rate = Rate::new(called, pairs);
            assert!(
                (rate.low - low).abs() < 1e-12 && (rate.high - high).abs() < 1e-12,
                "{rate:?}"
            );
        }
        assert!((Rate::new(8, 10).value() - 0.8).abs() < 1e-12);
    }

    #[test]
    fn quiet_pairs_are_not_called_and_injected_changes_are() {
        let pairs: Vec<[f64; 2]> = (0..60_u32)
            .map(|index| [9.0, 9.0 + 0.001 * f64::from(index % 7) - 0.003])
            .collect();
        let found = calibrate(&pairs, &[0.0, 0.05], 0.02).unwrap();
        assert_eq!(found[0].called().called, 0);
        assert_eq!(found[0].same.called, 60);
        assert_eq!(found[1].slower.called, 60);
        assert_eq!(calibrate(&pairs[..39], &[0.0], 0.02), None);
        assert_eq!(calibrate(&[], &[0.0], 0.02), None);
    }

    #[test]
    fn floors_come_from_the_other_half() {
        let mut pairs = vec![[1.0, 1.001]; 60];
        pairs.iter_mut().step_by(2).for_each(|pair| pair[1] = 1.01);
        let floors = crossed_floors(&pairs);
        let sigma = |index: usize| floors[index].unwrap().spread;
        assert!(sigma(0) < sigma(1));
        assert!((sigma(0) - 0.001 / 2_f64.sqrt()).abs() < 1e-9);
    }
}
