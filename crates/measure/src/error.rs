//! Errors before and after a kernel is timed.

use std::path::PathBuf;

/// `Result` with the crate's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Reason why a call failed. Failures of kernels are outcomes rather than errors.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A name that is not one of the known names.
    #[error("no {kind} named `{name}`\nhint: there are {known}")]
    Unknown {
        /// Kind of thing that the name refers to.
        kind: &'static str,
        /// The name as given.
        name: String,
        /// Known names, comma separated.
        known: String,
    },

    /// An argument that cannot be used.
    #[error("{reason}")]
    Argument {
        /// Name of the parameter.
        name: &'static str,
        /// Reason, and the expected value.
        reason: String,
    },

    /// A missing part of the machine: a compiler, a device, a library.
    #[error("{0}")]
    Missing(String),

    /// A reference that failed, and its failure.
    #[error("{0}")]
    Reference(String),

    /// A build or worker process that failed, and its message.
    #[error("{0}")]
    Worker(String),

    /// A file or folder could not be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// Error of the system.
        source: std::io::Error,
    },

    /// A manifest, a journal or a device that cannot be used.
    #[error("{location}: {reason}")]
    Source {
        /// Its path or name.
        location: String,
        /// Reason.
        reason: String,
    },

    /// A temporary folder cannot be created.
    #[error(transparent)]
    Folder(#[from] tsql_folders::Error),
}

impl Error {
    /// Returns a constructor for I/O errors on `path`.
    pub(crate) fn io(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { path, source }
    }

    /// Creates the error of an argument.
    pub(crate) fn argument(name: &'static str, reason: impl Into<String>) -> Self {
        let reason = reason.into();
        Self::Argument { name, reason }
    }
}
