//! Tuning records: the tables of TenSet and TLP.

use tsql_metrics::throughput::{
    PEAKS, Program, TOPS, TaskScores, Variant, random_task_scores, task_scores,
};

use super::options::Scoring;
use super::report::Predictor;
use super::tasks::{Task, Timed};
use super::unit::{Finish, LeftOut, Metric, Of, Share, Shares, Unit};

/// The metrics that a table has, and those of them that say most.
pub(super) struct Columns {
    pub(super) metrics: Vec<Metric>,
    pub(super) main: &'static [&'static str],
    /// Their places among all.
    places: Vec<usize>,
}

const fn top(name: &'static str) -> Metric {
    Metric {
        name,
        finish: Finish::Quotient,
        is_weighted: true,
    }
}

/// All metrics, as [`shares`] has them.
const METRICS: [Metric; 4 + PEAKS.len() + TOPS.len()] = [
    Metric {
        finish: Finish::Root,
        ..Metric::mean("rmse")
    },
    Metric::mean("r2"),
    Metric::mean("pairwise_accuracy"),
    Metric::mean("mape"),
    Metric::mean("peak_at_1"),
    Metric::mean("peak_at_5"),
    top("top_1"),
    top("top_5"),
    top("top_10"),
    top("top_20"),
];

impl Columns {
    pub(super) fn of(scoring: Scoring) -> Self {
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

/// What a task adds to each metric: it counts as often as it has rows, and in a network as much as its latency.
fn shares(scores: &TaskScores) -> Vec<Result<Share, LeftOut>> {
    #[expect(clippy::cast_precision_loss, reason = "rows that are in memory")]
    let rows = scores.rows as f64;
    let mut shares = vec![
        scores.rmse.map(|rmse| Share::mean(rmse * rmse, rows)),
        scores.r2.map(|r2| Share::mean(r2, rows)),
        scores.pairwise_accuracy.map(|one| Share::mean(one, rows)),
        scores.mape.map(|mape| Share::mean(mape, rows)),
    ];
    let peaks = scores.peaks.iter();
    shares.extend(peaks.map(|peak| peak.map(|peak| Share::mean(peak, rows))));
    shares.extend(scores.tops_ns.iter().map(|top| {
        let (over, under) = (scores.best_ns?, (*top)?);
        Ok(Share { over, under })
    }));
    let reasons = shares.into_iter();
    reasons.map(|share| share.map_err(LeftOut::from)).collect()
}

/// The unit that a task is.
pub(super) fn unit(task: &Task, columns: &Columns, are_times: bool, variant: Variant) -> Unit {
    let programs = programs(&task.rows, are_times);
    let of = |predictor, scores: &TaskScores| Of {
        predictor,
        rows: scores.rows,
        shares: columns.shares(scores),
    };
    let ceiling = |timings: Vec<(f64, f64)>| task_scores(&again(&timings), Variant::Valid);
    Unit {
        failed: task.failed(),
        missing: task.missing(),
        of: vec![
            of(Predictor::Predictions, &task_scores(&programs, variant)),
            of(Predictor::Random, &random_task_scores(&programs, variant)),
            of(Predictor::Repeats, &ceiling(task.repeats())),
            of(Predictor::Remeasured, &ceiling(task.measured_again())),
        ],
    }
}

/// Rows as programs; a predicted time becomes the label that it would be beside the best that was measured.
fn programs(rows: &[Timed], are_times: bool) -> Vec<Program> {
    let runtimes = rows.iter().filter_map(Timed::runtime_ns);
    let least = runtimes.fold(f64::INFINITY, f64::min);
    let label = |predicted: f64| match are_times {
        true => least / predicted,
        false => predicted,
    };
    let program = |(row, index): (&Timed, u32)| Program {
        runtime_ns: row.runtime_ns(),
        prediction: row.prediction.map(label),
        index: f64::from(index),
    };
    rows.iter().zip(0..).map(program).collect()
}

/// First timings as predictions of the mean of the others.
fn again(timings: &[(f64, f64)]) -> Vec<Program> {
    let least = timings.iter().map(|(_, others)| *others);
    let least = least.fold(f64::INFINITY, f64::min);
    let program = |((first, others), index): (&(f64, f64), u32)| Program {
        runtime_ns: Some(*others),
        prediction: Some(least / first),
        index: f64::from(index),
    };
    timings.iter().zip(0..).map(program).collect()
}
