//! Picks the samples of a training step.

use std::collections::HashSet;

use derive_setters::Setters;

use super::TrainingGraph;

/// Method of picking samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Pick {
    /// All samples, in order.
    All,
    /// `count` random samples, without repetition.
    #[default]
    Random,
    /// The `count` fastest.
    Best,
    /// The `count` slowest.
    Worst,
    /// The baseline of the paper: a third the fastest, a third the slowest, the rest random samples between
    /// them (with repetition).
    Baseline,
    /// Upstream's training: the `count` samples with the largest `(n - r) / n - ln(-ln U)`, the largest first.
    /// `r` is the rank among `n` runtimes (0 is the fastest) and `U` uniform between 0 and 1. Fast samples are
    /// more frequent, and none is repeated. Source: `tpu_graphs/baselines/layout/data.py`, the Gumbel top-k
    /// trick (arXiv 1903.06059).
    Gumbel,
    /// `count` random samples, without repetition, from a window of `j * count` neighbours by runtime, with a
    /// random `j` from 1 to 4: configurations that are hard to distinguish. Source: the first place of Kaggle's
    /// "Fast or Slow?".
    Close,
}

/// Options of a pick.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Setters)]
#[non_exhaustive]
pub struct Picking {
    #[setters(skip)]
    pub(super) pick: Pick,
    #[setters(skip)]
    pub(super) count: usize,
    /// Sets the seed; 0 by default. The same seed picks the same samples.
    pub(super) seed: u64,
    /// Picks only the first sample of each configuration.
    pub(super) unique: bool,
}

impl Picking {
    /// Picks at most `count` samples with this method, with duplicate configurations.
    #[must_use]
    pub fn new(pick: Pick, count: usize) -> Self {
        Self {
            pick,
            count,
            ..Self::default()
        }
    }
}

impl TrainingGraph {
    /// Returns the samples of a training step.
    #[must_use]
    pub fn pick(&self, picking: &Picking, step: u64) -> Vec<u32> {
        let seed = picking.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ step;
        let mut random = fastrand::Rng::with_seed(seed);
        let all;
        let pool = if picking.unique {
            &self.first
        } else {
            all = SampleRange(self.sample_count());
            return match picking.pick {
                Pick::All => all.iter().collect(),
                Pick::Random => all.pick(picking.count, &mut random),
                _ => pick_by_runtime(&self.fastest, picking, &mut random),
            };
        };
        match picking.pick {
            Pick::All => pool.clone(),
            Pick::Random => {
                let places = SampleRange(pool.len()).pick(picking.count, &mut random);
                let sample = |place: u32| pool.get(place as usize).copied();
                places.into_iter().filter_map(sample).collect()
            }
            _ => {
                let kept: HashSet<u32> = pool.iter().copied().collect();
                let fastest = self.fastest.iter().copied();
                let fastest: Vec<u32> = fastest.filter(|sample| kept.contains(sample)).collect();
                pick_by_runtime(&fastest, picking, &mut random)
            }
        }
    }
}

/// The numbers from 0 to a count.
struct SampleRange(usize);

impl SampleRange {
    fn iter(&self) -> std::ops::Range<u32> {
        0..u32::try_from(self.0).unwrap_or(u32::MAX)
    }

    /// Picks `count` numbers in random order (Floyd's algorithm, then a shuffle).
    fn pick(&self, count: usize, random: &mut fastrand::Rng) -> Vec<u32> {
        let total = self.iter().end;
        let count = u32::try_from(count).unwrap_or(u32::MAX).min(total);
        let mut taken = HashSet::with_capacity(count as usize);
        let mut picked = Vec::with_capacity(count as usize);
        for last in total - count..total {
            let one = random.u32(0..=last);
            let one = if taken.insert(one) { one } else { last };
            taken.insert(one);
            picked.push(one);
        }
        random.shuffle(&mut picked);
        picked
    }
}

/// Picks by runtime from samples sorted by runtime, the fastest first.
fn pick_by_runtime(fastest: &[u32], picking: &Picking, random: &mut fastrand::Rng) -> Vec<u32> {
    let count = picking.count.min(fastest.len());
    let slowest = fastest.iter().rev().copied();
    match picking.pick {
        Pick::Best => fastest.iter().take(count).copied().collect(),
        Pick::Worst => slowest.take(count).collect(),
        Pick::Gumbel => pick_gumbel(fastest, count, random),
        Pick::Close => pick_close(fastest, count, random),
        _ => {
            let third = count / 3;
            let end = fastest.len() - third;
            let between = fastest.get(third..end).unwrap_or(&[]);
            let mut picked: Vec<u32> = fastest.iter().take(third).copied().collect();
            for _ in 2 * third..count {
                picked.extend(between.get(random.usize(0..between.len().max(1))));
            }
            picked.extend(slowest.take(third));
            picked
        }
    }
}

/// Picks the samples with the largest perturbed ranks, the largest first.
#[expect(
    clippy::cast_precision_loss,
    reason = "a file has at most 2^32 samples"
)]
fn pick_gumbel(fastest: &[u32], count: usize, random: &mut fastrand::Rng) -> Vec<u32> {
    let total = fastest.len() as f64;
    let scored = fastest.iter().enumerate().map(|(rank, &sample)| {
        let noise = -(-random.f64().ln()).ln();
        ((total - rank as f64) / total + noise, sample)
    });
    let mut scored: Vec<(f64, u32)> = scored.collect();
    let largest = |a: &(f64, u32), b: &(f64, u32)| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1));
    if (1..scored.len()).contains(&count) {
        scored.select_nth_unstable_by(count - 1, largest);
    }
    scored.truncate(count);
    scored.sort_unstable_by(largest);
    scored.into_iter().map(|(_, sample)| sample).collect()
}

