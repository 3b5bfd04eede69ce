//! One thing that may be typed.

use reedline::{Span, Suggestion};

/// What may stand somewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Candidate {
    pub(super) value: String,
    doc: String,
    /// It is typed in whatever case the beginning has.
    is_keyword: bool,
    /// Does another word follow?
    is_word: bool,
}

impl Candidate {
    pub(super) fn new(value: impl Into<String>, doc: &str) -> Self {
        Self {
            value: value.into(),
            doc: doc.lines().next().unwrap_or_default().to_owned(),
            is_keyword: false,
            is_word: false,
        }
    }

    pub(super) fn word(self) -> Self {
        Self {
            is_word: true,
            ..self
        }
    }

    pub(super) fn keyword(self) -> Self {
        Self {
            is_keyword: true,
            ..self
        }
    }

    pub(super) fn fits(&self, begun: &str) -> bool {
        let beginning = self.value.get(..begun.len());
        beginning.is_some_and(|beginning| beginning.eq_ignore_ascii_case(begun))
    }

    pub(super) fn suggestion(self, begun: &str, span: Span) -> Suggestion {
        let is_small = begun.chars().any(|c| c.is_ascii_lowercase());
        Suggestion {
            value: match self.is_keyword && is_small {
                true => self.value.to_ascii_lowercase(),
                false => self.value,
            },
            description: Some(self.doc).filter(|doc| !doc.is_empty()),
            append_whitespace: self.is_word || self.is_keyword,
            span,
            ..Suggestion::default()
        }
    }
}
