//! Settings of buckets, from a file `tsql.toml`.
//!
//! ```toml
//! [bucket.measurements]
//! endpoint = "https://s3.example.org"   # where it is not Amazon's
//! region = "eu-central-1"
//! profile = "lab"                       # of ~/.aws/config
//! anonymous = false                     # true: requests are not signed
//! virtual_hosted = false                # true: the bucket is part of the host's name
//! single_writer = false                 # true: write although the bucket cannot keep writers apart
//! ```
//!
//! Read is the file that `TSQL_CONFIG` names, else `tsql.toml` in the working directory, else
//! `tsql/tsql.toml` in the user's folder of settings. What it says of a bucket counts more than
//! `AWS_*` variables, and these more than a profile.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Deserialize;

use crate::error::{Error, Result};

/// Variable that names the file.
const VARIABLE: &str = "TSQL_CONFIG";

/// Variable that says that nobody else writes.
const SINGLE_WRITER: &str = "TSQL_SINGLE_WRITER";

/// What is said of one bucket.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Bucket {
    pub(super) endpoint: Option<String>,
    pub(super) region: Option<String>,
    pub(super) profile: Option<String>,
    pub(super) anonymous: bool,
    pub(super) virtual_hosted: Option<bool>,
    pub(super) single_writer: bool,
}

#[derive(Debug, Default, Deserialize)]
struct Settings {
    #[serde(default)]
    bucket: BTreeMap<String, Bucket>,
}

impl Bucket {
    /// The settings of the bucket `name`.
    ///
    /// # Errors
    /// [`Error::Usage`] for a file that does not say what it should.
    pub(super) fn load(name: &str) -> Result<Self> {
        let mut bucket = match file() {
            Some(path) => {
                let text = std::fs::read_to_string(&path).map_err(Error::io(&path))?;
                let settings: Settings = toml::from_str(&text)
                    .map_err(|error| Error::Usage(format!("{}: {error}", path.display())))?;
                settings.bucket.get(name).cloned().unwrap_or_default()
            }
            None => Self::default(),
        };
        bucket.single_writer |= std::env::var_os(SINGLE_WRITER).is_some_and(|value| value == "1");
        Ok(bucket)
    }
}

fn file() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os(VARIABLE).filter(|named| !named.is_empty()) {
        return Some(named.into());
    }
    let folder = std::env::var_os("XDG_CONFIG_HOME").map(PathBuf::from);
    let folder = folder.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".config")));
    let files = [
        Some("tsql.toml".into()),
        folder.map(|folder| folder.join("tsql/tsql.toml")),
    ];
    files
        .into_iter()
        .flatten()
        .find(|file: &PathBuf| file.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_have_settings() {
        let text = "format = 1\n[bucket.\"a.b\"]\nendpoint = \"http://here:1\"\nanonymous = true\n";
        let settings: Settings = toml::from_str(text).unwrap();
        let bucket = settings.bucket.get("a.b").unwrap();
        assert_eq!(bucket.endpoint.as_deref(), Some("http://here:1"));
        assert!(bucket.anonymous && !bucket.single_writer);
        let wrong: std::result::Result<Settings, _> =
            toml::from_str("[bucket.x]\nendpiont = \"y\"\n");
        assert!(wrong.unwrap_err().to_string().contains("endpiont"));
    }
}
