//! Ingest interface of formats whose files are read as a whole.
//!
//! ```text
//! files ─▶ FormatDetector (which format? which platform?) ─▶ read ─▶ parse ─▶ CommitBatch ─▶ rows
//!                                                       one thread   many      known ones are not added
//! ```
//!
//! Log formats do not implement it: [`Dialect`](tsql_formats::Dialect) parses their lines.

use std::sync::Arc;

use arrow::array::RecordBatch;
use tsql_error::Result;
use tsql_formats::autotuners::FileNames;
use tsql_formats::{Compression, DocumentFormat, FileDescription, FileHandle, Input, NamedFormat};
use tsql_store::Store;

use super::similar_sample::SimilarSample;
use crate::ingest_log::{Alias, IngestLog, SourceSegment};

/// An input of one format.
#[derive(Clone, Debug)]
pub struct FormatInput {
    /// The files to read.
    pub what: InputFiles,
    /// Platform of its records. `None` if they have none.
    pub platform: Option<String>,
    /// Format of the file, if its content or the user determines it.
    pub format: Option<&'static dyn DocumentFormat>,
    /// Names that the user gives to the file.
    pub names: FileNames,
}

/// Files of an input.
#[derive(Clone, Debug)]
pub enum InputFiles {
    /// A file that is read by itself.
    File(Input, Option<Compression>),
    /// Files that form a unit: the name of their folder in the store, and the files.
    Folder(String, Vec<Input>),
    /// A file of an archive of such folders that is in none of them.
    Loose(Input),
}

/// Classified members of an archive.
#[derive(Debug, Default)]
pub struct ArchiveContents {
    /// Files that the format reads.
    pub taken: Vec<InputFiles>,
    /// Files that the format does not read.
    pub others: Vec<(Input, FileDescription)>,
}

impl FormatInput {
    /// Path for display.
    pub fn display_path(&self) -> &str {
        match &self.what {
            InputFiles::File(input, _) | InputFiles::Loose(input) => &input.path,
            InputFiles::Folder(_, files) => {
                let first = files.first().map_or("", |file| file.path.as_str());
                first.rsplit_once('/').map_or(first, |(folder, _)| folder)
            }
        }
    }
}

/// Decision on a file, with its platform.
pub enum Admission {
    /// The reader reads the file. Contains its platform, if it has one.
    Taken(Option<String>),
    /// As `Taken`, with the names that its reader needs.
    Named(Option<String>, Box<FileNames>),
    /// The file needs a platform and none is known. Contains a hint.
    Nameless(&'static str),
    /// The file needs names that are not known. Contains the fact and a hint.
    Unnamed(String),
    /// The file is not of this format.
    Skipped(FileDescription),
}

/// A file whose format is known.
#[derive(Clone, Copy)]
pub struct AdmissionRequest<'a> {
    /// The file.
    pub input: &'a Input,
    /// The open file. `None` for archives, and for exported files of known format.
    pub opened: Option<&'a FileHandle>,
    /// Platform for all files.
    pub platform: Option<&'a str>,
    /// Format of the file, if its content or the user determines it.
    pub format: Option<&'static dyn DocumentFormat>,
    /// Names that the user gives to the file.
    pub names: &'a FileNames,
}

/// Detection of the files of a format.
pub trait FormatDetector: Sync {
    /// File formats that it handles.
    fn formats(&self) -> &'static [&'static dyn DocumentFormat];

    /// Returns whether all files of an archive must be present before any is read. This is the case if
    /// files form units and may be anywhere in the archive.
    fn needs_whole_archive(&self) -> bool {
        false
    }

    /// Classifies the members of an archive of this format.
    fn archive_contents(&self, members: Vec<Input>) -> ArchiveContents {
        let taken = members
            .into_iter()
            .map(|input| InputFiles::File(input, None));
        ArchiveContents {
            taken: taken.collect(),
            others: Vec::new(),
        }
    }

    /// Separates files that form units from the other files.
    fn split_folders(&self, found: Vec<Input>) -> (Vec<FormatInput>, Vec<Input>) {
        (Vec::new(), found)
    }

    /// Returns whether an exported file was of this format before the export.
    fn owns_exported(&self, input: &Input) -> bool {
        let _ = input;
        false
    }

    /// Decides on a file and its platform.
    fn admit(&self, request: &AdmissionRequest<'_>) -> Result<Admission>;

    /// Unique name of the format.
    fn name(&self) -> &'static str {
        let first = self.formats().first();
        first.map_or("", |format| format.description())
    }

    /// Returns whether it handles this file format.
    fn handles(&self, format: &dyn DocumentFormat) -> bool {
        let mut own = self.formats().iter();
        own.any(|own| own.description() == format.description())
    }

    /// Returns whether it accepts files if the user requests a format.
    fn matches_request(&self, wanted: Option<NamedFormat>) -> bool {
        match wanted {
            None => true,
            Some(NamedFormat::Document(format)) => self.handles(format),
            Some(NamedFormat::Log(_)) => false,
        }
    }
}

