//! What is scored together, and what its scores consist of.
//!
//! A score of a group is a quotient of sums over its units (tasks, files, graphs), so that drawing units anew is adding up anew.

use tsql_metrics::throughput::Undefined;

use super::report::Predictor;

/// A metric of units.
#[derive(Clone, Copy, Debug)]
pub(super) struct Metric {
    pub(super) name: &'static str,
    /// What becomes of the quotient.
    pub(super) finish: Finish,
    /// Does a unit count as often as the network has it?
    pub(super) is_weighted: bool,
}

impl Metric {
    pub(super) const fn mean(name: &'static str) -> Self {
        Self {
            name,
            finish: Finish::Quotient,
            is_weighted: false,
        }
    }
}

/// What becomes of the quotient of sums.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Finish {
    /// Nothing.
    Quotient,
    /// Its root, as of a mean of squares.
    Root,
    /// Its exponential, as of a mean of logarithms.
    Exponential,
}

impl Finish {
    pub(super) fn of(self, over: f64, under: f64) -> Option<f64> {
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

/// What a unit adds to a metric: to the sum above and to the sum below.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Share {
    pub(super) over: f64,
    pub(super) under: f64,
}

impl Share {
    /// A value that counts this much in a mean.
    pub(super) fn mean(value: f64, weight: f64) -> Self {
        Self {
            over: value * weight,
            under: weight,
        }
    }
}

/// Why a unit adds nothing, and whether that is the predictions' own fault: then no group with it has a score.
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

/// Shares of one predictor in each metric.
pub(super) type Shares = Vec<Result<Share, LeftOut>>;

/// What one predictor has of a unit.
#[derive(Clone, Debug)]
pub(super) struct Of {
    pub(super) predictor: Predictor,
    /// Records that it ranks.
    pub(super) rows: u64,
    pub(super) shares: Shares,
}

/// What is scored together.
#[derive(Clone, Debug)]
pub(super) struct Unit {
    pub(super) failed: u64,
    pub(super) missing: u64,
    /// For each predictor, in one order for all units.
    pub(super) of: Vec<Of>,
}

/// A unit in a group, and how often the group has it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Member {
    pub(super) unit: usize,
    pub(super) weight: f64,
}

/// Units that have a score together.
#[derive(Clone, Debug)]
pub(super) struct Group {
    pub(super) name: String,
    pub(super) platform: Option<String>,
    pub(super) tasks_of_network: Option<u64>,
    pub(super) members: Vec<Member>,
}

/// What is said of all groups.
#[derive(Clone, Debug)]
pub(super) enum Total {
    /// Mean of the groups' scores; `None` as a score where fewer groups than these have one.
    Mean { name: String, least_groups: usize },
    /// The score of these members together.
    Together(Group),
}
