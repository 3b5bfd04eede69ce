//! `tenset_scores`: all scores of the predictions for one task, from runtimes.

use super::choice::{min_cost_at_k, peaks};
use super::error::{mape, r2, rmse};
use super::pairs::pairwise_accuracy;
use super::random::{
    random_mape, random_min_cost_at_k, random_pairwise_accuracy, random_peak_at_k,
};
use super::row::{INDEX, PREDICTION, PredictedRow, finite_count, float};
use super::undefined::Undefined;
use crate::metric::{Argument, Evaluation, Metric, OptionalNumbers, RowGroup, ValueKind};

/// Values of k for the peaks.
pub const PEAKS: [usize; 2] = [1, 5];

/// Values of k for the best of k.
pub const TOPS: [usize; 4] = [1, 5, 10, 20];

/// Cost of a failed program, in seconds.
const FAILED_COST_S: f32 = 1e10;

/// Minimum label: no program counts as more than 1e5 times slower than the best.
const MIN_LABEL: f64 = 1e-5;

const NS: f64 = 1e9;

const RUNTIME_NS: Argument = Argument::per_row(
    "runtime_ns",
    ValueKind::Number,
    "runtime of the program in nanoseconds; NULL if it failed",
);

const VARIANT: Argument = Argument::per_group(
    "variant",
    ValueKind::Text,
    "'tenset': a failed program costs 1e10 s; 'valid': it is left out [default: tenset]",
)
.optional();

pub(super) const SCORES: Metric = Metric {
    name: "tenset_scores",
    description: "Scores of the predictions for a task: numbers of rows and of failed rows, the errors and rankings of TenSet, the best runtime, and the best runtimes of the first 1, 5, 10 and 20 rows by prediction. The best runtime is of all rows, the other values are of rows with a prediction",
    arguments: &[RUNTIME_NS, PREDICTION, INDEX, VARIANT],
    example: "SELECT tenset_scores(runtime_ns, 1 / runtime_ns, line, 'valid') FROM records",
    source: "TenSet, `evaluate_model` in `scripts/train_model.py` and `eval_model_on_dataset.py`",
    gives: Evaluation::Numbers(NAMES, scores),
};

const NAMES: &[(&str, ValueKind)] = &[
    ("rows", ValueKind::Whole),
    ("failed", ValueKind::Whole),
    ("rmse", ValueKind::Number),
    ("r2", ValueKind::Number),
    ("mape", ValueKind::Number),
    ("pairwise_accuracy", ValueKind::Number),
    ("peak_at_1", ValueKind::Number),
    ("peak_at_5", ValueKind::Number),
    ("best_ns", ValueKind::Number),
    ("top_1_ns", ValueKind::Number),
    ("top_5_ns", ValueKind::Number),
    ("top_10_ns", ValueKind::Number),
    ("top_20_ns", ValueKind::Number),
];

/// Treatment of failed programs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Variant {
    /// They cost 1e10 s, as in TenSet and TLP.
    #[default]
    Tenset,
    /// They are ignored.
    Valid,
}

impl Variant {
    /// Name in SQL and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tenset => "tenset",
            Self::Valid => "valid",
        }
    }

    /// Finds a variant by its name.
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Tenset, Self::Valid]
            .into_iter()
            .find(|variant| variant.name() == name)
    }
}

/// A program of a task.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Program {
    /// Measured runtime in nanoseconds; `None` if it failed.
    pub runtime_ns: Option<f64>,
    /// Prediction: higher for a faster program; `None` if missing.
    pub prediction: Option<f64>,
    /// Position among the programs; NaN if unknown.
    pub index: f64,
}

