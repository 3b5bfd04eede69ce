//! Result of a replay.

use serde::Serialize;

use super::curve::CurvePoint;
use super::policy::Policy;
use super::scheduler::Scheduler;

/// Searches that were replayed.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Replay {
    /// Version of this document.
    pub version: u32,
    /// File or query of the predictions.
    pub predictions: Option<String>,
    /// Number of records without a prediction.
    pub missing: u64,
    /// Number of predictions that no replayed record used.
    pub unused: u64,
    /// Numbers of draws for which there is a best time.
    pub draws: Vec<usize>,
    /// Distance from the best time that a search has to reach, as a fraction.
    pub within: f64,
    /// Probability with which it has to reach it.
    pub probability: f64,
    /// Probability with which `epsilon-greedy` draws any trial.
    pub epsilon: f64,
    /// Number of simulated searches of a random policy.
    pub seeds: u32,
    /// Seed.
    pub seed: u64,
    /// How draws are divided among the tasks of a network; `None` without networks.
    pub scheduler: Option<Scheduler>,
    /// Tasks, or the network on each platform.
    pub tasks: Vec<TaskReplay>,
    /// Speed-up of each policy over the first.
    pub speedups: Vec<PolicySpeedup>,
}

/// Searches of a task: a graph on a platform, or a network on a platform.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct TaskReplay {
    /// `graphs.workload_key`, or the name of the network with its input shapes and kind of target.
    pub name: String,
    /// Platform.
    pub platform: String,
    /// `records.graph_id`; `None` for a network.
    pub graph_id: Option<String>,
    /// Number of tasks of the network with records.
    pub network_tasks: Option<usize>,
    /// Number of trials: configurations with a record.
    pub trials: usize,
    /// Number of trials with a time.
    pub timed: usize,
    /// Whether the trials are the whole search space.
    pub coverage: Coverage,
    /// Why the trials are not known to be the whole search space.
    pub coverage_reason: Option<String>,
    /// Best time of all trials in nanoseconds; of a network the sum over its tasks, by weight.
    pub best_ns: Option<f64>,
    /// Seconds that all draws cost.
    pub total_s: Option<f64>,
    /// Why there are no seconds.
    pub seconds_reason: Option<String>,
    /// Searches by policy.
    pub policies: Vec<PolicyReplay>,
}

/// Relation of the trials to the search space.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Coverage {
    /// All valid configurations.
    Exhaustive,
    /// Some configurations of a space that a source states.
    Searched,
    /// Some configurations of a space that no source states.
    Unknown,
    /// Only the best configurations, which cannot be replayed.
    Winners,
}

impl Coverage {
    /// Name in tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Exhaustive => "exhaustive",
            Self::Searched => "searched",
            Self::Unknown => "unknown",
            Self::Winners => "winners",
        }
    }
}

/// Searches of a task by one policy.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct PolicyReplay {
    /// Policy.
    pub policy: Policy,
    /// Why the policy was not replayed.
    pub reason: Option<String>,
    /// Best time after each of [`Replay::draws`]. More draws than trials are all trials.
    pub best: Vec<CurvePoint>,
    /// Draws until the time is near the best one.
    pub draws_to_reach: Option<f64>,
    /// Seconds until the time is near the best one.
    pub seconds_to_reach: Option<f64>,
    /// Draws of the first policy over those of this one.
    pub draws_speedup: Option<f64>,
    /// Seconds of the first policy over those of this one.
    pub seconds_speedup: Option<f64>,
    /// Best time against draws.
    pub draws_curve: Vec<CurvePoint>,
    /// Best time against seconds; empty if the costs are unknown. A mean exists once each search has a time.
    pub seconds_curve: Vec<CurvePoint>,
}

impl PolicyReplay {
    /// Searches that were not replayed.
    pub(super) fn not_replayed(policy: Policy, reason: &str) -> Self {
        Self {
            policy,
            reason: Some(reason.to_owned()),
            best: Vec::new(),
            draws_to_reach: None,
            seconds_to_reach: None,
            draws_speedup: None,
            seconds_speedup: None,
            draws_curve: Vec::new(),
            seconds_curve: Vec::new(),
        }
    }
}

/// Speed-up of a policy over the first one, over all tasks.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct PolicySpeedup {
    /// Policy.
    pub policy: Policy,
    /// Number of tasks with a speed-up.
    pub tasks: usize,
    /// Geometric mean over tasks of the speed-up in draws.
    pub draws: Option<f64>,
    /// Geometric mean over tasks of the speed-up in seconds.
    pub seconds: Option<f64>,
}
