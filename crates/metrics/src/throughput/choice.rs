//! `recall_at_k` and `peak_at_k`: quality of the first k programs by prediction.

use super::row::{INDEX, K, LABEL, PREDICTION, PredictedRow, float, parse_k, rankable_count, rows};
use super::undefined::Undefined;
use crate::metric::{Evaluation, Metric, RowGroup};
use crate::ranking::agreement::{nan_last, sort_key};

pub(super) const RECALL: Metric = Metric {
    name: "recall_at_k",
    description: "Number of the k rows with the highest labels that are among the k with the highest predictions, over k, even with fewer rows. NULL for one row, for equal labels, and if a prediction is NaN or infinite",
    arguments: &[LABEL, PREDICTION, K, INDEX],
    example: "SELECT recall_at_k(label, prediction, 1) FROM (VALUES (1.0, 0.9), (0.5, 0.7)) AS t(label, prediction)",
    source: "TenSet, `metric_top_k_recall` in `cost_model/metric.py`",
    gives: Evaluation::Number(|group| metric_at_k(group, "recall_at_k", recall_at_k)),
};

pub(super) const PEAK: Metric = Metric {
    name: "peak_at_k",
    description: "Mean over the first k rows by prediction of the highest label so far, over the highest label of all. NULL for one row, for equal labels, and if a prediction is NaN or infinite",
    example: "SELECT peak_at_k(label, prediction, 1) FROM (VALUES (1.0, 0.9), (0.5, 0.7)) AS t(label, prediction)",
    source: "TenSet, `metric_peak_score` in `cost_model/metric.py`",
    gives: Evaluation::Number(|group| metric_at_k(group, "peak_at_k", peak_at_k)),
    ..RECALL
};

fn metric_at_k(
    group: &RowGroup,
    name: &str,
    function: fn(&[PredictedRow], usize) -> Result<f64, Undefined>,
) -> Result<Option<f64>, String> {
    let k = parse_k(group, name)?;
    Ok(k.and_then(|k| function(&rows(group), k).ok()))
}

/// Number of the `k` rows with the highest labels that are among the `k` with the highest predictions, over `k`.
///
/// Ties are broken by row order, earlier rows first. Remaining ties count as misses.
///
/// # Errors
/// [`Undefined`] without rows, for one row, for equal labels, and if a number is not finite.
pub fn recall_at_k(rows: &[PredictedRow], k: usize) -> Result<f64, Undefined> {
    rankable_count(rows)?;
    let mut order: Vec<&PredictedRow> = rows.iter().collect();
    let by_prediction = |a: &&PredictedRow, b: &&PredictedRow| {
        let first = nan_last(b.prediction, a.prediction).then(nan_last(a.index, b.index));
        first.then(nan_last(a.label, b.label))
    };
    order.sort_unstable_by(by_prediction);
    let is_selected = |rank: usize| rank < k;
    let mut best: Vec<(bool, &PredictedRow)> = order
        .into_iter()
        .enumerate()
        .map(|(rank, row)| (is_selected(rank), row))
        .collect();
    best.sort_unstable_by(|(a_selected, a), (b_selected, b)| {
        let first = nan_last(b.label, a.label).then(nan_last(a.index, b.index));
        first.then(a_selected.cmp(b_selected))
    });
    let hits = best
        .iter()
        .take(k)
        .filter(|(is_selected, _)| *is_selected)
        .count();
    Ok(float(hits) / float(k))
}

/// Mean, over the first `k` rows by prediction, of the highest label so far, over the highest label of all.
///
/// Ties of predictions are broken by row order, later rows first (upstream reverses a sorted list), then by the lower
/// label.
///
/// # Errors
/// [`Undefined`] without rows, for one row, for equal labels, and if a number is not finite.
pub fn peak_at_k(rows: &[PredictedRow], k: usize) -> Result<f64, Undefined> {
    let [peak] = peaks(rows, [k]);
    peak
}

/// [`peak_at_k`] for several k.
pub(super) fn peaks<const N: usize>(
    rows: &[PredictedRow],
    ks: [usize; N],
) -> [Result<f64, Undefined>; N] {
    let highest = rankable_count(rows).and_then(|_| {
        let highest = rows.iter().map(|row| row.label).reduce(f64::max);
        highest
            .filter(|highest| *highest > 0.0)
            .ok_or(Undefined::Label)
    });
    let highest = match highest {
        Ok(highest) => highest,
        Err(reason) => return ks.map(|_| Err(reason)),
    };
    let max_k = ks.into_iter().max().unwrap_or_default();
    let first = first_k(rows, max_k, |row| {
        [
            !sort_key(row.prediction),
            !sort_key(row.index),
            sort_key(row.label),
        ]
    });
    ks.map(|k| {
        let (mut peak, mut sum) = (f64::NEG_INFINITY, 0.0);
        for row in first.iter().take(k) {
            peak = peak.max(row.label);
            sum += peak;
        }
        Ok(sum / float(k.min(first.len())) / highest)
    })
}

/// Minimum `cost` of the first `k` rows by prediction, for each of several k. Ties of predictions are broken by row
/// order, earlier rows first, then by the higher cost. `None` without rows.
pub fn min_cost_at_k<const N: usize>(
    rows: &[PredictedRow],
    cost: impl Fn(&PredictedRow) -> f64,
    ks: [usize; N],
) -> [Option<f64>; N] {
    let max_k = ks.into_iter().max().unwrap_or_default();
    let first = first_k(rows, max_k, |row| {
        [
            !sort_key(row.prediction),
            sort_key(row.index),
            !sort_key(cost(row)),
        ]
    });
    ks.map(|k| first.iter().take(k).map(|row| cost(row)).reduce(f64::min))
}

/// Returns the first `k` rows by key, in order.
fn first_k(
    rows: &[PredictedRow],
    k: usize,
    key: impl Fn(&PredictedRow) -> [u64; 3],
) -> Vec<&PredictedRow> {
    let mut order: Vec<([u64; 3], &PredictedRow)> =
        rows.iter().map(|row| (key(row), row)).collect();
    if (1..order.len()).contains(&k) {
        order.select_nth_unstable_by_key(k - 1, |(key, _)| *key);
    }
    order.truncate(k);
    order.sort_unstable_by_key(|(key, _)| *key);
    order.into_iter().map(|(_, row)| row).collect()
}
