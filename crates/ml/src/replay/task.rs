//! Replay of the searches of a task or a network.

use fastrand::Rng;
use tsql_metrics::geometric_mean::GeometricMean;
use twox_hash::XxHash3_64;

use super::curve::{
    CurvePoint, draw_points, float, point, random_draws, random_point, reach, second_points,
};
use super::options::ReplayOptions;
use super::policy::Policy;
use super::report::{Coverage, PolicyReplay, PolicySpeedup, TaskReplay};
use super::scheduler::{TaskSearch, schedule};
use super::trials::{SearchTrace, Trial, search};

/// Trials of a task in the order of their first records.
#[derive(Clone, Debug)]
pub(super) struct TaskTrials {
    pub graph_id: i64,
    pub name: String,
    pub platform: String,
    /// Kind of the target, as in `network_tasks.target_kind`.
    pub target_kind: String,
    pub coverage: Coverage,
    pub coverage_reason: Option<String>,
    pub trials: Vec<Trial>,
    /// Whether a prediction is NaN, infinite or not a time.
    pub has_invalid_predictions: bool,
}

/// Tasks of a network on a platform, with their weights.
pub(super) struct NetworkTrials {
    pub name: String,
    pub platform: String,
    /// Number of tasks of the network, those without records included.
    pub task_count: usize,
    pub tasks: Vec<(f64, TaskTrials)>,
}

/// Facts that all policies of a task share.
struct Searches<'a> {
    options: &'a ReplayOptions,
    trials: usize,
    best_ns: Option<f64>,
    total_s: Option<f64>,
    /// Why a policy cannot be replayed.
    reason: Option<String>,
    has_invalid_predictions: bool,
}

/// Replays a task.
pub(super) fn replay_task(task: &TaskTrials, options: &ReplayOptions) -> TaskReplay {
    let mut sorted_ns: Vec<f64> = task
        .trials
        .iter()
        .filter_map(|trial| trial.time_ns)
        .collect();
    sorted_ns.sort_by(f64::total_cmp);
    let (total_s, seconds_reason) = total_seconds(task.trials.iter());
    let reason = if task.coverage == Coverage::Winners {
        task.coverage_reason.clone()
    } else {
        sorted_ns
            .is_empty()
            .then(|| "no trial has a time".to_owned())
    };
    let searches = Searches {
        options,
        trials: task.trials.len(),
        best_ns: sorted_ns.first().copied(),
        total_s,
        reason,
        has_invalid_predictions: task.has_invalid_predictions,
    };
    let trace = |policy: Policy, run: u32| {
        let mut random = generator(task, policy, options.seed, run);
        let order = policy.order(&task.trials, options.epsilon, &mut random);
        let mut trace = SearchTrace::default();
        search(&task.trials, &order).for_each(|step| trace.push(step));
        trace
    };
    let policies = searches.replay_policies(Some(&sorted_ns), trace);
    TaskReplay {
        name: task.name.clone(),
        platform: task.platform.clone(),
        graph_id: Some(task.graph_id.to_string()),
        network_tasks: None,
        trials: task.trials.len(),
        timed: sorted_ns.len(),
        coverage: task.coverage,
        coverage_reason: task.coverage_reason.clone(),
        best_ns: searches.best_ns,
        total_s,
        seconds_reason,
        policies,
    }
}

