//! Division of the draws of a network among its tasks.

use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

use serde::{Serialize, Serializer};
use tsql_error::{Error, Result};

use super::curve::float;
use super::trials::{SearchStep, SearchTrace};

/// Weight of the past in a gradient: `alpha` in Ansor.
const ALPHA: f64 = 0.2;

/// Number of earlier rounds over which the past gradient is computed: `backward_window_size` in TVM.
const WINDOW: usize = 3;

/// Rule that chooses the task of the next round.
///
/// The latency of a network is the sum of `w_i g_i(t_i)` over its tasks: weight times the best time after `t_i` rounds.
/// `Gradient` is the task scheduler of Ansor (Zheng et al., OSDI 2020, arXiv 2006.06762, section 6) without its term for
/// similar tasks. After one round of each task it chooses the task with the largest expected decrease
/// `w_i (alpha (g_i(t_i - d) - g_i(t_i)) / d + (1 - alpha) g_i(t_i) / t_i)`, where `alpha = 0.2` and `d = 3` as in TVM.
/// A task without a time comes first, and the first of equal ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Scheduler {
    /// Each task in turn.
    RoundRobin,
    /// The task with the largest expected decrease of the latency.
    Gradient,
}

impl Scheduler {
    /// All schedulers.
    pub const ALL: [Self; 2] = [Self::RoundRobin, Self::Gradient];

    /// Name on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::RoundRobin => "round-robin",
            Self::Gradient => "gradient",
        }
    }
}

impl FromStr for Scheduler {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let found = Self::ALL.into_iter().find(|one| one.name() == text);
        found.ok_or_else(|| Error::Unknown {
            kind: "scheduler",
            name: text.to_owned(),
            known: Self::ALL.map(Self::name).join(", "),
        })
    }
}

impl Display for Scheduler {
    fn fmt(&self, to: &mut Formatter<'_>) -> fmt::Result {
        to.write_str(self.name())
    }
}

impl Serialize for Scheduler {
    fn serialize<S: Serializer>(&self, to: S) -> std::result::Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

/// Search of one task of a network.
#[derive(Clone, Debug)]
pub(super) struct TaskSearch {
    weight: f64,
    /// State after each draw.
    steps: Vec<SearchStep>,
    /// Number of draws that were made.
    drawn: usize,
    /// Best time after each round.
    rounds_ns: Vec<f64>,
}

impl TaskSearch {
    pub(super) fn new(weight: f64, steps: Vec<SearchStep>) -> Self {
        Self {
            weight,
            steps,
            drawn: 0,
            rounds_ns: Vec::new(),
        }
    }

    fn is_finished(&self) -> bool {
        self.drawn >= self.steps.len()
    }

    /// State after the last draw.
    fn last(&self) -> Option<&SearchStep> {
        self.steps.get(self.drawn.checked_sub(1)?)
    }

    fn best_ns(&self) -> f64 {
        self.last().map_or(f64::INFINITY, |step| step.best_ns)
    }

