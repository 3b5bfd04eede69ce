//! Scoring units and their contributions to scores.
//!
//! A score of a group is a quotient of sums over its units (tasks, files, graphs), so that a resample only needs new
//! sums.

use tsql_metrics::throughput::Undefined;

use super::report::Predictor;

/// A metric of units.
#[derive(Clone, Copy, Debug)]
pub(super) struct UnitMetric {
    pub(super) name: &'static str,
    /// Transformation of the quotient.
    pub(super) finish: Transform,
    /// Whether a unit is weighted by its number of occurrences in the network.
    pub(super) is_weighted: bool,
}

impl UnitMetric {
    pub(super) const fn mean(name: &'static str) -> Self {
        Self {
            name,
            finish: Transform::Quotient,
            is_weighted: false,
        }
    }
}

/// Transformation of the quotient of sums.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Transform {
    /// None.
    Quotient,
    /// Square root, for a mean of squares.
    Root,
    /// Exponential, for a mean of logarithms.
    Exponential,
}

impl Transform {
    pub(super) fn apply(self, over: f64, under: f64) -> Option<f64> {
        if under <= 0.0 {
            return None;
        }
        let quotient = over / under;
        let value = match self {
            Self::Quotient => quotient,
            Self::Root => quotient.sqrt(),
            Self::Exponential => quotient.exp(),
        };
        (!value.is_nan()).then_some(value)
    }
}

/// Contribution of a unit to the numerator and the denominator of a metric.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct MetricShare {
    pub(super) over: f64,
    pub(super) under: f64,
}

impl MetricShare {
    /// A value with its weight in a mean.
    pub(super) fn mean(value: f64, weight: f64) -> Self {
        Self {
            over: value * weight,
            under: weight,
        }
    }
}

/// Reason why a unit does not contribute. It may be the fault of the predictions: then no group with the unit has a
/// score.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LeftOut {
    pub(super) reason: String,
    pub(super) spoils: bool,
}

impl From<Undefined> for LeftOut {
    fn from(why: Undefined) -> Self {
        Self {
            reason: why.to_string(),
            spoils: why == Undefined::Prediction,
        }
    }
}

impl LeftOut {
    pub(super) fn because(reason: &str) -> Self {
        Self {
            reason: reason.to_owned(),
            spoils: false,
        }
    }
}

/// Contributions of one predictor to each metric.
pub(super) type Shares = Vec<Result<MetricShare, LeftOut>>;

/// Contributions of one predictor for a unit.
#[derive(Clone, Debug)]
pub(super) struct PredictorShares {
    pub(super) predictor: Predictor,
    /// Number of ranked records.
    pub(super) rows: u64,
    pub(super) shares: Shares,
}

/// A task, file or graph that is scored.
#[derive(Clone, Debug)]
pub(super) struct ScoreUnit {
    pub(super) failed: u64,
    pub(super) missing: u64,
    /// Contributions of each predictor, in the same order for all units.
    pub(super) of: Vec<PredictorShares>,
}

/// A unit of a group, with its number of occurrences.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct GroupMember {
    pub(super) unit: usize,
    pub(super) weight: f64,
}

/// Units that are scored together.
#[derive(Clone, Debug)]
pub(super) struct UnitGroup {
    pub(super) name: String,
    pub(super) platform: Option<String>,
    pub(super) network_tasks: Option<u64>,
    pub(super) members: Vec<GroupMember>,
}

/// A total over all groups.
#[derive(Clone, Debug)]
pub(super) enum GroupTotal {
    /// Mean of the groups' scores; `None` if fewer than `least_groups` groups have one.
    Mean { name: String, least_groups: usize },
    /// Common score of these members.
    Together(UnitGroup),
}
