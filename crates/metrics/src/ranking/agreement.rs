//! Agreement of two rankings, by runtime and by score, without enumerating pairs.

use std::cmp::Ordering;

use super::pair::ScoredConfig;

/// Numbers of pairs of configurations by agreement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PairCounts {
    /// All pairs of configurations.
    pub(crate) pairs: u64,
    /// Pairs with equal runtimes, with equal scores, with both equal.
    pub(crate) runtime_ties: u64,
    pub(crate) score_ties: u64,
    pub(crate) both_ties: u64,
    /// Pairs in opposite order.
    pub(crate) discordant: u64,
}

/// Sorts by score, then counts the inversions while sorting by runtime (Knight 1966).
pub(crate) fn count_pairs(pairs: &[ScoredConfig]) -> PairCounts {
    let pair_key = |pair: &ScoredConfig| {
        u128::from(sort_key(pair.score)) << 64 | u128::from(sort_key(pair.runtime))
    };
    let mut order: Vec<u128> = pairs.iter().map(pair_key).collect();
    order.sort_unstable();
    let count = order.len() as u64;
    let score_ties = count_ties(&order, |a, b| a >> 64 == b >> 64);
    let both_ties = count_ties(&order, |a, b| a == b);
    #[expect(clippy::cast_possible_truncation, reason = "the lower half")]
    let mut runtimes: Vec<u64> = order.iter().map(|pair_key| *pair_key as u64).collect();
    let discordant = sort_and_count_inversions(&mut runtimes);
    PairCounts {
        pairs: count * count.saturating_sub(1) / 2,
        runtime_ties: count_ties(&runtimes, |a, b| a == b),
        score_ties,
        both_ties,
        discordant,
    }
}

/// Number of pairs within runs of equal neighbours.
fn count_ties<T>(sorted: &[T], equal: impl Fn(&T, &T) -> bool) -> u64 {
    let runs = sorted.chunk_by(|a, b| equal(a, b));
    runs.map(|run| {
        let length = run.len() as u64;
        length * (length - 1) / 2
    })
    .sum()
}

/// Bottom-up merge sort. Returns the number of inversions.
pub(crate) fn sort_and_count_inversions(values: &mut Vec<u64>) -> u64 {
    let mut inversions = 0;
    let mut merged = Vec::with_capacity(values.len());
    let mut width = 1;
    while width < values.len() {
        merged.clear();
        for run in values.chunks(2 * width) {
            let (mut left, mut right) = run.split_at(width.min(run.len()));
            while let (Some((a, left_rest)), Some((b, right_rest))) =
                (left.split_first(), right.split_first())
            {
                if b < a {
                    inversions += left.len() as u64;
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
    inversions
}

/// Integer with the order of [`nan_last`], which sorts much faster.
pub(crate) fn sort_key(value: f64) -> u64 {
    const SIGN: u64 = 1 << 63;
    if value.is_nan() {
        return u64::MAX;
    }
    // Negative zero becomes zero.
    let bits = (value + 0.0).to_bits();
    if bits & SIGN == 0 { bits | SIGN } else { !bits }
}

/// Orders numbers by size, with equal zeros and NaN last.
pub(crate) fn nan_last(a: f64, b: f64) -> Ordering {
    let order = a.partial_cmp(&b);
    order.unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
}

#[expect(
    clippy::cast_precision_loss,
    reason = "100 million configurations have fewer than 2^53 pairs"
)]
pub(crate) fn count_as_f64(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Enumerates all pairs.
    fn by_brute_force(pairs: &[ScoredConfig]) -> PairCounts {
        let mut counts = PairCounts::default();
        for (index, a) in pairs.iter().enumerate() {
            for b in &pairs[index + 1..] {
                let (x, y) = (nan_last(a.score, b.score), nan_last(a.runtime, b.runtime));
                counts.pairs += 1;
                counts.score_ties += u64::from(x.is_eq());
                counts.runtime_ties += u64::from(y.is_eq());
                counts.both_ties += u64::from(x.is_eq() && y.is_eq());
                counts.discordant += u64::from(x.is_ne() && y == x.reverse());
            }
        }
        counts
    }

    #[test]
    fn keys_are_ordered_as_numbers_are() {
        let values = [
            f64::NEG_INFINITY,
            -2.5,
            -f64::MIN_POSITIVE,
            -0.0,
            0.0,
            5e-324,
            1.0,
            f64::INFINITY,
            f64::NAN,
            -f64::NAN,
        ];
        for a in values {
            for b in values {
                assert_eq!(sort_key(a).cmp(&sort_key(b)), nan_last(a, b), "{a} {b}");
            }
        }
    }

    proptest! {
        #[test]
        fn counts_are_those_of_brute_force(
            values in proptest::collection::vec((0_u8..12, 0_u8..12), 0..60)
        ) {
            let pairs: Vec<ScoredConfig> = values
                .iter()
                .map(|&(runtime, score)| ScoredConfig { runtime: runtime.into(), score: score.into() })
                .collect();
            prop_assert_eq!(count_pairs(&pairs), by_brute_force(&pairs));
        }
    }
}
