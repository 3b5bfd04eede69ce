//! Report of an ingest.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde::{Serialize, Serializer};
use tsql_adapters::formats::{NO_PLATFORM, SimilarSample};
use tsql_adapters::ingest_log::{EarlierVersions, SourceSegment};
use tsql_error::{Error, Result};
use tsql_formats::{FileDescription, Input, NamedFormat, export_manifest};

use super::repeated::RepeatedFile;

/// Maximum number of rejected lines that a [`Report`] lists. The view `rejects` has all of them.
const REJECTS_LISTED: usize = 20;

/// A file that no reader accepts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct SkippedFile {
    /// Path as given, or where it was found.
    pub path: String,
    /// Detected content: `a Python pickle`, `text`.
    pub looks_like: String,
    /// Suggestion for the user.
    pub hint: Option<String>,
    /// Whether it was given explicitly or by a pattern, not found in a directory or archive.
    pub is_explicit: bool,
}

impl SkippedFile {
    /// Creates an entry for a file that was not given explicitly.
    pub(super) fn new(path: String, looks: &FileDescription) -> Self {
        Self {
            path,
            looks_like: looks.to_string(),
            hint: looks.hint.map(str::to_owned),
            is_explicit: false,
        }
    }
}

/// A file that replaced its earlier versions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ReplacedFile {
    /// Path as given.
    pub path: String,
    /// Names of the earlier versions in the store.
    pub earlier: Vec<String>,
    /// Number of their records, moved to `retracted`.
    pub records: u64,
}

/// Report of an ingest.
#[derive(Clone, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct Report {
    /// Number of files, or of folders read as a unit, by description (`a benchmark log`). Independent of
    /// their outcome.
    pub kinds: BTreeMap<&'static str, u64>,
    /// Files that were read.
    pub files: u64,
    /// Files that the store already had.
    pub unchanged_files: u64,
    /// Unchanged files that keep their labels although others were requested. They were not read.
    pub ignored_label_files: u64,
    /// Files with the bytes of a stored file of another name. Only the name is added.
    pub duplicate_files: u64,
    /// Files of which only new lines at the end were read.
    pub grown_files: u64,
    /// Files that got another name, because theirs was in use: path, and name in the store.
    pub renamed_files: Vec<(String, String)>,
    /// Files that repeat records of an earlier version, so that these count twice.
    pub repeated_files: Vec<RepeatedFile>,
    /// Files that replaced their earlier versions.
    pub replaced_files: Vec<ReplacedFile>,
    /// Files whose name the store has for other content.
    #[serde(skip)]
    pub(crate) versions: Vec<EarlierVersions>,
    /// Files whose format and platform came from the file list of a `tsql export`.
    pub exported_files: u64,
    /// Files that no reader accepts. Nothing of them is stored, so a later version may ingest them.
    pub skipped_files: Vec<SkippedFile>,
    /// Platforms of all processed files, new or known.
    pub platforms: BTreeSet<String>,
    /// Files that could not be read, or not to their end: path and reason.
    pub failed_files: Vec<(String, String)>,
    /// Lines of all kinds.
    pub lines: u64,
    /// Lines that became records.
    pub records: u64,
    /// Rows of these files that interrupted runs had left and that were replaced.
    pub replaced_rows: u64,
    /// Records of failed measurements.
    pub failed_records: u64,
    /// Records of programs that were only proposed, without a timing.
    pub unmeasured_records: u64,
    /// Records stored with their text because columns do not restore it.
    pub verbatim_records: u64,
    /// Graphs that the store did not have.
    pub new_graphs: u64,
    /// Configurations that the store did not have.
    pub new_configurations: u64,
    /// Rejected lines.
    pub rejects: u64,
    /// The first rejected lines: path, line, reason.
    pub first_rejects: Vec<(String, u64, String)>,
    /// Samples that the store did not have.
    pub samples: u64,
    /// New samples that resemble a known one.
    pub similar_samples: Vec<SimilarSample>,
    /// Irregularities of ingested inputs.
    pub warnings: u64,
    /// The first warnings: path, line (0 for the whole file), reason.
    pub first_warnings: Vec<(String, u64, String)>,
    /// Bytes read, after decompression.
    pub bytes_in: u64,
    /// Growth of the store's data files in bytes.
    pub bytes_out: u64,
    /// Error of merging small files. Merging is retried later.
    pub merge_error: Option<String>,
    /// Elapsed time.
    #[serde(rename = "elapsed_s", serialize_with = "seconds")]
    pub elapsed: Duration,
}

impl Report {
    /// Returns whether everything given is in the store. Files that no reader accepts do not count if they
    /// were found in a directory.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        let named = self.skipped_files.iter().any(|file| file.is_explicit);
        self.rejects == 0 && self.failed_files.is_empty() && !named
    }

    /// Returns whether no file was ingested or already known.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.kinds.is_empty()
            && self.files == 0
            && self.unchanged_files == 0
            && self.duplicate_files == 0
    }

    /// Counts a rejected line, and lists the first ones.
    ///
    /// # Errors
    ///
    /// [`Error::Rejected`] with `strict`.
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

    /// Counts a file of this kind.
    pub(super) fn count_kind(&mut self, kind: &'static str) {
        *self.kinds.entry(kind).or_default() += 1;
    }

    /// Notes an irregularity of an ingested input.
    ///
    /// # Errors
    ///
    /// [`Error::Rejected`] with `strict`.
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

    /// Notes that a part of a valid input is not understood. This is not a reason for rejection.
    pub(super) fn remark(&mut self, path: String, reason: String) {
        self.list_note(path, 0, reason);
    }

    fn list_note(&mut self, path: String, line: u64, reason: String) {
        self.warnings += 1;
        if self.first_warnings.len() < REJECTS_LISTED {
            self.first_warnings.push((path, line, reason));
        }
    }

    /// Counts exported files. Notes files whose format or platform differs from that before the export,
    /// because the user requested another.
    pub(super) fn note_exported(
        &mut self,
        inputs: &[Input],
        wanted: Option<NamedFormat>,
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
                "{} states {what} `{was}` for {files} such files; they are ingested as `{asked}`, \
                 as requested",
                export_manifest::MANIFEST_FILE
            );
            self.warnings += 1;
            self.first_warnings.push((first.to_owned(), 0, reason));
        }
    }

    /// Notes a file that got another name in the store.
    pub(super) fn note_renamed(&mut self, file: &SourceSegment) {
        if file.reading.given.is_some() {
            let renamed = (file.path.clone(), file.reading.name.clone());
            self.renamed_files.push(renamed);
        }
    }

    /// Adds the counts of another report.
    pub(super) fn add(&mut self, other: Self) {
        for (sum, count) in [
            (&mut self.files, other.files),
            (&mut self.unchanged_files, other.unchanged_files),
            (&mut self.ignored_label_files, other.ignored_label_files),
            (&mut self.duplicate_files, other.duplicate_files),
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
            (&mut self.warnings, other.warnings),
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
        self.similar_samples.extend(other.similar_samples);
        self.first_warnings.extend(other.first_warnings);
        self.merge_error = other.merge_error.or(self.merge_error.take());
        self.elapsed += other.elapsed;
    }
}

/// Serialises a duration as seconds.
fn seconds<S: Serializer>(time: &Duration, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_f64(time.as_secs_f64())
}
