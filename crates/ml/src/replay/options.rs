//! Options of a replay.

use derive_setters::Setters;
use tsql_error::{Error, Result};
use tsql_session::SessionOptions;

use super::policy::Policy;
use super::scheduler::Scheduler;

/// Horizontal axis of a plot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplayAxis {
    /// Number of draws.
    Draws,
    /// Seconds.
    Seconds,
}

impl ReplayAxis {
    /// Finds an axis by name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Draws, Self::Seconds]
            .into_iter()
            .find(|axis| axis.name() == name)
    }

    /// Name on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Draws => "draws",
            Self::Seconds => "seconds",
        }
    }
}

/// Options of a replay; see [`replay`](crate::replay::replay).
///
/// ```
/// use tsql_ml::replay::{Policy, ReplayOptions};
/// let options = ReplayOptions::default()
///     .predictions("model.parquet")
///     .policies([Policy::Random, Policy::Greedy])
///     .draws([1, 10, 100]);
/// ```
#[derive(Clone, Debug, PartialEq, Setters)]
#[setters(strip_option)]
#[non_exhaustive]
pub struct ReplayOptions {
    /// Restricts the trials to records that satisfy this SQL predicate.
    #[setters(into)]
    pub(super) predicate: String,
    /// Sets the policies; speed-ups are relative to the first. Default: `random`, and `greedy` if there are predictions.
    #[setters(into)]
    pub(super) policies: Vec<Policy>,
    /// Sets the predictions: a file as for [`score`](crate::score::score), or a query in parentheses.
    #[setters(into)]
    pub(super) predictions: Option<String>,
    /// Leaves out tasks whose trials are not known to be the whole search space.
    pub(super) exhaustive: bool,
    /// Draws configurations without a prediction last, instead of rejecting the predictions.
    pub(super) allow_missing: bool,
    /// Sets the probability with which `epsilon-greedy` draws any trial. Default: 0.05, as in Ansor.
    pub(super) epsilon: f64,
    /// Sets the numbers of draws for which the report has the best time. Default: 1, 10, 100.
    #[setters(into)]
    pub(super) draws: Vec<usize>,
    /// Sets the distance from the best time that a search has to reach, as a fraction. Default: 0.05.
    pub(super) within: f64,
    /// Sets the probability with which a search has to reach it. Default: 0.95.
    pub(super) probability: f64,
    /// Sets the number of simulated searches of a random policy. Default: 100.
    pub(super) seeds: u32,
    /// Sets the seed of the first search.
    pub(super) seed: u64,
    /// Replays the tasks of this network together: its name, or its name and input shapes.
    #[setters(into)]
    pub(super) network: Option<String>,
    /// Sets how a network's draws are divided among its tasks. Default: by gradient.
    pub(super) scheduler: Scheduler,
    /// Sets the number of draws that the scheduler gives to a task at once. Default: 64, as in Ansor.
    pub(super) round: usize,
    /// Sets the memory limit of the sort of the records, in bytes.
    pub(super) memory_limit_bytes: Option<usize>,
}

impl Default for ReplayOptions {
    fn default() -> Self {
        Self {
            predicate: "true".to_owned(),
            policies: Vec::new(),
            predictions: None,
            exhaustive: false,
            allow_missing: false,
            epsilon: 0.05,
            draws: vec![1, 10, 100],
            within: 0.05,
            probability: 0.95,
            seeds: 100,
            seed: 0,
            network: None,
            scheduler: Scheduler::Gradient,
            round: 64,
            memory_limit_bytes: None,
        }
    }
}

impl ReplayOptions {
    pub(super) fn session(&self) -> SessionOptions {
        SessionOptions::default().memory_limit_bytes(self.memory_limit_bytes)
    }

    /// Returns the policies, or the default ones.
    pub(super) fn replayed_policies(&self) -> Vec<Policy> {
        let mut policies = self.policies.clone();
        if policies.is_empty() {
            policies.push(Policy::Random);
            policies.extend(self.predictions.is_some().then_some(Policy::Greedy));
        }
        policies
    }

    /// Checks all values.
    ///
    /// # Errors
    /// [`Error::Argument`] for a value out of its range, for a policy without predictions, and for predictions that no
    /// policy reads.
    pub(super) fn check(&self) -> Result<()> {
        let fails = |name: &'static str, reason: String| Err(Error::Argument { name, reason });
        if !(0.0..=1.0).contains(&self.epsilon) {
            let reason = format!("{} is not a probability, expected 0 to 1", self.epsilon);
            return fails("epsilon", reason);
        }
        if !(self.probability > 0.0 && self.probability <= 1.0) {
            let reason = "expected a number above 0 and at most 1";
            return fails(
                "probability",
                format!("{} is not a probability, {reason}", self.probability),
            );
        }
        if !(0.0..).contains(&self.within) {
            return fails(
                "within",
                format!("{} is not a fraction of at least 0", self.within),
            );
        }
        if self.seeds == 0 || self.round == 0 || self.draws.contains(&0) {
            let reason = "0 is not allowed, expected numbers from 1 up";
            return fails("draws", format!("{reason} for draws, seeds and the round"));
        }
        if self.exhaustive && self.network.is_some() {
            let reason =
                "tasks of a network are not left out\nhint: replay its tasks without --network";
            return fails("exhaustive", reason.to_owned());
        }
        let policies = self.replayed_policies();
        let predicted = policies.iter().find(|policy| policy.needs_predictions());
        match (predicted, &self.predictions) {
            (Some(policy), None) => fails(
                "predictions",
                format!("the policy {policy} needs predictions\nhint: --predictions FILE"),
            ),
            (None, Some(_)) => fails(
                "policies",
                "no policy reads the predictions\nhint: --policy random,greedy".to_owned(),
            ),
            _ => Ok(()),
        }
    }
}
