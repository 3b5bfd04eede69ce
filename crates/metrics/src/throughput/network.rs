//! `top_k_score`: loss of a network that uses the best of the first k programs by prediction for each task.

use crate::metric::{Argument, Evaluation, Metric, RowGroup, ValueKind};

const BEST: Argument = Argument::per_row(
    "best",
    ValueKind::Number,
    "runtime of the best program of a task, in one unit for all",
);

const CHOSEN: Argument = Argument::per_row(
    "chosen",
    ValueKind::Number,
    "runtime of the best of the first k programs by prediction",
);

const WEIGHT: Argument = Argument::per_row(
    "weight",
    ValueKind::Number,
    "number of occurrences of the task in the network [default: once]",
)
.optional();

pub(super) const TOP_K: Metric = Metric {
    name: "top_k_score",
    description: "Weighted sum of the best runtimes over that of the chosen ones for the tasks of a network, from 0 to 1. Over all networks at once it is TLP's ratio of sums, and its average over networks is TenSet's score. Tasks without a number do not count; NULL if one is below 0 or infinite",
    arguments: &[BEST, CHOSEN, WEIGHT],
    example: "SELECT top_k_score(best, chosen, weight) FROM (VALUES (1.0, 1.0, 2), (3.0, 4.0, 1)) AS t(best, chosen, weight)",
    source: "TenSet (NeurIPS 2021), tables 3 and 4; `eval_model_on_dataset.py`; TLP, `tlp_eval.py`",
    gives: Evaluation::Number(|group| Ok(top_k_score(&tasks(group)))),
};

/// A task of a network.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TaskLatency {
    /// Latency of the task's best program.
    pub best: f64,
    /// Latency of the best of the first k programs by prediction, in the same unit.
    pub chosen: f64,
    /// Number of occurrences in the network.
    pub weight: f64,
}

/// Weighted sum of the best latencies over that of the chosen ones, from 0 to 1. Returns `None` without tasks, if all
/// latencies are 0, and if a number is negative or not finite.
pub fn top_k_score(tasks: &[TaskLatency]) -> Option<f64> {
    let (mut best, mut chosen) = (0.0, 0.0);
    for task in tasks {
        let numbers = [task.best, task.chosen, task.weight];
        if numbers
            .iter()
            .any(|number| !number.is_finite() || *number < 0.0)
        {
            return None;
        }
        best += task.weight * task.best;
        chosen += task.weight * task.chosen;
    }
    (chosen > 0.0).then(|| best / chosen)
}

fn tasks(group: &RowGroup) -> Vec<TaskLatency> {
    let (chosen, weights) = (group.numbers(CHOSEN.name), group.numbers(WEIGHT.name));
    let is_weighted = group
        .arguments()
        .any(|argument| argument.name == WEIGHT.name);
    let best = group.numbers(BEST.name).iter().enumerate();
    let task = |(index, best): (usize, &Option<f64>)| {
        let weight = match is_weighted {
            true => weights.get(index).copied().flatten()?,
            false => 1.0,
        };
        Some(TaskLatency {
            best: (*best)?,
            chosen: chosen.get(index).copied().flatten()?,
            weight,
        })
    };
    best.filter_map(task).collect()
}
