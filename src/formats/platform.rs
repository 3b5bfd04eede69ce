//! Which platform a file's records are of, and the names that one can have.

use tsql_formats::Input;

use crate::error::{Error, Result};
use crate::store::file::refused_value;

/// Platform of files that have no records.
pub(crate) const NO_PLATFORM: &str = "none";

/// Refuses the name of a platform that no store can keep; `from` is where it came from.
///
/// # Errors
/// [`Error::Source`].
pub(crate) fn check(platform: &str, from: &str) -> Result<()> {
    match refused_value(platform) {
        None => Ok(()),
        Some(reason) => Err(Error::Source {
            location: from.to_owned(),
            reason: format!(
                "the platform's name `{}` {reason}\nhint: give another one with --platform",
                platform.escape_debug()
            ),
        }),
    }
}

/// The platform of a file, from the most certain source on: what `given` says for all files, what the
/// list of an export says of it (as one of `dataset`), the label that stands in the file, the name of
/// the directory that it was found in. It is never guessed: `None` where none of them says one.
///
/// # Errors
/// [`Error::Source`] for a name that no store can keep.
pub(crate) fn of(
    given: Option<&str>,
    dataset: &str,
    label: Option<&str>,
    input: &Input,
) -> Result<Option<String>> {
    let said = said(given, dataset, label, input);
    let directory = input.directory.as_deref().filter(|name| !name.is_empty());
    if let (None, Some(name)) = (&said, directory) {
        check(name, &input.path)?;
    }
    Ok(said.or(directory.map(str::to_owned)))
}

/// The platform that somebody or something says, whatever directory the file was found in.
pub(crate) fn said(
    given: Option<&str>,
    dataset: &str,
    label: Option<&str>,
    input: &Input,
) -> Option<String> {
    let was = input.was(dataset).map(|file| file.platform.as_str());
    given.or(was).or(label).map(str::to_owned)
}

/// Can a platform have this name?
pub(crate) fn is_name(text: &str) -> bool {
    !text.is_empty() && refused_value(text).is_none()
}
