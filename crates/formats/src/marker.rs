//! What makes a folder a store: a small file that says in which form it is kept.
//!
//! Only its content tells: stores were first marked by a `tsql.toml`, the name that files of settings
//! have, too. Whoever looks for a store asks here. Builds before the first release could lose what the file
//! says in a power cut: what is left of it counts then, and the name that only stores use, or the tables
//! beside it.

use std::path::Path;

use serde::{Deserialize, Serialize};

/// Name of the file.
pub const NAME: &str = "tsql-store.toml";

/// The name that it had first.
pub const FIRST_NAME: &str = "tsql.toml";

/// Both, the one that new stores have before the other.
pub const NAMES: [&str; 2] = [NAME, FIRST_NAME];

/// What the file says.
#[derive(Serialize, Deserialize)]
pub struct Marker {
    /// Number of the form.
    pub format: i64,
    /// A random number, by which whoever made the store knows that it did.
    #[serde(default)]
    pub made_as: String,
}

impl Marker {
    /// What the file called `name` says; `None` for a file of settings.
    pub fn parse(name: &str, text: &str) -> Result<Option<Self>, String> {
        let text = text.trim_end_matches('\0');
        let whole_lines = text.rsplit_once('\n').map_or("", |(lines, _)| lines);
        let parsed = toml::from_str(text).or_else(|error| {
            let cut = toml::from_str(whole_lines);
            cut.map_err(|_| error)
        });
        match parsed {
            Ok(marker) => Ok(Some(marker)),
            Err(_) if name == FIRST_NAME => Ok(None),
            Err(_) if text.trim().is_empty() => Ok(Some(Self::lost())),
            Err(error) => Err(error.message().to_owned()),
        }
    }

    /// That of a store whose file says nothing any more. All that could lose it have this form.
    pub fn lost() -> Self {
        Self {
            format: 1,
            made_as: String::new(),
        }
    }
}

/// Has the folder a `tsql.toml` that says nothing any more, and rows of tables that every store has?
pub fn is_lost(folder: &Path) -> bool {
    let text = text_of(&folder.join(FIRST_NAME));
    let empty = text.is_ok_and(|text| text.trim_matches(['\0', '\n', ' ']).is_empty());
    let has_rows = |table: &str| {
        let mut entries = std::fs::read_dir(folder.join(table)).into_iter().flatten();
        entries.any(|entry| entry.is_ok_and(|entry| is_data(&entry.path())))
    };
    empty && ["graphs", "sources"].into_iter().any(has_rows)
}

/// The text of a regular file. A read of a pipe could wait for ever.
fn text_of(file: &Path) -> std::io::Result<String> {
    if !file.is_file() {
        return Err(std::io::ErrorKind::InvalidInput.into());
    }
    std::fs::read_to_string(file)
}

fn is_data(file: &Path) -> bool {
    file.extension()
        .is_some_and(|extension| extension == "parquet")
}

/// Is the folder a store?
pub fn is_store(folder: &Path) -> bool {
    let marks = |name: &&str| {
        let file = folder.join(name);
        // A pipe in place of the file: an error when the store is opened.
        if *name == NAME && file.exists() && !file.is_file() && !file.is_dir() {
            return true;
        }
        text_of(&file).is_ok_and(|text| !matches!(Marker::parse(name, &text), Ok(None)))
    };
    NAMES.iter().any(marks) || is_lost(folder)
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
        assert!(is(NAME, ""));
        assert!(!is("other.toml", "format = 1\n"));
        // A damaged one is told as such when it is opened.
        assert!(is(NAME, "form"));
        assert!(Marker::parse(NAME, "form").is_err());
        let cut = Marker::parse(NAME, "format = 7\nmade_as = \"x").unwrap();
        assert_eq!(cut.unwrap().format, 7);
        assert_eq!(Marker::parse(NAME, "\0\0").unwrap().unwrap().format, 1);
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join("graphs")).unwrap();
        std::fs::write(folder.path().join("graphs/part-1.parquet"), "").unwrap();
        assert!(!is_store(folder.path()));
        std::fs::write(folder.path().join(FIRST_NAME), "").unwrap();
        assert!(is_store(folder.path()));
    }
}
