//! Why a line of workloads could not be read.

use crate::tvm_json;

/// What is wrong with a line, and where.
#[derive(Debug, thiserror::Error)]
#[error("line {line}, byte {at}: {reason}")]
pub struct Error {
    /// Number of the line in its chunk, from 1.
    pub line: u64,
    /// Byte of the line, from 1, where it is wrong: of a module that is no graph, the first of the module.
    pub at: usize,
    /// What is wrong.
    pub reason: Reason,
}

impl Error {
    /// What is wrong, for who knows the line.
    pub fn in_line(&self) -> String {
        format!("byte {}: {}", self.at, self.reason)
    }
}

/// What is wrong with a line.
#[derive(Debug, thiserror::Error)]
pub enum Reason {
    /// It is no text.
    #[error("invalid UTF-8")]
    Utf8,
    /// It is no JSON.
    #[error("no JSON: {0}")]
    Json(serde_json::Error),
    /// It is other JSON.
    #[error("no list of a structural hash and a module")]
    NoPair,
    /// The hash is none.
    #[error("the structural hash is no text of a whole number below 2^64")]
    Hash,
    /// The module is no text.
    #[error("the module is no text")]
    NoText,
    /// The module is no graph, or one with something wrong in it.
    #[error("the module: {0}")]
    Module(tvm_json::Error),
}
