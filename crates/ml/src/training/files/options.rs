//! Options of training files.

use derive_setters::Setters;
use serde::{Deserialize, Serialize};
use tsql_error::{Error, Result};

/// Maximum number of rows of a query that LightGBM ranks.
const GROUP_ROWS: u64 = 10_000;

/// The target of a model for a row: the best cost of its task, among the rows of its part, divided by its own
/// cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Label {
    /// Mean runtimes; failed records are left out.
    #[default]
    Valid,
    /// As in TenSet's scripts: failed records cost 1e10 s, 32-bit floats.
    Tenset,
    /// Median of repeats; failed records are left out, as in MetaSchedule's `xgb_model.py`.
    Metaschedule,
}

impl Label {
    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Valid => "valid",
            Self::Tenset => "tenset",
            Self::Metaschedule => "metaschedule",
        }
    }

    /// Parses the name of a target.
    ///
    /// # Errors
    /// [`Error::Unknown`] for any other name.
    pub fn parse(name: &str) -> Result<Self> {
        let all = [Self::Valid, Self::Tenset, Self::Metaschedule];
        find_by_name("target", name, all, Self::name)
    }
}

/// File format of rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum FileForm {
    /// Parquet, compressed with zstd.
    #[default]
    Parquet,
    /// Arrow's file format, not compressed, so that it can be mapped into memory.
    Arrow,
    /// NumPy archives, not compressed, with one array for each column.
    Npz,
}

impl FileForm {
    /// Returns its name, which is also the file extension.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Parquet => "parquet",
            Self::Arrow => "arrow",
            Self::Npz => "npz",
        }
    }

    /// Parses the name of a format.
    ///
    /// # Errors
    /// [`Error::Unknown`] for any other name.
    pub fn parse(name: &str) -> Result<Self> {
        let all = [Self::Parquet, Self::Arrow, Self::Npz];
        find_by_name("file format", name, all, Self::name)
    }
}

/// Handling of a group that has more rows than a query may have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum LargeGroups {
    /// Returns an error.
    #[default]
    #[serde(rename = "refused", alias = "rejected")]
    Rejected,
    /// Splits it into several queries, whose sizes differ by at most one row.
    Cut,
    /// Samples rows at random, by the seed.
    Sampled,
}

impl LargeGroups {
    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Rejected => "rejected",
            Self::Cut => "cut",
            Self::Sampled => "sampled",
        }
    }

    /// Parses the name of a choice. `refused` is an earlier name of `rejected`.
    ///
    /// # Errors
    /// [`Error::Unknown`] for any other name.
    pub fn parse(name: &str) -> Result<Self> {
        let name = if name == "refused" { "rejected" } else { name };
        let all = [Self::Rejected, Self::Cut, Self::Sampled];
        find_by_name("choice for large groups", name, all, Self::name)
    }
}

fn find_by_name<T: Copy, const N: usize>(
    kind: &'static str,
    name: &str,
    all: [T; N],
    named: fn(T) -> &'static str,
) -> Result<T> {
    let found = all.into_iter().find(|one| named(*one) == name);
    found.ok_or_else(|| Error::Unknown {
        kind,
        name: name.to_owned(),
        known: all.map(named).join(", "),
    })
}

/// Options of training files: rows, features and target.
///
/// ```
/// use tsql_ml::training::Label;
/// use tsql_ml::training::TrainingFilesOptions;
/// let options = TrainingFilesOptions::new(["schedule_numbers", "workload_shape"])
///     .predicate("dataset = 'tenset'")
///     .target(Label::Tenset);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Setters)]
#[setters(strip_option)]
#[non_exhaustive]
pub struct TrainingFilesOptions {
    #[setters(skip)]
    pub(super) features: Vec<String>,
    /// Selects only records that match this SQL over `records`.
    #[serde(rename = "where")]
    #[setters(into)]
    pub(super) predicate: Option<String>,
    /// Writes a folder for each part of this split; without a split all rows are in `all`.
    #[setters(into)]
    pub(super) split: Option<String>,
    #[setters(skip)]
    pub(super) parts: Vec<String>,
    /// Sets the rows that form one ranking query: rows of a `task` (a graph on a platform), of a `graph`, of a
    /// `file`, or with the same values in these columns of `records`, separated by commas.
    #[setters(into)]
    pub(super) group: Option<String>,
    /// Sets the target, which a model learns.
    #[serde(rename = "label", alias = "target")]
    pub(super) target: Label,
    /// Sets the file format of rows.
    #[serde(rename = "form", alias = "file_format")]
    pub(super) file_format: FileForm,
    #[setters(skip)]
    pub(super) group_rows: u64,
    #[setters(skip)]
    pub(super) large_groups: LargeGroups,
    /// Leaves out rows that have a NULL feature; otherwise they are an error.
    pub(super) skip_null: bool,
    /// Adds a column `weight` that balances the values of this expression over `records`. All values have the
    /// same total weight in their part, and the mean weight of rows is 1. So frequent families do not outweigh
    /// the others.
    #[setters(into)]
    pub(super) balance: Option<String>,
    /// Sets the seed of random samples; the same seed gives the same rows.
    pub(super) seed: u64,
    /// Sets the memory limit for sorting rows and computing features, in bytes; beyond it they spill to
    /// temporary files. The default is 70 % of the memory of the process. The files do not depend on it.
    #[serde(skip)]
    pub(super) memory_limit_bytes: Option<usize>,
    /// Replaces files of an earlier export.
    #[serde(skip)]
    pub(super) overwrite: bool,
}

impl TrainingFilesOptions {
    /// Selects all records that have a label, with these features, grouped by task.
    pub fn new(features: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self {
            features: features.into_iter().map(Into::into).collect(),
            predicate: None,
            split: None,
            parts: Vec::new(),
            group: Some("task".to_owned()),
            target: Label::default(),
            file_format: FileForm::default(),
            group_rows: GROUP_ROWS,
            large_groups: LargeGroups::default(),
            skip_null: false,
            balance: None,
            seed: 0,
            memory_limit_bytes: None,
            overwrite: false,
        }
    }

    /// Selects parts of the split; all by default.
    #[must_use]
    pub fn parts(mut self, parts: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.parts = parts.into_iter().map(Into::into).collect();
        self
    }

    /// Disables groups.
    #[must_use]
    pub fn without_groups(self) -> Self {
        Self {
            group: None,
            ..self
        }
    }

    /// Sets the maximum number of rows of a group (10,000, the limit of LightGBM), and the handling of larger
    /// groups.
    #[must_use]
    pub fn group_rows(self, group_rows: u64, large_groups: LargeGroups) -> Self {
        Self {
            group_rows,
            large_groups,
            ..self
        }
    }

    /// # Errors
    /// [`Error::Argument`] for invalid options.
    pub(super) fn validate(&self) -> Result<()> {
        let wrong = |name: &'static str, reason: &str| {
            let reason = reason.to_owned();
            Err(Error::Argument { name, reason })
        };
        if self.features.is_empty() {
            return wrong(
                "features",
                "no features are given\nhint: --features schedule_numbers,workload_shape",
            );
        }
        if self.group_rows == 0 {
            return wrong("group_rows", "expected at least one row in a group");
        }
        if self.split.is_none() && !self.parts.is_empty() {
            return wrong("parts", "parts need a split\nhint: --split NAME@1");
        }
        Ok(())
    }
}
