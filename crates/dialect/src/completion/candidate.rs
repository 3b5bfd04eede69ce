//! A completion candidate.

/// A completion candidate: a word that may be inserted at the cursor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Text that completes the word.
    pub value: String,
    /// Description in one line.
    pub doc: String,
    /// Whether the inserted text follows the case of the typed prefix.
    is_keyword: bool,
    /// Whether another word follows.
    is_word: bool,
}

impl Candidate {
    /// Creates a candidate with its documentation.
    pub fn new(value: impl Into<String>, doc: &str) -> Self {
        Self {
            value: value.into(),
            doc: doc.lines().next().unwrap_or_default().to_owned(),
            is_keyword: false,
            is_word: false,
        }
    }

    /// Adds a space behind the candidate.
    pub fn with_space(self) -> Self {
        Self {
            is_word: true,
            ..self
        }
    }

    /// Marks the candidate as a keyword.
    pub fn with_keyword(self) -> Self {
        Self {
            is_keyword: true,
            ..self
        }
    }

    /// Returns whether the candidate begins with this text, in any case.
    pub fn matches_prefix(&self, begun: &str) -> bool {
        let beginning = self.value.get(..begun.len());
        beginning.is_some_and(|beginning| beginning.eq_ignore_ascii_case(begun))
    }

    /// Returns the text that replaces the typed prefix `begun`.
    pub fn completion_text(&self, begun: &str) -> String {
        let is_small = begun.chars().any(|c| c.is_ascii_lowercase());
        match self.is_keyword && is_small {
            true => self.value.to_ascii_lowercase(),
            false => self.value.clone(),
        }
    }

    /// Returns whether a space follows the inserted text.
    pub fn has_space(&self) -> bool {
        self.is_word || self.is_keyword
    }
}
