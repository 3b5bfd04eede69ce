//! Archives (tar), by the names of the files in them.

use std::io::{self, Read};

use tsql_formats::Input;
use tsql_formats::naming::readable_path;

use crate::error::{Error, Result};

/// Builds the error of an archive that cannot be read on.
pub(crate) fn broken(input: &Input) -> impl Fn(io::Error) -> Error {
    |error| Error::Source {
        location: input.path.clone(),
        reason: error.to_string(),
    }
}

/// Hands on the files of an archive, each with its name; `None` where nobody wants more. What came before
/// damage is handed on.
pub(crate) fn each<R: Read>(
    input: &Input,
    mut archive: tar::Archive<R>,
    mut take: impl FnMut(String, tar::Entry<'_, R>) -> Result<Option<()>>,
) -> Result<Option<()>> {
    let broken = broken(input);
    for entry in archive.entries().map_err(&broken)? {
        let entry = entry.map_err(&broken)?;
        if !entry.header().entry_type().is_file() {
            continue;
        }
        let name = readable_path(&entry.path().map_err(&broken)?);
        let name = name.trim_start_matches("./").to_owned();
        if take(name, entry)?.is_none() {
            return Ok(None);
        }
    }
    Ok(Some(()))
}
