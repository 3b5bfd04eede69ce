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
pub mod graphnet;
pub mod lines;
mod looks;
pub mod marker;
pub mod measured;
pub mod naming;
pub mod rows;
pub mod tenset;
pub mod tpugraphs;

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use error::{Error, Result};
pub use find::{Found, find};
pub use format::{Format, Head, format};
pub use looks::Looks;
use rows::Rows;

/// Standard input, as it is named on the command line.
pub const STDIN: &str = "-";

/// What some editors put before the first line.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

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

/// Opens a file and undoes its compression.
pub fn open(file: &Path) -> Result<(Box<dyn Read + Send>, Option<Compression>)> {
    let opened = File::open(file).map_err(Error::io(file))?;
    let mut buffered = BufReader::with_capacity(1 << 16, opened);
    let head = buffered.fill_buf().map_err(Error::io(file))?;
    let compression = Compression::of(head);
    Ok((
        match compression {
            Some(Compression::Gzip) => {
                Box::new(flate2::bufread::MultiGzDecoder::new(buffered)) as Box<dyn Read + Send>
            }
            Some(Compression::Zstd) => {
                let reader = zstd::stream::read::Decoder::with_buffer(buffered);
                Box::new(reader.map_err(Error::io(file))?)
            }
            None => Box::new(buffered),
        },
        compression,
    ))
}

/// What the lines of a log look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// auto_scheduler's.
    Tenset,
    /// Those of [`measured`].
    Measured,
}

impl Dialect {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Tenset, Self::Measured];

    /// The dataset of its records.
    pub fn dataset(self) -> &'static str {
        match self {
            Self::Tenset => tenset::NAME,
            Self::Measured => measured::NAME,
        }
    }

    /// The dialect that the first line of a log begins like.
    pub fn of(head: &[u8]) -> Option<Self> {
        let mut lines = head.split(|&byte| byte == b'\n');
        let line = lines.find(|line| !is_comment(line))?;
        Self::ALL.into_iter().find(|it| it.begins(line))
    }

    /// Does a line begin like a record?
    fn begins(self, line: &[u8]) -> bool {
        let line = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line);
        match self {
            Self::Tenset => tenset::sniff(line),
            Self::Measured => measured::sniff(line),
        }
    }

    /// In words.
    fn described(self) -> &'static str {
        match self {
            Self::Tenset => "an auto_scheduler log",
            Self::Measured => "measured records",
        }
    }

    /// The rows of whole lines, the last of which may lack its line feed.
    pub fn parse(self, chunk: &[u8], crlf: bool) -> Rows {
        match self {
            Self::Tenset => tenset::parse(chunk, crlf),
            Self::Measured => measured::parse(chunk, crlf),
        }
    }
}

/// TVM's reader skips lines that begin with `#` or a space; blank ones hold nothing.
fn is_comment(line: &[u8]) -> bool {
    matches!(line.first(), None | Some(b'#' | b' ')) || line == b"\r"
}
