//! What makes a folder a store: a small file that says in which form it is kept.
//!
//! Only its content tells: stores were first marked by a `tsql.toml`, the name that files of settings
//! have, too. Whoever looks for a store asks here.

use std::path::Path;

use serde::{Deserialize, Serialize};

/// Name of the file.
pub(crate) const NAME: &str = "tsql-store.toml";

/// The name that it had first.
pub(crate) const FIRST_NAME: &str = "tsql.toml";

/// Both, the one that new stores have before the other.
pub(crate) const NAMES: [&str; 2] = [NAME, FIRST_NAME];

/// What the file says.
#[derive(Serialize, Deserialize)]
pub(crate) struct Marker {
    pub(crate) format: i64,
    /// A random number, by which whoever made the store knows that it did.
    #[serde(default)]
    pub(crate) made_as: String,
}

impl Marker {
    /// What the file called `name` says; `None` for a file of settings.
    pub(crate) fn parse(name: &str, text: &str) -> Result<Option<Self>, String> {
        match toml::from_str(text) {
            Ok(marker) => Ok(Some(marker)),
            Err(_) if name == FIRST_NAME => Ok(None),
            Err(error) => Err(error.message().to_owned()),
        }
    }
}

/// Is the folder a store?
pub(crate) fn is_store(folder: &Path) -> bool {
    let marks = |name: &&str| {
        let text = std::fs::read_to_string(folder.join(name));
        text.is_ok_and(|text| !matches!(Marker::parse(name, &text), Ok(None)))
    };
    NAMES.iter().any(marks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_settings_makes_no_store() {
        let is = |name: &str, text: &str| {
            let folder = tempfile::tempdir().unwrap();
            std::fs::write(folder.path().join(name), text).unwrap();
            is_store(folder.path())
        };
        assert!(is(NAME, "format = 1\n"));
        assert!(is(FIRST_NAME, "format = 1\nmade_as = \"x\"\n"));
        assert!(!is(FIRST_NAME, "[bucket.x]\nprofile = \"lab\"\n"));
        assert!(!is(FIRST_NAME, ""));
        assert!(!is("other.toml", "format = 1\n"));
        // A damaged one is told as such when it is opened.
        assert!(is(NAME, "form"));
        assert!(Marker::parse(NAME, "form").is_err());
    }
}
