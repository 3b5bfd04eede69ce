//! Options of training files.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

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

    /// Parses the name of a label.
    ///
    /// # Errors
    /// [`Error::Unknown`] for any other name.
    pub fn parse(name: &str) -> Result<Self> {
        let all = [Self::Valid, Self::Tenset, Self::Metaschedule];
        find_by_name("label", name, all, Self::name)
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
        find_by_name("form", name, all, Self::name)
    }
}

/// Handling of a group that has more rows than a query may have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum LargeGroups {
    /// Returns an error.
    #[default]
    Refused,
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
            Self::Refused => "refused",
            Self::Cut => "cut",
            Self::Sampled => "sampled",
        }
    }

    /// Parses the name of a choice.
    ///
    /// # Errors
    /// [`Error::Unknown`] for any other name.
    pub fn parse(name: &str) -> Result<Self> {
        let all = [Self::Refused, Self::Cut, Self::Sampled];
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

/// Options of training files: rows, features and labels.
///
/// ```
/// use tsql::training::{Label, TrainingFilesOptions};
/// let options = TrainingFilesOptions::new(["schedule_numbers", "workload_shape"])
///     .predicate("dataset = 'tenset'")
///     .label(Label::Tenset);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TrainingFilesOptions {
    pub(super) features: Vec<String>,
    #[serde(rename = "where")]
    pub(super) predicate: Option<String>,
    pub(super) split: Option<String>,
    pub(super) parts: Vec<String>,
    pub(super) group: Option<String>,
    pub(super) label: Label,
    pub(super) form: FileForm,
    pub(super) group_rows: u64,
    pub(super) large_groups: LargeGroups,
    pub(super) skip_null: bool,
    pub(super) balance: Option<String>,
    pub(super) seed: u64,
    #[serde(skip)]
    pub(super) memory_limit_bytes: Option<usize>,
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
            label: Label::default(),
            form: FileForm::default(),
            group_rows: GROUP_ROWS,
            large_groups: LargeGroups::default(),
            skip_null: false,
            balance: None,
            seed: 0,
            memory_limit_bytes: None,
            overwrite: false,
        }
    }

    /// Sets the memory limit for sorting rows and computing features, in bytes; beyond it they spill to
    /// temporary files. The default is 70 % of the memory of the process. The files do not depend on it.
    #[must_use]
    pub fn memory_limit_bytes(mut self, bytes: usize) -> Self {
        self.memory_limit_bytes = Some(bytes);
        self
    }

    /// Selects only records that match this SQL over `records`.
    #[must_use]
    pub fn predicate(mut self, predicate: impl Into<String>) -> Self {
        self.predicate = Some(predicate.into());
        self
    }

    /// Writes a folder for each part of this split; without a split all rows are in `all`.
    #[must_use]
    pub fn split(mut self, split: impl Into<String>) -> Self {
        self.split = Some(split.into());
        self
    }

    /// Selects parts of the split; all by default.
    #[must_use]
    pub fn parts(mut self, parts: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.parts = parts.into_iter().map(Into::into).collect();
        self
    }

    /// Sets the rows that form one ranking query: rows of a `task` (a graph on a platform), of a `graph`, of a
    /// `file`, or with the same values in these columns of `records`, separated by commas.
    #[must_use]
    pub fn group(mut self, group: impl Into<String>) -> Self {
        self.group = Some(group.into());
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

    /// Sets the label.
    #[must_use]
    pub fn label(self, label: Label) -> Self {
        Self { label, ..self }
    }

    /// File format of rows.
    #[must_use]
    pub fn form(self, form: FileForm) -> Self {
        Self { form, ..self }
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

    /// Leaves out rows that have a NULL feature; otherwise they are an error.
    #[must_use]
    pub fn skip_null(self, skip_null: bool) -> Self {
        Self { skip_null, ..self }
    }

    /// Adds a column `weight` that balances the values of this expression over `records`. All values have the
    /// same total weight in their part, and the mean weight of rows is 1. So frequent families do not outweigh
    /// the others.
    #[must_use]
    pub fn balance(mut self, family: impl Into<String>) -> Self {
        self.balance = Some(family.into());
        self
    }

    /// Sets the seed of random samples; the same seed gives the same rows.
    #[must_use]
    pub fn seed(self, seed: u64) -> Self {
        Self { seed, ..self }
    }

    /// Replaces files of an earlier export.
    #[must_use]
    pub fn overwrite(self, overwrite: bool) -> Self {
        Self { overwrite, ..self }
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
