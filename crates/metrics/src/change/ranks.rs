//! Mann-Whitney U test, and the confidence interval that inverts it.
//!
//! Up to [`MAX_EXACT_REPEATS`] repeats in both lists together the distribution is exact: it counts all ways to pick the
//! new repeats among all of them, ties included (Streitberg and Röhmel's shift algorithm, 1986). Above that it is
//! normal, with the correction for ties and for continuity (Hollander, Wolfe and Chicken, 4.1; what SciPy calls
//! `asymptotic`).

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use crate::median::median_of_sorted;

/// Probability of at least one false positive among all kernels; also one minus the confidence of the intervals.
pub(super) const ALPHA: f64 = 0.05;

/// Maximum number of repeats in both lists for the exact distribution: 10^12 picks then fit a `u64`, and counting takes
/// about a millisecond.
const MAX_EXACT_REPEATS: usize = 40;

/// The 97.5 % quantile of the normal distribution.
pub(crate) const NORMAL_QUANTILE: f64 = 1.959_963_984_540_054;

const _: () = assert!(ALPHA == 0.05, "the quantile above belongs to it");

/// Converts a count to `f64`.
#[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
pub(super) fn count_as_f64(count: usize) -> f64 {
    count as f64
}

/// Two-sided p-value of the hypothesis that neither list tends to be larger.
///
/// It is twice the smaller tail, as R and SciPy define it if the distribution is not symmetric.
pub(super) fn mann_whitney(old: &[f64], new: &[f64]) -> f64 {
    let (ranks, ties) = double_ranks(old, new);
    let new_sum: usize = ranks.iter().skip(old.len()).sum();
    if ranks.len() <= MAX_EXACT_REPEATS {
        let ways = cached_subset_sums(ranks, new.len());
        let all: u64 = ways.iter().sum();
        let below: u64 = ways.iter().take(new_sum + 1).sum();
        let above: u64 = ways.iter().skip(new_sum).sum();
        return (2.0 * ratio(below.min(above), all)).min(1.0);
    }
    let (m, n) = (count_as_f64(old.len()), count_as_f64(new.len()));
    // Ranks are doubled, and so are the sum and its distance from its mean n (m + n + 1) / 2.
    let distance = (count_as_f64(new_sum) - n * (m + n + 1.0)).abs() / 2.0;
    let spread = u_deviation(m, n, ties);
    if spread <= 0.0 {
        return 1.0;
    }
    let z = (distance - 0.5).max(0.0) / spread;
    libm::erfc(z / std::f64::consts::SQRT_2).min(1.0)
}

/// Estimate and 95 % interval of the ratio new / old.
///
/// The bounds are the k-th smallest and largest of all ratios, for the largest k with P(U < k) of at most 2.5 %. With
/// too few repeats there is no such k, and the bounds are 0 and infinity.
pub(super) fn ratio_interval(old: &[f64], new: &[f64]) -> (f64, f64, f64) {
    let mut ratios: Vec<f64> = new
        .iter()
        .flat_map(|new| old.iter().map(move |old| new / old))
        .collect();
    ratios.sort_unstable_by(f64::total_cmp);
    // On logarithms, so that the midpoint of two ratios is their geometric mean.
    let logarithms: Vec<f64> = ratios.iter().map(|ratio| ratio.ln()).collect();
    let estimate = median_of_sorted(&logarithms).map_or(f64::NAN, f64::exp);
    let k = critical_rank(old.len(), new.len());
    let low = k
        .checked_sub(1)
        .and_then(|index| ratios.get(index))
        .copied();
    let high = k
        .checked_sub(1)
        .and_then(|_| ratios.get(ratios.len() - k))
        .copied();
    (estimate, low.unwrap_or(0.0), high.unwrap_or(f64::INFINITY))
}

