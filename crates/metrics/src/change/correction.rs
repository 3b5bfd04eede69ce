//! Correction of p-values for multiple comparisons.

use std::collections::BTreeMap;

/// The p-values of all comparisons of one run. Equal values are stored once.
///
/// The right correction depends on the use. For a few kernels that are inspected one by one, use [`holm`](Self::holm):
/// the probability of any false positive is at most 5 %. For the many pairs of two datasets, use
/// [`benjamini_hochberg`](Self::benjamini_hochberg): of the reported changes at most 5 % are expected to be false. If
/// nothing changed, the probability of any false positive is at most 5 % as well.
#[derive(Clone, Debug, Default)]
pub struct PValues {
    /// Number of occurrences of each p-value by its bits. The bits of non-negative numbers sort like the numbers.
    counts: BTreeMap<u64, u64>,
}

impl PValues {
    /// Adds a p-value.
    pub fn add(&mut self, p: f64) {
        *self.counts.entry(bits(p)).or_default() += 1;
    }

    /// Holm's step-down correction (Scandinavian Journal of Statistics 6, 1979): the i-th smallest of m is
    /// multiplied by m - i + 1, and none becomes smaller than an earlier one.
    pub fn holm(&self) -> CorrectedPValues {
        let mut remaining: u64 = self.counts.values().sum();
        let mut maximum = 0.0_f64;
        let corrected = self.counts.iter().map(|(&bits, &count)| {
            maximum = maximum.max((f64::from_bits(bits) * float(remaining)).min(1.0));
            remaining -= count;
            (bits, maximum)
        });
        CorrectedPValues(corrected.collect())
    }

    /// Benjamini and Hochberg's step-up correction (Journal of the Royal Statistical Society B 57, 1995): the i-th
    /// smallest of m is multiplied by m / i, and none becomes larger than a later one.
    pub fn benjamini_hochberg(&self) -> CorrectedPValues {
        let all: u64 = self.counts.values().sum();
        let (mut remaining, mut minimum) = (all, 1.0_f64);
        let corrected = self.counts.iter().rev().map(|(&bits, &count)| {
            minimum = minimum.min(f64::from_bits(bits) * float(all) / float(remaining));
            remaining -= count;
            (bits, minimum)
        });
        CorrectedPValues(corrected.collect())
    }
}

impl FromIterator<f64> for PValues {
    fn from_iter<T: IntoIterator<Item = f64>>(all: T) -> Self {
        let mut collected = Self::default();
        all.into_iter().for_each(|p| collected.add(p));
        collected
    }
}

/// Corrected p-value of each p-value of a run.
#[derive(Clone, Debug, Default)]
pub struct CorrectedPValues(BTreeMap<u64, f64>);

impl CorrectedPValues {
    /// Returns the corrected p-value; 1 for a value that the run did not contain.
    pub fn get(&self, p: f64) -> f64 {
        self.0.get(&bits(p)).copied().unwrap_or(1.0)
    }
}

fn bits(p: f64) -> u64 {
    p.max(0.0).to_bits()
}

#[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
fn float(count: u64) -> f64 {
    count as f64
}
