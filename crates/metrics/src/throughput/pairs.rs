//! `pairwise_accuracy`: the fraction of pairs that predictions rank correctly, without enumerating pairs.

use super::row::{INDEX, LABEL, PREDICTION, PredictedRow, rankable_count, rows};
use super::undefined::Undefined;
use crate::metric::{Evaluation, Metric};
use crate::ranking::ScoredConfig;
use crate::ranking::agreement::{count_as_f64, count_pairs, sort_and_count_inversions, sort_key};

pub(super) const ACCURACY: Metric = Metric {
    name: "pairwise_accuracy",
    description: "Fraction of the pairs that predictions rank as labels do. The later row counts as greater among equal numbers, and without an index such a pair counts half. NULL for one row, for equal labels, and if a prediction is NaN or infinite. ordered_pair_accuracy, TpuGraphs' metric of runtimes, treats equal numbers differently: it leaves out pairs of equal runtimes, and equal scores are wrong",
    arguments: &[LABEL, PREDICTION, INDEX],
    example: "SELECT pairwise_accuracy(label, prediction) FROM (VALUES (1.0, 0.9), (0.5, 0.7)) AS t(label, prediction)",
    source: "TenSet, `metric_pairwise_comp_accuracy` in `cost_model/metric.py`, which gives 0.5 for one row",
    gives: Evaluation::Number(|group| Ok(pairwise_accuracy(&rows(group)).ok())),
};

/// Fraction of the pairs of rows, the earlier row first, for which `prediction > prediction` equals `label > label`.
///
/// A pair that is tied in one of the two is correct if the later row is greater in the other. If both rows have the
/// same index, the pair counts half, its mean over both orders. O(n log n).
///
/// # Errors
/// [`Undefined`] without rows, for one row, for equal labels, and if a number is not finite.
pub fn pairwise_accuracy(rows: &[PredictedRow]) -> Result<f64, Undefined> {
    rankable_count(rows)?;
    let pair = |row: &PredictedRow| ScoredConfig {
        runtime: row.label,
        score: row.prediction,
    };
    let pairs: Vec<ScoredConfig> = rows.iter().map(pair).collect();
    let counts = count_pairs(&pairs);
    let untied = counts.pairs + counts.both_ties - counts.runtime_ties - counts.score_ties;
    let correct = untied - counts.discordant + counts.both_ties;
    let mut halves = 0;
    if counts.score_ties > counts.both_ties {
        halves += tied_pair_halves(rows, |row| row.prediction, |row| row.label);
    }
    if counts.runtime_ties > counts.both_ties {
        halves += tied_pair_halves(rows, |row| row.label, |row| row.prediction);
    }
    Ok((count_as_f64(correct) + count_as_f64(halves) / 2.0) / count_as_f64(counts.pairs))
}

/// Counts half points among the pairs tied by `by`: two for each pair whose later row is greater by `value`, one for
/// each pair with equal indices.
fn tied_pair_halves(
    rows: &[PredictedRow],
    by: fn(&PredictedRow) -> f64,
    value: fn(&PredictedRow) -> f64,
) -> u64 {
    let mut order: Vec<(u64, &PredictedRow)> =
        rows.iter().map(|row| (sort_key(by(row)), row)).collect();
    order.sort_unstable_by_key(|(key, _)| *key);
    let mut halves = 0;
    let runs = order.chunk_by(|a, b| a.0 == b.0);
    for run in runs.filter(|run| run.len() > 1) {
        let keys = run
            .iter()
            .map(|(_, row)| (sort_key(row.index), sort_key(value(row))));
        let mut tied: Vec<(u64, u64)> = keys.collect();
        tied.sort_unstable();
        // Pairs with equal indices are counted once rising and once falling.
        halves += count_rising_pairs(tied.iter().map(|(_, value)| *value));
        let groups = tied.chunk_by(|a, b| a.0 == b.0);
        halves += count_rising_pairs(
            groups.flat_map(|group| group.iter().rev().map(|(_, value)| *value)),
        );
    }
    halves
}

/// Number of pairs whose later number is greater.
fn count_rising_pairs(values: impl Iterator<Item = u64>) -> u64 {
    let mut inverted: Vec<u64> = values.map(|value| !value).collect();
    sort_and_count_inversions(&mut inverted)
}
