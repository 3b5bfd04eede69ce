//! Why a folder cannot be used.

use std::path::PathBuf;

/// Why a folder cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It, or something in it, could not be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },

    /// It is somebody else's.
    #[error("{}: {reason}", folder.display())]
    Refused {
        /// The folder.
        folder: PathBuf,
        /// Whose it is, and what names another one.
        reason: String,
    },
}

impl Error {
    pub(crate) fn io(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { path, source }
    }
}
