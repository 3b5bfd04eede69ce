//! What an import of features did.

use std::collections::BTreeMap;

use serde::Serialize;

/// Why a row was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum RowRefusal {
    /// Its key is NULL, or no key.
    NoKey,
    /// No configuration of the store has its key.
    UnknownKey,
    /// It has no numbers, or one of them is NULL, NaN, infinite or beyond float32.
    NoNumber,
    /// It has more or fewer numbers than the others.
    OtherLength,
    /// The configuration has other numbers, in the store or in an earlier row.
    OtherNumbers,
}

impl RowRefusal {
    /// In words, after a number of rows.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::NoKey => "without a key",
            Self::UnknownKey => "with a key that no configuration of the store has",
            Self::NoNumber => "with a number that is none",
            Self::OtherLength => "with more or fewer numbers than the others",
            Self::OtherNumbers => "with other numbers for a configuration that has some",
        }
    }
}

/// A row that was refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct RefusedRow {
    /// Where it stands: the line of CSV and of lines of JSON, else the number of the row, from 1.
    pub line: u64,
    /// Of which kind the reason is.
    pub refusal: RowRefusal,
    /// Why.
    pub reason: String,
}

/// What an import of features did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct FeaturesImported {
    /// Name of the features.
    pub name: String,
    /// The version that they are in.
    pub version: i64,
    /// Numbers of each row; 0 where no row was taken and there was none.
    pub number_count: u64,
    /// Rows that were read.
    pub rows: u64,
    /// Rows that are new in the store.
    pub added: u64,
    /// Rows that the store had already.
    pub known: u64,
    /// Rows that say again what an earlier one says.
    pub doubled: u64,
    /// Rows that were refused, by reason.
    pub refused: BTreeMap<RowRefusal, u64>,
    /// The first of those of each reason.
    pub refused_rows: Vec<RefusedRow>,
    /// Configurations that have such features now.
    pub configurations: u64,
    /// Configurations of the same graphs that have none.
    pub missing: u64,
}

impl FeaturesImported {
    /// Nothing was refused.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.refused.is_empty()
    }
}
