//! Settings of buckets, from a file `tsql.toml`.
//!
//! ```toml
//! [bucket.measurements]
//! endpoint = "https://s3.example.org"   # unless Amazon's
//! region = "eu-central-1"
//! profile = "lab"                       # of ~/.aws/config
//! anonymous = false                     # true: requests are not signed
//! virtual_hosted = false                # true: the bucket is part of the host name
//! single_writer = false                 # true: write although the bucket has no conditional writes
//! retry_s = 120                         # seconds to retry a server that does not respond
//! ```
//!
//! The file is the one that `TSQL_CONFIG` names, else `tsql.toml` in the working directory, else
//! `tsql/tsql.toml` in the user's settings folder. Its settings of a bucket override
//! `AWS_*` variables, which override a profile.
//!
//! A file in the working directory could choose the server, and run programs of the user that provide credentials. So
//! such a file must belong to the user, and may not choose a profile that runs a program.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use tsql_error::{Error, Result};

/// Environment variable with the path of the file.
const VARIABLE: &str = "TSQL_CONFIG";

/// Environment variable that declares this process the only writer.
const SINGLE_WRITER: &str = "TSQL_SINGLE_WRITER";

/// Name of the file.
const NAME: &str = "tsql.toml";

/// Settings of one bucket.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Bucket {
    pub(super) endpoint: Option<String>,
    pub(super) region: Option<String>,
    pub(super) profile: Option<String>,
    pub(super) anonymous: bool,
    pub(super) virtual_hosted: Option<bool>,
    pub(super) single_writer: bool,
    pub(super) retry_s: Option<u64>,
    /// Path of the file, unless the user has named it or it is in the settings folder.
    #[serde(skip)]
    pub(super) found_in: Option<PathBuf>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    #[serde(default)]
    bucket: BTreeMap<String, Bucket>,
    /// Field of a store's old marker, which has the same file name. Not a setting.
    format: Option<i64>,
    #[serde(rename = "store_id", alias = "made_as")]
    _store_id: Option<String>,
}

impl Settings {
    fn parse(path: &Path, text: &str) -> Result<Self> {
        toml::from_str(text).map_err(|error: toml::de::Error| {
            let before = error.span().and_then(|span| text.get(..span.start));
            let line = before.map_or(1, |before| before.matches('\n').count() + 1);
            let reason = error.message();
            Error::Setting(format!("{}:{line}: {reason}", path.display()))
        })
    }

    /// Reads the file at `path`. `None` if it does not exist.
    fn read(path: &Path, own_only: bool) -> Result<Option<Self>> {
        let mut file = match File::open(path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            opened => opened.map_err(Error::io(path))?,
        };
        let mut text = String::new();
        file.read_to_string(&mut text).map_err(Error::io(path))?;
        let owner = file.metadata().map_err(Error::io(path))?;
        if own_only && !tsql_folders::is_own(&owner) {
            let path = path.display();
            return Err(Error::Setting(format!(
                "settings in `{path}` of the working directory belong to another user\n\
                 hint: {VARIABLE}={path} uses them nevertheless, {VARIABLE}=/dev/null uses none"
            )));
        }
        Self::parse(path, &text).map(Some)
    }
}

impl Bucket {
    /// Returns the settings of the bucket `name`.
    ///
    /// # Errors
    /// [`Error::Setting`] for an invalid file, or one of another user.
    pub(super) fn load(name: &str) -> Result<Self> {
        let mut bucket = find_settings(name)?.unwrap_or_default();
        bucket.single_writer |= std::env::var_os(SINGLE_WRITER).is_some_and(|value| value == "1");
        Ok(bucket)
    }
}

fn find_settings(name: &str) -> Result<Option<Bucket>> {
    let of = |mut settings: Settings| settings.bucket.remove(name);
    if let Some(named) = std::env::var_os(VARIABLE).filter(|named| !named.is_empty()) {
        let named = PathBuf::from(named);
        let settings = Settings::read(&named, false)?;
        let missing = || Error::io(&named)(std::io::ErrorKind::NotFound.into());
        return settings.ok_or_else(missing).map(of);
    }
    let here = Settings::read(Path::new(NAME), true)?;
    if let Some(here) = here.filter(|here| here.format.is_none() || !here.bucket.is_empty()) {
        let found_in = Some(PathBuf::from(NAME));
        return Ok(of(here).map(|bucket| Bucket { found_in, ..bucket }));
    }
    let user = tsql_folders::settings().map(|folder| folder.join(NAME));
    let user = user.map(|user| Settings::read(&user, false)).transpose()?;
    Ok(user.flatten().and_then(of))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_have_settings() {
        let text = "format = 1\n[bucket.\"a.b\"]\nendpoint = \"http://here:1\"\nanonymous = true\n";
        let settings = Settings::parse(Path::new("x.toml"), text).unwrap();
        let bucket = settings.bucket.get("a.b").unwrap();
        assert_eq!(bucket.endpoint.as_deref(), Some("http://here:1"));
        assert!(bucket.anonymous && !bucket.single_writer);
    }

    #[test]
    fn unknown_keys_are_reported_with_file_and_line() {
        for (text, wanted) in [
            (
                "[bucket.x]\nendpiont = \"y\"\n",
                "x.toml:2: unknown field `endpiont`",
            ),
            (
                "# here\n[buckets.x]\nendpoint = \"y\"\n",
                "x.toml:2: unknown field `buckets`",
            ),
            (
                "[bucket.x]\nanonymous = \"yes\"\n",
                "x.toml:2: invalid type",
            ),
        ] {
            let error = Settings::parse(Path::new("x.toml"), text)
                .unwrap_err()
                .to_string();
            assert!(
                error.starts_with(wanted) && !error.contains('\n'),
                "{error}"
            );
        }
    }
}
