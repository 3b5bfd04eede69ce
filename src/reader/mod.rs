//! Files to rows: finding them, opening them, telling their format.
//!
//! One module per format. Takes paths, patterns and standard input; gives streams of decompressed
//! bytes ([`open`]) and the rows of a format's own reader. Writes nothing.

pub(crate) mod exported;
pub(crate) mod graphnet;
pub(crate) mod lines;
pub(crate) mod measured;
pub(crate) mod naming;
pub(crate) mod rows;
pub(crate) mod tenset;
pub(crate) mod tpugraphs;

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::error::{Error, Result};
use crate::marker;
use rows::Rows;

/// Standard input, as it is named on the command line.
pub(crate) const STDIN: &str = "-";

/// How much of a file tells its format.
pub(crate) const HEAD_BYTES: u64 = 16 << 10;

/// A file to be ingested.
#[derive(Clone, Debug)]
pub(crate) struct Input {
    /// Where it is read from.
    pub(crate) file: PathBuf,
    /// How it was named: the argument, and below a directory the path in it.
    pub(crate) path: String,
    /// The name that it gets in the store: from the last part of the argument on.
    pub(crate) name: String,
    /// The directory that it lies in, without its parents.
    pub(crate) directory: Option<String>,
    /// It was named itself, not found in a directory.
    pub(crate) explicit: bool,
    /// What it was in the store that it was exported from.
    pub(crate) exported: Option<Arc<exported::ExportedFile>>,
}

impl Input {
    /// What it was in the store that it was exported from, if it was of this dataset.
    pub(crate) fn was(&self, dataset: &str) -> Option<&exported::ExportedFile> {
        let exported = self.exported.as_deref();
        exported.filter(|file| file.dataset == dataset)
    }
}

/// Compression that a file's first bytes give away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compression {
    Gzip,
    Zstd,
}

impl Compression {
    /// The one of this name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        let all = [Self::Gzip, Self::Zstd];
        all.into_iter().find(|one| one.name() == name)
    }

    /// Its name in the `sources` table.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
        }
    }
}

/// What a file is, by its first bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// A log, line by line; also what nobody knows.
    Lines,
    /// Arrays of NumPy.
    Npz,
    /// An archive of files, also a compressed one.
    Tar,
    /// A benchmark log of GraphNet.
    Benchmark,
    /// Rows in a Parquet file.
    Parquet,
}

/// Where a tar says that it is one.
const TAR_MAGIC: (usize, &[u8]) = (257, b"ustar");

/// Tells the format of a file.
pub(crate) fn format(file: &Path) -> Result<Format> {
    let (reader, _) = open(file)?;
    let mut head = Vec::new();
    // A damaged compressed file is told as one when its lines are read.
    let _ = reader.take(512).read_to_end(&mut head);
    let (at, magic) = TAR_MAGIC;
    Ok(if tpugraphs::sniff(&head) {
        Format::Npz
    } else if head.get(at..at + magic.len()) == Some(magic) {
        Format::Tar
    } else if head.starts_with(b"PAR1") {
        Format::Parquet
    } else if is_benchmark(file, &head) {
        Format::Benchmark
    } else {
        Format::Lines
    })
}

/// How much of a file is searched for the tags of a benchmark log: child processes may say a lot
/// before the first.
const SEARCHED_BYTES: u64 = 4 << 20;

/// Is it a benchmark log? Logs of TenSet tell themselves by their first bytes.
fn is_benchmark(file: &Path, head: &[u8]) -> bool {
    if head.is_empty() || Dialect::of(head).is_some() {
        return false;
    }
    let Ok((reader, _)) = open(file) else {
        return false;
    };
    let mut text = Vec::new();
    let _ = reader.take(SEARCHED_BYTES).read_to_end(&mut text);
    graphnet::is_log(&text)
}

/// Opens a file and undoes its compression.
pub(crate) fn open(file: &Path) -> Result<(Box<dyn Read + Send>, Option<Compression>)> {
    let opened = File::open(file).map_err(Error::io(file))?;
    let mut buffered = BufReader::with_capacity(1 << 16, opened);
    let head = buffered.fill_buf().map_err(Error::io(file))?;
    if head.starts_with(&[0x1f, 0x8b]) {
        let reader = flate2::bufread::MultiGzDecoder::new(buffered);
        return Ok((Box::new(reader), Some(Compression::Gzip)));
    }
    if head.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) {
        let reader = zstd::stream::read::Decoder::with_buffer(buffered).map_err(Error::io(file))?;
        return Ok((Box::new(reader), Some(Compression::Zstd)));
    }
    Ok((Box::new(buffered), None))
}

