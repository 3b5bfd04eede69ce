//! Why and how something is corrected, and what came of it.

use crate::error::{Error, Result};
use serde::Serialize;

/// What kind of correction it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Kind {
    /// Labels were changed.
    Correct,
    /// Records were taken out.
    Retract,
    /// Records were put back.
    Restore,
}

impl Kind {
    pub(super) const ALL: [Self; 3] = [Self::Correct, Self::Retract, Self::Restore];

    /// As `corrections.kind` and the command say it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Correct => "correct",
            Self::Retract => "retract",
            Self::Restore => "restore",
        }
    }
}

/// Why, and how, something is corrected.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct CorrectionOptions {
    pub(crate) why: Option<String>,
    pub(crate) who: Option<String>,
    pub(crate) all: bool,
    pub(crate) dry_run: bool,
}

impl CorrectionOptions {
    /// For this reason.
    #[must_use]
    pub fn why(why: impl Into<String>) -> Self {
        Self {
            why: Some(why.into()),
            ..Self::default()
        }
    }

    /// Who does it; the user's name (`USER`) unless it is set.
    #[must_use]
    pub fn who(mut self, who: impl Into<String>) -> Self {
        self.who = Some(who.into());
        self
    }

    /// Everything may be chosen.
    #[must_use]
    pub fn all(mut self, all: bool) -> Self {
        self.all = all;
        self
    }

    /// Only says what it would do.
    #[must_use]
    pub fn dry_run(mut self, dry_run: bool) -> Self {
        self.dry_run = dry_run;
        self
    }
}

/// What a correction did, or would do.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Corrected {
    /// Its name in `corrections`; `None` where nothing was to be done, and for a dry run.
    pub correction_id: Option<String>,
    /// Records that it changed, took out or put back.
    pub records: u64,
    /// Sources that these belong to; of a correction of labels, those that were chosen.
    pub sources: u64,
    /// Other names of the same bytes, whose labels went along.
    pub other_names: u64,
    /// It finished what had been broken off.
    pub resumed: bool,
}

impl CorrectionOptions {
    /// Is all said that has to be?
    pub(super) fn checked(&self, kind: Kind) -> Result<()> {
        let is_blank =
            |text: &Option<String>| text.as_ref().is_none_or(|text| text.trim().is_empty());
        if kind != Kind::Restore && is_blank(&self.why) {
            return Err(Error::Argument {
                name: "why",
                reason:
                    "a correction needs a reason\nhint: --why \"...\" says it to whoever asks later"
                        .to_owned(),
            });
        }
        Ok(())
    }
}
