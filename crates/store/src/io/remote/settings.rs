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
//! retry_s = 120                         # seconds that a server which does not answer is waited for
//! ```
//!
//! Read is the file that `TSQL_CONFIG` names, else `tsql.toml` in the working directory, else
//! `tsql/tsql.toml` in the user's folder of settings. What it says of a bucket counts more than
//! `AWS_*` variables, and these more than a profile.
//!
//! Whoever can put a file into the working directory would choose the server that is asked, and which
//! of the user's programs give credentials. So a file there must be the user's own, and it may choose
//! no profile that runs a program.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use tsql_error::{Error, Result};

/// Variable that names the file.
const VARIABLE: &str = "TSQL_CONFIG";

/// Variable that says that nobody else writes.
const SINGLE_WRITER: &str = "TSQL_SINGLE_WRITER";

/// Name of the file.
const NAME: &str = "tsql.toml";

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
    pub(super) retry_s: Option<u64>,
    /// Where this was read, unless the user has named the file or keeps it among the settings.
    #[serde(skip)]
    pub(super) found_in: Option<PathBuf>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    #[serde(default)]
    bucket: BTreeMap<String, Bucket>,
    /// What a store's first marker says, which has the same name: no setting.
    format: Option<i64>,
    #[serde(rename = "made_as")]
    _made_as: Option<String>,
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

    /// What the file at `path` says; `None` where there is none.
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
                 hint: {VARIABLE}={path} uses them nevertheless, {VARIABLE}=/dev/null none"
            )));
        }
        Self::parse(path, &text).map(Some)
    }
}

impl Bucket {
    /// The settings of the bucket `name`.
    ///
    /// # Errors
    /// [`Error::Setting`] for a file that does not say what it should, or is somebody else's.
    pub(super) fn load(name: &str) -> Result<Self> {
        let mut bucket = find(name)?.unwrap_or_default();
        bucket.single_writer |= std::env::var_os(SINGLE_WRITER).is_some_and(|value| value == "1");
        Ok(bucket)
    }
}

fn find(name: &str) -> Result<Option<Bucket>> {
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
    fn unknown_keys_are_told_with_file_and_line() {
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
