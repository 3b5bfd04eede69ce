//! Names that a platform can have.

use crate::error::{Error, Result};
use crate::store::file::refused_value;

/// Refuses the name of a platform that no store can keep; `from` is where it came from.
///
/// # Errors
/// [`Error::Source`].
pub(super) fn check(platform: &str, from: &str) -> Result<()> {
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
