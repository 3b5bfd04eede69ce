//! Scores for TpuGraphs: rankings of the configurations of each file, and Kaggle's score.

use tsql_metrics::ranking::{
    ScoredConfig, TILE_K, kendall_tau_b, ordered_pair_accuracy, tile_score, top_k_error,
};
use tsql_metrics::throughput::random_min_cost_at_k;

use super::report::Predictor;
use super::tasks::{Task, TaskRecord};
use super::unit::{LeftOut, MetricShare, PredictorShares, ScoreUnit, Shares, UnitMetric};

/// Number of collections in the mean of Kaggle's score.
pub(super) const COLLECTIONS: usize = 5;

/// Collection whose runtimes are relative to a default.
const TILE: &str = "tile:xla";

/// Values of k for the best of k.
const TOPS: [usize; 4] = [1, 5, 10, 100];

pub(super) const METRICS: [UnitMetric; 3 + TOPS.len()] = [
    UnitMetric::mean("kaggle"),
    UnitMetric::mean("kendall_tau_b"),
    UnitMetric::mean("ordered_pair_accuracy"),
    UnitMetric::mean("top_1_error"),
    UnitMetric::mean("top_5_error"),
    UnitMetric::mean("top_10_error"),
    UnitMetric::mean("top_100_error"),
];

pub(super) const MAIN: &[&str] = &["kaggle"];

/// Scoring unit of a file.
pub(super) fn unit(file: &Task, collection: &str, are_times: bool) -> ScoreUnit {
    let is_tile = collection == TILE;
    let time = match is_tile {
        true => TaskRecord::relative,
        false => TaskRecord::runtime_ns,
    };
    let score = |prediction: f64| match are_times {
        true => prediction,
        false => -prediction,
    };
    let pair = |row: &TaskRecord| {
        Some(ScoredConfig {
            runtime: time(row)?,
            score: score(row.prediction?),
        })
    };
    let pairs: Vec<ScoredConfig> = file.rows.iter().filter_map(pair).collect();
    let best = file.rows.iter().filter_map(time).reduce(f64::min);
    let again = file.repeated_times(time);
    let others = again.iter().map(|(_, others)| *others);
    let best_again = others.reduce(f64::min);
    let again: Vec<ScoredConfig> = again
        .into_iter()
        .map(|(score, runtime)| ScoredConfig { runtime, score })
        .collect();
    let of = |predictor, pairs: &[ScoredConfig], shares| PredictorShares {
        predictor,
        rows: pairs.len() as u64,
        shares,
    };
    ScoreUnit {
        failed: file.failed_count(),
        missing: file.missing_count(),
        of: vec![
            of(
                Predictor::Predictions,
                &pairs,
                ranking_shares(&pairs, best, is_tile),
            ),
            of(
                Predictor::Random,
                &pairs,
                random_shares(&pairs, best, is_tile),
            ),
            of(
                Predictor::Remeasured,
                &again,
                ranking_shares(&again, best_again, is_tile),
            ),
        ],
    }
}

/// Reason why pairs cannot be ranked, if any.
fn unrankable(pairs: &[ScoredConfig]) -> Option<LeftOut> {
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
    let is_one = |of: fn(&ScoredConfig) -> f64| {
        pairs
            .iter()
            .all(|pair| of(pair) <= of(first) && of(pair) >= of(first))
    };
    if is_one(|pair| pair.runtime) {
        return Some(LeftOut::because("all runtimes are equal"));
    }
    is_one(|pair| pair.score).then(|| spoiled("all predictions are equal"))
}

fn ranking_shares(pairs: &[ScoredConfig], best: Option<f64>, is_tile: bool) -> Shares {
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
    equal_weight_shares(values)
}

/// Expected values of a random order: no correlation, half of the pairs, the expected minimum of k draws.
fn random_shares(pairs: &[ScoredConfig], best: Option<f64>, is_tile: bool) -> Shares {
    let is_one = |why: &LeftOut| !why.spoils;
    if let Some(why) = unrankable(pairs).filter(is_one) {
        return vec![Err(why); METRICS.len()];
    }
    let runtimes: Vec<f64> = pairs.iter().map(|pair| pair.runtime).collect();
    let error = |k| Some(random_min_cost_at_k(&runtimes, k)? / best? - 1.0);
    let kaggle = match is_tile {
        true => error(TILE_K).map(|error| 1.0 - error),
        false => Some(0.0),
    };
    let mut values = vec![kaggle, Some(0.0), Some(0.5)];
    values.extend(TOPS.map(error));
    match pairs.is_empty() {
        true => equal_weight_shares(vec![None; METRICS.len()]),
        false => equal_weight_shares(values),
    }
}

/// Each file has the same weight.
fn equal_weight_shares(values: Vec<Option<f64>>) -> Shares {
    let share = |value: Option<f64>| {
        let value = value.filter(|value| value.is_finite());
        let share = value.map(|value| MetricShare::mean(value, 1.0));
        share.ok_or_else(|| LeftOut::because("no row has a prediction"))
    };
    values.into_iter().map(share).collect()
}
