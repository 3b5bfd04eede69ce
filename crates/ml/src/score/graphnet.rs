//! Scores for GraphNet: runs are selected by prediction for each graph, and scored as in the paper.

use std::collections::HashMap;

use arrow::datatypes::{Float64Type, Int32Type, Int64Type};
use datafusion::prelude::SessionContext;
use tsql_dialect::collect;
use tsql_error::Result;
use tsql_metrics::speedup::{
    Sample, ScoreParams, aggregate_speedup_score, error_aware_speedup_score, speedup_score,
};
use tsql_schema::column;

use super::report::Predictor;
use super::tasks::Task;
use super::unit::{
    LeftOut, MetricShare, PredictorShares, ScoreUnit, Shares, Transform, UnitMetric,
};

/// Location of a run: file and line of its log.
type RunLocation = (i64, i64);

const fn geometric_metric(name: &'static str) -> UnitMetric {
    UnitMetric {
        name,
        finish: Transform::Exponential,
        is_weighted: false,
    }
}

/// Tolerances of ES(t), in the order of [`METRICS`].
const LEVELS: [i32; 4] = [-5, 0, 1, 3];

pub(super) const METRICS: [UnitMetric; 2 + LEVELS.len()] = [
    geometric_metric("s(0)"),
    geometric_metric("es(-5)"),
    geometric_metric("es(0)"),
    geometric_metric("es(1)"),
    geometric_metric("es(3)"),
    UnitMetric::mean("aggregate"),
];

pub(super) const MAIN: &[&str] = &["es(0)", "aggregate"];

/// Reads the samples of all runs, as upstream's analysis defines them.
pub(super) async fn samples(context: &SessionContext) -> Result<HashMap<RunLocation, Sample>> {
    let sql = "SELECT source_id, line, speedup, passes, arrow_cast(upstream_status, 'Utf8View') AS status FROM runs";
    let mut samples = HashMap::new();
    for batch in collect(context, sql).await? {
        let sources = column::numbers::<Int64Type>(&batch, "source_id")?;
        let lines = column::numbers::<Int64Type>(&batch, "line")?;
        let speedups = column::numbers::<Float64Type>(&batch, "speedup")?;
        let passes = column::numbers::<Int32Type>(&batch, "passes")?;
        let statuses = column::text(&batch, "status")?;
        for row in 0..batch.num_rows() {
            let sample = Sample {
                speedup: column::value(speedups, row),
                passes: passes.value(row).cast_unsigned(),
                status: statuses.value(row).to_owned(),
            };
            samples.insert((sources.value(row), lines.value(row)), sample);
        }
    }
    Ok(samples)
}

/// Scoring unit of a graph on a platform.
pub(super) fn unit(
    graph: &Task,
    samples: &HashMap<RunLocation, Sample>,
    are_times: bool,
) -> ScoreUnit {
    let higher = |prediction: f64| match are_times {
        true => -prediction,
        false => prediction,
    };
    let run = |row: &super::tasks::TaskRecord| {
        let scores = scores(samples.get(&row.location())?)?;
        Some((higher(row.prediction?), scores))
    };
    let runs: Vec<(f64, Scores)> = graph.rows.iter().filter_map(run).collect();
    let rows = runs.len() as u64;
    let mut of = vec![PredictorShares {
        predictor: Predictor::Predictions,
        rows,
        shares: best_prediction_shares(&runs),
    }];
    let mean = |of: &dyn Fn(usize) -> f64| {
        let values = (0..METRICS.len()).map(|metric| Ok(MetricShare::mean(of(metric), 1.0)));
        check_choosable(&runs).map_or_else(|| values.collect(), undefined_shares)
    };
    let values = |metric: usize| {
        runs.iter()
            .filter_map(move |(_, scores)| scores.get(metric))
    };
    let count = values(0).map(|_| 1.0).sum::<f64>();
    of.push(PredictorShares {
        predictor: Predictor::Random,
        rows,
        shares: mean(&|metric| values(metric).sum::<f64>() / count),
    });
    of.push(PredictorShares {
        predictor: Predictor::Best,
        rows,
        shares: mean(&|metric| values(metric).copied().fold(f64::NEG_INFINITY, f64::max)),
    });
    ScoreUnit {
        failed: graph.failed_count(),
        missing: graph.missing_count(),
        of,
    }
}

/// Contribution of a run to each metric: logarithms of scores, and their weighted mean.
type Scores = [f64; METRICS.len()];

fn scores(sample: &Sample) -> Option<Scores> {
    let (one, params) = (std::slice::from_ref(sample), ScoreParams::default());
    let es = |t| error_aware_speedup_score(one, t, &params).map(f64::ln);
    let [first, second, third, fourth] = LEVELS;
    Some([
        speedup_score(one, 0, &params)?.ln(),
        es(first)?,
        es(second)?,
        es(third)?,
        es(fourth)?,
        aggregate_speedup_score(one, &params)?,
    ])
}

/// Reason why no run can be chosen, if any.
fn check_choosable(runs: &[(f64, Scores)]) -> Option<LeftOut> {
    match runs.len() {
        0 => Some(LeftOut::because("no row has a prediction")),
        1 => Some(LeftOut::because("one row")),
        _ => None,
    }
}

fn undefined_shares(why: LeftOut) -> Shares {
    vec![Err(why); METRICS.len()]
}

/// Shares of the run with the highest prediction; ties are broken by the lowest score.
fn best_prediction_shares(runs: &[(f64, Scores)]) -> Shares {
    if runs.iter().any(|(prediction, _)| !prediction.is_finite()) {
        return undefined_shares(LeftOut {
            spoils: true,
            ..LeftOut::because("a prediction is NaN or infinite")
        });
    }
    if let Some(why) = check_choosable(runs) {
        return undefined_shares(why);
    }
    let highest = runs.iter().map(|(prediction, _)| *prediction);
    let highest = highest.fold(f64::NEG_INFINITY, f64::max);
    let best = runs.iter().filter(|(prediction, _)| *prediction >= highest);
    let of = |metric: usize| {
        let values = best.clone().filter_map(|(_, scores)| scores.get(metric));
        values.copied().fold(f64::INFINITY, f64::min)
    };
    (0..METRICS.len())
        .map(|metric| Ok(MetricShare::mean(of(metric), 1.0)))
        .collect()
}
