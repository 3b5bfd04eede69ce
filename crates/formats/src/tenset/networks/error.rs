//! Why a file of `network_info` could not be read.

use crate::{pickle, tvm_json};

/// What is wrong with a file.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It is no pickle, or a damaged one.
    #[error("no pickle: {0}")]
    Pickle(#[from] pickle::Error),
    /// It is a pickle of something else, or something follows it.
    #[error("{0}")]
    Other(String),
    /// A network in Relay is not what it should be.
    #[error("a network in Relay: {0}")]
    Relay(Reason),
    /// One of its tasks is not what it should be.
    #[error("task {index}: {reason}")]
    Task {
        /// Its place among the tasks.
        index: usize,
        /// What is wrong with it.
        reason: Reason,
    },
}

/// What is wrong with a task or a network.
#[derive(Debug, thiserror::Error)]
pub enum Reason {
    /// It lacks something, or has something else in its place.
    #[error("{0}")]
    Lacks(String),
    /// A graph of it cannot be read.
    #[error("{what}: {source}")]
    Graph {
        /// What it is the graph of.
        what: &'static str,
        /// What is wrong with it.
        source: tvm_json::Error,
    },
}

impl Reason {
    /// Builds the reason of a graph that is wrong.
    pub(super) fn graph(what: &'static str) -> impl FnOnce(tvm_json::Error) -> Self {
        move |source| Self::Graph { what, source }
    }
}
