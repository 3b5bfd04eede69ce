//! The aggregated numbers, and the scores by the paper's formula.

use super::sample::{
    Sample, ScoreParams, geometric_mean, length_as_f64, params, samples, tolerance,
};
use super::scores::SCORE;
use super::tolerance::{FAILURES, FailureKind};
use crate::metric::{Evaluation, Metric, OptionalNumbers, RowGroup, ValueKind};

pub(super) const STATISTICS: Metric = Metric {
    name: "speedup_statistics",
    description: "alpha, beta, lambda, eta, gamma, the scores by the formula, and counts",
    example: "SELECT speedup_statistics(speedup, arrow_cast(passes, 'Int32'), status, 0) FROM (VALUES (2.0, 1024, 'correct'), (NULL, 0, 'compile_fail')) AS t(speedup, passes, status)",
    source: "GraphNet paper, appendices B and C; upstream's `samples_statistics.py`",
    gives: Evaluation::Numbers(NAMES, statistics),
    ..SCORE
};

/// Names and types of the statistics.
const NAMES: &[(&str, ValueKind)] = &[
    ("alpha", ValueKind::Number),
    ("beta", ValueKind::Number),
    ("lambda", ValueKind::Number),
    ("eta", ValueKind::Number),
    ("gamma", ValueKind::Number),
    ("s", ValueKind::Number),
    ("es", ValueKind::Number),
    ("correct", ValueKind::Whole),
    ("total", ValueKind::Whole),
    ("slowdowns", ValueKind::Whole),
];

/// The aggregated numbers at one level (GraphNet paper, Appendices B and C).
#[derive(Clone, Debug, PartialEq)]
pub struct Statistics {
    /// Geometric mean of the speedups of the correct samples; 1 if there are none.
    pub alpha: f64,
    /// Geometric mean of the speedups below 1 of the correct samples; 1 if there are none.
    pub beta: f64,
    /// Fraction of correct samples.
    pub lambda: f64,
    /// Fraction of slowdowns among the correct samples; 0 if there are none.
    pub eta: f64,
    /// Mean penalty of an error.
    pub gamma: f64,
    /// S(t) by the formula.
    pub s: f64,
    /// ES(t) by the formula.
    pub es: f64,
    /// Fraction of each kind of error among all errors, by upstream's number of the kind. Only kinds that occur; empty
    /// below t = 1. Names as in upstream's `get_error_type`.
    pub pi: Vec<(String, f64)>,
    /// Number of correct samples.
    pub correct: u64,
    /// Number of samples.
    pub total: u64,
    /// Number of correct samples with a speedup below 1.
    pub slowdowns: u64,
}

/// The aggregated numbers at level `t`. From t = 1 on all of them but gamma are those of t = 1. Returns `None` without
/// samples.
///
/// With the extended interpretation `es` differs from [`error_aware_speedup_score`](super::error_aware_speedup_score)
/// if eager runs failed: the aggregated form tolerates these from 3 on. From t = 2 on `s` differs from
/// [`speedup_score`](super::speedup_score) if a sample is correct at t but not at 1. Both are as upstream.
///
/// Source: `samples_statistics.py`; GraphNet paper, Appendices B and C.
pub fn speedup_statistics(samples: &[Sample], t: i32, params: &ScoreParams) -> Option<Statistics> {
    if samples.is_empty() {
        return None;
    }
    let mut speedups = Vec::new();
    let mut kinds = Vec::new();
    for sample in samples {
        match sample.outcome(t.min(1)) {
            Ok(speedup) => speedups.push(speedup),
            Err(fail_type) => kinds.push(params.interpretation.failure(fail_type)),
        }
    }
    let slowdowns: Vec<f64> = speedups
        .iter()
        .copied()
        .filter(|speedup| *speedup < 1.0)
        .collect();
    let (correct, total) = (length_as_f64(speedups.len()), length_as_f64(samples.len()));
    let errors = length_as_f64(kinds.len());
    let mut pi = Vec::new();
    let mut penalized = 0.0;
    if t >= 1 {
        for name in FAILURES {
            let same: Vec<&FailureKind> = kinds.iter().filter(|kind| kind.name == name).collect();
            let Some(kind) = same.first() else { continue };
            let fraction = length_as_f64(same.len()) / errors;
            if t < kind.tolerated_from {
                penalized += fraction;
            }
            pi.push((name.to_owned(), fraction));
        }
    }
    let alpha = geometric_mean(speedups.iter().copied()).unwrap_or(1.0);
    let beta = geometric_mean(slowdowns.iter().copied()).unwrap_or(1.0);
    let lambda = correct / total;
    let eta = if speedups.is_empty() {
        0.0
    } else {
        length_as_f64(slowdowns.len()) / correct
    };
    let gamma = if t < 1 {
        params.b
    } else {
        params.b.powf(penalized)
    };
    Some(Statistics {
        alpha,
        beta,
        lambda,
        eta,
        gamma,
        s: macro_speedup_score(alpha, beta, lambda, eta, params.p, params.b),
        es: macro_speedup_score(alpha, beta, lambda, eta, params.p, gamma),
        pi,
        correct: length_as_u64(speedups.len()),
        total: length_as_u64(samples.len()),
        slowdowns: length_as_u64(slowdowns.len()),
    })
}

/// alpha^lambda * beta^(lambda*eta*p) * penalty^(1-lambda): S(t) with b as the penalty, ES(t) with
/// gamma.
///
/// Source: GraphNet paper, Appendices B and C; `calculate_s_t_from_aggregated` and
/// `calculate_es_t_from_aggregated` in `samples_statistics.py`.
pub fn macro_speedup_score(
    alpha: f64,
    beta: f64,
    lambda: f64,
    eta: f64,
    p: f64,
    penalty: f64,
) -> f64 {
    alpha.powf(lambda) * beta.powf(lambda * eta * p) * penalty.powf(1.0 - lambda)
}

/// Values in the order of [`NAMES`].
fn statistics(group: &RowGroup) -> Result<Option<OptionalNumbers>, String> {
    let result = speedup_statistics(&samples(group), tolerance(group), &params(group)?);
    Ok(result.map(|result| {
        let numbers = [
            result.alpha,
            result.beta,
            result.lambda,
            result.eta,
            result.gamma,
            result.s,
            result.es,
            count_as_f64(result.correct),
            count_as_f64(result.total),
            count_as_f64(result.slowdowns),
        ];
        numbers.map(Some).to_vec()
    }))
}

#[expect(clippy::cast_precision_loss, reason = "a number of samples in memory")]
fn count_as_f64(count: u64) -> f64 {
    count as f64
}

fn length_as_u64(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}
