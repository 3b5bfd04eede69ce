//! A split as it is told.

use serde::Serialize;

use crate::query::SplitUnit;
use crate::query::splits::Definition;

/// A version of a split.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Split {
    /// Its name.
    pub name: String,
    /// 1 for the first of this name, then one more for each other definition.
    pub version: i64,
    /// What stays together.
    pub unit: SplitUnit,
    /// Shares of train, valid and test.
    pub ratio: String,
    /// Its seed.
    pub seed: i64,
    /// The preset that it was made by.
    pub preset: Option<String>,
    /// What is known to leak by definition.
    pub warning: Option<String>,
    /// The query whose rows it is about; `None` for all records.
    pub query: Option<String>,
    /// The query whose units were held out.
    pub hold_out: Option<String>,
    /// Units that there were when it was made.
    pub unit_count: i64,
    /// Two versions with one digest are the same split, in any store.
    pub digest: String,
    /// When it was made, in microseconds since 1970.
    pub created_at_us: i64,
}

impl Split {
    /// `NAME@VERSION`, as `split('NAME@VERSION')` takes it.
    #[must_use]
    pub fn full_name(&self) -> String {
        format!("{}@{}", self.name, self.version)
    }

    pub(super) fn of(split: &Definition) -> Self {
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

/// How much of a store is in a part of a split.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct PartCount {
    /// `train`, `valid` or `test`; `None` for what is in none: rows without a key, and newcomers that would join two parts.
    pub part: Option<String>,
    /// Its records.
    pub record_count: u64,
}