/// Does the file look like one that a reader takes? Empty files do: there is nothing to lose.
pub(crate) fn recognised(file: &Path) -> Result<bool> {
    let (reader, _) = open(file)?;
    let mut head = Vec::new();
    let read = reader.take(HEAD_BYTES).read_to_end(&mut head);
    Ok(read.is_err() || head.is_empty() || Dialect::of(&head).is_some())
}

/// What the lines of a log look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// auto_scheduler's; also what nobody knows.
    Tenset,
    /// Those of [`measured`].
    Measured,
}

impl Dialect {
    /// Both.
    pub(crate) const ALL: [Self; 2] = [Self::Tenset, Self::Measured];

    /// The dataset of its records.
    pub(crate) fn dataset(self) -> &'static str {
        match self {
            Self::Tenset => tenset::NAME,
            Self::Measured => measured::NAME,
        }
    }

    /// The dialect of a log that begins like this.
    pub(crate) fn of(head: &[u8]) -> Option<Self> {
        if tenset::sniff(head) {
            Some(Self::Tenset)
        } else {
            measured::sniff(head).then_some(Self::Measured)
        }
    }

    /// The dialect of a log.
    pub(crate) fn of_file(file: &Path) -> Self {
        let mut head = Vec::new();
        if let Ok((reader, _)) = open(file) {
            let _ = reader.take(HEAD_BYTES).read_to_end(&mut head);
        }
        Self::of(&head).unwrap_or(Self::Tenset)
    }

    /// The rows of whole lines, the last of which may lack its line feed.
    pub(crate) fn parse(self, chunk: &[u8], crlf: bool) -> Rows {
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

/// The files behind an argument: itself, those below a directory in the order of their names, or
/// those that match a pattern.
pub(crate) fn find(argument: &str) -> Result<Vec<Input>> {
    let path = Path::new(argument);
    if path.is_dir() {
        let mut found = Vec::new();
        let root = path.canonicalize().map_err(Error::io(path))?;
        let prefix = root.file_name().map(naming::readable);
        walk(
            path,
            &prefix.unwrap_or_default(),
            argument.trim_end_matches('/'),
            &mut found,
        )?;
        return Ok(found);
    }
    if path.exists() {
        return Ok(vec![explicit(path, argument)?]);
    }
    let missing = |reason: String| Error::Source {
        location: argument.to_owned(),
        reason,
    };
    let mut found = Vec::new();
    for entry in glob::glob(argument).map_err(|error| missing(error.to_string()))? {
        let entry = entry.map_err(|error| missing(error.to_string()))?;
        found.extend(find(&entry.to_string_lossy())?);
    }
    if found.is_empty() {
        return Err(missing("no such file, directory or match".to_owned()));
    }
    Ok(found)
}

fn explicit(path: &Path, argument: &str) -> Result<Input> {
    let file = path.canonicalize().map_err(Error::io(path))?;
    let part = |path: Option<&Path>| path.and_then(Path::file_name).map(naming::readable);
    Ok(Input {
        path: argument.to_owned(),
        name: part(Some(&file)).unwrap_or_default(),
        directory: part(file.parent()),
        file,
        explicit: true,
        exported: None,
    })
}

fn walk(folder: &Path, name: &str, path: &str, found: &mut Vec<Input>) -> Result<()> {
    let listed = std::fs::read_dir(folder).map_err(Error::io(folder))?;
    let mut entries = listed
        .collect::<std::io::Result<Vec<_>>>()
        .map_err(Error::io(folder))?;
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        let part = naming::readable(&entry.file_name());
        let (below, path) = (format!("{name}/{part}"), format!("{path}/{part}"));
        let file = entry.path();
        let meta = std::fs::metadata(&file);
        if meta.as_ref().is_ok_and(std::fs::Metadata::is_dir) {
            // A store among the inputs is no input.
            if !marker::is_store(&file) {
                walk(&file, &below, &path, found)?;
            }
        } else if meta.map_or(true, |meta| meta.is_file()) && !part.starts_with('.') {
            let directory = Some(name.rsplit('/').next().unwrap_or(name).to_owned());
            found.push(Input {
                file,
                path,
                name: below,
                directory,
                explicit: false,
                exported: None,
            });
        }
    }
    Ok(())
}
