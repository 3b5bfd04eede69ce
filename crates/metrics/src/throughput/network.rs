//! `top_k_score`: what a network loses that takes the best of the k programs that predictions put first, task by task.

use crate::metric::{Argument, Gives, Group, Kind, Metric};

const BEST: Argument = Argument::of_row(
    "best",
    Kind::Number,
    "what the best program of a task takes, in any unit that all have",
);

const CHOSEN: Argument = Argument::of_row(
    "chosen",
    Kind::Number,
    "what the best of those k takes that predictions put first",
);

const WEIGHT: Argument = Argument::of_row(
    "weight",
    Kind::Number,
    "how often the network has the task [default: once]",
)
.optional();

pub(super) const TOP_K: Metric = Metric {
    name: "top_k_score",
    description: "Over the tasks of a network: the weighted sum of the best over that of the chosen, in 0 to 1. Over all networks at once it is TLP's ratio of sums, the avg of each network's TenSet's. Tasks without a number do not count; NULL where one is below 0 or infinite",
    arguments: &[BEST, CHOSEN, WEIGHT],
    example: "SELECT top_k_score(best, chosen, weight) FROM (VALUES (1.0, 1.0, 2), (3.0, 4.0, 1)) AS t(best, chosen, weight)",
    source: "TenSet (NeurIPS 2021), tables 3 and 4; `eval_model_on_dataset.py`; TLP, `tlp_eval.py`",
    gives: Gives::Number(|group| Ok(top_k_score(&tasks(group)))),
};

/// A task of a network.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TaskLatency {
    /// What its best program takes.
    pub best: f64,
    /// What the best of those takes that predictions put first, in the same unit.
    pub chosen: f64,
    /// How often the network has it.
    pub weight: f64,
}

/// The weighted sum of the best over that of the chosen, in 0 to 1. `None` without tasks, where all take no time, and where a number is
/// negative or not finite.
pub fn top_k_score(tasks: &[TaskLatency]) -> Option<f64> {
    let (mut best, mut chosen) = (0.0, 0.0);
    for task in tasks {
        let numbers = [task.best, task.chosen, task.weight];
        if numbers.iter().any(|one| !one.is_finite() || *one < 0.0) {
            return None;
        }
        best += task.weight * task.best;
        chosen += task.weight * task.chosen;
    }
    (chosen > 0.0).then(|| best / chosen)
}

fn tasks(group: &Group) -> Vec<TaskLatency> {
    let (chosen, weights) = (group.numbers(CHOSEN.name), group.numbers(WEIGHT.name));
    let is_weighted = group.arguments().any(|one| one.name == WEIGHT.name);
    let best = group.numbers(BEST.name).iter().enumerate();
    let task = |(place, best): (usize, &Option<f64>)| {
        let weight = match is_weighted {
            true => weights.get(place).copied().flatten()?,
            false => 1.0,
        };
        Some(TaskLatency {
            best: (*best)?,
            chosen: chosen.get(place).copied().flatten()?,
            weight,
        })
    };
    best.filter_map(task).collect()
}
