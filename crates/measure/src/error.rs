//! What can go wrong before and after a kernel is timed, for the reader of the message.

use std::path::PathBuf;

/// `Result` with the crate's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a call failed. What a kernel does wrong is none: that is an outcome.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A name that must be one of a known few is not.
    #[error("no {kind} named `{name}`\nhint: there are {known}")]
    Unknown {
        /// What was looked for.
        kind: &'static str,
        /// The name as given.
        name: String,
        /// The known ones, comma separated.
        known: String,
    },

    /// An argument that cannot be used.
    #[error("{reason}")]
    Argument {
        /// Its name: that of a parameter.
        name: &'static str,
        /// Why, and what could be.
        reason: String,
    },

    /// What the machine lacks: a compiler, a device, a library.
    #[error("{0}")]
    Missing(String),

    /// A reference that kernels are compared with, and how it failed.
    #[error("{0}")]
    Reference(String),

    /// A process that was started to build or to time did neither, and what it said.
    #[error("{0}")]
    Worker(String),

    /// A file or folder could not be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },

    /// A manifest, a journal or a device that cannot be used.
    #[error("{location}: {reason}")]
    Source {
        /// Its path or name.
        location: String,
        /// What is wrong with it.
        reason: String,
    },

    /// A folder for temporary files cannot be made.
    #[error(transparent)]
    Folder(#[from] tsql_folders::Error),
}

impl Error {
    /// Builds the error of an I/O call on `path`.
    pub(crate) fn io(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { path, source }
    }

    /// Builds the error of an argument.
    pub(crate) fn argument(name: &'static str, reason: impl Into<String>) -> Self {
        let reason = reason.into();
        Self::Argument { name, reason }
    }
}