    /// Expected decrease of the latency by the next round; infinite before the first round and without a time.
    fn expected_decrease(&self) -> f64 {
        let rounds = self.rounds_ns.len();
        let Some(best) = self.rounds_ns.last().filter(|best| best.is_finite()) else {
            return f64::INFINITY;
        };
        let before = rounds.checked_sub(1 + WINDOW);
        let before = before.and_then(|round| self.rounds_ns.get(round).copied());
        let before = before.filter(|before| before.is_finite());
        let past = before.map_or(0.0, |before| (before - best) / float(WINDOW));
        self.weight * (ALPHA * past + (1.0 - ALPHA) * best / float(rounds))
    }
}

/// Searches the tasks in rounds of some draws; returns the improvements of the latency.
pub(super) fn schedule(
    tasks: &mut [TaskSearch],
    scheduler: Scheduler,
    round: usize,
) -> SearchTrace {
    let mut trace = SearchTrace::default();
    let (mut draws, mut seconds) = (0, 0.0);
    while let Some(chosen) = choose(tasks, scheduler) {
        for _ in 0..round {
            let Some(task) = tasks.get_mut(chosen).filter(|task| !task.is_finished()) else {
                break;
            };
            let before = task.last().map_or(0.0, |step| step.seconds);
            task.drawn += 1;
            draws += 1;
            seconds += task.last().map_or(f64::NAN, |step| step.seconds) - before;
            trace.push(SearchStep {
                draws,
                seconds,
                best_ns: tasks.iter().map(|task| task.weight * task.best_ns()).sum(),
            });
        }
        if let Some(task) = tasks.get_mut(chosen) {
            task.rounds_ns.push(task.best_ns());
        }
    }
    trace
}

/// Position of the task of the next round; `None` if all trials were drawn.
fn choose(tasks: &[TaskSearch], scheduler: Scheduler) -> Option<usize> {
    let open = tasks
        .iter()
        .enumerate()
        .filter(|(_, task)| !task.is_finished());
    let chosen = match scheduler {
        Scheduler::RoundRobin => open.min_by_key(|(_, task)| task.rounds_ns.len()),
        // The last of equal elements is the maximum.
        Scheduler::Gradient => open.rev().max_by(|(_, one), (_, other)| {
            let decrease = one.expected_decrease();
            decrease.total_cmp(&other.expected_decrease())
        }),
    };
    chosen.map(|(place, _)| place)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(weight: f64, times: &[f64]) -> TaskSearch {
        let steps = times.iter().enumerate().map(|(place, best_ns)| SearchStep {
            draws: place + 1,
            seconds: float(place + 1),
            best_ns: *best_ns,
        });
        TaskSearch::new(weight, steps.collect())
    }

    /// Draws and latencies of the improvements.
    fn improvements(scheduler: Scheduler, round: usize) -> Vec<(usize, f64)> {
        let mut tasks = [
            task(1.0, &[10.0, 9.0, 9.0, 9.0]),
            task(3.0, &[20.0, 19.0, 11.0, 10.0]),
        ];
        let trace = schedule(&mut tasks, scheduler, round);
        let draws = 1..=8;
        let mut found: Vec<(usize, f64)> = draws
            .map(|draws| (draws, trace.best_after_draws(draws)))
            .collect();
        found.dedup_by(|later, earlier| later.1 == earlier.1);
        found
    }

    #[test]
    fn round_robin_alternates() {
        let found = improvements(Scheduler::RoundRobin, 1);
        let expected = [
            (1, f64::INFINITY),
            (2, 70.0),
            (3, 69.0),
            (4, 66.0),
            (6, 42.0),
            (8, 39.0),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn the_gradient_prefers_heavy_tasks() {
        // After a round each, the second task promises 0.8 * 3 * 20, then 0.8 * 3 * 19 / 2 and 0.8 * 3 * 11 / 3 = 8.8,
        // the first one 0.8 * 10 = 8.
        let found = improvements(Scheduler::Gradient, 1);
        let expected = [
            (1, f64::INFINITY),
            (2, 70.0),
            (3, 67.0),
            (4, 43.0),
            (5, 40.0),
            (6, 39.0),
        ];
        assert_eq!(found, expected);
        // Rounds of two draws: two of each task first.
        let found = improvements(Scheduler::Gradient, 2);
        assert_eq!(found[1], (3, 69.0));
    }

    #[test]
    fn tasks_without_a_time_come_first() {
        let mut tasks = [
            task(1.0, &[5.0, 4.0]),
            task(1.0, &[f64::INFINITY, f64::INFINITY, 2.0]),
        ];
        let trace = schedule(&mut tasks, Scheduler::Gradient, 1);
        assert_eq!(trace.best_after_draws(3), f64::INFINITY);
        assert_eq!(trace.best_after_draws(4), 7.0);
        assert_eq!(
            trace.reach(6.0).map(|step| (step.draws, step.seconds)),
            Some((5, 5.0))
        );
        let mut tasks = [task(1.0, &[f64::INFINITY]), task(1.0, &[1.0])];
        assert_eq!(
            schedule(&mut tasks, Scheduler::RoundRobin, 9),
            SearchTrace::default()
        );
    }
}
