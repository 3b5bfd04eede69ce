#![doc = include_str!("../README.md")]
#![cfg_attr(
    test,
    allow(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::indexing_slicing,
        clippy::string_slice,
        reason = "a test fails by panicking"
    )
)]

pub mod beside;
mod chunk;
mod companion;
mod compression;
pub mod computation;
mod dumps;
mod error;
pub mod exported;
mod find;
mod folder;
mod format;
mod head;
mod input;
pub mod lines;
mod listed;
mod looks;
pub mod marker;
mod members;
mod named;
pub mod naming;
pub mod npy;
pub mod npz;
mod opened;
mod parser;
mod passed;
pub mod pickle;
pub mod rows;
#[cfg(test)]
mod shared;
mod spelled;
mod steps;
pub mod tvm_json;
mod unit;

pub mod autotvm;
pub mod graphnet;
pub mod measured;
pub mod metaschedule;
pub mod tenset;
pub mod tpugraphs;

pub use companion::graphs;
pub use compression::Compression;
pub use error::{Error, Result};
pub use find::{Found, find};
pub use folder::Folder;
pub use format::{Documents, Format, Logs};
pub use head::{Head, Kind};
pub use input::{Input, STDIN};
pub use listed::{DOCUMENTS, Dialect};
pub use looks::Looks;
pub use named::Named;
pub use opened::{Bytes, Opened, Spool, Stream, open};
pub use passed::Passed;
pub use spelled::{Speller, Stored};
pub use unit::units;
