//! tsql
pub mod error;
pub mod schema;
mod number;
mod varint;
mod identity;
mod repeats;
mod sketch;
mod reader;
mod store;
mod column;
mod dedupe;
mod ingest;
pub use error::{Error, Result};
pub use ingest::{Event, IngestOptions, Report};
pub use store::{Location, Store, Version};
mod stats;
mod query;
mod export;
mod upkeep;
pub use upkeep::Optimized;
pub use export::Exported;
mod check;
pub use check::Checked;
mod demo;
#[doc(hidden)]
pub mod cli;
