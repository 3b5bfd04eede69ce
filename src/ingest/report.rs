//! What an ingest did, for whoever asked for it.

use serde::{Serialize, Serializer};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use tsql_formats::{Input, Looks, Named, exported};

use super::repeated::RepeatedFile;
use crate::error::{Error, Result};
use crate::formats::{KnownSample, NO_PLATFORM};
use crate::ledger::{Closed, Versions};

/// Refused lines that a [`Report`] lists; all of them are in the view `rejects`.
const REJECTS_LISTED: usize = 20;

/// A file that no reader takes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct SkippedFile {
    /// How it was named, or where it was found.
    pub path: String,
    /// What it looks like: `a Python pickle`, `text`.
    pub looks_like: String,
    /// What may be done about it.
    pub hint: Option<String>,
    /// It was named itself or matched a pattern, not found in a directory or archive.
    pub named: bool,
}

impl SkippedFile {
    /// One that was found.
    pub(super) fn found(path: String, looks: &Looks) -> Self {
        Self {
            path,
            looks_like: looks.to_string(),
            hint: looks.hint.map(str::to_owned),
            named: false,
        }
    }
}

/// A file that took the place of its earlier versions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ReplacedFile {
    /// How it was named.
    pub path: String,
    /// Names of the earlier versions in the store.
    pub earlier: Vec<String>,
    /// Records of these, which are in `retracted` since.
    pub records: u64,
}

/// What an ingest did.
#[derive(Clone, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct Report {
    /// What files, or folders that are one thing, were taken as, in words (`a benchmark log`), and how many,
    /// whatever came of it.
    pub kinds: BTreeMap<&'static str, u64>,
    /// Files whose lines were read.
    pub files: u64,
    /// Files that the store had already.
    pub unchanged_files: u64,
    /// Those of them that keep the labels which they have, though others were asked for: nothing of them was read.
    pub unlabelled_files: u64,
    /// Files with the bytes of one that the store has under another name: only named.
    pub same_files: u64,
    /// Files of which only new lines at the end were read.
    pub grown_files: u64,
    /// Files of whose name the store has another one: path, and the name that each got in the store.
    pub renamed_files: Vec<(String, String)>,
    /// Those of them that repeat records of an earlier version, so that these count twice.
    pub repeated_files: Vec<RepeatedFile>,
    /// Files that took the place of their earlier versions.
    pub replaced_files: Vec<ReplacedFile>,
    /// Files of whose name the store has others.
    #[serde(skip)]
    pub(crate) versions: Vec<Versions>,
    /// Files that were taken as what the list of a `tsql export` beside them says.
    pub exported_files: u64,
    /// Files that no reader takes. Nothing of them is in the store, so that a later version may.
    pub skipped_files: Vec<SkippedFile>,
    /// Platforms of the files that were looked at, whether they are new or there already.
    pub platforms: BTreeSet<String>,
    /// Files that could not be read, or not to their end: path and reason.
    pub failed_files: Vec<(String, String)>,
    /// Lines of all kinds.
    pub lines: u64,
    /// Lines that became records.
    pub records: u64,
    /// Rows that interrupted runs had left of these files, and that gave way to new ones.
    pub replaced_rows: u64,
    /// Records of measurements that failed.
    pub failed_records: u64,
    /// Programs that were only proposed.
    pub unmeasured_records: u64,
    /// Records kept with their text because their columns do not rebuild it.
    pub verbatim_records: u64,
    /// Graphs that the store did not have.
    pub new_graphs: u64,
    /// Configurations that the store did not have.
    pub new_configurations: u64,
    /// Refused lines.
    pub rejects: u64,
    /// The first of them: path, line, reason.
    pub first_rejects: Vec<(String, u64, String)>,
    /// Samples that the store did not have.
    pub samples: u64,
    /// Those of them that have something in common with one that was known before.
    pub known_samples: Vec<KnownSample>,
    /// What was odd about inputs that were taken nevertheless.
    pub notes: u64,
    /// The first of them: path, line (0 for all of it), reason.
    pub first_notes: Vec<(String, u64, String)>,
    /// Bytes read, after decompression.
    pub bytes_in: u64,
    /// Bytes that the store's data files grew by.
    pub bytes_out: u64,
    /// Why small files were not merged, where that failed: they are merged another time.
    pub unmerged: Option<String>,
    /// Time taken.
    #[serde(rename = "elapsed_s", serialize_with = "seconds")]
    pub elapsed: Duration,
}

