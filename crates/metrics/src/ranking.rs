//! How well scores rank runtimes: the metrics of the TpuGraphs paper (arXiv 2308.13490, section 4)
//! and of its Kaggle competition. Lower scores are predictions of lower runtimes.

use std::cmp::Ordering;

/// One configuration: what it took, and what was predicted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pair {
    /// What it took, in any unit that all have.
    pub runtime: f64,
    /// What was predicted, lower for a lower runtime.
    pub score: f64,
}

/// How pairs of configurations agree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Agreement {
    /// All pairs of configurations.
    pairs: u64,
    /// Pairs with equal runtimes, with equal scores, with both equal.
    runtime_ties: u64,
    score_ties: u64,
    both_ties: u64,
    /// Pairs ranked the other way round.
    discordant: u64,
}

/// Runtime of the best of the `k` configurations with the lowest scores, over the best of all,
/// minus 1. `all` are the runtimes of all configurations, `scored` those with a score in the order
/// of their indices: of equal scores the lower index counts first. `None` without any.
pub fn top_k_error(best_of_all: Option<f64>, scored: &[Pair], k: usize) -> Option<f64> {
    let mut order: Vec<&Pair> = scored.iter().collect();
    order.sort_by(|a, b| nan_last(a.score, b.score));
    let chosen = order.iter().take(k).map(|pair| pair.runtime);
    let best = chosen.min_by(f64::total_cmp)?;
    Some(best / best_of_all? - 1.0)
}

/// Kendall's tau-b, corrected for ties, as SciPy computes it; `None` where either side has only one
/// value.
pub fn kendall_tau_b(pairs: &[Pair]) -> Option<f64> {
    let found = agreement(pairs);
    let (all, x, y) = (found.pairs, found.score_ties, found.runtime_ties);
    if all == x || all == y {
        return None;
    }
    let untied = exact(all - x - y + found.both_ties);
    let difference = untied - 2.0 * exact(found.discordant);
    let tau = difference / exact(all - x).sqrt() / exact(all - y).sqrt();
    Some(tau.clamp(-1.0, 1.0))
}

/// Share of the pairs with different runtimes that the scores order the same way; equal scores
/// count as wrong. `None` where all runtimes are equal.
pub fn ordered_pair_accuracy(pairs: &[Pair]) -> Option<f64> {
    let found = agreement(pairs);
    let comparable = found.pairs - found.runtime_ties;
    let untied = comparable + found.both_ties - found.score_ties;
    (comparable > 0).then(|| exact(untied - found.discordant) / exact(comparable))
}

/// Sorts by score and counts, while sorting by runtime, what was the wrong way round (Knight 1966).
fn agreement(pairs: &[Pair]) -> Agreement {
    let mut order: Vec<Pair> = pairs.to_vec();
    order.sort_unstable_by(|a, b| {
        nan_last(a.score, b.score).then_with(|| nan_last(a.runtime, b.runtime))
    });
    let count = order.len() as u64;
    let score_ties = ties(&order, |a, b| equal(a.score, b.score));
    let both_ties = ties(&order, |a, b| {
        equal(a.score, b.score) && equal(a.runtime, b.runtime)
    });
    let mut runtimes: Vec<f64> = order.iter().map(|pair| pair.runtime).collect();
    let discordant = sort_counting(&mut runtimes);
    Agreement {
        pairs: count * count.saturating_sub(1) / 2,
        runtime_ties: ties(&runtimes, |a, b| equal(*a, *b)),
        score_ties,
        both_ties,
        discordant,
    }
}

/// Pairs within runs of equal neighbours.
fn ties<T>(sorted: &[T], equal: impl Fn(&T, &T) -> bool) -> u64 {
    let runs = sorted.chunk_by(|a, b| equal(a, b));
    runs.map(|run| {
        let length = run.len() as u64;
        length * (length - 1) / 2
    })
    .sum()
}

/// Merge sort from the bottom up; the number of pairs that were in falling order.
fn sort_counting(values: &mut Vec<f64>) -> u64 {
    let mut falling = 0;
    let mut merged = Vec::with_capacity(values.len());
    let mut width = 1;
    while width < values.len() {
        merged.clear();
        for both in values.chunks(2 * width) {
            let (mut left, mut right) = both.split_at(width.min(both.len()));
            while let (Some((a, left_rest)), Some((b, right_rest))) =
                (left.split_first(), right.split_first())
            {
                if nan_last(*b, *a) == Ordering::Less {
                    falling += left.len() as u64;
                    merged.push(*b);
                    right = right_rest;
                } else {
                    merged.push(*a);
                    left = left_rest;
                }
            }
            merged.extend_from_slice(left);
            merged.extend_from_slice(right);
        }
        std::mem::swap(values, &mut merged);
        width *= 2;
    }
    falling
}

fn equal(a: f64, b: f64) -> bool {
    nan_last(a, b) == Ordering::Equal
}

/// Numbers by size, zeros alike; what is no number last.
fn nan_last(a: f64, b: f64) -> Ordering {
    let both = a.partial_cmp(&b);
    both.unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
}

#[expect(
    clippy::cast_precision_loss,
    reason = "100 million configurations have fewer than 2^53 pairs"
)]
fn exact(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn pairs(runtimes: &[f64], scores: &[f64]) -> Vec<Pair> {
        let both = runtimes.iter().zip(scores);
        both.map(|(&runtime, &score)| Pair { runtime, score })
            .collect()
    }

    /// Looks at every pair.
    fn by_brute_force(pairs: &[Pair]) -> Agreement {
        let mut found = Agreement::default();
        for (place, a) in pairs.iter().enumerate() {
            for b in &pairs[place + 1..] {
                let (x, y) = (nan_last(a.score, b.score), nan_last(a.runtime, b.runtime));
                found.pairs += 1;
                found.score_ties += u64::from(x.is_eq());
                found.runtime_ties += u64::from(y.is_eq());
                found.both_ties += u64::from(x.is_eq() && y.is_eq());
                found.discordant += u64::from(x.is_ne() && y == x.reverse());
            }
        }
        found
    }

    proptest! {
        #[test]
        fn counts_are_those_of_brute_force(
            values in proptest::collection::vec((0_u8..12, 0_u8..12), 0..60)
        ) {
            let pairs: Vec<Pair> = values
                .iter()
                .map(|&(runtime, score)| Pair { runtime: runtime.into(), score: score.into() })
                .collect();
            prop_assert_eq!(agreement(&pairs), by_brute_force(&pairs));
        }
    }

    #[test]
    fn edges() {
        assert_eq!(top_k_error(None, &[], 5), None);
        assert_eq!(kendall_tau_b(&[]), None);
        assert_eq!(ordered_pair_accuracy(&pairs(&[1.0], &[1.0])), None);
        let tied = pairs(&[3.0, 1.0, 2.0], &[0.0, -0.0, 0.0]);
        assert_eq!(top_k_error(Some(1.0), &tied, 1), Some(2.0));
        assert_eq!(top_k_error(Some(1.0), &tied, 9), Some(0.0));
        let unknown = pairs(&[1.0, 2.0], &[f64::NAN, 0.5]);
        assert_eq!(top_k_error(Some(1.0), &unknown, 1), Some(1.0));
    }
}
