//! Errors of folders.

use std::path::PathBuf;

/// Error of a folder.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The folder, or a file in it, could not be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// Error of the system.
        source: std::io::Error,
    },

    /// The folder belongs to another user.
    #[error("{}: {reason}", folder.display())]
    Refused {
        /// The folder.
        folder: PathBuf,
        /// The owner, and the variable that selects another folder.
        reason: String,
    },
}

impl Error {
    pub(crate) fn io(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { path, source }
    }
}
