//! Determines the platform of a file, and validates platform names.

use tsql_error::{Error, Result};
use tsql_formats::Input;
use tsql_store::file::invalid_partition_value;

/// Platform of files without records.
pub const NO_PLATFORM: &str = "none";

/// Rejects platform names that a store cannot hold. `from` is the origin of the name.
///
/// # Errors
///
/// [`Error::Source`].
pub fn check(platform: &str, from: &str) -> Result<()> {
    match invalid_partition_value(platform) {
        None => Ok(()),
        Some(reason) => Err(Error::Source {
            location: from.to_owned(),
            reason: format!(
                "the platform name `{}` {reason}\nhint: use another name with --platform",
                platform.escape_debug()
            ),
        }),
    }
}

/// Determines the platform of a file. The sources are, in descending order of certainty: `given` for all
/// files, the file list of an export (for this `dataset`), the label in the file, and the name of its
/// directory.
///
/// The platform is never guessed: `None` if no source provides one.
///
/// # Errors
///
/// [`Error::Source`] for a name that a store cannot hold.
pub fn resolve(
    given: Option<&str>,
    dataset: &str,
    label: Option<&str>,
    input: &Input,
) -> Result<Option<String>> {
    let said = stated_platform(given, dataset, label, input);
    let directory = input.directory.as_deref().filter(|name| !name.is_empty());
    if let (None, Some(name)) = (&said, directory) {
        check(name, &input.path)?;
    }
    Ok(said.or(directory.map(str::to_owned)))
}

/// Platform that is stated explicitly, independent of the directory.
pub(crate) fn stated_platform(
    given: Option<&str>,
    dataset: &str,
    label: Option<&str>,
    input: &Input,
) -> Option<String> {
    let was = input
        .exported_as(dataset)
        .map(|file| file.platform.as_str());
    given.or(was).or(label).map(str::to_owned)
}

/// Returns whether this is a valid platform name.
pub(crate) fn is_valid_name(text: &str) -> bool {
    !text.is_empty() && invalid_partition_value(text).is_none()
}
