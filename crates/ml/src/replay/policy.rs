//! Orders in which a search draws the trials of a task.

use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

use fastrand::Rng;
use serde::{Serialize, Serializer};
use tsql_error::{Error, Result};

use super::trials::Trial;

/// Rule by which a search chooses its next trial. No trial is drawn twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Policy {
    /// Any trial, all with the same probability.
    Random,
    /// The order of the records.
    Recorded,
    /// The trial with the best prediction; of equal ones, the first record.
    Greedy,
    /// With a small probability any trial, else the one with the best prediction.
    EpsilonGreedy,
}

impl Policy {
    /// All policies.
    pub const ALL: [Self; 4] = [
        Self::Random,
        Self::Recorded,
        Self::Greedy,
        Self::EpsilonGreedy,
    ];

    /// Name on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Random => "random",
            Self::Recorded => "recorded",
            Self::Greedy => "greedy",
            Self::EpsilonGreedy => "epsilon-greedy",
        }
    }

    /// Returns whether the policy reads predictions.
    #[must_use]
    pub const fn needs_predictions(self) -> bool {
        matches!(self, Self::Greedy | Self::EpsilonGreedy)
    }

    /// Returns whether two searches can differ.
    #[must_use]
    pub const fn is_random(self) -> bool {
        matches!(self, Self::Random | Self::EpsilonGreedy)
    }

    /// Returns the positions of all trials in the order of a search.
    pub(super) fn order(self, trials: &[Trial], epsilon: f64, random: &mut Rng) -> Vec<usize> {
        let mut order: Vec<usize> = (0..trials.len()).collect();
        match self {
            Self::Recorded => {}
            Self::Random => random.shuffle(&mut order),
            Self::Greedy => rank(&mut order, trials),
            Self::EpsilonGreedy => {
                rank(&mut order, trials);
                order = explore(&order, epsilon, random);
            }
        }
        order
    }
}

impl FromStr for Policy {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let found = Self::ALL.into_iter().find(|policy| policy.name() == text);
        found.ok_or_else(|| Error::Unknown {
            kind: "policy",
            name: text.to_owned(),
            known: Self::ALL.map(Self::name).join(", "),
        })
    }
}

impl Display for Policy {
    fn fmt(&self, to: &mut Formatter<'_>) -> fmt::Result {
        to.write_str(self.name())
    }
}

impl Serialize for Policy {
    fn serialize<S: Serializer>(&self, to: S) -> std::result::Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

/// Sorts positions by prediction, best first. Trials without a prediction come last.
fn rank(order: &mut [usize], trials: &[Trial]) {
    let prediction = |place: &usize| {
        let trial = trials.get(*place);
        let prediction = trial.and_then(|trial| trial.prediction);
        prediction.unwrap_or(f64::NEG_INFINITY)
    };
    order.sort_by(|one, other| prediction(other).total_cmp(&prediction(one)));
}

/// Draws the first remaining position of `ranked`, or with probability `epsilon` any remaining one.
fn explore(ranked: &[usize], epsilon: f64, random: &mut Rng) -> Vec<usize> {
    // Ranks that remain, in any order, and the position of each rank among them.
    let mut remaining: Vec<usize> = (0..ranked.len()).collect();
    let mut places = remaining.clone();
    let mut is_drawn = vec![false; ranked.len()];
    let (mut order, mut first) = (Vec::with_capacity(ranked.len()), 0);
    while !remaining.is_empty() {
        while is_drawn.get(first) == Some(&true) {
            first += 1;
        }
        let rank = match random.f64() < epsilon {
            true => random.choice(&remaining).copied().unwrap_or(first),
            false => first,
        };
        let place = places.get(rank).copied().unwrap_or_default();
        remaining.swap_remove(place);
        if let Some(moved) = remaining.get(place)
            && let Some(position) = places.get_mut(*moved)
        {
            *position = place;
        }
        if let Some(drawn) = is_drawn.get_mut(rank) {
            *drawn = true;
        }
        order.extend(ranked.get(rank));
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trials(predictions: &[Option<f64>]) -> Vec<Trial> {
        let trial = |prediction: &Option<f64>| Trial {
            time_ns: Some(1.0),
            cost_s: None,
            prediction: *prediction,
        };
        predictions.iter().map(trial).collect()
    }

    #[test]
    fn greedy_draws_by_prediction_and_missing_ones_last() {
        let trials = trials(&[Some(1.0), None, Some(3.0), Some(1.0), Some(2.0)]);
        let order =
            |policy: Policy, epsilon| policy.order(&trials, epsilon, &mut Rng::with_seed(1));
        assert_eq!(order(Policy::Greedy, 0.0), [2, 4, 0, 3, 1]);
        assert_eq!(order(Policy::Recorded, 0.0), [0, 1, 2, 3, 4]);
        assert_eq!(order(Policy::EpsilonGreedy, 0.0), [2, 4, 0, 3, 1]);
    }

    #[test]
    fn every_search_draws_each_trial_once() {
        let predictions: Vec<Option<f64>> = (0..50).map(|number| Some(f64::from(number))).collect();
        let trials = trials(&predictions);
        for policy in Policy::ALL {
            assert_eq!(policy.name().parse::<Policy>().unwrap(), policy);
            for seed in 0..20 {
                let draw = || policy.order(&trials, 0.3, &mut Rng::with_seed(seed));
                let order = draw();
                assert_eq!(order, draw(), "{policy}: seed {seed}");
                let mut sorted = order.clone();
                sorted.sort_unstable();
                assert!(sorted.into_iter().eq(0..50), "{policy}: {order:?}");
            }
        }
        assert!("best".parse::<Policy>().is_err());
    }

    /// The first draw is the best prediction with probability 1 - e + e/n.
    #[test]
    fn exploration_has_its_probability() {
        let trials = trials(&[Some(0.0), Some(5.0), Some(1.0), Some(2.0)]);
        let draws = 20_000_u32;
        let first = (0..draws).filter(|seed| {
            let mut random = Rng::with_seed(u64::from(*seed));
            Policy::EpsilonGreedy.order(&trials, 0.4, &mut random)[0] == 1
        });
        let fraction = f64::from(u32::try_from(first.count()).unwrap()) / f64::from(draws);
        assert!((fraction - 0.7).abs() < 0.015, "{fraction}");
    }
}
