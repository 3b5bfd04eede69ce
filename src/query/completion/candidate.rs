//! One thing that may be typed.

/// What may stand somewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Candidate {
    pub(crate) value: String,
    /// What it is, in a line.
    pub(crate) doc: String,
    /// It is typed in whatever case the beginning has.
    is_keyword: bool,
    /// Does another word follow?
    is_word: bool,
}

impl Candidate {
    pub(crate) fn new(value: impl Into<String>, doc: &str) -> Self {
        Self {
            value: value.into(),
            doc: doc.lines().next().unwrap_or_default().to_owned(),
            is_keyword: false,
            is_word: false,
        }
    }

    pub(crate) fn word(self) -> Self {
        Self {
            is_word: true,
            ..self
        }
    }

    pub(crate) fn keyword(self) -> Self {
        Self {
            is_keyword: true,
            ..self
        }
    }

    pub(crate) fn fits(&self, begun: &str) -> bool {
        let beginning = self.value.get(..begun.len());
        beginning.is_some_and(|beginning| beginning.eq_ignore_ascii_case(begun))
    }

    /// What stands in the place of what was begun.
    pub(crate) fn typed(&self, begun: &str) -> String {
        let is_small = begun.chars().any(|c| c.is_ascii_lowercase());
        match self.is_keyword && is_small {
            true => self.value.to_ascii_lowercase(),
            false => self.value.clone(),
        }
    }

    /// Does a space follow it?
    pub(crate) fn has_space(&self) -> bool {
        self.is_word || self.is_keyword
    }
}
