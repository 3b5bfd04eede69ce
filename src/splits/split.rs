//! Description of a split.

use serde::Serialize;

use crate::query::SplitUnit;
use crate::query::splits::SplitDefinition;

/// A version of a split.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Split {
    /// Its name.
    pub name: String,
    /// Version: 1 for the first definition of this name, then consecutive.
    pub version: i64,
    /// Unit that is never divided.
    pub unit: SplitUnit,
    /// Ratio of train, valid and test.
    pub ratio: String,
    /// Its seed.
    pub seed: i64,
    /// Preset, if any.
    pub preset: Option<String>,
    /// Known leaks.
    pub warning: Option<String>,
    /// Query whose rows are split; `None` for all records.
    pub query: Option<String>,
    /// Query whose units were held out.
    pub hold_out: Option<String>,
    /// Number of units at creation.
    pub unit_count: i64,
    /// Digest: versions with the same digest are the same split, in any store.
    pub digest: String,
    /// Time of creation, in microseconds since 1970.
    pub created_at_us: i64,
}

impl Split {
    /// Returns `NAME@VERSION`, the argument of `split('NAME@VERSION')`.
    #[must_use]
    pub fn full_name(&self) -> String {
        format!("{}@{}", self.name, self.version)
    }

    pub(super) fn from_definition(split: &SplitDefinition) -> Self {
        Self {
            name: split.name.clone(),
            version: split.version,
            unit: split.unit,
            ratio: split.ratio.clone(),
            seed: split.seed,
            preset: split.preset.clone(),
            warning: split.warning.clone(),
            query: split.query.clone(),
            hold_out: split.hold_out.clone(),
            unit_count: split.unit_count,
            digest: split.digest.clone(),
            created_at_us: split.created_at_us,
        }
    }
}

/// Number of records in a part of a split.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct PartCount {
    /// `train`, `valid` or `test`; `None` for rows in no part: rows without a key, and new graphs that would
    /// join two parts.
    pub part: Option<String>,
    /// Number of records.
    pub record_count: u64,
}
