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

pub mod autotuners;
mod byte_counter;
mod chunk;
mod companion;
mod compression;
pub mod computation;
mod detect;
mod dumps;
mod error;
pub mod export_manifest;
mod file_description;
mod file_handle;
mod find;
mod folder;
mod format;
mod input;
pub mod lines;
pub mod log_context;
pub mod marker;
mod members;
mod named_format;
pub mod naming;
pub mod npy;
pub mod npz;
pub mod packed_metrics;
mod parser;
pub mod pickle;
pub mod record_collector;
mod record_writer;
mod registry;
pub mod rows;
mod run_times;
#[cfg(test)]
mod shared;
mod steps;
#[cfg(test)]
mod timings;
#[cfg(test)]
mod tutorial_page;
pub mod tvm_json;
mod unit;

pub mod autotvm;
pub mod graphnet;
pub mod measured;
pub mod metaschedule;
pub mod tenset;
pub mod tpugraphs;

pub use byte_counter::ByteCounter;
pub use companion::read_companion_graphs;
pub use compression::Compression;
pub use detect::{DetectedFormat, Head};
pub use error::{Error, Result};
pub use file_description::FileDescription;
pub use file_handle::{FileHandle, FileReader, Spool, Stream, open};
pub use find::{FoundFiles, find_inputs};
pub use folder::Folder;
pub use format::{DocumentFormat, Format, LogFormat};
pub use input::{Input, STDIN};
pub use named_format::NamedFormat;
pub use record_writer::{RecordWriter, StoredRecord};
pub use registry::{DOCUMENTS, Dialect};
pub use unit::group_paths;