/// An event of the reader thread.
pub enum ReadEvent<W> {
    /// A file of this format was found, with its description. Its outcome follows later.
    Taken(&'static str),
    /// Number of bytes read.
    Bytes(u64),
    /// An item that the store does not have, to be parsed by another thread: display name, source, content.
    Work(String, Option<i64>, W),
    /// Number of files that the store already has.
    Unchanged(u64),
    /// The store has the bytes of this file under another name.
    Alias(Box<Alias>, String),
    /// A rejected file: path and reason.
    Failed(String, String),
}

impl<W> ReadEvent<W> {
    /// Converts the item.
    pub(crate) fn map<V>(self, convert: impl FnOnce(W) -> V) -> ReadEvent<V> {
        match self {
            Self::Taken(kind) => ReadEvent::Taken(kind),
            Self::Bytes(bytes) => ReadEvent::Bytes(bytes),
            Self::Work(path, source_id, work) => ReadEvent::Work(path, source_id, convert(work)),
            Self::Unchanged(files) => ReadEvent::Unchanged(files),
            Self::Alias(alias, path) => ReadEvent::Alias(alias, path),
            Self::Failed(path, reason) => ReadEvent::Failed(path, reason),
        }
    }
}

/// Receives events. Returns `None` to stop.
pub(crate) type Sink<'a, W> = dyn FnMut(ReadEvent<W>) -> Option<()> + 'a;

/// Reader of a format.
pub trait FormatReader: FormatDetector + Send + Copy + 'static {
    /// Unit of parsing.
    type Work: Send + 'static;
    /// Result of parsing.
    type Read: Send + 'static;
    /// Collects parse results for a commit.
    type Group: CommitBatch<Read = Self::Read>;

    /// Tables with rows that belong to sources, in commit order.
    const TABLES: &'static [&'static str];
    /// Queue lengths per parser thread: waiting items, and parsed items.
    const QUEUE: (usize, usize);
    /// Whether a rejected file ends a strict run.
    const IS_STRICT: bool;

    /// Datasets of its files.
    fn datasets(&self) -> &'static [&'static str];

    /// Datasets, platforms and names that the files will get, if known in advance.
    fn expected_names<'a>(
        &self,
        given: &'a [FormatInput],
    ) -> Option<Vec<(&'static str, &'a str, &'a str)>> {
        let _ = given;
        None
    }

    /// Passes all events of an input on. Returns `None` if the receiver stopped. Events before damage are
    /// passed on.
    fn read(
        &self,
        given: &FormatInput,
        ledger: &mut IngestLog,
        hand: &mut Sink<'_, Self::Work>,
    ) -> Result<Option<()>>;

    /// Parses an item. Returns the reason if it is rejected as a whole.
    fn parse(work: Self::Work) -> std::result::Result<Self::Read, String>;
}

/// Parse results that are not yet committed.
pub trait CommitBatch: Sized {
    /// A parse result.
    type Read;

    /// Creates an empty batch.
    async fn begin(store: &Store) -> Result<Self>;

    /// Adds a parse result. Returns its summary for the report.
    fn add(&mut self, read: Self::Read) -> ParseSummary;

    /// Returns whether there is enough for a commit. `files` is the number of files so far.
    fn is_full(&self, files: usize) -> bool;

    /// Commits all rows that the files' own rows refer to. Returns the files' own rows, and completes the
    /// segments for the ingest log.
    async fn commit(&mut self, store: &Store, closed: &mut [SourceSegment])
    -> Result<CommitOutput>;

    /// Discards all parse results.
    fn clear(&mut self);
}

/// Summary of a parse result, for the report.
#[derive(Default)]
pub struct ParseSummary {
    /// Segments of its files. Empty if the store already has the content.
    pub closed: Vec<SourceSegment>,
    /// Bytes read.
    pub bytes: u64,
    /// Records of failed measurements.
    pub failed_records: u64,
    /// Records without a measurement.
    pub unmeasured_records: u64,
    /// Samples of GraphNet.
    pub samples: u64,
    /// Samples that the store has already.
    pub similar_samples: Vec<SimilarSample>,
    /// Original path and name in the store, if the name was changed.
    pub renamed: Option<(String, String)>,
    /// Rejected lines: path, line, reason.
    pub rejects: Vec<(String, u64, String)>,
    /// Irregularities: path, line (0 for the whole file), reason.
    pub notes: Vec<(String, u64, String)>,
    /// Parts of a valid file that are not understood: path, description.
    pub remarks: Vec<(String, String)>,
}

/// Result of a commit, and the rows to be committed with the files.
#[derive(Default)]
pub struct CommitOutput {
    /// Rows to be committed with the files.
    pub rows: Vec<TableRows>,
    /// Number of graphs that are new.
    pub new_graphs: u64,
    /// Number of configurations that are new.
    pub new_configurations: u64,
}

/// Rows of a table.
pub struct TableRows {
    /// Name of the table.
    pub table: &'static str,
    /// Dataset and platform, for partitioned tables.
    pub partition: Option<Partition>,
    /// The rows.
    pub rows: RecordBatch,
}

/// Dataset and platform of records.
pub type Partition = (&'static str, Arc<str>);

/// Calls generic code for each format.
pub trait Visitor {
    /// Calls the visitor with a reader of this format.
    async fn visit<T: FormatReader>(&mut self, room: T) -> Result<()>;
}