/// Maximum width of the windows of [`Pick::Close`], as a multiple of the number of picked samples.
const WIDEST: usize = 4;

fn pick_close(fastest: &[u32], count: usize, random: &mut fastrand::Rng) -> Vec<u32> {
    let wide = random.usize(1..=WIDEST).saturating_mul(count);
    let wide = wide.min(fastest.len());
    let begin = random.usize(0..=fastest.len() - wide);
    let window = fastest.get(begin..begin + wide).unwrap_or(&[]);
    let places = SampleRange(window.len()).pick(count, random);
    let sample = |place: u32| window.get(place as usize).copied();
    places.into_iter().filter_map(sample).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_samples_are_distinct_and_repeatable() {
        for (total, count) in [(10, 4), (5, 5), (5, 9), (0, 3), (100_000, 128)] {
            let pick = |seed| SampleRange(total).pick(count, &mut fastrand::Rng::with_seed(seed));
            let picked = pick(1);
            assert_eq!(picked.len(), count.min(total));
            let distinct: HashSet<u32> = picked.iter().copied().collect();
            assert_eq!(distinct.len(), picked.len());
            assert!(picked.iter().all(|&sample| (sample as usize) < total));
            assert_eq!(picked, pick(1));
            assert!(total < 100 || picked != pick(2));
        }
    }

    #[test]
    fn every_sample_is_as_likely() {
        let mut random = fastrand::Rng::with_seed(3);
        let mut counts = [0_u32; 6];
        for _ in 0..6000 {
            for sample in SampleRange(6).pick(2, &mut random) {
                counts[sample as usize] += 1;
            }
        }
        assert!(
            counts.iter().all(|count| (1800..2200).contains(count)),
            "{counts:?}"
        );
    }

    #[test]
    fn thirds_of_the_baseline() {
        let fastest: Vec<u32> = (0..30).rev().collect();
        let picking = Picking::new;
        let mut random = fastrand::Rng::with_seed(1);
        assert_eq!(
            pick_by_runtime(&fastest, &picking(Pick::Best, 2), &mut random),
            [29, 28]
        );
        assert_eq!(
            pick_by_runtime(&fastest, &picking(Pick::Worst, 2), &mut random),
            [0, 1]
        );
        let picked = pick_by_runtime(&fastest, &picking(Pick::Baseline, 10), &mut random);
        assert_eq!(picked.len(), 10);
        assert_eq!(picked[..3], [29, 28, 27]);
        assert_eq!(picked[7..], [0, 1, 2]);
        assert!(picked[3..7].iter().all(|sample| (3..27).contains(sample)));
        assert_eq!(
            pick_by_runtime(&[4], &picking(Pick::Baseline, 10), &mut random),
            [4]
        );
    }

    /// Fast samples are more frequent, as the formula predicts: the fastest by a factor of e over the slowest.
    #[test]
    fn gumbel_prefers_fast_ones() {
        let fastest: Vec<u32> = (0..10).rev().collect();
        let mut random = fastrand::Rng::with_seed(5);
        let mut first = [0_u32; 10];
        for _ in 0..20_000 {
            let picked = pick_by_runtime(&fastest, &Picking::new(Pick::Gumbel, 3), &mut random);
            let distinct: HashSet<u32> = picked.iter().copied().collect();
            assert_eq!(distinct.len(), 3);
            first[picked[0] as usize] += 1;
        }
        // Weights e^1.0, e^0.9, ... e^0.1 of sum 17.3: 3,136 for the fastest, 1,275 for the slowest; 3 deviations.
        assert!((2980..3290).contains(&first[9]), "{first:?}");
        assert!((1170..1380).contains(&first[0]), "{first:?}");
        let all = pick_by_runtime(&fastest, &Picking::new(Pick::Gumbel, 99), &mut random);
        assert_eq!(all.len(), 10);
        assert!(pick_by_runtime(&[], &Picking::new(Pick::Gumbel, 3), &mut random).is_empty());
    }

    #[test]
    fn close_ones_are_neighbours() {
        let fastest: Vec<u32> = (0..1000).collect();
        let mut random = fastrand::Rng::with_seed(5);
        let mut widths = HashSet::new();
        for _ in 0..500 {
            let picked = pick_by_runtime(&fastest, &Picking::new(Pick::Close, 20), &mut random);
            let distinct: HashSet<u32> = picked.iter().copied().collect();
            assert_eq!(distinct.len(), 20);
            let width = picked.iter().max().unwrap() - picked.iter().min().unwrap();
            assert!(width < 80, "{width}");
            widths.insert(width / 20);
        }
        assert!(widths.len() >= 4, "windows of several widths: {widths:?}");
        for (total, count) in [(0, 3), (1, 3), (5, 0), (5, 5), (7, 3)] {
            let picked = pick_by_runtime(
                &fastest[..total],
                &Picking::new(Pick::Close, count),
                &mut random,
            );
            assert_eq!(picked.len(), count.min(total));
        }
    }

    /// A different sequence would change the training of resumed runs; the sequence depends on fastrand's
    /// algorithm.
    #[test]
    fn picks_are_those_that_they_always_were() {
        let fastest: Vec<u32> = (0..1000).collect();
        let picks = [Pick::Baseline, Pick::Gumbel, Pick::Close].map(|pick| {
            let mut random = fastrand::Rng::with_seed(7);
            pick_by_runtime(&fastest, &Picking::new(pick, 4), &mut random)
        });
        let random = SampleRange(1000).pick(4, &mut fastrand::Rng::with_seed(7));
        assert_eq!(random, [402, 438, 269, 658]);
        assert_eq!(
            picks,
            [
                [0, 772, 223, 999],
                [257, 120, 286, 49],
                [222, 228, 224, 233]
            ]
        );
    }
}
