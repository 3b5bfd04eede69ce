//! Measuring again until a pair is decided, with an error rate that holds over all looks.
//!
//! Each look spends a quarter of the 5 % (Bonferroni over looks). Over many pairs the p-value of a pair is 4 times the
//! smallest of its looks, and Benjamini-Hochberg corrects these.

use tsql_metrics::change::{PValues, Verdict};

use crate::floor::Floor;
use crate::run_test::{ALPHA, RunTest, run_test};
use crate::verdict::verdict;

/// Numbers of runs on each side at which a pair is tested.
pub const LOOKS: [usize; 4] = [2, 4, 6, 8];

/// Probability of a false alarm at one look.
pub const LOOK_ALPHA: f64 = ALPHA / 4.0;

const _: () = assert!(LOOKS.len() == 4, "the looks share ALPHA");

/// Measurement of one pair: its looks so far.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SequentialTest {
    looks: usize,
    smallest_p: f64,
    /// The last test.
    last: Option<RunTest>,
}

impl Default for SequentialTest {
    fn default() -> Self {
        Self {
            looks: 0,
            smallest_p: 1.0,
            last: None,
        }
    }
}

impl SequentialTest {
    /// Number of runs on each side that the next look needs; `None` after the last look.
    pub fn next_look(&self) -> Option<usize> {
        LOOKS.get(self.looks).copied()
    }

    /// Looks at the levels of both sides, all runs so far. A pair without a test has p = 1 at this look.
    pub fn look(&mut self, a: &[f64], b: &[f64], floor: Option<&Floor>) {
        self.looks += 1;
        self.last = run_test(a, b, floor, None);
        if let Some(test) = self.last {
            self.smallest_p = self.smallest_p.min(test.p);
        }
    }

    /// p-value over all looks: 4 times the smallest one, at most 1.
    #[expect(clippy::cast_precision_loss, reason = "four looks")]
    pub fn p(&self) -> f64 {
        (self.smallest_p * LOOKS.len() as f64).min(1.0)
    }

    /// The last test; `None` before the first look, or with too few runs and no floor.
    pub fn last(&self) -> Option<RunTest> {
        self.last
    }

    /// Verdict of the last look for this pair alone. `minimum_change` is a fraction.
    pub fn verdict(&self, minimum_change: f64) -> Verdict {
        self.last.map_or(Verdict::Unclear, |test| {
            verdict(&test, test.p, minimum_change, LOOK_ALPHA)
        })
    }
}

/// Returns the verdicts of all pairs at the end: p over all looks, corrected after Benjamini and Hochberg.
pub fn sequential_verdicts(pairs: &[SequentialTest], minimum_change: f64) -> Vec<Verdict> {
    let all: PValues = pairs.iter().map(SequentialTest::p).collect();
    let corrected = all.benjamini_hochberg();
    let verdict_of = |pair: &SequentialTest| {
        let test = pair.last?;
        // An equivalence was tested at each look, too.
        let same = verdict(&test, 1.0, minimum_change, LOOK_ALPHA);
        let found = verdict(&test, corrected.get(pair.p()), minimum_change, ALPHA);
        Some(if found == Verdict::Same { same } else { found })
    };
    let found = pairs.iter().map(verdict_of);
    found
        .map(|found| found.unwrap_or(Verdict::Unclear))
        .collect()
}

/// Runs the looks of one pair over the levels that both sides will have. Returns the verdict and the number of runs on
/// each side.
pub fn measure_until_decided(
    a: &[f64],
    b: &[f64],
    floor: Option<&Floor>,
    minimum_change: f64,
) -> (Verdict, usize) {
    let mut pair = SequentialTest::default();
    let mut runs = 0;
    while let Some(wanted) = pair.next_look() {
        let (Some(some_a), Some(some_b)) = (a.get(..wanted), b.get(..wanted)) else {
            break;
        };
        pair.look(some_a, some_b, floor);
        runs = wanted;
        let found = pair.verdict(minimum_change);
        if found != Verdict::Unclear {
            return (found, runs);
        }
    }
    (Verdict::Unclear, runs)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FLOOR: Floor = Floor {
        sigma: 0.005,
        nu: 30.0,
        spread: 0.005,
        pairs: 60,
    };

    #[test]
    fn a_large_change_is_decided_at_the_first_look() {
        let (a, b) = ([1.0; 8], [1.1; 8]);
        assert_eq!(
            measure_until_decided(&a, &b, Some(&FLOOR), 0.02),
            (Verdict::Slower, 2)
        );
        assert_eq!(
            measure_until_decided(&a, &a, Some(&FLOOR), 0.02).0,
            Verdict::Same
        );
        // Two runs cannot decide without a floor; four can.
        let a = [1.0, 1.001, 0.999, 1.0];
        let b = a.map(|level| level + 0.1);
        assert_eq!(
            measure_until_decided(&a, &b, None, 0.02),
            (Verdict::Slower, 4)
        );
        // The runs end before the looks.
        assert_eq!(
            measure_until_decided(&a[..1], &b, None, 0.02),
            (Verdict::Unclear, 0)
        );
    }

    #[test]
    fn looks_are_paid_for() {
        let mut pair = SequentialTest::default();
        assert_eq!(pair.next_look(), Some(2));
        pair.look(&[1.0; 2], &[1.03; 2], Some(&FLOOR));
        let p = pair.last().unwrap().p;
        assert!((pair.p() - 4.0 * p).abs() < 1e-15);
        pair.look(&[1.0; 4], &[1.0; 4], Some(&FLOOR));
        assert!((pair.p() - 4.0 * p).abs() < 1e-15, "the smallest counts");
        assert_eq!(pair.next_look(), Some(6));
        assert_eq!(sequential_verdicts(&[pair], 0.02), [Verdict::Same]);
        let new = SequentialTest::default();
        assert_eq!(sequential_verdicts(&[new], 0.02), [Verdict::Unclear]);
    }
}
