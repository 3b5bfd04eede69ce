//! `pairwise_accuracy`: the share of pairs that are ranked as they are, counted without looking at each.

use std::cmp::Ordering;

use super::row::{INDEX, LABEL, PREDICTION, Row, rankable, rows};
use super::undefined::Undefined;
use crate::metric::{Gives, Metric};
use crate::ranking::Pair;
use crate::ranking::agreement::{agreement, exact, nan_last, sort_counting};

pub(super) const ACCURACY: Metric = Metric {
    name: "pairwise_accuracy",
    description: "Share of the pairs that predictions rank as labels do. Of equal numbers the later row is the greater one, and without an index such a pair counts half. NULL of one row, of equal labels, and where a prediction is NaN or infinite",
    arguments: &[LABEL, PREDICTION, INDEX],
    example: "SELECT pairwise_accuracy(label, prediction) FROM (VALUES (1.0, 0.9), (0.5, 0.7)) AS t(label, prediction)",
    source: "TenSet, `metric_pairwise_comp_accuracy` in `cost_model/metric.py`, which gives 0.5 for one row",
    gives: Gives::Number(|group| Ok(pairwise_accuracy(&rows(group)).ok())),
};

/// Share of the pairs of rows, the earlier one first, of which `prediction > prediction` says the same as `label > label`.
///
/// So a pair with one kind of equal numbers is right if the later row is the greater one by the other kind; where the index of both is the same it
/// counts half, which is what it counts on average over orders. O(n log n).
///
/// # Errors
/// [`Undefined`] without rows, of one row, of equal labels, where a number is not finite.
pub fn pairwise_accuracy(rows: &[Row]) -> Result<f64, Undefined> {
    rankable(rows)?;
    let pair = |row: &Row| Pair {
        runtime: row.label,
        score: row.prediction,
    };
    let pairs: Vec<Pair> = rows.iter().map(pair).collect();
    let found = agreement(&pairs);
    let untied = found.pairs + found.both_ties - found.runtime_ties - found.score_ties;
    let right = untied - found.discordant + found.both_ties;
    let mut halves = 0;
    if found.score_ties > found.both_ties {
        halves += halves_rising(rows, |row| row.prediction, |row| row.label);
    }
    if found.runtime_ties > found.both_ties {
        halves += halves_rising(rows, |row| row.label, |row| row.prediction);
    }
    Ok((exact(right) + exact(halves) / 2.0) / exact(found.pairs))
}

/// Of the pairs that are equal by `by`: twice those whose later row is greater by `of`, and those of one index once.
fn halves_rising(rows: &[Row], by: fn(&Row) -> f64, of: fn(&Row) -> f64) -> u64 {
    let mut order: Vec<&Row> = rows.iter().collect();
    let before = |a: &&Row, b: &&Row| {
        let placed = nan_last(by(a), by(b)).then(nan_last(a.index, b.index));
        placed.then(nan_last(of(a), of(b)))
    };
    order.sort_unstable_by(before);
    let is_equal = |a: &&Row, b: &&Row| nan_last(by(a), by(b)) == Ordering::Equal;
    let mut halves = 0;
    for tied in order.chunk_by(is_equal).filter(|tied| tied.len() > 1) {
        // Pairs of one index rise, and then they fall.
        halves += rising(tied.iter().map(|row| of(row)));
        let places = tied.chunk_by(|a, b| nan_last(a.index, b.index).is_eq());
        halves += rising(places.flat_map(|place| place.iter().rev().map(|row| of(row))));
    }
    halves
}

/// Pairs whose later number is the greater one.
fn rising(values: impl Iterator<Item = f64>) -> u64 {
    let mut negative: Vec<f64> = values.map(|value| -value).collect();
    sort_counting(&mut negative)
}
