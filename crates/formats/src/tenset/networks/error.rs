//! Errors of reading a file of `network_info`.

use crate::{pickle, tvm_json};

/// Error of a file.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Not a pickle, or a damaged one.
    #[error("invalid pickle: {0}")]
    Pickle(#[from] pickle::Error),
    /// Another pickle, or trailing data.
    #[error("{0}")]
    Other(String),
    /// Invalid network in Relay.
    #[error("invalid Relay network: {0}")]
    Relay(Reason),
    /// Invalid task.
    #[error("task {index}: {reason}")]
    Task {
        /// Index of the task.
        index: usize,
        /// Reason.
        reason: Reason,
    },
}

/// Reason why a task or a network is invalid.
#[derive(Debug, thiserror::Error)]
pub enum Reason {
    /// An entry is missing or has another type.
    #[error("{0}")]
    Invalid(String),
    /// A graph cannot be read.
    #[error("{graph_name}: {source}")]
    Graph {
        /// Name of the graph.
        graph_name: &'static str,
        /// Error of the graph.
        source: tvm_json::Error,
    },
}

impl Reason {
    /// Builds the reason for an invalid graph.
    pub(super) fn graph(graph_name: &'static str) -> impl FnOnce(tvm_json::Error) -> Self {
        move |source| Self::Graph { graph_name, source }
    }
}
