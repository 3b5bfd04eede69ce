//! Expected scores of a predictor that returns a task's labels in random order.
//!
//! They are expectations over all permutations, so that no seed is needed. The expected squared error is twice the
//! variance of the labels, and so r2 is -1.

use super::row::float;
use super::undefined::Undefined;
use crate::ranking::agreement::nan_last;

/// Expected pairwise accuracy. Pairs of equal labels count as right if both predictions are equal, too.
///
/// With a fraction t of equal pairs it is (1 + t²) / 2.
///
/// # Errors
/// [`Undefined`] for fewer than two labels, and for equal ones.
pub fn random_pairwise_accuracy(labels: &[f64]) -> Result<f64, Undefined> {
    let labels = sort_distinct(labels)?;
    let pairs = |count: usize| float(count) * (float(count) - 1.0) / 2.0;
    let ties = labels.chunk_by(|a, b| nan_last(*a, *b).is_eq());
    let tied = ties.map(|tie| pairs(tie.len())).sum::<f64>() / pairs(labels.len());
    Ok((1.0 + tied * tied) / 2.0)
}

/// Mean of |a - b| / |a| over all pairs of labels, including each label with itself.
///
/// # Errors
/// [`Undefined`] without labels.
pub fn random_mape(labels: &[f64]) -> Result<f64, Undefined> {
    let mut labels = labels.to_vec();
    labels.sort_unstable_by(f64::total_cmp);
    let (count, total) = (float(labels.len()), labels.iter().sum::<f64>());
    let (mut below, mut sum) = (0.0, 0.0);
    for (index, label) in labels.iter().enumerate() {
        let above = total - below - label;
        let difference =
            label * float(index) - below + above - label * (count - float(index) - 1.0);
        below += label;
        // Rounding may give a small negative number if all are equal.
        let difference = difference.max(0.0);
        if difference > 0.0 {
            sum += difference / label.abs();
        }
    }
    match labels.is_empty() {
        true => Err(Undefined::NoRows),
        false => Ok(sum / count / count),
    }
}

/// Expected [`peak_at_k`](super::peak_at_k()) of a random order.
///
/// # Errors
/// [`Undefined`] for fewer than two labels, and for equal ones.
pub fn random_peak_at_k(labels: &[f64], k: usize) -> Result<f64, Undefined> {
    let mut labels = sort_distinct(labels)?;
    labels.reverse();
    let highest = labels.first().copied().filter(|label| *label > 0.0);
    let highest = highest.ok_or(Undefined::Label)?;
    let count = k.min(labels.len());
    let sum: f64 = (1..=count).map(|k| expected_min_of_k(&labels, k)).sum();
    Ok(sum / float(count) / highest)
}

/// Expected minimum of `k` costs drawn at random; `None` without costs.
pub fn random_min_cost_at_k(costs: &[f64], k: usize) -> Option<f64> {
    let mut costs = costs.to_vec();
    costs.sort_unstable_by(f64::total_cmp);
    (!costs.is_empty()).then(|| expected_min_of_k(&costs, k.min(costs.len())))
}

/// Expected first value in sorted order among `k` drawn values. The value at rank r is first in C(n - 1 - r, k - 1) of
/// C(n, k) draws.
fn expected_min_of_k(sorted: &[f64], k: usize) -> f64 {
    let mut probability = float(k) / float(sorted.len());
    let (mut mean, mut remaining) = (0.0, sorted.len());
    for value in sorted.iter().take(sorted.len() + 1 - k) {
        mean += probability * value;
        remaining -= 1;
        if remaining == 0 {
            break;
        }
        probability *= float(remaining + 1 - k) / float(remaining);
    }
    mean
}

/// Sorts the labels.
///
/// # Errors
/// [`Undefined`] for fewer than two labels, and for equal ones.
fn sort_distinct(labels: &[f64]) -> Result<Vec<f64>, Undefined> {
    let mut labels = labels.to_vec();
    labels.sort_unstable_by(f64::total_cmp);
    match labels.as_slice() {
        [] => Err(Undefined::NoRows),
        [_] => Err(Undefined::OneRow),
        [first, .., last] if nan_last(*first, *last).is_eq() => Err(Undefined::OneLabel),
        _ => Ok(labels),
    }
}