impl Report {
    /// Everything that was given is in the store. Files that were found in a directory and that
    /// no reader takes are told, and were not given.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        let named = self.skipped_files.iter().any(|file| file.named);
        self.rejects == 0 && self.failed_files.is_empty() && !named
    }

    /// No file was known: nothing was taken, nothing was there already.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.kinds.is_empty()
            && self.files == 0
            && self.unchanged_files == 0
            && self.same_files == 0
    }

    /// Counts a line that is refused, and lists the first ones; with `strict` it is an error.
    pub(super) fn reject(
        &mut self,
        path: &str,
        line: u64,
        reason: &str,
        strict: bool,
    ) -> Result<()> {
        self.rejects += 1;
        let (path, reason) = (path.to_owned(), reason.to_owned());
        if strict {
            return Err(Error::Rejected { path, line, reason });
        }
        if self.first_rejects.len() < REJECTS_LISTED {
            self.first_rejects.push((path, line, reason));
        }
        Ok(())
    }

    /// Counts something that is taken as one of these.
    pub(super) fn took(&mut self, kind: &'static str) {
        *self.kinds.entry(kind).or_default() += 1;
    }

    /// Notes what is odd about an input that is taken; with `strict` it is an error.
    pub(super) fn note(
        &mut self,
        path: String,
        line: u64,
        reason: String,
        strict: bool,
    ) -> Result<()> {
        if strict {
            return Err(Error::Rejected { path, line, reason });
        }
        self.list_note(path, line, reason);
        Ok(())
    }

    /// Notes what of a sound input is not understood, which is no reason to reject it.
    pub(super) fn remark(&mut self, path: String, reason: String) {
        self.list_note(path, 0, reason);
    }

    fn list_note(&mut self, path: String, line: u64, reason: String) {
        self.notes += 1;
        if self.first_notes.len() < REJECTS_LISTED {
            self.first_notes.push((path, line, reason));
        }
    }

    /// Counts files of an export, and says where they are not taken as what they were, because a format
    /// or a platform is asked for.
    pub(super) fn recalled(
        &mut self,
        inputs: &[Input],
        wanted: Option<Named>,
        platform: Option<&str>,
    ) {
        let mut others: BTreeMap<(&str, &str, &str), (u64, &str)> = BTreeMap::new();
        for input in inputs {
            let Some(exported) = &input.exported else {
                continue;
            };
            let mut differs = |what, was, asked| {
                let of = others.entry((what, was, asked));
                of.or_insert((0, input.path.as_str())).0 += 1;
            };
            let (was, dataset) = (exported.platform.as_str(), exported.dataset.as_str());
            if let Some(format) = wanted.filter(|format| format.dataset() != dataset) {
                differs("dataset", dataset, format.name());
                continue;
            }
            self.exported_files += 1;
            if let Some(platform) = platform.filter(|asked| *asked != was && was != NO_PLATFORM) {
                differs("platform", was, platform);
            }
        }
        for ((what, was, asked), (files, first)) in others {
            let reason = format!(
                "{} says {what} `{was}` of {files} files like it; they are taken as `{asked}`, as asked",
                exported::SIDECAR
            );
            self.notes += 1;
            self.first_notes.push((first.to_owned(), 0, reason));
        }
    }

    /// Says where a file could not keep its name.
    pub(super) fn renamed(&mut self, file: &Closed) {
        if file.reading.given.is_some() {
            let renamed = (file.path.clone(), file.reading.name.clone());
            self.renamed_files.push(renamed);
        }
    }

    /// Adds what another run did.
    pub(super) fn add(&mut self, other: Self) {
        for (sum, count) in [
            (&mut self.files, other.files),
            (&mut self.unchanged_files, other.unchanged_files),
            (&mut self.unlabelled_files, other.unlabelled_files),
            (&mut self.same_files, other.same_files),
            (&mut self.grown_files, other.grown_files),
            (&mut self.exported_files, other.exported_files),
            (&mut self.lines, other.lines),
            (&mut self.records, other.records),
            (&mut self.replaced_rows, other.replaced_rows),
            (&mut self.failed_records, other.failed_records),
            (&mut self.unmeasured_records, other.unmeasured_records),
            (&mut self.verbatim_records, other.verbatim_records),
            (&mut self.new_graphs, other.new_graphs),
            (&mut self.new_configurations, other.new_configurations),
            (&mut self.rejects, other.rejects),
            (&mut self.samples, other.samples),
            (&mut self.notes, other.notes),
            (&mut self.bytes_in, other.bytes_in),
            (&mut self.bytes_out, other.bytes_out),
        ] {
            *sum += count;
        }
        for (kind, count) in other.kinds {
            *self.kinds.entry(kind).or_default() += count;
        }
        self.renamed_files.extend(other.renamed_files);
        self.repeated_files.extend(other.repeated_files);
        self.replaced_files.extend(other.replaced_files);
        self.versions.extend(other.versions);
        self.skipped_files.extend(other.skipped_files);
        self.platforms.extend(other.platforms);
        self.failed_files.extend(other.failed_files);
        self.first_rejects.extend(other.first_rejects);
        self.known_samples.extend(other.known_samples);
        self.first_notes.extend(other.first_notes);
        self.unmerged = other.unmerged.or(self.unmerged.take());
        self.elapsed += other.elapsed;
    }
}

/// Times are seconds in JSON.
fn seconds<S: Serializer>(time: &Duration, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_f64(time.as_secs_f64())
}
