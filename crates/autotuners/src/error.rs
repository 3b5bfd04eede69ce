//! Errors that end the reading of a file.

/// Error of this crate. Damaged parts of a file are [`Event::Rejected`](crate::Event::Rejected) instead.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The reader failed.
    #[error("{0}")]
    Io(#[from] std::io::Error),

    /// The beginning of the file is not of the format.
    #[error("{line}: {reason}")]
    Header {
        /// Line, from 1.
        line: u64,
        /// Reason.
        reason: String,
    },

    /// A mapping of a table is invalid.
    #[error("mapping: {0}")]
    Mapping(String),
}

impl Error {
    pub(crate) fn header(line: u64, reason: impl Into<String>) -> Self {
        Self::Header {
            line,
            reason: reason.into(),
        }
    }
}
