//! Options of the server.

use std::path::PathBuf;

use derive_setters::Setters;
use tsql_session::SessionOptions;

/// Options of an [`McpServer`](crate::McpServer).
#[derive(Clone, Debug, Default, Setters)]
#[non_exhaustive]
pub struct McpOptions {
    /// Sets the limits of queries. All running queries share the memory limit.
    pub(crate) session: SessionOptions,
    /// Sets folders with user-defined queries: see [`tsql_session::user_queries`].
    pub(crate) query_folders: Vec<PathBuf>,
}
