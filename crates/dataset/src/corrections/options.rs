//! Options and results of corrections.

use derive_setters::Setters;
use serde::Serialize;
use tsql_error::{Error, Result};

/// Type of a correction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum CorrectionKind {
    /// Changes labels.
    Correct,
    /// Removes records from results.
    Retract,
    /// Puts retracted records back.
    Restore,
}

impl CorrectionKind {
    pub(super) const ALL: [Self; 3] = [Self::Correct, Self::Retract, Self::Restore];

    /// Returns the name in `corrections.kind` and on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Correct => "correct",
            Self::Retract => "retract",
            Self::Restore => "restore",
        }
    }
}

/// Options of a correction.
#[derive(Clone, Debug, Default, Setters)]
#[setters(strip_option)]
#[non_exhaustive]
pub struct CorrectionOptions {
    #[setters(skip)]
    pub(crate) why: Option<String>,
    /// Sets the author. Default: the user name (`USER`).
    #[setters(into)]
    pub(crate) author: Option<String>,
    /// Allows a selection of everything.
    pub(crate) all: bool,
    /// Only reports what would change.
    pub(crate) dry_run: bool,
}

impl CorrectionOptions {
    /// Creates options with a reason.
    #[must_use]
    pub fn why(why: impl Into<String>) -> Self {
        Self {
            why: Some(why.into()),
            ..Self::default()
        }
    }
}

/// Result of a correction, or of a dry run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct CorrectionReport {
    /// Its id in `corrections`. `None` if nothing was to be done, and for a dry run.
    pub correction_id: Option<String>,
    /// Number of records that were changed, retracted or restored.
    pub records: u64,
    /// Number of their sources. For a correction of labels, number of selected sources.
    pub sources: u64,
    /// Number of aliases with the same bytes, whose labels were changed as well.
    pub other_names: u64,
    /// Whether it finished an interrupted correction.
    pub resumed: bool,
}

impl CorrectionOptions {
    /// Checks that all required options are set.
    pub(super) fn validate(&self, kind: CorrectionKind) -> Result<()> {
        let is_blank =
            |text: &Option<String>| text.as_ref().is_none_or(|text| text.trim().is_empty());
        if kind != CorrectionKind::Restore && is_blank(&self.why) {
            return Err(Error::Argument {
                name: "why",
                reason:
                    "a correction needs a reason\nhint: --why \"...\" stores it in `corrections`"
                        .to_owned(),
            });
        }
        Ok(())
    }
}
