//! `tenset_scores`: everything that is said of the predictions for one task, from runtimes.

use super::choice::{least_of_k, peaks};
use super::error::{mape, r2, rmse};
use super::pairs::pairwise_accuracy;
use super::random::{random_least_of_k, random_mape, random_pairwise_accuracy, random_peak_at_k};
use super::row::{INDEX, PREDICTION, Row, finite, float};
use super::undefined::Undefined;
use crate::metric::{Argument, Gives, Group, Kind, Metric, Several};

/// Each k that peaks are told of.
pub const PEAKS: [usize; 2] = [1, 5];

/// Each k that the best of k is told of.
pub const TOPS: [usize; 4] = [1, 5, 10, 20];

/// What a failed program costs, in seconds.
const FAILED_COST_S: f32 = 1e10;

/// No program counts as more than 1e5 times as slow as the best.
const LEAST_LABEL: f64 = 1e-5;

const NS: f64 = 1e9;

const RUNTIME_NS: Argument = Argument::of_row(
    "runtime_ns",
    Kind::Number,
    "what the program took, in nanoseconds; NULL where it failed",
);

const VARIANT: Argument = Argument::of_group(
    "variant",
    Kind::Text,
    "'tenset': a failed program costs 1e10 s; 'valid': it is left out [default: tenset]",
)
.optional();

pub(super) const SCORES: Metric = Metric {
    name: "tenset_scores",
    description: "Of the predictions for a task: rows, those of them that failed, the errors and rankings of TenSet, the best runtime and that of the best of the first 1, 5, 10 and 20 by prediction. The best is that of all rows, the others are of those with a prediction",
    arguments: &[RUNTIME_NS, PREDICTION, INDEX, VARIANT],
    example: "SELECT tenset_scores(runtime_ns, 1 / runtime_ns, line, 'valid') FROM records",
    source: "TenSet, `evaluate_model` in `scripts/train_model.py` and `eval_model_on_dataset.py`",
    gives: Gives::Numbers(NAMES, scores),
};

const NAMES: &[(&str, Kind)] = &[
    ("rows", Kind::Whole),
    ("failed", Kind::Whole),
    ("rmse", Kind::Number),
    ("r2", Kind::Number),
    ("mape", Kind::Number),
    ("pairwise_accuracy", Kind::Number),
    ("peak_at_1", Kind::Number),
    ("peak_at_5", Kind::Number),
    ("best_ns", Kind::Number),
    ("top_1_ns", Kind::Number),
    ("top_5_ns", Kind::Number),
    ("top_10_ns", Kind::Number),
    ("top_20_ns", Kind::Number),
];

/// What becomes of failed programs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Variant {
    /// They cost 1e10 s, as in TenSet and TLP.
    #[default]
    Tenset,
    /// They are left out.
    Valid,
}

impl Variant {
    /// Its name in SQL and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tenset => "tenset",
            Self::Valid => "valid",
        }
    }

    /// The variant of this name.
    pub fn of(name: &str) -> Option<Self> {
        [Self::Tenset, Self::Valid]
            .into_iter()
            .find(|one| one.name() == name)
    }
}

/// A program of a task.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Program {
    /// What it took in nanoseconds; `None` where it failed.
    pub runtime_ns: Option<f64>,
    /// What was predicted, higher for a faster program; `None` where nothing was.
    pub prediction: Option<f64>,
    /// Its place among the programs; NaN where none is known.
    pub index: f64,
}

/// What is said of the predictions for a task. A score that would flatter is [`Undefined`].
#[derive(Clone, Debug, PartialEq)]
pub struct TaskScores {
    /// Programs with a prediction, without those that are left out.
    pub rows: u64,
    /// Programs that failed, with a prediction or without.
    pub failed: u64,
    /// Root of the mean squared error of predicted labels.
    pub rmse: Result<f64, Undefined>,
    /// Coefficient of determination.
    pub r2: Result<f64, Undefined>,
    /// Mean of the relative errors.
    pub mape: Result<f64, Undefined>,
    /// Share of the pairs that are ranked as they are.
    pub pairwise_accuracy: Result<f64, Undefined>,
    /// Peak at each of [`PEAKS`].
    pub peaks: [Result<f64, Undefined>; PEAKS.len()],
    /// What the best of all programs takes, in nanoseconds.
    pub best_ns: Result<f64, Undefined>,
    /// What the best of the first by prediction takes, at each of [`TOPS`], in nanoseconds.
    pub tops_ns: [Result<f64, Undefined>; TOPS.len()],
}

/// The label of each program, and the least cost in seconds: both as upstream has them, in single precision.
///
/// A label is `None` where the program is left out; so are all of a task of which every program failed, where upstream calls all of them best.
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
    let least = costs.clone().flatten().fold(f32::INFINITY, f32::min);
    let labels = costs.map(|cost| Some(f64::from(least / cost?)));
    Ok((labels.collect(), f64::from(least)))
}

/// What a program counts as that has this label.
fn latency_ns(least_s: f64, label: f64) -> f64 {
    least_s / label.max(LEAST_LABEL) * NS
}

