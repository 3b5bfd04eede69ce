//! `pairwise_accuracy`: the share of pairs that are ranked as they are, counted without looking at each.

use super::row::{INDEX, LABEL, PREDICTION, Row, rankable, rows};
use super::undefined::Undefined;
use crate::metric::{Gives, Metric};
use crate::ranking::Pair;
use crate::ranking::agreement::{agreement, exact, key, sort_counting};

pub(super) const ACCURACY: Metric = Metric {
    name: "pairwise_accuracy",
    description: "Share of the pairs that predictions rank as labels do. Of equal numbers the later row is the greater one, and without an index such a pair counts half. NULL of one row, of equal labels, and where a prediction is NaN or infinite. It differs from ordered_pair_accuracy, TpuGraphs' metric of runtimes, where numbers are equal: that one leaves out pairs of equal runtimes, and equal scores are wrong there",
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
    let mut order: Vec<(u64, &Row)> = rows.iter().map(|row| (key(by(row)), row)).collect();
    order.sort_unstable_by_key(|(by, _)| *by);
    let mut halves = 0;
    let runs = order.chunk_by(|a, b| a.0 == b.0);
    for run in runs.filter(|run| run.len() > 1) {
        let placed = run.iter().map(|(_, row)| (key(row.index), key(of(row))));
        let mut tied: Vec<(u64, u64)> = placed.collect();
        tied.sort_unstable();
        // Pairs of one index rise, and then they fall.
        halves += rising(tied.iter().map(|(_, of)| *of));
        let places = tied.chunk_by(|a, b| a.0 == b.0);
        halves += rising(places.flat_map(|place| place.iter().rev().map(|(_, of)| *of)));
    }
    halves
}

/// Pairs whose later number is the greater one.
fn rising(values: impl Iterator<Item = u64>) -> u64 {
    let mut turned: Vec<u64> = values.map(|value| !value).collect();
    sort_counting(&mut turned)
}
