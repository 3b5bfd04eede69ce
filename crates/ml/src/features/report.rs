//! Result of an import of features.

use std::collections::BTreeMap;

use serde::Serialize;

/// Reason for rejecting a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum RowRejection {
    /// The key is NULL or malformed.
    NoKey,
    /// The store has no configuration with this key.
    UnknownKey,
    /// There are no numbers, or one of them is NULL, NaN, infinite or outside of float32.
    NoNumber,
    /// The number of values differs from other rows.
    OtherLength,
    /// The configuration has different numbers, in the store or in an earlier row.
    OtherNumbers,
}

impl RowRejection {
    /// Description, to follow a number of rows.
    #[must_use]
    pub fn description(self) -> &'static str {
        match self {
            Self::NoKey => "without a key",
            Self::UnknownKey => "with a key that no configuration of the store has",
            Self::NoNumber => "with a NULL, infinite or missing number",
            Self::OtherLength => "with more or fewer numbers than the others",
            Self::OtherNumbers => "with other numbers for a configuration that already has numbers",
        }
    }
}

/// A rejected row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct RejectedRow {
    /// Line of CSV or JSON lines, else the row number, from 1.
    pub line: u64,
    /// Category of the reason.
    pub category: RowRejection,
    /// Detailed reason.
    pub reason: String,
}

/// Result of an import of features.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct FeaturesImported {
    /// Name of the features.
    pub name: String,
    /// Version of the features.
    pub revision: i64,
    /// Number of values in each row; 0 if no row was accepted and none existed.
    pub number_count: u64,
    /// Number of rows that were read.
    pub rows: u64,
    /// Number of rows that are new in the store.
    pub added: u64,
    /// Number of rows that the store already had.
    pub unchanged: u64,
    /// Number of rows that repeat an earlier row.
    pub duplicates: u64,
    /// Number of rejected rows, by reason.
    pub rejected: BTreeMap<RowRejection, u64>,
    /// The first rejected rows of each reason.
    pub rejected_rows: Vec<RejectedRow>,
    /// Number of configurations that have these features.
    pub configurations: u64,
    /// Number of configurations of the same graphs without these features.
    pub missing: u64,
}

impl FeaturesImported {
    /// Returns whether no row was rejected.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.rejected.is_empty()
    }
}
