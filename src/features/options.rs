//! What features are imported as.

use crate::error::{Error, Result};

/// Longest name, in bytes.
const LONGEST: usize = 60;

/// What features are imported as.
///
/// ```
/// use tsql::features::FeaturesOptions;
/// let options = FeaturesOptions::new("ansor").version(2).column("feature");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FeaturesOptions {
    pub(super) name: String,
    pub(super) version: Option<i64>,
    pub(super) column: Option<String>,
}

impl FeaturesOptions {
    /// Into the newest version of this name, the first one where there is none. It becomes the name of a column: lower-case letters, digits
    /// and `_`.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            version: None,
            column: None,
        }
    }

    /// Into this version: one that there is, or the next.
    #[must_use]
    pub fn version(mut self, version: i64) -> Self {
        self.version = Some(version);
        self
    }

    /// The column with the lists of numbers. Without it the only one that has lists is meant, and where there is none all columns of
    /// numbers, in their order.
    #[must_use]
    pub fn column(mut self, column: impl Into<String>) -> Self {
        self.column = Some(column.into());
        self
    }

    /// # Errors
    /// [`Error::Argument`] for what cannot be.
    pub(super) fn checked(&self) -> Result<()> {
        let name = &self.name;
        let is_plain = |one: char| one.is_ascii_lowercase() || one.is_ascii_digit() || one == '_';
        let begins = name.starts_with(|first: char| first.is_ascii_lowercase());
        if !begins || name.len() > LONGEST || !name.chars().all(is_plain) {
            let reason = format!(
                "`{name}` is no name for features: a lower-case letter, then such letters, digits and _, up to {LONGEST} in all"
            );
            return Err(argument("name", reason));
        }
        if self.version.is_some_and(|version| version < 1) {
            return Err(argument("version", "versions count from 1".to_owned()));
        }
        Ok(())
    }
}

pub(super) fn argument(name: &'static str, reason: String) -> Error {
    Error::Argument { name, reason }
}