/// Scores of the predictions for a task. A misleadingly good score is [`Undefined`].
#[derive(Clone, Debug, PartialEq)]
pub struct TaskScores {
    /// Number of programs with a prediction, without ignored ones.
    pub rows: u64,
    /// Number of failed programs, with or without a prediction.
    pub failed: u64,
    /// Root of the mean squared error of predicted labels.
    pub rmse: Result<f64, Undefined>,
    /// Coefficient of determination.
    pub r2: Result<f64, Undefined>,
    /// Mean of the relative errors.
    pub mape: Result<f64, Undefined>,
    /// Fraction of correctly ranked pairs.
    pub pairwise_accuracy: Result<f64, Undefined>,
    /// Peak at each k of [`PEAKS`].
    pub peaks: [Result<f64, Undefined>; PEAKS.len()],
    /// Runtime of the best program, in nanoseconds.
    pub best_ns: Result<f64, Undefined>,
    /// Runtime of the best of the first k by prediction, for each k of [`TOPS`], in nanoseconds.
    pub tops_ns: [Result<f64, Undefined>; TOPS.len()],
}

/// Returns the label of each program, and the minimum cost in seconds, both in single precision as upstream.
///
/// A label is `None` if the program is ignored. If every program of a task failed, all labels are `None`; upstream
/// labels all of them as best.
///
/// # Errors
/// [`Undefined::NoRows`] and [`Undefined::AllFailed`].
pub fn labels(
    runtimes_ns: impl ExactSizeIterator<Item = Option<f64>> + Clone,
    variant: Variant,
) -> Result<(Vec<Option<f64>>, f64), Undefined> {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "upstream's labels are of single precision"
    )]
    let cost = |runtime_ns: Option<f64>| match (runtime_ns, variant) {
        (Some(runtime_ns), _) => Some((runtime_ns / NS) as f32),
        (None, Variant::Tenset) => Some(FAILED_COST_S),
        (None, Variant::Valid) => None,
    };
    if runtimes_ns.len() == 0 {
        return Err(Undefined::NoRows);
    }
    if runtimes_ns.clone().all(|runtime_ns| runtime_ns.is_none()) {
        return Err(Undefined::AllFailed);
    }
    let costs = runtimes_ns.map(cost);
    let min_cost = costs.clone().flatten().fold(f32::INFINITY, f32::min);
    let labels = costs.map(|cost| Some(f64::from(min_cost / cost?)));
    Ok((labels.collect(), f64::from(min_cost)))
}

/// Runtime of a program with this label, in nanoseconds.
fn latency_ns(min_cost_s: f64, label: f64) -> f64 {
    min_cost_s / label.max(MIN_LABEL) * NS
}

/// Computes the scores of the predictions for the programs of a task.
pub fn task_scores(programs: &[Program], variant: Variant) -> TaskScores {
    let failed = programs
        .iter()
        .filter(|program| program.runtime_ns.is_none());
    let failed = failed.count() as u64;
    match labels(programs.iter().map(|program| program.runtime_ns), variant) {
        Err(reason) => TaskScores {
            failed,
            ..TaskScores::undefined(reason)
        },
        Ok((labels, min_cost_s)) => {
            let row = |(program, label): (&Program, &Option<f64>)| {
                Some(PredictedRow {
                    label: (*label)?,
                    prediction: program.prediction?,
                    index: program.index,
                })
            };
            let rows: Vec<PredictedRow> = programs.iter().zip(&labels).filter_map(row).collect();
            TaskScores {
                failed,
                ..TaskScores::from_rows(&rows, min_cost_s)
            }
        }
    }
}