/// The scores of the predictions for the programs of a task.
pub fn task_scores(programs: &[Program], variant: Variant) -> TaskScores {
    let failed = programs.iter().filter(|one| one.runtime_ns.is_none());
    let failed = failed.count() as u64;
    match labels(programs.iter().map(|one| one.runtime_ns), variant) {
        Err(why) => TaskScores {
            failed,
            ..TaskScores::without(why)
        },
        Ok((labels, least_s)) => {
            let row = |(program, label): (&Program, &Option<f64>)| {
                Some(Row {
                    label: (*label)?,
                    prediction: program.prediction?,
                    index: program.index,
                })
            };
            let rows: Vec<Row> = programs.iter().zip(&labels).filter_map(row).collect();
            TaskScores {
                failed,
                ..TaskScores::of(&rows, least_s)
            }
        }
    }
}

/// What a predictor scores on average that says the labels of those programs that have a prediction in an order drawn at random.
pub fn random_task_scores(programs: &[Program], variant: Variant) -> TaskScores {
    let failed = programs.iter().filter(|one| one.runtime_ns.is_none());
    let failed = failed.count() as u64;
    let found = labels(programs.iter().map(|one| one.runtime_ns), variant);
    let (labels, least_s) = match found {
        Ok(found) => found,
        Err(why) => {
            return TaskScores {
                failed,
                ..TaskScores::without(why)
            };
        }
    };
    let known = programs.iter().zip(labels);
    let known = known.filter(|(program, _)| program.prediction.is_some());
    let mut labels: Vec<f64> = known.filter_map(|(_, label)| label).collect();
    // Sorted once: what sorts them again has little to do.
    labels.sort_unstable_by(f64::total_cmp);
    if labels.iter().any(|label| !label.is_finite()) {
        return TaskScores::without(Undefined::Label);
    }
    // Each label as its own prediction: what has no score of its own has none here.
    let row = |label: &f64| Row {
        label: *label,
        prediction: *label,
        index: f64::NAN,
    };
    let rows: Vec<Row> = labels.iter().map(row).collect();
    let costs: Vec<f64> = labels
        .iter()
        .map(|label| latency_ns(least_s, *label))
        .collect();
    TaskScores {
        rows: labels.len() as u64,
        failed,
        rmse: finite(&rows).map(|count| {
            let mean = labels.iter().sum::<f64>() / count;
            let squares = labels.iter().map(|label| (label - mean).powi(2));
            (2.0 * squares.sum::<f64>() / count).sqrt()
        }),
        r2: r2(&rows).map(|_| -1.0),
        mape: random_mape(&labels),
        pairwise_accuracy: random_pairwise_accuracy(&labels),
        peaks: PEAKS.map(|k| random_peak_at_k(&labels, k)),
        best_ns: Ok(least_s * NS),
        tops_ns: TOPS.map(|k| random_least_of_k(&costs, k).ok_or(Undefined::NoRows)),
    }
}

impl TaskScores {
    /// Those of rows, where the best program takes `least_s` seconds.
    fn of(rows: &[Row], least_s: f64) -> Self {
        let latency = |row: &Row| latency_ns(least_s, row.label);
        let is_finite = finite(rows);
        let top = |least: Option<f64>| {
            is_finite?;
            least.ok_or(Undefined::NoRows)
        };
        Self {
            rows: rows.len() as u64,
            failed: 0,
            rmse: rmse(rows),
            r2: r2(rows),
            mape: mape(rows),
            pairwise_accuracy: pairwise_accuracy(rows),
            peaks: peaks(rows, PEAKS),
            best_ns: Ok(least_s * NS),
            tops_ns: least_of_k(rows, latency, TOPS).map(top),
        }
    }

    /// None, for one reason.
    pub fn without(why: Undefined) -> Self {
        Self {
            rows: 0,
            failed: 0,
            rmse: Err(why),
            r2: Err(why),
            mape: Err(why),
            pairwise_accuracy: Err(why),
            peaks: PEAKS.map(|_| Err(why)),
            best_ns: Err(why),
            tops_ns: TOPS.map(|_| Err(why)),
        }
    }
}

fn scores(group: &Group) -> Result<Option<Several>, String> {
    let variant = match group.text(VARIANT.name) {
        None => Variant::default(),
        Some(name) => Variant::of(name).ok_or_else(|| {
            format!("tenset_scores: there is no variant `{name}`, but `tenset` and `valid`")
        })?,
    };
    let (predictions, indices) = (group.numbers(PREDICTION.name), group.numbers(INDEX.name));
    let runtimes = group.numbers(RUNTIME_NS.name).iter().enumerate();
    let programs = runtimes.map(|(place, runtime_ns)| Program {
        runtime_ns: *runtime_ns,
        prediction: predictions.get(place).copied().flatten(),
        index: indices.get(place).copied().flatten().unwrap_or(f64::NAN),
    });
    let programs: Vec<Program> = programs.collect();
    if programs.is_empty() {
        return Ok(None);
    }
    let found = task_scores(&programs, variant);
    let count = |count: u64| usize::try_from(count).ok().map(float);
    let mut numbers = vec![count(found.rows), count(found.failed)];
    let errors = [found.rmse, found.r2, found.mape, found.pairwise_accuracy];
    let scores = errors.into_iter().chain(found.peaks);
    let times = [found.best_ns].into_iter().chain(found.tops_ns);
    numbers.extend(scores.chain(times).map(Result::ok));
    Ok(Some(numbers))
}
