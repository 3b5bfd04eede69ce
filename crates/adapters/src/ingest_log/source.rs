//! State of a source in the ingest log, and plans for files.

use tsql_codecs::identity::source_id;
use tsql_formats::Compression;

/// State of a source in the ingest log, over all its segments.
#[derive(Clone, Debug)]
pub struct Source {
    /// Id of the source.
    pub source_id: i64,
    /// Platform of the source.
    pub platform: String,
    /// Platform at ingest, if it was corrected.
    pub first_platform: Option<String>,
    /// Name of the source.
    pub name: String,
    /// Path at the last ingest.
    pub path: String,
    /// Number of the next segment.
    pub segments: i32,
    /// Number of ingested bytes.
    pub end_byte: u64,
    /// Number of its last line.
    pub last_line: u64,
    /// `record` or `other` if the last line lacks a line ending.
    pub open_line: Option<String>,
    /// Hash of the ingested bytes.
    pub content_hash: String,
    /// `None` for a file without lines.
    pub crlf: Option<bool>,
    /// Source that has its records, for an alias.
    pub same_as: Option<i64>,
    /// Collection of the source.
    pub collection: Option<String>,
    /// Split of the source.
    pub split: Option<String>,
    /// GraphNet: its sample.
    pub sample_id: Option<i64>,
    /// TpuGraphs: its arrays and the hash of their numbers.
    pub arrays: Option<(String, String)>,
}

impl Source {
    /// Returns whether this is its platform, at present or at ingest.
    pub fn is_on(&self, platform: &str) -> bool {
        self.platform == platform || self.first_platform.as_deref() == Some(platform)
    }

    /// Creates the state of a file that this run reads and has not committed.
    pub fn new_uncommitted(reading: &ReadPlan, end_byte: u64, content_hash: String) -> Self {
        Self {
            source_id: reading.source_id,
            platform: reading.platform.clone(),
            first_platform: reading.first_platform.clone(),
            name: reading.name.clone(),
            path: String::new(),
            segments: UNCOMMITTED,
            end_byte,
            last_line: 0,
            open_line: None,
            content_hash,
            crlf: None,
            same_as: None,
            collection: None,
            split: None,
            sample_id: None,
            arrays: None,
        }
    }

    /// Creates the state of an alias that this run adds and has not committed.
    pub(super) fn new_uncommitted_alias(dataset: &str, alias: &Alias) -> Self {
        let same_as = &alias.same_as;
        Self {
            source_id: source_id(dataset, &same_as.platform, &alias.name),
            name: alias.name.clone(),
            segments: UNCOMMITTED,
            same_as: Some(same_as.source_id),
            ..same_as.clone()
        }
    }
}

/// Segment number of a source that this run reads and has not committed.
pub(super) const UNCOMMITTED: i32 = i32::MAX;

/// Plan for a file.
#[derive(Clone, Debug)]
pub enum FilePlan {
    /// The store has all of it.
    Unchanged,
    /// The store has the same bytes under another name. Only the name is added.
    Alias(Box<Alias>),
    /// Read it, from some position on.
    Read(ReadPlan),
}

/// Another name of a stored file.
#[derive(Clone, Debug)]
pub struct Alias {
    pub(crate) name: String,
    /// See [`ReadPlan::given`].
    pub(crate) given: Option<String>,
    pub(crate) segment: i32,
    pub(crate) compression: Option<Compression>,
    /// Dataset of the file.
    pub(crate) dataset: &'static str,
    /// The source with the same bytes.
    pub same_as: Source,
}

/// A file to be read, from its start or from the end of the stored part.
#[derive(Clone, Debug)]
pub struct ReadPlan {
    /// Id of the source.
    pub source_id: i64,
    /// Platform of the source.
    pub platform: String,
    /// Platform at ingest, if it was corrected.
    pub first_platform: Option<String>,
    /// Name of the source.
    pub name: String,
    /// The given name, if the store has another file of that name.
    pub given: Option<String>,
    /// Number of the next segment.
    pub segment: i32,
    /// Offset of the first new byte.
    pub first_byte: u64,
    /// Number of the first new line.
    pub first_line: u64,
    /// Line ending of the file, if known from an earlier segment.
    pub crlf: Option<bool>,
}

impl ReadPlan {
    /// Plans to read all of a new file.
    pub fn for_new_file(dataset: &str, platform: &str, name: String) -> Self {
        Self {
            source_id: source_id(dataset, platform, &name),
            platform: platform.to_owned(),
            first_platform: None,
            name,
            given: None,
            segment: 0,
            first_byte: 0,
            first_line: 1,
            crlf: None,
        }
    }
}

/// A file whose name the store has for sources that are not prefixes of it: usually earlier versions.
#[derive(Clone, Debug)]
pub struct EarlierVersions {
    /// Path as given.
    pub path: String,
    /// Source that it becomes. `None` if nothing of it is read.
    pub new: Option<i64>,
    /// Source that it equals or extends.
    pub same: Option<i64>,
    /// Earlier versions of the file.
    pub earlier: Vec<EarlierVersion>,
}

/// A source that may be an earlier version of a file.
#[derive(Clone, Debug)]
pub struct EarlierVersion {
    pub source_id: i64,
    pub name: String,
    /// Whether it was ingested from the same path, as far as path and name show.
    pub is_same_place: bool,
}

impl Source {
    /// Returns this source as an earlier version of the file at `path`.
    pub(super) fn to_earlier_version(&self, path: &str) -> EarlierVersion {
        let plain = |path: &str| path.trim_start_matches("./").to_owned();
        // The name of a file that was found in a folder contains the folder.
        let is_same_place = self.name.contains('/') || plain(&self.path) == plain(path);
        EarlierVersion {
            source_id: self.source_id,
            name: self.name.clone(),
            is_same_place,
        }
    }

    /// Returns whether it may be an earlier version of a file on a platform: it has rows of its own.
    pub(super) fn may_be_earlier(&self, platform: &str) -> bool {
        self.is_on(platform)
            && self.same_as.is_none()
            && self.sample_id.is_none()
            && self.segments != UNCOMMITTED
            && self.end_byte > 0
    }
}
