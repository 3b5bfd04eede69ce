//! What the ledger says of a file, and what may be to be done with one.

use tsql_codecs::identity::source_id;
use tsql_formats::Compression;

/// What the ledger says of one file, over all its segments.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    pub(crate) source_id: i64,
    pub(crate) platform: String,
    /// The one that it was ingested for, where that was corrected.
    pub(crate) first_platform: Option<String>,
    pub(crate) name: String,
    /// How it was named when it was ingested last.
    pub(crate) path: String,
    /// The next segment's number.
    pub(crate) segments: i32,
    pub(crate) end_byte: u64,
    /// Number of its last line.
    pub(crate) last_line: u64,
    /// `record` or `other` where the last line has no line ending.
    pub(crate) open_line: Option<String>,
    pub(crate) content_hash: String,
    /// `None` for a file without lines.
    pub(crate) crlf: Option<bool>,
    /// Its records stand under this source.
    pub(crate) same_as: Option<i64>,
    pub(crate) collection: Option<String>,
    pub(crate) split: Option<String>,
    /// GraphNet: the sample that it belongs to.
    pub(crate) sample_id: Option<i64>,
    /// TpuGraphs: its arrays and the hash of their numbers.
    pub(crate) arrays: Option<(String, String)>,
}

impl Source {
    /// Are its records of this platform, or were they said to be?
    pub(crate) fn is_on(&self, platform: &str) -> bool {
        self.platform == platform || self.first_platform.as_deref() == Some(platform)
    }

    /// A file that this run reads, as the ledger does not have it yet.
    pub(crate) fn being_read(reading: &Reading, end_byte: u64, content_hash: String) -> Self {
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

    /// Another name, which this run gives and the ledger does not have yet.
    pub(super) fn being_named(dataset: &str, alias: &Alias) -> Self {
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

/// In place of a number of segments: the source is read by this run and not committed yet.
pub(super) const UNCOMMITTED: i32 = i32::MAX;

/// What is to be done with a file.
#[derive(Clone, Debug)]
pub(crate) enum Plan {
    /// The store has all of it.
    Unchanged,
    /// The store has the very same bytes under another name: only the name is new.
    Alias(Box<Alias>),
    /// Read it, from somewhere on.
    Read(Reading),
}

/// Another name of what the store has.
#[derive(Clone, Debug)]
pub(crate) struct Alias {
    pub(crate) name: String,
    /// See [`Reading::given`].
    pub(crate) given: Option<String>,
    pub(crate) segment: i32,
    pub(crate) compression: Option<Compression>,
    pub(crate) same_as: Source,
}

/// A file that is read, from its start or from where the store's knowledge of it ends.
#[derive(Clone, Debug)]
pub(crate) struct Reading {
    pub(crate) source_id: i64,
    pub(crate) platform: String,
    /// The one that it was ingested for, where that was corrected.
    pub(crate) first_platform: Option<String>,
    pub(crate) name: String,
    /// The name that it was given under, where the store has another file of that name.
    pub(crate) given: Option<String>,
    pub(crate) segment: i32,
    pub(crate) first_byte: u64,
    pub(crate) first_line: u64,
    /// The line ending of the file, where it is known from an earlier segment.
    pub(crate) crlf: Option<bool>,
}

impl Reading {
    /// All of a new file.
    pub(crate) fn of_file(dataset: &str, platform: &str, name: String) -> Self {
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

/// A file of whose name the store has others, which are no beginnings of it: earlier versions, as a rule.
#[derive(Clone, Debug)]
pub(crate) struct Versions {
    /// How it was named.
    pub(crate) path: String,
    /// The source that it becomes; `None` where nothing of it is read.
    pub(crate) new: Option<i64>,
    /// The source that it is, or begins with.
    pub(crate) same: Option<i64>,
    pub(crate) earlier: Vec<Earlier>,
}

/// A source that may be an earlier version of a file.
#[derive(Clone, Debug)]
pub(crate) struct Earlier {
    pub(crate) source_id: i64,
    pub(crate) name: String,
    /// It was ingested from the same place, as far as its path and its name tell.
    pub(crate) is_same_place: bool,
}

impl Source {
    /// This source as an earlier version of what is at `path`.
    pub(super) fn as_earlier(&self, path: &str) -> Earlier {
        let plain = |path: &str| path.trim_start_matches("./").to_owned();
        // A file that was found in a folder has the folder's name before its own.
        let is_same_place = self.name.contains('/') || plain(&self.path) == plain(path);
        Earlier {
            source_id: self.source_id,
            name: self.name.clone(),
            is_same_place,
        }
    }

    /// Whether it may be an earlier version of a file on a platform: it has rows of its own.
    pub(super) fn may_be_earlier(&self, platform: &str) -> bool {
        self.is_on(platform)
            && self.same_as.is_none()
            && self.sample_id.is_none()
            && self.segments != UNCOMMITTED
            && self.end_byte > 0
    }
}
