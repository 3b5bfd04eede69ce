//! `tsql mcp`: the store for an assistant.

use clap::Args;
use tsql_mcp::{McpOptions, McpServer};

use super::outcome::{DONE, Failure};
use super::store_options::StoreOptions;

/// Serve a store to an assistant, with the Model Context Protocol
///
/// A client starts this command and talks to it over standard input and output: JSON-RPC, one message per line. Its
/// tools list and describe tables, run SQL and built-in queries with limits of rows and time, draw plots, and compare
/// two sides. It only reads, and only the store. All running queries share --memory-limit. It ends with its input.
///
/// Most clients have a configuration file: the command is `tsql`, the arguments are `mcp --store DIR`.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    tsql mcp --store logs/.tsql --memory-limit 4GiB\n  \
    tsql mcp --sample")]
pub(super) struct Mcp {}

pub(super) async fn run(place: &StoreOptions, _: Mcp) -> Result<u8, Failure> {
    let store = place.open().await?;
    let options = McpOptions::default()
        .session(place.options(None)?)
        .query_folders(place.query_folders()?);
    McpServer::new(store, options)?.serve_stdio().await?;
    Ok(DONE)
}
