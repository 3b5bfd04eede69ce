//! Levels of similarity between records of different parts.

use serde::Serialize;
use tsql_error::{Error, Result};
use tsql_session::SplitUnit;

/// A level of leaks: the unit that records of two parts share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[non_exhaustive]
pub enum LeakLevel {
    /// The same configuration on the same platform.
    L0,
    /// The same configuration, on any platform.
    L1,
    /// The same task: workload and kind of target.
    L2,
    /// The same DAG or structure.
    L3,
    /// The same sketch.
    L4,
    /// The same network.
    L5,
}

impl LeakLevel {
    /// All levels, the closest first.
    pub const ALL: [Self; 6] = [Self::L0, Self::L1, Self::L2, Self::L3, Self::L4, Self::L5];

    /// Returns the name: `L0` to `L5`.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::L0 => "L0",
            Self::L1 => "L1",
            Self::L2 => "L2",
            Self::L3 => "L3",
            Self::L4 => "L4",
            Self::L5 => "L5",
        }
    }

    /// Returns a description of the shared unit.
    #[must_use]
    pub fn description(self) -> &'static str {
        match self {
            Self::L0 => "configuration and platform",
            Self::L1 => "configuration",
            Self::L2 => "task",
            Self::L3 => "DAG or structure",
            Self::L4 => "sketch",
            Self::L5 => "network",
        }
    }

    /// Parses the name of a level.
    ///
    /// # Errors
    /// [`Error::Unknown`] for any other text.
    pub fn parse(word: &str) -> Result<Self> {
        let mut all = Self::ALL.into_iter();
        all.find(|level| level.word().eq_ignore_ascii_case(word))
            .ok_or_else(|| Error::Unknown {
                kind: "level of leaks",
                name: word.to_owned(),
                known: Self::ALL.map(Self::word).join(", "),
            })
    }

    /// Returns this level and all before it: the levels at which nothing may leak.
    pub(super) fn up_to(self) -> Vec<Self> {
        Self::ALL
            .into_iter()
            .filter(|level| *level <= self)
            .collect()
    }

    /// Returns the levels at which a split by this unit must not leak.
    pub(super) fn of_unit(unit: SplitUnit) -> Vec<Self> {
        match unit {
            SplitUnit::Config => Self::L1.up_to(),
            SplitUnit::Task => Self::L2.up_to(),
            SplitUnit::Dag | SplitUnit::Structure => Self::L3.up_to(),
            SplitUnit::Network => vec![Self::L0, Self::L1, Self::L2, Self::L5],
            SplitUnit::Platform => Self::L0.up_to(),
            _ => Vec::new(),
        }
    }
}
