//! Marker of stores: a small file that makes a folder a store and contains its format version.
//!
//! Only the content counts, because the first stores were marked by a `tsql.toml`, which is also the name of settings
//! files. All searches for stores use this module. Builds before the first release could lose the content of the file
//! in a power cut. In that case the remaining text counts. In addition, the file name must be the one that only stores
//! use, or the adjacent tables must exist.

use std::path::Path;

use serde::{Deserialize, Serialize};

/// Name of the marker file.
pub const NAME: &str = "tsql-store.toml";

/// First name of the marker file.
pub const FIRST_NAME: &str = "tsql.toml";

/// Both names, the current one first.
pub const NAMES: [&str; 2] = [NAME, FIRST_NAME];

/// Content of the marker file.
#[derive(Serialize, Deserialize)]
pub struct Marker {
    /// Format version.
    pub format: i64,
    /// Random identifier, by which the creator of the store recognizes it.
    #[serde(default, alias = "made_as")]
    pub store_id: String,
}

impl Marker {
    /// Parses the file called `name`; `None` for a settings file.
    pub fn parse(name: &str, text: &str) -> Result<Option<Self>, String> {
        let text = text.trim_end_matches('\0');
        let complete_lines = text.rsplit_once('\n').map_or("", |(lines, _)| lines);
        let parsed = toml::from_str(text).or_else(|error| {
            let without_last_line = toml::from_str(complete_lines);
            without_last_line.map_err(|_| error)
        });
        match parsed {
            Ok(marker) => Ok(Some(marker)),
            Err(_) if name == FIRST_NAME => Ok(None),
            Err(_) if text.trim().is_empty() => Ok(Some(Self::lost())),
            Err(error) => Err(error.message().to_owned()),
        }
    }

    /// Marker of a store whose file lost its content. All builds that could lose it used this format version.
    pub fn lost() -> Self {
        Self {
            format: 1,
            store_id: String::new(),
        }
    }
}

/// Whether the folder has an empty `tsql.toml` and rows of tables that every store has.
pub fn is_lost(folder: &Path) -> bool {
    let text = read_regular_file(&folder.join(FIRST_NAME));
    let is_empty = text.is_ok_and(|text| text.trim_matches(['\0', '\n', ' ']).is_empty());
    let has_rows = |table: &str| {
        let mut entries = std::fs::read_dir(folder.join(table)).into_iter().flatten();
        entries.any(|entry| entry.is_ok_and(|entry| is_data(&entry.path())))
    };
    is_empty && ["graphs", "sources"].into_iter().any(has_rows)
}

/// Reads a regular file. Reading a pipe could block forever.
fn read_regular_file(file: &Path) -> std::io::Result<String> {
    if !file.is_file() {
        return Err(std::io::ErrorKind::InvalidInput.into());
    }
    std::fs::read_to_string(file)
}

fn is_data(file: &Path) -> bool {
    file.extension()
        .is_some_and(|extension| extension == "parquet")
}

/// Whether the folder is a store.
pub fn is_store(folder: &Path) -> bool {
    let is_marker = |name: &&str| {
        let file = folder.join(name);
        // A pipe in place of the file causes an error when the store is opened.
        if *name == NAME && file.exists() && !file.is_file() && !file.is_dir() {
            return true;
        }
        read_regular_file(&file).is_ok_and(|text| !matches!(Marker::parse(name, &text), Ok(None)))
    };
    NAMES.iter().any(is_marker) || is_lost(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_settings_file_is_not_a_store_marker() {
        let is_store_with = |name: &str, text: &str| {
            let folder = tempfile::tempdir().unwrap();
            std::fs::write(folder.path().join(name), text).unwrap();
            is_store(folder.path())
        };
        assert!(is_store_with(NAME, "format = 1\n"));
        assert!(is_store_with(FIRST_NAME, "format = 1\nmade_as = \"x\"\n"));
        assert!(!is_store_with(
            FIRST_NAME,
            "[bucket.x]\nprofile = \"lab\"\n"
        ));
        assert!(!is_store_with(FIRST_NAME, ""));
        assert!(is_store_with(NAME, ""));
        assert!(!is_store_with("other.toml", "format = 1\n"));
        // A damaged marker is reported when the store is opened.
        assert!(is_store_with(NAME, "form"));
        assert!(Marker::parse(NAME, "form").is_err());
        let truncated = Marker::parse(NAME, "format = 7\nmade_as = \"x").unwrap();
        assert_eq!(truncated.unwrap().format, 7);
        for text in [
            "format = 1\nstore_id = \"x\"\n",
            "format = 1\nmade_as = \"x\"\n",
        ] {
            assert_eq!(Marker::parse(NAME, text).unwrap().unwrap().store_id, "x");
        }
        assert_eq!(Marker::parse(NAME, "\0\0").unwrap().unwrap().format, 1);
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join("graphs")).unwrap();
        std::fs::write(folder.path().join("graphs/part-1.parquet"), "").unwrap();
        assert!(!is_store(folder.path()));
        std::fs::write(folder.path().join(FIRST_NAME), "").unwrap();
        assert!(is_store(folder.path()));
    }
}
