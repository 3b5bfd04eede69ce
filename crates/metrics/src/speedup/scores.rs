//! S(t), ES(t), and one number for all t.

use super::sample::{
    B, INTERPRETATION, P, PASSES, SPEEDUP, STATUS, Sample, ScoreParams, T, geometric_mean, params,
    samples, tolerance,
};
use crate::metric::{Evaluation, Metric};

pub(super) const SCORE: Metric = Metric {
    name: "speedup_score",
    description: "S(t): geometric mean of the speedups, with b for a failure",
    arguments: &[SPEEDUP, PASSES, STATUS, T, P, B, INTERPRETATION],
    example: "SELECT speedup_score(speedup, arrow_cast(passes, 'Int32'), status, 0) FROM (VALUES (2.0, 1024, 'correct'), (NULL, 0, 'compile_fail')) AS t(speedup, passes, status)",
    source: "GraphNet paper; type `St` of `calculate_scores` in upstream's `analysis_util.py`",
    gives: Evaluation::Number(|group| {
        let params = params(group)?;
        Ok(speedup_score(&samples(group), tolerance(group), &params))
    }),
};

pub(super) const ERROR_AWARE: Metric = Metric {
    name: "error_aware_speedup_score",
    description: "ES(t): as S(t), but a tolerated failure counts 1 from t = 1 on",
    example: "SELECT error_aware_speedup_score(speedup, arrow_cast(passes, 'Int32'), status, 3) FROM (VALUES (2.0, 1024, 'correct'), (NULL, 0, 'compile_fail')) AS t(speedup, passes, status)",
    source: "GraphNet paper; type `ESt` of `calculate_scores` in upstream's `analysis_util.py`",
    gives: Evaluation::Number(|group| {
        let params = params(group)?;
        let (samples, t) = (samples(group), tolerance(group));
        Ok(error_aware_speedup_score(&samples, t, &params))
    }),
    ..SCORE
};

pub(super) const AGGREGATE: Metric = Metric {
    name: "aggregate_speedup_score",
    description: "Weighted mean of log10 ES(t) over t of -10 to 4",
    arguments: &[SPEEDUP, PASSES, STATUS, P, B, INTERPRETATION],
    example: "SELECT aggregate_speedup_score(speedup, arrow_cast(passes, 'Int32'), status) FROM (VALUES (2.0, 1024, 'correct'), (NULL, 0, 'compile_fail')) AS t(speedup, passes, status)",
    source: "upstream's `aggregate_es_scores.py`",
    gives: Evaluation::Number(|group| {
        let params = params(group)?;
        Ok(aggregate_speedup_score(&samples(group), &params))
    }),
};

/// S(t): geometric mean over all samples, where a slowdown has the exponent p + 1 and a failure counts as b. Returns
/// `None` without samples.
///
/// Source: `calculate_scores` in upstream's `analysis_util.py`, type `St`.
pub fn speedup_score(samples: &[Sample], t: i32, params: &ScoreParams) -> Option<f64> {
    geometric_mean(samples.iter().map(|sample| match sample.outcome(t) {
        Ok(speedup) => penalize_slowdown(speedup, params.p),
        Err(_) => params.b,
    }))
}

/// ES(t): equal to S(t) below t = 1. From 1 on a sample counts as at 1, but a failure that is tolerated at t counts as
/// 1 instead of b. Returns `None` without samples.
///
/// Source: `calculate_scores` in upstream's `analysis_util.py`, type `ESt`.
pub fn error_aware_speedup_score(samples: &[Sample], t: i32, params: &ScoreParams) -> Option<f64> {
    geometric_mean(samples.iter().map(|sample| match sample.outcome(t.min(1)) {
        Ok(speedup) => penalize_slowdown(speedup, params.p),
        Err(fail_type) => {
            let from = params.interpretation.tolerated_from(fail_type);
            if t >= 1 && from.is_some_and(|from| t >= from) {
                1.0
            } else {
                params.b
            }
        }
    }))
}

/// One number for a run: weighted mean of log10 ES(t) over t of -10 to 4. Returns `None` without samples, and -infinity
/// if a score is 0.
///
/// Source: `aggregate_es_scores.py`. Its weights stem from ES scores of NLP models on an A100 relative to an H20; a
/// later version returns 10 to the power of this number.
pub fn aggregate_speedup_score(samples: &[Sample], params: &ScoreParams) -> Option<f64> {
    let mut weights = 0.0;
    let mut sum = 0.0;
    for t in -10..=4 {
        let weight = match t {
            ..=-8 => 0.001,
            -7 => 0.13,
            -6 => 0.40,
            _ => 0.48,
        };
        weights += weight;
        sum += weight * error_aware_speedup_score(samples, t, params)?.log10();
    }
    Some(sum / weights)
}

/// Raises a slowdown to the power p + 1; returns a speedup unchanged.
fn penalize_slowdown(speedup: f64, p: f64) -> f64 {
    if speedup < 1.0 {
        speedup.powf(p + 1.0)
    } else {
        speedup
    }
}