/// Replays the tasks of a network together.
pub(super) fn replay_network(network: &NetworkTrials, options: &ReplayOptions) -> TaskReplay {
    let tasks = &network.tasks;
    let all = || tasks.iter().flat_map(|(_, task)| &task.trials);
    let (total_s, seconds_reason) = total_seconds(all());
    let best = |(weight, task): &(f64, TaskTrials)| {
        let times = task.trials.iter().filter_map(|trial| trial.time_ns);
        weight * times.fold(f64::INFINITY, f64::min)
    };
    let best_ns = Some(tasks.iter().map(best).sum::<f64>()).filter(|best| best.is_finite());
    let coverage = tasks.iter().map(|(_, task)| task.coverage).max();
    let coverage = coverage.unwrap_or(Coverage::Unknown);
    let coverage_reason = if tasks.len() < network.task_count {
        Some(format!(
            "{} of {} tasks have records",
            tasks.len(),
            network.task_count
        ))
    } else {
        let worst = tasks.iter().find(|(_, task)| task.coverage == coverage);
        worst.and_then(|(_, task)| task.coverage_reason.clone())
    };
    let reason = match coverage {
        Coverage::Winners => coverage_reason.clone(),
        _ => best_ns.is_none().then(|| "a task has no time".to_owned()),
    };
    let searches = Searches {
        options,
        trials: all().count(),
        best_ns,
        total_s,
        reason,
        has_invalid_predictions: tasks.iter().any(|(_, task)| task.has_invalid_predictions),
    };
    let trace = |policy: Policy, run: u32| {
        let task_search = |(weight, task): &(f64, TaskTrials)| {
            let mut random = generator(task, policy, options.seed, run);
            let order = policy.order(&task.trials, options.epsilon, &mut random);
            TaskSearch::new(*weight, search(&task.trials, &order).collect())
        };
        let mut searches: Vec<TaskSearch> = tasks.iter().map(task_search).collect();
        schedule(&mut searches, options.scheduler, options.round)
    };
    let policies = searches.replay_policies(None, trace);
    TaskReplay {
        name: network.name.clone(),
        platform: network.platform.clone(),
        graph_id: None,
        network_tasks: Some(tasks.len()),
        trials: searches.trials,
        timed: all().filter(|trial| trial.time_ns.is_some()).count(),
        coverage,
        coverage_reason,
        best_ns,
        total_s,
        seconds_reason,
        policies,
    }
}

impl Searches<'_> {
    /// Replays all policies. Random search has closed forms against draws if the sorted times of all trials are known.
    fn replay_policies(
        &self,
        sorted_ns: Option<&[f64]>,
        trace: impl Fn(Policy, u32) -> SearchTrace,
    ) -> Vec<PolicyReplay> {
        let policies = self.options.replayed_policies().into_iter();
        let mut replays: Vec<PolicyReplay> = policies
            .map(|policy| {
                let invalid = "predictions are NaN, infinite or not a time";
                let own = policy.needs_predictions() && self.has_invalid_predictions;
                let reason = self.reason.as_deref().or_else(|| own.then_some(invalid));
                match (reason, self.best_ns) {
                    (None, Some(best_ns)) => {
                        let exact = sorted_ns.filter(|_| policy == Policy::Random);
                        self.replay_policy(policy, best_ns, exact, &trace)
                    }
                    (reason, _) => PolicyReplay::not_replayed(policy, reason.unwrap_or_default()),
                }
            })
            .collect();
        let first = replays
            .first()
            .map(|first| (first.draws_to_reach, first.seconds_to_reach));
        let (first_draws, first_seconds) = first.unwrap_or_default();
        let ratio = |first: Option<f64>, own: Option<f64>| {
            let ratio = first? / own?;
            ratio.is_finite().then_some(ratio)
        };
        for replay in &mut replays {
            replay.draws_speedup = ratio(first_draws, replay.draws_to_reach);
            replay.seconds_speedup = ratio(first_seconds, replay.seconds_to_reach);
        }
        replays
    }

    fn replay_policy(
        &self,
        policy: Policy,
        best_ns: f64,
        exact: Option<&[f64]>,
        trace: impl Fn(Policy, u32) -> SearchTrace,
    ) -> PolicyReplay {
        let options = self.options;
        let runs = match policy.is_random() {
            true if exact.is_some() && self.total_s.is_none() => 0,
            true => options.seeds,
            false => 1,
        };
        let traces: Vec<SearchTrace> = (0..runs).map(|run| trace(policy, run)).collect();
        // The band of a single search is no band.
        let with_band = |point: CurvePoint| match policy.is_random() {
            true => point,
            false => CurvePoint {
                low_ns: None,
                high_ns: None,
                ..point
            },
        };
        let after_draws = |draws: usize| match exact {
            Some(sorted_ns) => random_point(self.trials, sorted_ns, draws),
            None => {
                let best = traces.iter().map(|trace| trace.best_after_draws(draws));
                with_band(point(float(draws), best.collect()))
            }
        };
        let after_seconds = |seconds: f64| {
            let best = traces.iter().map(|trace| trace.best_after_seconds(seconds));
            let best: Vec<f64> = best.collect();
            // Early searches drew cheap trials, so that their mean is not that of all searches.
            let is_complete = best.iter().all(|best| best.is_finite());
            let point = with_band(point(seconds, best));
            CurvePoint {
                best_ns: point.best_ns.filter(|_| is_complete),
                ..point
            }
        };
        let limit_ns = best_ns * (1.0 + options.within);
        let (simulated_draws, seconds_to_reach) = reach(&traces, limit_ns, options.probability);
        let exact_draws =
            exact.map(|sorted| random_draws(self.trials, sorted, limit_ns, options.probability));
        let draws = draw_points(self.trials, &options.draws);
        let seconds = self.total_s.map(second_points).unwrap_or_default();
        PolicyReplay {
            reason: None,
            best: options
                .draws
                .iter()
                .map(|draws| after_draws(*draws))
                .collect(),
            draws_to_reach: exact_draws.map(float).or(simulated_draws),
            seconds_to_reach: seconds_to_reach.filter(|_| self.total_s.is_some()),
            draws_curve: draws.into_iter().map(after_draws).collect(),
            seconds_curve: seconds.into_iter().map(after_seconds).collect(),
            ..PolicyReplay::not_replayed(policy, "")
        }
    }
}

