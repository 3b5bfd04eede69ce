//! Why a graph could not be read or followed.

/// What is wrong with a graph.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It is no JSON, or other JSON.
    #[error("no graph of TVM: {0}")]
    Json(#[from] serde_json::Error),
    /// Text that should be base64 is not.
    #[error("no base64: {0}")]
    Base64(#[from] base64::DecodeError),
    /// It is a graph with something wrong in it.
    #[error("{0}")]
    Wrong(String),
}

impl Error {
    /// Something wrong, in words.
    pub(crate) fn wrong(reason: impl Into<String>) -> Self {
        Self::Wrong(reason.into())
    }
}
