//! TpuGraphs: how the configurations of each file are ranked, and Kaggle's score.

use tsql_metrics::ranking::{
    Pair, TILE_K, kendall_tau_b, ordered_pair_accuracy, tile_score, top_k_error,
};
use tsql_metrics::throughput::random_least_of_k;

use super::report::Predictor;
use super::tasks::{Task, Timed};
use super::unit::{LeftOut, Metric, Of, Share, Shares, Unit};

/// Collections that Kaggle's score is the mean of.
pub(super) const COLLECTIONS: usize = 5;

/// The collection whose runtimes are relative to a default.
const TILE: &str = "tile:xla";

/// Each k that the best of k is told of.
const TOPS: [usize; 4] = [1, 5, 10, 100];

pub(super) const METRICS: [Metric; 3 + TOPS.len()] = [
    Metric::mean("kaggle"),
    Metric::mean("kendall_tau_b"),
    Metric::mean("ordered_pair_accuracy"),
    Metric::mean("top_1_error"),
    Metric::mean("top_5_error"),
    Metric::mean("top_10_error"),
    Metric::mean("top_100_error"),
];

pub(super) const MAIN: &[&str] = &["kaggle"];

/// The unit that a file is.
pub(super) fn unit(file: &Task, collection: &str, are_times: bool) -> Unit {
    let is_tile = collection == TILE;
    let time = match is_tile {
        true => Timed::relative,
        false => Timed::runtime_ns,
    };
    let score = |prediction: f64| match are_times {
        true => prediction,
        false => -prediction,
    };
    let pair = |row: &Timed| {
        Some(Pair {
            runtime: time(row)?,
            score: score(row.prediction?),
        })
    };
    let pairs: Vec<Pair> = file.rows.iter().filter_map(pair).collect();
    let best = file.rows.iter().filter_map(time).reduce(f64::min);
    let again = file.again(time);
    let others = again.iter().map(|(_, others)| *others);
    let best_again = others.reduce(f64::min);
    let again: Vec<Pair> = again
        .into_iter()
        .map(|(score, runtime)| Pair { runtime, score })
        .collect();
    let of = |predictor, pairs: &[Pair], shares| Of {
        predictor,
        rows: pairs.len() as u64,
        shares,
    };
    Unit {
        failed: file.failed(),
        missing: file.missing(),
        of: vec![
            of(
                Predictor::Predictions,
                &pairs,
                ranked(&pairs, best, is_tile),
            ),
            of(Predictor::Random, &pairs, random(&pairs, best, is_tile)),
            of(
                Predictor::Remeasured,
                &again,
                ranked(&again, best_again, is_tile),
            ),
        ],
    }
}

/// Why pairs cannot be ranked, if they cannot.
fn unrankable(pairs: &[Pair]) -> Option<LeftOut> {
    let spoiled = |reason: &str| LeftOut {
        spoils: true,
        ..LeftOut::because(reason)
    };
    let first = pairs.first()?;
    if pairs.iter().any(|pair| !pair.score.is_finite()) {
        return Some(spoiled("a prediction is NaN or infinite"));
    }
    if pairs.len() == 1 {
        return Some(LeftOut::because("one row"));
    }
    let is_one = |of: fn(&Pair) -> f64| {
        pairs
            .iter()
            .all(|pair| of(pair) <= of(first) && of(pair) >= of(first))
    };
    if is_one(|pair| pair.runtime) {
        return Some(LeftOut::because("all runtimes are equal"));
    }
    is_one(|pair| pair.score).then(|| spoiled("all predictions are equal"))
}

fn ranked(pairs: &[Pair], best: Option<f64>, is_tile: bool) -> Shares {
    if let Some(why) = unrankable(pairs) {
        return vec![Err(why); METRICS.len()];
    }
    let tau = kendall_tau_b(pairs);
    let kaggle = match is_tile {
        true => tile_score(best, pairs),
        false => tau,
    };
    let mut values = vec![kaggle, tau, ordered_pair_accuracy(pairs)];
    values.extend(TOPS.map(|k| top_k_error(best, pairs, k)));
    shares(values)
}

/// What an order drawn at random has on average: no correlation, half of the pairs, the least of k that are drawn.
fn random(pairs: &[Pair], best: Option<f64>, is_tile: bool) -> Shares {
    let is_one = |why: &LeftOut| !why.spoils;
    if let Some(why) = unrankable(pairs).filter(is_one) {
        return vec![Err(why); METRICS.len()];
    }
    let runtimes: Vec<f64> = pairs.iter().map(|pair| pair.runtime).collect();
    let error = |k| Some(random_least_of_k(&runtimes, k)? / best? - 1.0);
    let kaggle = match is_tile {
        true => error(TILE_K).map(|error| 1.0 - error),
        false => Some(0.0),
    };
    let mut values = vec![kaggle, Some(0.0), Some(0.5)];
    values.extend(TOPS.map(error));
    match pairs.is_empty() {
        true => shares(vec![None; METRICS.len()]),
        false => shares(values),
    }
}

/// Each file counts the same.
fn shares(values: Vec<Option<f64>>) -> Shares {
    let share = |value: Option<f64>| {
        let value = value.filter(|value| value.is_finite());
        let share = value.map(|value| Share::mean(value, 1.0));
        share.ok_or_else(|| LeftOut::because("no row has a prediction"))
    };
    values.into_iter().map(share).collect()
}