/// Seconds of all draws, or why they are unknown.
fn total_seconds<'a>(trials: impl Iterator<Item = &'a Trial>) -> (Option<f64>, Option<String>) {
    let (mut total, mut count, mut missing) = (0.0, 0_usize, 0_usize);
    for trial in trials {
        count += 1;
        missing += usize::from(trial.cost_s.is_none());
        total += trial.cost_s.unwrap_or_default();
    }
    match missing {
        0 if total > 0.0 => (Some(total), None),
        0 => (None, Some("the trials cost no time".to_owned())),
        _ => {
            let reason = format!("the cost of {missing} of {count} trials is unknown");
            (None, Some(reason))
        }
    }
}

/// Returns the random numbers of a search. They depend on the names of the task, so that tasks of equal size differ, and
/// that a store with further tasks gives the same numbers.
fn generator(task: &TaskTrials, policy: Policy, seed: u64, run: u32) -> Rng {
    let text = format!("{}\0{}\0{policy}\0{run}", task.name, task.platform);
    Rng::with_seed(XxHash3_64::oneshot_with_seed(seed, text.as_bytes()))
}

/// Returns the geometric means of the speed-ups of each policy but the first.
pub(super) fn speedups(tasks: &[TaskReplay], policies: &[Policy]) -> Vec<PolicySpeedup> {
    let later = policies.iter().enumerate().skip(1);
    let of_policy = |(place, policy): (usize, &Policy)| {
        let replays = || {
            tasks
                .iter()
                .filter_map(move |task| task.policies.get(place))
        };
        let draws = || replays().filter_map(|replay| replay.draws_speedup);
        let seconds = replays().filter_map(|replay| replay.seconds_speedup);
        PolicySpeedup {
            policy: *policy,
            tasks: draws().count(),
            draws: draws().collect::<GeometricMean>().value(),
            seconds: seconds.collect::<GeometricMean>().value(),
        }
    };
    later.map(of_policy).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two good times among five trials; draws take 1 to 5 seconds. The model ranks the second best one first.
    fn small_task() -> TaskTrials {
        let times = [Some(4.0), Some(1.0), Some(1.03), None, Some(8.0)];
        let predictions = [0.1, 0.7, 0.9, 0.8, 0.2];
        let trials = times.iter().zip(predictions).zip([1.0, 2.0, 3.0, 4.0, 5.0]);
        TaskTrials {
            graph_id: 7,
            name: "[\"toy\"]".to_owned(),
            platform: "t4".to_owned(),
            target_kind: "cuda".to_owned(),
            coverage: Coverage::Exhaustive,
            coverage_reason: None,
            trials: trials
                .map(|((time_ns, prediction), cost_s)| Trial {
                    time_ns: *time_ns,
                    cost_s: Some(cost_s),
                    prediction: Some(prediction),
                })
                .collect(),
            has_invalid_predictions: false,
        }
    }

    fn all_policies() -> ReplayOptions {
        let options = ReplayOptions::default()
            .policies(Policy::ALL)
            .predictions("p");
        options.draws([1, 2, 100]).epsilon(0.0)
    }

    #[test]
    fn policies_have_the_results_of_a_hand_computation() {
        let found = replay_task(&small_task(), &all_policies());
        assert_eq!(
            (found.trials, found.timed, found.total_s),
            (5, 4, Some(15.0))
        );
        assert_eq!(found.best_ns, Some(1.0));
        let [random, recorded, greedy, epsilon] = &found.policies[..] else {
            panic!("{found:?}")
        };
        let best = |policy: &PolicyReplay| {
            policy
                .best
                .iter()
                .map(|point| point.best_ns)
                .collect::<Vec<_>>()
        };
        assert_eq!(random.draws_to_reach, Some(4.0));
        assert!((random.best[0].best_ns.unwrap() - 3.5075).abs() < 1e-12);
        assert_eq!(best(recorded), [Some(4.0), Some(1.0), Some(1.0)]);
        assert_eq!(
            (recorded.draws_to_reach, recorded.seconds_to_reach),
            (Some(2.0), Some(3.0))
        );
        // The failed trial is the second one.
        assert_eq!(best(greedy), [Some(1.03), Some(1.03), Some(1.0)]);
        assert_eq!(
            (greedy.draws_to_reach, greedy.seconds_to_reach),
            (Some(1.0), Some(3.0))
        );
        assert_eq!(
            (greedy.draws_speedup, random.draws_speedup),
            (Some(4.0), Some(1.0))
        );
        assert_eq!(best(greedy), best(epsilon));
        assert_eq!(
            (greedy.best[0].low_ns, epsilon.best[0].low_ns),
            (None, Some(1.03))
        );
        let speedups = speedups(&[found.clone(), found], &Policy::ALL);
        let names = speedups
            .iter()
            .map(|one| (one.policy, one.tasks))
            .collect::<Vec<_>>();
        assert_eq!(names[1], (Policy::Greedy, 2));
        assert!((speedups[1].draws.unwrap() - 4.0).abs() < 1e-12);
    }

    #[test]
    fn a_seed_repeats_a_replay() {
        let options = all_policies().epsilon(0.5);
        let task = small_task();
        let found = replay_task(&task, &options);
        assert_eq!(found, replay_task(&task, &options));
        let other = replay_task(&task, &options.clone().seed(1).seeds(7));
        assert_ne!(found.policies[3], other.policies[3]);
        // Closed forms have no seed.
        assert_eq!(found.policies[0].draws_curve, other.policies[0].draws_curve);
    }

    #[test]
    fn searches_that_cannot_be_replayed_have_a_reason() {
        let reasons = |task: &TaskTrials| {
            let policies = replay_task(task, &all_policies()).policies.into_iter();
            policies.map(|policy| policy.reason).collect::<Vec<_>>()
        };
        let mut task = small_task();
        task.has_invalid_predictions = true;
        let found = reasons(&task);
        assert!(
            found[0].is_none() && found[1].is_none() && found[2].is_some() && found[3].is_some()
        );
        task.trials
            .iter_mut()
            .for_each(|trial| trial.time_ns = None);
        assert_eq!(reasons(&task)[0].as_deref(), Some("no trial has a time"));
        task.trials[2].cost_s = None;
        let found = replay_task(&task, &all_policies());
        let reason = "the cost of 1 of 5 trials is unknown";
        assert_eq!(
            (found.total_s, found.seconds_reason.as_deref()),
            (None, Some(reason))
        );
        task.coverage = Coverage::Winners;
        task.coverage_reason = Some("only the best".to_owned());
        assert_eq!(reasons(&task)[0].as_deref(), Some("only the best"));
    }

    #[test]
    fn a_network_adds_its_tasks_by_weight() {
        let mut other = small_task();
        other.name = "[\"other\"]".to_owned();
        let network = NetworkTrials {
            name: "net".to_owned(),
            platform: "t4".to_owned(),
            task_count: 3,
            tasks: vec![(2.0, small_task()), (3.0, other)],
        };
        let options = all_policies().round(1);
        let found = replay_network(&network, &options);
        assert_eq!(
            (found.trials, found.timed, found.network_tasks),
            (10, 8, Some(2))
        );
        assert_eq!((found.best_ns, found.total_s), (Some(5.0), Some(30.0)));
        assert_eq!(
            found.coverage_reason.as_deref(),
            Some("2 of 3 tasks have records")
        );
        // The first draw of each task: 2 * 4 + 3 * 4, and 5 * 1.03.
        assert_eq!(found.policies[1].best[1].best_ns, Some(20.0));
        assert!((found.policies[2].best[1].best_ns.unwrap() - 5.15).abs() < 1e-12);
        assert_eq!(found.policies[2].best[0].best_ns, None);
        assert_eq!(found.policies[2].draws_to_reach, Some(2.0));
    }
}
