//! Scores for tuning records: the tables of TenSet and TLP.

use tsql_metrics::throughput::{
    PEAKS, Program, TOPS, TaskScores, Variant, random_task_scores, task_scores,
};

use super::options::Scoring;
use super::report::Predictor;
use super::tasks::{Task, TaskRecord};
use super::unit::{
    LeftOut, MetricShare, PredictorShares, ScoreUnit, Shares, Transform, UnitMetric,
};

/// Metrics of a table, and its main metrics.
pub(super) struct MetricColumns {
    pub(super) metrics: Vec<UnitMetric>,
    pub(super) main: &'static [&'static str],
    /// Indices among all metrics.
    places: Vec<usize>,
}

const fn top_k_metric(name: &'static str) -> UnitMetric {
    UnitMetric {
        name,
        finish: Transform::Quotient,
        is_weighted: true,
    }
}

/// All metrics, in the order of [`shares`].
const METRICS: [UnitMetric; 4 + PEAKS.len() + TOPS.len()] = [
    UnitMetric {
        finish: Transform::Root,
        ..UnitMetric::mean("rmse")
    },
    UnitMetric::mean("r2"),
    UnitMetric::mean("pairwise_accuracy"),
    UnitMetric::mean("mape"),
    UnitMetric::mean("peak_at_1"),
    UnitMetric::mean("peak_at_5"),
    top_k_metric("top_1"),
    top_k_metric("top_5"),
    top_k_metric("top_10"),
    top_k_metric("top_20"),
];

impl MetricColumns {
    pub(super) fn for_scoring(scoring: Scoring) -> Self {
        let is_tlp = scoring == Scoring::Tlp;
        let chosen = METRICS.iter().enumerate();
        let chosen = chosen.filter(|(_, metric)| !is_tlp || metric.is_weighted);
        let (places, metrics) = chosen.map(|(place, metric)| (place, *metric)).unzip();
        let main: &[&str] = match is_tlp {
            true => &["top_1", "top_5"],
            false => &["pairwise_accuracy", "top_1"],
        };
        Self {
            metrics,
            main,
            places,
        }
    }

    fn shares(&self, scores: &TaskScores) -> Shares {
        let all = shares(scores);
        let places = self.places.iter();
        places
            .filter_map(|place| all.get(*place).cloned())
            .collect()
    }
}

/// Contribution of a task to each metric. It is weighted by the number of rows, and in a network by the task's latency.
fn shares(scores: &TaskScores) -> Vec<Result<MetricShare, LeftOut>> {
    #[expect(clippy::cast_precision_loss, reason = "rows in memory")]
    let rows = scores.rows as f64;
    let mut shares = vec![
        scores.rmse.map(|rmse| MetricShare::mean(rmse * rmse, rows)),
        scores.r2.map(|r2| MetricShare::mean(r2, rows)),
        scores
            .pairwise_accuracy
            .map(|one| MetricShare::mean(one, rows)),
        scores.mape.map(|mape| MetricShare::mean(mape, rows)),
    ];
    let peaks = scores.peaks.iter();
    shares.extend(peaks.map(|peak| peak.map(|peak| MetricShare::mean(peak, rows))));
    shares.extend(scores.tops_ns.iter().map(|top| {
        let (over, under) = (scores.best_ns?, (*top)?);
        Ok(MetricShare { over, under })
    }));
    let reasons = shares.into_iter();
    reasons.map(|share| share.map_err(LeftOut::from)).collect()
}

/// Scoring unit of a task.
pub(super) fn unit(
    task: &Task,
    columns: &MetricColumns,
    are_times: bool,
    variant: Variant,
) -> ScoreUnit {
    let programs = programs(&task.rows, are_times);
    let of = |predictor, scores: &TaskScores| PredictorShares {
        predictor,
        rows: scores.rows,
        shares: columns.shares(scores),
    };
    let ceiling =
        |timings: Vec<(f64, f64)>| task_scores(&repeat_programs(&timings), Variant::Valid);
    ScoreUnit {
        failed: task.failed_count(),
        missing: task.missing_count(),
        of: vec![
            of(Predictor::Predictions, &task_scores(&programs, variant)),
            of(Predictor::Random, &random_task_scores(&programs, variant)),
            of(Predictor::Repeats, &ceiling(task.repeats())),
            of(Predictor::Remeasured, &ceiling(task.measured_again())),
        ],
    }
}

/// Converts rows to programs. A predicted time becomes the label relative to the best measured time.
fn programs(rows: &[TaskRecord], are_times: bool) -> Vec<Program> {
    let runtimes = rows.iter().filter_map(TaskRecord::runtime_ns);
    let least = runtimes.fold(f64::INFINITY, f64::min);
    let label = |predicted: f64| match are_times {
        true => least / predicted,
        false => predicted,
    };
    let program = |(row, index): (&TaskRecord, u32)| Program {
        runtime_ns: row.runtime_ns(),
        prediction: row.prediction.map(label),
        index: f64::from(index),
    };
    rows.iter().zip(0..).map(program).collect()
}

/// Programs whose prediction is the first timing, to predict the mean of the others.
fn repeat_programs(timings: &[(f64, f64)]) -> Vec<Program> {
    let least = timings.iter().map(|(_, others)| *others);
    let least = least.fold(f64::INFINITY, f64::min);
    let program = |((first, others), index): (&(f64, f64), u32)| Program {
        runtime_ns: Some(*others),
        prediction: Some(least / first),
        index: f64::from(index),
    };
    timings.iter().zip(0..).map(program).collect()
}