/// Expected scores of a predictor that returns the labels of the programs with a prediction in random order.
pub fn random_task_scores(programs: &[Program], variant: Variant) -> TaskScores {
    let failed = programs.iter().filter(|one| one.runtime_ns.is_none());
    let failed = failed.count() as u64;
    let result = labels(programs.iter().map(|program| program.runtime_ns), variant);
    let (labels, min_cost_s) = match result {
        Ok(result) => result,
        Err(reason) => {
            return TaskScores {
                failed,
                ..TaskScores::undefined(reason)
            };
        }
    };
    let predicted = programs.iter().zip(labels);
    let predicted = predicted.filter(|(program, _)| program.prediction.is_some());
    let mut labels: Vec<f64> = predicted.filter_map(|(_, label)| label).collect();
    // Sorted once, so that later sorts are cheap.
    labels.sort_unstable_by(f64::total_cmp);
    if labels.iter().any(|label| !label.is_finite()) {
        return TaskScores::undefined(Undefined::Label);
    }
    // Each label is its own prediction, to find the undefined scores.
    let row = |label: &f64| PredictedRow {
        label: *label,
        prediction: *label,
        index: f64::NAN,
    };
    let rows: Vec<PredictedRow> = labels.iter().map(row).collect();
    let costs: Vec<f64> = labels
        .iter()
        .map(|label| latency_ns(min_cost_s, *label))
        .collect();
    TaskScores {
        rows: labels.len() as u64,
        failed,
        rmse: finite_count(&rows).map(|count| {
            let mean = labels.iter().sum::<f64>() / count;
            let squares = labels.iter().map(|label| (label - mean).powi(2));
            (2.0 * squares.sum::<f64>() / count).sqrt()
        }),
        r2: r2(&rows).map(|_| -1.0),
        mape: random_mape(&labels),
        pairwise_accuracy: random_pairwise_accuracy(&labels),
        peaks: PEAKS.map(|k| random_peak_at_k(&labels, k)),
        best_ns: Ok(min_cost_s * NS),
        tops_ns: TOPS.map(|k| random_min_cost_at_k(&costs, k).ok_or(Undefined::NoRows)),
    }
}

impl TaskScores {
    /// Scores of rows, where the best program takes `min_cost_s` seconds.
    fn from_rows(rows: &[PredictedRow], min_cost_s: f64) -> Self {
        let latency = |row: &PredictedRow| latency_ns(min_cost_s, row.label);
        let is_finite = finite_count(rows);
        let top = |min_ns: Option<f64>| {
            is_finite?;
            min_ns.ok_or(Undefined::NoRows)
        };
        Self {
            rows: rows.len() as u64,
            failed: 0,
            rmse: rmse(rows),
            r2: r2(rows),
            mape: mape(rows),
            pairwise_accuracy: pairwise_accuracy(rows),
            peaks: peaks(rows, PEAKS),
            best_ns: Ok(min_cost_s * NS),
            tops_ns: min_cost_at_k(rows, latency, TOPS).map(top),
        }
    }

    /// Scores that are all undefined for one reason.
    pub fn undefined(reason: Undefined) -> Self {
        Self {
            rows: 0,
            failed: 0,
            rmse: Err(reason),
            r2: Err(reason),
            mape: Err(reason),
            pairwise_accuracy: Err(reason),
            peaks: PEAKS.map(|_| Err(reason)),
            best_ns: Err(reason),
            tops_ns: TOPS.map(|_| Err(reason)),
        }
    }
}

fn scores(group: &RowGroup) -> Result<Option<OptionalNumbers>, String> {
    let variant = match group.text(VARIANT.name) {
        None => Variant::default(),
        Some(name) => Variant::from_name(name).ok_or_else(|| {
            format!("tenset_scores: no variant `{name}`, expected `tenset` or `valid`")
        })?,
    };
    let (predictions, indices) = (group.numbers(PREDICTION.name), group.numbers(INDEX.name));
    let runtimes = group.numbers(RUNTIME_NS.name).iter().enumerate();
    let programs = runtimes.map(|(position, runtime_ns)| Program {
        runtime_ns: *runtime_ns,
        prediction: predictions.get(position).copied().flatten(),
        index: indices.get(position).copied().flatten().unwrap_or(f64::NAN),
    });
    let programs: Vec<Program> = programs.collect();
    if programs.is_empty() {
        return Ok(None);
    }
    let result = task_scores(&programs, variant);
    let count = |count: u64| usize::try_from(count).ok().map(float);
    let mut numbers = vec![count(result.rows), count(result.failed)];
    let errors = [
        result.rmse,
        result.r2,
        result.mape,
        result.pairwise_accuracy,
    ];
    let scores = errors.into_iter().chain(result.peaks);
    let times = [result.best_ns].into_iter().chain(result.tops_ns);
    numbers.extend(scores.chain(times).map(Result::ok));
    Ok(Some(numbers))
}
