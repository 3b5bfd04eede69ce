//! Result of one check, and its severity.

use serde::Serialize;

/// Severity of a finding, in ascending order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// No problem.
    Ok,
    /// Useful to know, but not a problem.
    Note,
    /// Distorts timings.
    Warning,
}

impl Level {
    /// Printed form.
    pub(super) fn as_str(self) -> &'static str {
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
    /// Severity.
    pub level: Level,
    /// The topic: `governor`, `busy`, ...
    pub topic: String,
    /// State of the topic.
    pub detail: String,
    /// Suggested remedy.
    pub hint: Option<String>,
}

impl Finding {
    /// A finding without a problem.
    pub(super) fn ok(topic: &str, detail: impl Into<String>) -> Self {
        Self {
            level: Level::Ok,
            topic: topic.to_owned(),
            detail: detail.into(),
            hint: None,
        }
    }

    /// A finding that matters when timings are compared.
    pub(super) fn note(topic: &str, detail: impl Into<String>) -> Self {
        Self {
            level: Level::Note,
            ..Self::ok(topic, detail)
        }
    }

    /// A finding that makes timings wrong or noisy.
    pub(super) fn warning(topic: &str, detail: impl Into<String>) -> Self {
        Self {
            level: Level::Warning,
            ..Self::ok(topic, detail)
        }
    }

    /// Adds a remedy.
    pub(super) fn with_hint(self, hint: impl Into<String>) -> Self {
        Self {
            hint: Some(hint.into()),
            ..self
        }
    }
}
