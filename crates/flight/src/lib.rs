#![doc = include_str!("../README.md")]
//!
//! ```text
//!  client ─▶ TLS, token ─▶ service ─▶ a thread plans over the newest version ─▶ rows ─▶ stream
//!                             │                                                  └ ends with its client
//!                             ├ prepared statements: SQL and parameters by handle
//!                             └ metadata: catalogs, schemas, tables, types, server
//! ```
//!
//! ```
//! use tsql_flight::{FlightOptions, FlightServer};
//! # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
//! let store = tsql_dataset::demo::create_demo().await?;
//! let server = FlightServer::start(store, FlightOptions::default()).await?;
//! assert!(server.url().starts_with("grpc://127.0.0.1:"));
//! server.serve(async { /* until this is ready */ }).await?;
//! # Ok::<(), tsql_error::Error>(()) }).unwrap();
//! ```

mod error_status;
mod keys;
mod options;
mod prepared;
mod queries;
mod responses;
mod server;
mod server_info;
mod service;
mod tables;
mod token;

pub use options::FlightOptions;
pub use server::FlightServer;
