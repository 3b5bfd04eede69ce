//! Options of an import of features.

use derive_setters::Setters;
use tsql_error::{Error, Result};

/// Maximum length of a name, in bytes.
const MAX_NAME_BYTES: usize = 60;

/// Options of an import of features.
///
/// ```
/// use tsql_ml::features::FeaturesOptions;
/// let options = FeaturesOptions::new("ansor").version(2).column("feature");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Setters)]
#[setters(strip_option)]
#[non_exhaustive]
pub struct FeaturesOptions {
    #[setters(skip)]
    pub(super) name: String,
    /// Imports into this version: an existing one, or the next.
    pub(super) version: Option<i64>,
    /// Sets the column with the lists of numbers. By default it is the only list column; if there is none, all numeric
    /// columns are used in order.
    #[setters(into)]
    pub(super) column: Option<String>,
}

impl FeaturesOptions {
    /// Imports into the newest version of this name, or the first version of a new name. The name becomes a column
    /// name: lower-case letters, digits and `_`.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            version: None,
            column: None,
        }
    }

    /// Checks the options.
    ///
    /// # Errors
    /// [`Error::Argument`] for invalid options.
    pub(super) fn check(&self) -> Result<()> {
        let name = &self.name;
        let is_plain = |one: char| one.is_ascii_lowercase() || one.is_ascii_digit() || one == '_';
        let begins = name.starts_with(|first: char| first.is_ascii_lowercase());
        if !begins || name.len() > MAX_NAME_BYTES || !name.chars().all(is_plain) {
            let reason = format!(
                "`{name}` is not a valid name for features, expected a lower-case letter, then \
                 lower-case letters, digits and _, at most {MAX_NAME_BYTES} characters"
            );
            return Err(argument("name", reason));
        }
        if self.version.is_some_and(|version| version < 1) {
            return Err(argument(
                "version",
                "revisions are counted from 1".to_owned(),
            ));
        }
        Ok(())
    }
}

pub(super) fn argument(name: &'static str, reason: String) -> Error {
    Error::Argument { name, reason }
}