/// The largest k with P(U < k) <= 2.5 % without ties.
fn critical_rank(old: usize, new: usize) -> usize {
    if old + new <= MAX_EXACT_REPEATS {
        let ways = cached_subset_sums((1..=old + new).collect(), new);
        let all: u64 = ways.iter().sum();
        // U is the rank sum above its smallest value.
        let smallest = new * (new + 1) / 2;
        let mut below = 0;
        let fits = |way: &&u64| {
            below += **way;
            ratio(below, all) <= ALPHA / 2.0
        };
        return ways.iter().skip(smallest).take_while(fits).count();
    }
    let (m, n) = (count_as_f64(old), count_as_f64(new));
    // With the continuity correction, as in the test.
    let k = m * n / 2.0 + 0.5 - NORMAL_QUANTILE * u_deviation(m, n, 0.0);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "between 0 and m n"
    )]
    let k = k.max(0.0).floor() as usize;
    k
}

/// Standard deviation of U; `ties` is the sum of t^3 - t over groups of t equal values.
fn u_deviation(m: f64, n: f64, ties: f64) -> f64 {
    let all = m + n;
    (m * n / 12.0 * (all + 1.0 - ties / (all * (all - 1.0)))).sqrt()
}

/// Returns twice the ranks of all values, first the old, then the new, and the sum of t^3 - t over groups of t equal
/// values.
///
/// Equal values get the mean of their ranks, which may be a half; hence the factor of two.
fn double_ranks(old: &[f64], new: &[f64]) -> (Vec<usize>, f64) {
    let mut values: Vec<(f64, usize)> = old.iter().chain(new).copied().zip(0..).collect();
    values.sort_unstable_by(|(one, _), (other, _)| one.total_cmp(other));
    let mut ranks = vec![0; values.len()];
    let (mut rank_offset, mut ties) = (0, 0.0);
    for group in values.chunk_by(|(one, _), (other, _)| one.total_cmp(other).is_eq()) {
        for &(_, index) in group {
            if let Some(rank) = ranks.get_mut(index) {
                // Ranks rank_offset + 1 to rank_offset + t: their mean doubled.
                *rank = 2 * rank_offset + group.len() + 1;
            }
        }
        rank_offset += group.len();
        let size = count_as_f64(group.len());
        ties += size.powi(3) - size;
    }
    (ranks, ties)
}

/// Number of distributions that each thread caches: a list takes at most 13 kB.
const CACHED_DISTRIBUTIONS: usize = 256;

/// Distributions by ranks and number of picks.
type DistributionCache = HashMap<(Vec<usize>, usize), Rc<[u64]>>;

thread_local! {
    /// Most pairs of a run have the same number of repeats, with ties at the same positions.
    static DISTRIBUTIONS: RefCell<DistributionCache> = RefCell::default();
}

/// Returns [`subset_sums`], from the cache if possible.
fn cached_subset_sums(mut ranks: Vec<usize>, picks: usize) -> Rc<[u64]> {
    ranks.sort_unstable();
    let key = (ranks, picks);
    DISTRIBUTIONS.with_borrow_mut(|cache| {
        if let Some(cached) = cache.get(&key) {
            return Rc::clone(cached);
        }
        if cache.len() >= CACHED_DISTRIBUTIONS {
            cache.clear();
        }
        let ways: Rc<[u64]> = subset_sums(&key.0, picks).into();
        cache.insert(key, Rc::clone(&ways));
        ways
    })
}

/// Returns, for each sum, the number of ways to pick `picks` of the ranks with this sum.
fn subset_sums(ranks: &[usize], picks: usize) -> Vec<u64> {
    let largest: usize = ranks.iter().sum();
    let mut ways = vec![vec![0_u64; largest + 1]; picks + 1];
    if let Some(none) = ways.first_mut().and_then(|row| row.first_mut()) {
        *none = 1;
    }
    for &rank in ranks {
        // From many picks to few, so that no rank is picked twice.
        for picked in (0..picks).rev() {
            let Some([fewer, more]) = ways.get_mut(picked..picked + 2) else {
                continue;
            };
            for (target, source) in more.iter_mut().skip(rank).zip(fewer.iter()) {
                *target += source;
            }
        }
    }
    ways.pop().unwrap_or_default()
}

/// `numerator` over `denominator`, both below 2^53 for the exact distribution.
#[expect(clippy::cast_precision_loss, reason = "C(40, 20) is 1.4e11")]
fn ratio(numerator: u64, denominator: u64) -> f64 {
    numerator as f64 / denominator as f64
}
