//! Errors of finding, opening and detecting files.

use std::path::PathBuf;

/// `Result` with the crate's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Error of this crate. Locations and reasons are unmodified; callers must hide credentials in URLs before they show
/// them.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file or directory could not be read.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// Error of the operating system.
        source: std::io::Error,
    },

    /// A given source could not be found or opened.
    #[error("{location}: {reason}")]
    Source {
        /// The path or pattern as given.
        location: String,
        /// Reason.
        reason: String,
    },

    /// The export manifest was written by a newer tsql.
    #[error(
        "{what} has version {found}, this tsql reads up to {supported}\nhint: install a newer tsql"
    )]
    TooNew {
        /// Path of the manifest.
        what: String,
        /// Version of the manifest.
        found: i64,
        /// Newest version that this build reads.
        supported: i64,
    },
}

impl Error {
    /// Builds the error of an I/O call on `path`.
    pub(crate) fn io(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { path, source }
    }
}
