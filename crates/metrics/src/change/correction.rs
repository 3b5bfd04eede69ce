//! Correction of p for the number of comparisons.

use std::collections::BTreeMap;

/// The p of all comparisons of one run, of which equal ones take room once.
///
/// Which correction is right depends on what is asked. Of a few kernels, where each is looked at by itself, [`holm`](Self::holm):
/// the probability that anything is called changed that did not change is at most 5 %. Of the many pairs of two datasets, where they are
/// counted, [`benjamini_hochberg`](Self::benjamini_hochberg): of those that are called changed at most 5 % are
/// expected to be wrong, and where none changed, the probability that any is called so is at most 5 % as well.
#[derive(Clone, Debug, Default)]
pub struct AllP {
    /// How many there are of each, by its bits: those of numbers from 0 up are in the order of the numbers.
    counts: BTreeMap<u64, u64>,
}

impl AllP {
    /// Takes one more.
    pub fn add(&mut self, p: f64) {
        *self.counts.entry(bits(p)).or_default() += 1;
    }

    /// Holm's step-down correction (Scandinavian Journal of Statistics 6, 1979): the i-th smallest of m is
    /// multiplied by m - i + 1, and none becomes smaller than one before it.
    pub fn holm(&self) -> Corrected {
        let mut left: u64 = self.counts.values().sum();
        let mut largest = 0.0_f64;
        let corrected = self.counts.iter().map(|(&bits, &count)| {
            largest = largest.max((f64::from_bits(bits) * float(left)).min(1.0));
            left -= count;
            (bits, largest)
        });
        Corrected(corrected.collect())
    }

    /// Benjamini and Hochberg's step-up correction (Journal of the Royal Statistical Society B 57, 1995): the i-th smallest
    /// of m is multiplied by m / i, and none becomes larger than one behind it.
    pub fn benjamini_hochberg(&self) -> Corrected {
        let all: u64 = self.counts.values().sum();
        let (mut left, mut least) = (all, 1.0_f64);
        let corrected = self.counts.iter().rev().map(|(&bits, &count)| {
            least = least.min(f64::from_bits(bits) * float(all) / float(left));
            left -= count;
            (bits, least)
        });
        Corrected(corrected.collect())
    }
}

impl FromIterator<f64> for AllP {
    fn from_iter<T: IntoIterator<Item = f64>>(all: T) -> Self {
        let mut collected = Self::default();
        all.into_iter().for_each(|p| collected.add(p));
        collected
    }
}

/// What each p of a run is after a correction.
#[derive(Clone, Debug, Default)]
pub struct Corrected(BTreeMap<u64, f64>);

impl Corrected {
    /// Corrected p; 1 for one that the run did not have.
    pub fn of(&self, p: f64) -> f64 {
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
