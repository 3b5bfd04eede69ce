//! What a predictor scores on average that says the labels of a task in an order drawn at random.
//!
//! Expected values over all orders, so that no seed is needed. The squared error is twice the variance of the labels on average, and so
//! r2 is -1.

use super::row::float;
use super::undefined::Undefined;
use crate::ranking::agreement::nan_last;

/// Pairs of equal labels count as right where both predictions happen to be equal, too.
///
/// With a share t of the pairs being equal it is (1 + t²) / 2.
///
/// # Errors
/// [`Undefined`] of fewer than two labels, and of equal ones.
pub fn random_pairwise_accuracy(labels: &[f64]) -> Result<f64, Undefined> {
    let labels = ranked(labels)?;
    let pairs = |count: usize| float(count) * (float(count) - 1.0) / 2.0;
    let ties = labels.chunk_by(|a, b| nan_last(*a, *b).is_eq());
    let tied = ties.map(|tie| pairs(tie.len())).sum::<f64>() / pairs(labels.len());
    Ok((1.0 + tied * tied) / 2.0)
}

/// Mean of |a - b| / |a| over all pairs of labels, each with itself, too.
///
/// # Errors
/// [`Undefined`] of no labels.
pub fn random_mape(labels: &[f64]) -> Result<f64, Undefined> {
    let mut labels = labels.to_vec();
    labels.sort_unstable_by(f64::total_cmp);
    let (count, all) = (float(labels.len()), labels.iter().sum::<f64>());
    let (mut below, mut sum) = (0.0, 0.0);
    for (place, label) in labels.iter().enumerate() {
        let above = all - below - label;
        let off = label * float(place) - below + above - label * (count - float(place) - 1.0);
        below += label;
        // Rounding leaves a little below 0 where all are equal.
        let off = off.max(0.0);
        if off > 0.0 {
            sum += off / label.abs();
        }
    }
    match labels.is_empty() {
        true => Err(Undefined::NoRows),
        false => Ok(sum / count / count),
    }
}

/// The [`peak_at_k`](super::peak_at_k()) of a random order.
///
/// # Errors
/// [`Undefined`] of fewer than two labels, and of equal ones.
pub fn random_peak_at_k(labels: &[f64], k: usize) -> Result<f64, Undefined> {
    let mut labels = ranked(labels)?;
    labels.reverse();
    let highest = labels.first().copied().filter(|one| *one > 0.0);
    let highest = highest.ok_or(Undefined::Label)?;
    let drawn = k.min(labels.len());
    let sum: f64 = (1..=drawn).map(|k| first_of_k(&labels, k)).sum();
    Ok(sum / float(drawn) / highest)
}

/// The least of `k` costs that are drawn at random, on average; `None` without costs.
pub fn random_least_of_k(costs: &[f64], k: usize) -> Option<f64> {
    let mut costs = costs.to_vec();
    costs.sort_unstable_by(f64::total_cmp);
    (!costs.is_empty()).then(|| first_of_k(&costs, k.min(costs.len())))
}

/// The first in order of `k` that are drawn of all: the one at place r is it in C(n - 1 - r, k - 1) of C(n, k) draws.
fn first_of_k(sorted: &[f64], k: usize) -> f64 {
    let mut chance = float(k) / float(sorted.len());
    let (mut mean, mut left) = (0.0, sorted.len());
    for value in sorted.iter().take(sorted.len() + 1 - k) {
        mean += chance * value;
        left -= 1;
        if left == 0 {
            break;
        }
        chance *= float(left + 1 - k) / float(left);
    }
    mean
}

/// In rising order, if there are several that are not all equal.
fn ranked(labels: &[f64]) -> Result<Vec<f64>, Undefined> {
    let mut labels = labels.to_vec();
    labels.sort_unstable_by(f64::total_cmp);
    match labels.as_slice() {
        [] => Err(Undefined::NoRows),
        [_] => Err(Undefined::OneRow),
        [first, .., last] if nan_last(*first, *last).is_eq() => Err(Undefined::OneLabel),
        _ => Ok(labels),
    }
}
