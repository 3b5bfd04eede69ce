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

mod error;
pub mod exported;
mod find;
mod format;
mod head;
pub mod lines;
mod listed;
mod looks;
pub mod marker;
pub mod naming;
mod opened;
pub mod pickle;
pub mod rows;
#[cfg(test)]
mod shared;
pub mod tvm_json;

pub mod graphnet;
pub mod measured;
pub mod tenset;
pub mod tpugraphs;

use std::path::PathBuf;
use std::sync::Arc;

pub use error::{Error, Result};
pub use find::{Found, find};
pub use format::{Documents, Format, Logs};
pub use head::{Head, Kind};
pub use listed::{DOCUMENTS, Dialect};
pub use looks::Looks;
pub use opened::{Opened, Stream, open};

/// Standard input, as it is named on the command line.
pub const STDIN: &str = "-";

/// A file to be ingested.
#[derive(Clone, Debug)]
pub struct Input {
    /// Where it is read from.
    pub file: PathBuf,
    /// How it was named: the argument, and below a directory the path in it.
    pub path: String,
    /// The name that it gets in the store: from the last part of the argument on.
    pub name: String,
    /// The name of the directory that it was found in, where that may give its platform: of a file
    /// that was named itself, and of one in a directory without a name of its own, none does.
    pub directory: Option<String>,
    /// It was named itself or matched a pattern, not found in a directory or archive.
    pub explicit: bool,
    /// What it was in the store that it was exported from.
    pub exported: Option<Arc<exported::ExportedFile>>,
}

impl Input {
    /// What it was in the store that it was exported from, if it was of this dataset.
    pub fn was(&self, dataset: &str) -> Option<&exported::ExportedFile> {
        let exported = self.exported.as_deref();
        exported.filter(|file| file.dataset == dataset)
    }
}

/// Compression that a file's first bytes give away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// RFC 1952, of any number of members.
    Gzip,
    /// RFC 8878, of any number of frames.
    Zstd,
}

impl Compression {
    /// The one of this name.
    pub fn named(name: &str) -> Option<Self> {
        let all = [Self::Gzip, Self::Zstd];
        all.into_iter().find(|one| one.name() == name)
    }

    /// That of a file which begins like this.
    pub fn of(head: &[u8]) -> Option<Self> {
        if head.starts_with(&[0x1f, 0x8b]) {
            Some(Self::Gzip)
        } else {
            let is_zstd = head.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]);
            is_zstd.then_some(Self::Zstd)
        }
    }

    /// Its name in the `sources` table.
    pub fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
        }
    }
}
