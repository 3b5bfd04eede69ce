//! Errors of reading a line of workloads.

use crate::tvm_json;

/// Error in a line, with its position.
#[derive(Debug, thiserror::Error)]
#[error("line {line}, byte {at}: {reason}")]
pub struct Error {
    /// Number of the line in its chunk, from 1.
    pub line: u64,
    /// Position in the line in bytes, from 1; for an invalid module, the position of the module.
    pub at: usize,
    /// Reason.
    pub reason: Reason,
}

impl Error {
    /// Message for callers that know the line.
    pub fn in_line(&self) -> String {
        format!("byte {}: {}", self.at, self.reason)
    }
}

/// Reason of an error.
#[derive(Debug, thiserror::Error)]
pub enum Reason {
    /// Not UTF-8.
    #[error("invalid UTF-8")]
    Utf8,
    /// Invalid JSON.
    #[error("invalid JSON: {0}")]
    Json(serde_json::Error),
    /// Other JSON.
    #[error("not a list of a structural hash and a module")]
    NoPair,
    /// Invalid structural hash.
    #[error("the structural hash is not a string of an integer below 2^64")]
    Hash,
    /// The module is not a string.
    #[error("the module is not a string")]
    NoText,
    /// The module is not a graph, or is invalid.
    #[error("the module: {0}")]
    Module(tvm_json::Error),
}
