//! What is asked of files for training.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// Rows of a query that LightGBM ranks, at most.
const GROUP_ROWS: u64 = 10_000;

/// What a model is to predict of a row: the best cost of its task, among the rows of its part, over its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Label {
    /// Of mean runtimes, failed records left out.
    #[default]
    Valid,
    /// As TenSet's scripts compute it: failed records cost 1e10 s, numbers of 32 bits.
    Tenset,
    /// Of the median of repeats, failed records left out, as MetaSchedule's `xgb_model.py`.
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

    /// The label of this name.
    ///
    /// # Errors
    /// [`Error::Unknown`].
    pub fn named(name: &str) -> Result<Self> {
        let all = [Self::Valid, Self::Tenset, Self::Metaschedule];
        known("label", name, all, Self::name)
    }
}

/// How rows are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum FileForm {
    /// Parquet, with zstd.
    #[default]
    Parquet,
    /// Arrow's file format, not compressed: what is mapped into memory as it is.
    Arrow,
    /// NumPy's archives, not compressed, an array for each column.
    Npz,
}

impl FileForm {
    /// Its name, and the end of its files' names.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Parquet => "parquet",
            Self::Arrow => "arrow",
            Self::Npz => "npz",
        }
    }

    /// The form of this name.
    ///
    /// # Errors
    /// [`Error::Unknown`].
    pub fn named(name: &str) -> Result<Self> {
        let all = [Self::Parquet, Self::Arrow, Self::Npz];
        known("form", name, all, Self::name)
    }
}

/// What becomes of a group that has more rows than a query may have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum LargeGroups {
    /// It is an error.
    #[default]
    Refused,
    /// It becomes several queries, which differ by one row at most.
    Cut,
    /// Rows of it are chosen at random, by the seed.
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

    /// What has this name.
    ///
    /// # Errors
    /// [`Error::Unknown`].
    pub fn named(name: &str) -> Result<Self> {
        let all = [Self::Refused, Self::Cut, Self::Sampled];
        known("choice for large groups", name, all, Self::name)
    }
}

fn known<T: Copy, const N: usize>(
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

/// Which rows become files for training, with which features and labels.
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
    /// All records that have a label, with these features, grouped by task.
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

    /// Memory that rows may take while they are sorted, with what each needs for its features; the rest goes to temporary files. 70 % of
    /// what the process may have unless it is set. The files are the same whatever it is.
    #[must_use]
    pub fn memory_limit_bytes(mut self, bytes: usize) -> Self {
        self.memory_limit_bytes = Some(bytes);
        self
    }

    /// Only records that this SQL over `records` selects.
    #[must_use]
    pub fn predicate(mut self, predicate: impl Into<String>) -> Self {
        self.predicate = Some(predicate.into());
        self
    }

    /// A folder for each part of this split; without one all rows are in `all`.
    #[must_use]
    pub fn split(mut self, split: impl Into<String>) -> Self {
        self.split = Some(split.into());
        self
    }

    /// Only these parts of the split; otherwise all that it has.
    #[must_use]
    pub fn parts(mut self, parts: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.parts = parts.into_iter().map(Into::into).collect();
        self
    }

    /// Rows that stay together, as one query of a ranking: those of a `task` (a graph on a platform), of a `graph`, of a
    /// `file`, or with the same values in these columns of `records`, with commas between.
    #[must_use]
    pub fn group(mut self, group: impl Into<String>) -> Self {
        self.group = Some(group.into());
        self
    }

    /// No groups.
    #[must_use]
    pub fn ungrouped(self) -> Self {
        Self {
            group: None,
            ..self
        }
    }

    /// What is to be predicted.
    #[must_use]
    pub fn label(self, label: Label) -> Self {
        Self { label, ..self }
    }

    /// How rows are written.
    #[must_use]
    pub fn form(self, form: FileForm) -> Self {
        Self { form, ..self }
    }

    /// Rows of a group at most (10,000, as LightGBM has it), and what becomes of one that has more.
    #[must_use]
    pub fn group_rows(self, group_rows: u64, large_groups: LargeGroups) -> Self {
        Self {
            group_rows,
            large_groups,
            ..self
        }
    }

    /// Leaves out rows that have no value of a feature; otherwise they are an error.
    #[must_use]
    pub fn skip_null(self, skip_null: bool) -> Self {
        Self { skip_null, ..self }
    }

    /// A column `weight`, by which all values of this expression over `records` count the same in their part, and rows 1 on
    /// average: families that are frequent do not outweigh the others.
    #[must_use]
    pub fn balance(mut self, family: impl Into<String>) -> Self {
        self.balance = Some(family.into());
        self
    }

    /// The same seed gives the same rows where some are chosen at random.
    #[must_use]
    pub fn seed(self, seed: u64) -> Self {
        Self { seed, ..self }
    }

    /// Replaces files that were exported there before.
    #[must_use]
    pub fn overwrite(self, overwrite: bool) -> Self {
        Self { overwrite, ..self }
    }

    /// # Errors
    /// [`Error::Argument`] for what cannot be.
    pub(super) fn checked(&self) -> Result<()> {
        let wrong = |name: &'static str, reason: &str| {
            let reason = reason.to_owned();
            Err(Error::Argument { name, reason })
        };
        if self.features.is_empty() {
            return wrong(
                "features",
                "no feature was named\nhint: --features schedule_numbers,workload_shape",
            );
        }
        if self.group_rows == 0 {
            return wrong("group_rows", "a group has at least one row");
        }
        if self.split.is_none() && !self.parts.is_empty() {
            return wrong("parts", "parts are those of a split\nhint: --split NAME@1");
        }
        Ok(())
    }
}
