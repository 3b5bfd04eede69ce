//! What is said of one topic, and how much it matters.

use serde::Serialize;

/// How much a finding matters to timings; the worst is the largest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// It is as it should be.
    Ok,
    /// Worth knowing, and no fault.
    Note,
    /// It spoils timings.
    Warning,
}

impl Level {
    /// As it is printed.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Note => "note",
            Self::Warning => "warning",
        }
    }
}

/// One topic and its state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// How bad it is.
    pub level: Level,
    /// The topic: `governor`, `busy`, ...
    pub what: String,
    /// Its state.
    pub detail: String,
    /// What to do about it.
    pub hint: Option<String>,
}

impl Finding {
    /// Nothing is wrong.
    pub(super) fn ok(what: &str, detail: impl Into<String>) -> Self {
        Self {
            level: Level::Ok,
            what: what.to_owned(),
            detail: detail.into(),
            hint: None,
        }
    }

    /// Worth knowing when timings are compared.
    pub(super) fn note(what: &str, detail: impl Into<String>) -> Self {
        Self {
            level: Level::Note,
            ..Self::ok(what, detail)
        }
    }

    /// It makes timings wrong or noisy.
    pub(super) fn warning(what: &str, detail: impl Into<String>) -> Self {
        Self {
            level: Level::Warning,
            ..Self::ok(what, detail)
        }
    }

    /// The same with what to do about it.
    pub(super) fn hint(self, hint: impl Into<String>) -> Self {
        Self {
            hint: Some(hint.into()),
            ..self
        }
    }
}
