//! Errors of reading a pickle.

/// Error with its position.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("byte {position}: {reason}")]
pub struct Error {
    /// Offset of the failed operation in bytes, from 0.
    pub position: usize,
    /// Reason in words.
    pub reason: String,
}
