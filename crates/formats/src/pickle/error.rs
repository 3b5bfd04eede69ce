//! Why a pickle could not be read.

/// What is wrong with a pickle, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("byte {position}: {reason}")]
pub struct Error {
    /// Where the operation begins that could not be done, counted from 0.
    pub position: usize,
    /// What is wrong with it, in words.
    pub reason: String,
}
