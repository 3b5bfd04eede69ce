//! GraphNet: the runs that predictions choose for each graph, scored as the paper scores runs.

use std::collections::HashMap;

use arrow::datatypes::{Float64Type, Int32Type, Int64Type};
use datafusion::prelude::SessionContext;
use tsql_metrics::speedup::{
    Params, Sample, aggregate_speedup_score, error_aware_speedup_score, speedup_score,
};

use super::report::Predictor;
use super::tasks::Task;
use super::unit::{Finish, LeftOut, Metric, Of, Share, Shares, Unit};
use crate::column;
use crate::error::Result;
use crate::query::collect;

/// A run of a log: its file and line.
type Place = (i64, i64);

const fn geometric(name: &'static str) -> Metric {
    Metric {
        name,
        finish: Finish::Exponential,
        is_weighted: false,
    }
}

/// Tolerances of ES(t), in the order of [`METRICS`].
const LEVELS: [i32; 4] = [-5, 0, 1, 3];

pub(super) const METRICS: [Metric; 2 + LEVELS.len()] = [
    geometric("s(0)"),
    geometric("es(-5)"),
    geometric("es(0)"),
    geometric("es(1)"),
    geometric("es(3)"),
    Metric::mean("aggregate"),
];

pub(super) const MAIN: &[&str] = &["es(0)", "aggregate"];

/// What upstream's analysis makes of each run.
pub(super) async fn samples(context: &SessionContext) -> Result<HashMap<Place, Sample>> {
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

/// The unit that a graph on a platform is.
pub(super) fn unit(graph: &Task, samples: &HashMap<Place, Sample>, are_times: bool) -> Unit {
    let higher = |prediction: f64| match are_times {
        true => -prediction,
        false => prediction,
    };
    let run = |row: &super::tasks::Timed| {
        let scores = scores(samples.get(&row.place())?)?;
        Some((higher(row.prediction?), scores))
    };
    let runs: Vec<(f64, Scores)> = graph.rows.iter().filter_map(run).collect();
    let rows = runs.len() as u64;
    let mut of = vec![Of {
        predictor: Predictor::Predictions,
        rows,
        shares: chosen(&runs),
    }];
    let mean = |of: &dyn Fn(usize) -> f64| {
        let values = (0..METRICS.len()).map(|metric| Ok(Share::mean(of(metric), 1.0)));
        choosable(&runs).map_or_else(|| values.collect(), without)
    };
    let values = |metric: usize| {
        runs.iter()
            .filter_map(move |(_, scores)| scores.get(metric))
    };
    let count = values(0).map(|_| 1.0).sum::<f64>();
    of.push(Of {
        predictor: Predictor::Random,
        rows,
        shares: mean(&|metric| values(metric).sum::<f64>() / count),
    });
    of.push(Of {
        predictor: Predictor::Best,
        rows,
        shares: mean(&|metric| values(metric).copied().fold(f64::NEG_INFINITY, f64::max)),
    });
    Unit {
        failed: graph.failed(),
        missing: graph.missing(),
        of,
    }
}

/// What a run counts, metric by metric: logarithms of scores, and their weighted mean.
type Scores = [f64; METRICS.len()];

fn scores(sample: &Sample) -> Option<Scores> {
    let (one, params) = (std::slice::from_ref(sample), Params::default());
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

/// Why nothing can be chosen, if so.
fn choosable(runs: &[(f64, Scores)]) -> Option<LeftOut> {
    match runs.len() {
        0 => Some(LeftOut::because("no row has a prediction")),
        1 => Some(LeftOut::because("one row")),
        _ => None,
    }
}

fn without(why: LeftOut) -> Shares {
    vec![Err(why); METRICS.len()]
}

/// The run of the highest prediction; of equal ones that of the lowest score.
fn chosen(runs: &[(f64, Scores)]) -> Shares {
    if runs.iter().any(|(prediction, _)| !prediction.is_finite()) {
        return without(LeftOut {
            spoils: true,
            ..LeftOut::because("a prediction is NaN or infinite")
        });
    }
    if let Some(why) = choosable(runs) {
        return without(why);
    }
    let highest = runs.iter().map(|(prediction, _)| *prediction);
    let highest = highest.fold(f64::NEG_INFINITY, f64::max);
    let best = runs.iter().filter(|(prediction, _)| *prediction >= highest);
    let of = |metric: usize| {
        let values = best.clone().filter_map(|(_, scores)| scores.get(metric));
        values.copied().fold(f64::INFINITY, f64::min)
    };
    (0..METRICS.len())
        .map(|metric| Ok(Share::mean(of(metric), 1.0)))
        .collect()
}
