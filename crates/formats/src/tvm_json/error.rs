//! Errors of reading and following a graph.

/// Error of a graph.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Invalid JSON, or other JSON.
    #[error("invalid TVM graph: {0}")]
    Json(#[from] serde_json::Error),
    /// Invalid base64.
    #[error("invalid base64: {0}")]
    Base64(#[from] base64::DecodeError),
    /// Invalid graph.
    #[error("{0}")]
    Wrong(String),
}

impl Error {
    /// Creates an error from a reason in words.
    pub(crate) fn wrong(reason: impl Into<String>) -> Self {
        Self::Wrong(reason.into())
    }
}
