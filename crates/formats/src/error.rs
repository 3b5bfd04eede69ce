//! Why a file could not be found, opened or told.

use std::path::PathBuf;

/// `Result` with the crate's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a call failed. Locations and reasons are as they were given: whoever shows them hides what a
/// URL carries.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file or directory could not be read.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },

    /// A source was given that could not be opened or found.
    #[error("{location}: {reason}")]
    Source {
        /// The path or pattern as given.
        location: String,
        /// What is wrong with it.
        reason: String,
    },

    /// The list of exported files was written by a newer tsql.
    #[error(
        "{what} has version {found}, this tsql reads up to {supported}\nhint: install a newer tsql"
    )]
    TooNew {
        /// The list.
        what: String,
        /// The version that was found.
        found: i64,
        /// The newest version that this build reads.
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
