#![doc = include_str!("../README.md")]
//!
//! ```text
//!  client ─▶ JSON lines ─▶ handler ─▶ tool ─▶ a thread with a session at the newest version ─▶ content
//!                            │                 └ ends with its request, its time or its rows
//!                            └ errors of a tool are results with the message and the hint
//! ```
//!
//! ```
//! use tsql_mcp::{McpOptions, McpServer};
//! # tokio::runtime::Runtime::new().unwrap().block_on(async {
//! let server = McpServer::new(tsql_dataset::demo::create_demo().await?, McpOptions::default())?;
//! // A client that sends nothing ends the server at once.
//! server.serve(tokio::io::empty(), tokio::io::sink()).await?;
//! # Ok::<(), tsql_error::Error>(()) }).unwrap();
//! ```

mod arguments;
mod catalog;
#[cfg(feature = "plot")]
mod chart;
mod comparison;
mod definitions;
mod handler;
mod options;
mod query;
mod server_state;

use std::sync::Arc;

use rmcp::ServiceExt as _;
use rmcp::service::ServerInitializeError;
use tokio::io::{AsyncRead, AsyncWrite};
use tsql_error::{Error, Result};
use tsql_session::{QueryThreads, built_in_queries, user_queries};
use tsql_store::Store;

use handler::Handler;
use server_state::ServerState;

pub use options::McpOptions;

/// A server of the Model Context Protocol for one client.
#[derive(Debug)]
pub struct McpServer {
    state: Arc<ServerState>,
}

impl McpServer {
    /// Creates a server for a store. It reads the newest version of the store in each request, unless `store` is an
    /// earlier version.
    ///
    /// # Errors
    /// [`Error::Io`] if the folder for spilled data cannot be created.
    pub fn new(store: impl Into<Store>, options: McpOptions) -> Result<Self> {
        let mut queries = user_queries(&options.query_folders).questions;
        for query in built_in_queries() {
            if !queries.iter().any(|own| own.name == query.name) {
                queries.push(query);
            }
        }
        queries.sort_by(|a, b| a.name.cmp(&b.name));
        let state = ServerState {
            store: store.into(),
            session: options.session.share_memory()?.store_only(),
            queries,
            threads: QueryThreads::current(),
        };
        Ok(Self {
            state: Arc::new(state),
        })
    }

    /// Serves a client until it closes `input`. Requests that are running then are cancelled.
    ///
    /// # Errors
    /// [`Error::Io`] if the client does not speak the protocol.
    pub async fn serve(
        self,
        input: impl AsyncRead + Send + Unpin + 'static,
        output: impl AsyncWrite + Send + Unpin + 'static,
    ) -> Result<()> {
        let failed = |reason: String| Error::Io {
            path: "MCP client".into(),
            source: std::io::Error::other(reason),
        };
        let running = match Handler(self.state).serve((input, output)).await {
            Ok(running) => running,
            Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
            Err(error) => return Err(failed(error.to_string())),
        };
        let ended = running.waiting().await;
        ended.map(|_| ()).map_err(|error| failed(error.to_string()))
    }

    /// Serves the client on standard input and output, until it closes standard input. Nothing else may print to
    /// standard output meanwhile.
    ///
    /// # Errors
    /// As [`McpServer::serve`].
    pub async fn serve_stdio(self) -> Result<()> {
        let (input, output) = rmcp::transport::stdio_pipes();
        self.serve(input, output).await
    }
}
