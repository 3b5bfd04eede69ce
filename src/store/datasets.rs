//! The life of a dataset: ingest, checks, corrections, copies, exports and measurements.

use std::io::Read;
use std::path::Path;
use tsql_dataset::check::{CheckOptions, CheckReport, RepairItem};
use tsql_dataset::copy::{CopyOptions, CopyReport};
use tsql_dataset::corrections::{Correction, CorrectionOptions, CorrectionReport, Label};
use tsql_dataset::diff::Diff;
use tsql_dataset::export::{ExportOptions, ExportReport};
use tsql_dataset::ingest::{AppendOptions, Appender, IngestOptions, Position, Report};
use tsql_dataset::notes::{Note, Subject};
use tsql_dataset::optimize::{OptimizeOptions, OptimizeReport};

use super::Store;
use crate::error::Result;

impl Store {
    /// Creates an in-memory store with the sample data: real timings of small kernels on one machine.
    ///
    /// # Errors
    /// [`crate::Error::Io`] if a temporary file cannot be written.
    pub async fn demo() -> Result<Self> {
        Ok(tsql_dataset::demo::create_demo().await?.into())
    }

    /// Ingests files as [`Store::ingest`] does, and replaces their earlier versions: sources that were ingested from
    /// the same path on the same platform and are not a prefix of the file. Their records are retracted in the commit
    /// that adds the new ones; [`Store::restore`] puts them back. Files without an earlier version are ingested as
    /// usual.
    ///
    /// # Errors
    /// As [`Store::ingest`]. [`crate::Error::Refused`] while another correction is running, and if a file is a version
    /// whose records were retracted. [`crate::Error::Argument`] for standard input, which has no earlier version, and for a
    /// dry run.
    pub async fn ingest_replacing(
        &self,
        inputs: &[String],
        options: &IngestOptions,
    ) -> Result<Report> {
        tsql_dataset::corrections::ingest_replacing(self, inputs, options).await
    }

    /// Returns all corrections, oldest first.
    ///
    /// # Errors
    /// Failures of the storage.
    pub async fn corrections(&self) -> Result<Vec<Correction>> {
        tsql_dataset::corrections::list_corrections(self).await
    }

    /// Sets labels of the sources that `predicate` selects (SQL over `sources`; `source` is the name), with all their
    /// records and aliases. Measured values are never changed.
    ///
    /// # Errors
    /// [`crate::Error::Empty`] if nothing is selected. [`crate::Error::Argument`] if everything is selected without
    /// [`CorrectionOptions::all`], no reason is given, a label cannot be set for these sources, or the store has the
    /// same file with the new label, so that its records would count twice. [`crate::Error::Refused`] while another correction
    /// is running, [`crate::Error::Query`] for invalid SQL.
    pub async fn correct(
        &self,
        labels: &[Label],
        predicate: &str,
        options: &CorrectionOptions,
    ) -> Result<CorrectionReport> {
        tsql_dataset::corrections::correct(self, labels, predicate, options).await
    }

    /// Moves the records that `predicate` selects (SQL over `records`; `source` is the name of their file) from
    /// `records` to `retracted`, so no result includes them. Their files can still be exported, and are not ingested
    /// again.
    ///
    /// # Errors
    /// [`crate::Error::Empty`](tsql_error::Error::Empty) if nothing is selected. [`crate::Error::Argument`](tsql_error::Error::Argument) if
    /// everything is selected without [`CorrectionOptions::all`], or no reason is given.
    /// [`crate::Error::Refused`](tsql_error::Error::Refused) while another correction is running.
    /// [`crate::Error::Query`](tsql_error::Error::Query) for invalid SQL.
    pub async fn retract(
        &self,
        predicate: &str,
        options: &CorrectionOptions,
    ) -> Result<CorrectionReport> {
        tsql_dataset::corrections::retract(self, predicate, options).await
    }

    /// Moves the retracted records that `predicate` selects (SQL over `retracted`: `retraction_id = '...'`) back to
    /// `records`.
    ///
    /// # Errors
    /// As [`Store::retract`], except that no reason is required.
    pub async fn restore(
        &self,
        predicate: &str,
        options: &CorrectionOptions,
    ) -> Result<CorrectionReport> {
        tsql_dataset::corrections::restore(self, predicate, options).await
    }

    /// Writes the sources that `options` select below `folder`, each under its name, and verifies each against its hash
    /// from ingest. Compressed files are compressed again, in the same format. A sidecar (`tsql-export.json`) describes
    /// the files for a later ingest.
    ///
    /// # Errors
    /// [`crate::Error::Io`] if the folder cannot be created, [`crate::Error::Query`] for an invalid predicate. Failures of single
    /// files are not errors: see [`ExportReport`].
    pub async fn export(&self, folder: &Path, options: &ExportOptions) -> Result<ExportReport> {
        tsql_dataset::export::export(self, folder, options).await
    }

    /// Returns SQL that defines the tables in `DuckDB` as tsql shows them. Other engines see the stored columns of a
    /// store, with packed repeats and parameters; these views unpack them.
    ///
    /// # Errors
    /// If the working directory does not exist, and the store's path is relative to it.
    pub fn duckdb_views(&self) -> Result<String> {
        tsql_dataset::export::duckdb_views(self)
    }

    /// Ingests files, directories, patterns, objects and folders of a bucket (`s3://bucket/logs/`), files
    /// of a web server, or `-` for standard input.
    ///
    /// # Errors
    ///
    /// [`crate::Error::Source`] for an input that does not exist, that belongs to a store, or that is given
    /// explicitly and has no known platform (nothing is read then). [`crate::Error::Argument`] for an unknown
    /// format and for an invalid label. [`crate::Error::Rejected`] with `strict`. [`crate::Error::Interrupted`], and
    /// storage errors. Rejected lines and unreadable files are not errors: see [`Report`].
    pub async fn ingest(&self, inputs: &[String], options: &IngestOptions) -> Result<Report> {
        tsql_dataset::ingest::ingest(self, inputs, options).await
    }

    /// Total size of the data files of all tables, in bytes.
    ///
    /// # Errors
    ///
    /// [`crate::Error::Storage`] or [`crate::Error::Log`] if a log cannot be read.
    pub async fn data_bytes(&self) -> Result<u64> {
        tsql_dataset::ingest::data_bytes(self).await
    }

    /// Starts or resumes a stream. The written data is the stream from its beginning.
    ///
    /// ```
    /// use tsql::{AppendOptions, ingest::StreamFormat};
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// let store = tsql::Store::create("memory:").await?;
    /// let options = AppendOptions::new("night-7", "laptop").format(StreamFormat::Measured);
    /// let mut appender = store.appender(&options).await?;
    /// assert_eq!(appender.resume_position().lines, 0);
    /// let line = r#"{"workload_key": ["mm", {"M": 512}], "steps": {"TILE": 8}, "repeats_ns": [4210]}"#;
    /// appender.write(format!("{line}\n").as_bytes()).await?;
    /// appender.close().await?;
    /// assert_eq!(store.appender(&options).await?.resume_position().lines, 1);
    /// # Ok::<(), tsql::Error>(()) }).unwrap();
    /// ```
    ///
    /// # Errors
    ///
    /// [`crate::Error::Argument`] for an invalid name or label.
    pub async fn appender(&self, options: &AppendOptions) -> Result<Appender> {
        tsql_dataset::ingest::open_appender(self, options).await
    }

    /// Appends `input` until it ends. Calls `durable` with the stored position after each commit batch.
    ///
    /// # Errors
    ///
    /// [`crate::Error::Argument`] for an invalid name or label. [`crate::Error::Source`] if the store has another
    /// beginning of the stream, or another process appends to it. [`crate::Error::Rejected`] with `strict`.
    /// Storage errors. Data that was reported as durable stays in any case.
    pub async fn append(
        &self,
        input: impl Read + Send + 'static,
        options: &AppendOptions,
        durable: impl Fn(Position) + Send + Sync + 'static,
    ) -> Result<Report> {
        tsql_dataset::ingest::append(self, input, options, durable).await
    }

    /// Returns the differences between this version and another version of the same store.
    ///
    /// ```
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// let store = tsql::Store::demo().await?;
    /// store.create_tag("v1", None).await?;
    /// let diff = store.at(&"v1".parse()?).await?.diff(&store).await?;
    /// assert!(diff.sources.is_empty());
    /// # Ok::<(), tsql::Error>(()) }).unwrap();
    /// ```
    ///
    /// # Errors
    /// Failures of the storage, including files that `vacuum` has removed.
    pub async fn diff(&self, after: &Store) -> Result<Diff> {
        tsql_dataset::diff::diff(self, after).await
    }

    /// Adds a note about records, sources or a platform. It applies to the sources that have such records now. `author` is
    /// the author. If the same note about the same records exists, returns that one.
    ///
    /// ```
    /// use tsql::notes::Subject;
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// let store = tsql::Store::demo().await?;
    /// let slow = Subject::Where("runtime_ns > 1e6".to_owned());
    /// let note = store.add_note("the fan was broken", &slow, Some("ann")).await?;
    /// assert!(note.record_count() > 0);
    /// let sql = "SELECT count(*) FROM records WHERE source_id IN (SELECT source_id FROM notes)";
    /// store.session().await?.sql(sql).await.unwrap().show().await.unwrap();
    /// store.delete_note(note.note_id).await?;
    /// assert!(store.notes().await?.is_empty());
    /// # Ok::<(), tsql::Error>(()) }).unwrap();
    /// ```
    ///
    /// # Errors
    /// [`crate::Error::Argument`] for an empty or too long text, and if no record is selected. [`crate::Error::Unknown`] for an
    /// unknown source or platform. [`crate::Error::Query`] for an invalid predicate. [`crate::Error::ReadOnly`] for a store at a
    /// point in history, and failures of the storage.
    pub async fn add_note(
        &self,
        text: &str,
        about: &Subject,
        author: Option<&str>,
    ) -> Result<Note> {
        tsql_dataset::notes::add_note(self, text, about, author).await
    }

    /// Returns all notes, oldest first.
    ///
    /// # Errors
    /// Failures of the storage.
    pub async fn notes(&self) -> Result<Vec<Note>> {
        tsql_dataset::notes::list_notes(self).await
    }

    /// Returns the notes that apply to any of these records, to one of these sources, or to this platform. Notes about
    /// a platform apply to its sources as well.
    ///
    /// # Errors
    /// As [`add_note`](Store::add_note).
    pub async fn notes_on(&self, about: &Subject) -> Result<Vec<Note>> {
        tsql_dataset::notes::notes_on(self, about).await
    }

    /// Deletes a note.
    ///
    /// # Errors
    /// [`crate::Error::Unknown`] if there is no note with this id.
    pub async fn delete_note(&self, note_id: i64) -> Result<()> {
        tsql_dataset::notes::delete_note(self, note_id).await
    }

    /// Returns what [`Store::repair`] would repair of the defects of earlier versions.
    ///
    /// # Errors
    /// Failures to read.
    pub async fn pending_repairs(&self) -> Result<Vec<RepairItem>> {
        tsql_dataset::check::pending_repairs(self).await
    }

    /// Repairs damage as far as the data can be rebuilt, and defects of earlier versions. Returns what was done. A
    /// store without defects is unchanged.
    ///
    /// Logs are repaired first, then data files, then incomplete sources: they are removed, and commands to ingest them
    /// again are returned. Tables are raised to their proven versions last, so that nobody uses the store in between.
    ///
    /// # Errors
    /// Failures of the storage. Completed repairs stay.
    pub async fn repair(&self) -> Result<Vec<RepairItem>> {
        tsql_dataset::check::repair(self).await
    }

    /// Verifies the store: bytes of data files, pre-aggregates, runtimes as means of their repeats, unique keys,
    /// references, hashes, and the byte-exact export of every source.
    ///
    /// # Errors
    /// Failures to read. Damage is not an error, but reported in [`CheckReport::damage`].
    pub async fn check(&self) -> Result<CheckReport> {
        tsql_dataset::check::check(self).await
    }

    /// As [`Store::check`], with limits and progress.
    ///
    /// # Errors
    /// As [`Store::check`].
    pub async fn check_with(&self, options: &CheckOptions) -> Result<CheckReport> {
        tsql_dataset::check::check_with(self, options).await
    }

    /// Copies this store, at its version, into another one.
    ///
    /// # Errors
    /// [`crate::Error::Empty`] if a predicate selects nothing, [`crate::Error::Query`] if it is invalid SQL, [`crate::Error::Argument`] if
    /// both are the same store, and failures of either storage. [`CopyReport`] lists single items that cannot be
    /// copied.
    pub async fn copy_to(&self, to: &Store, options: &CopyOptions) -> Result<CopyReport> {
        tsql_dataset::copy::copy_to(self, to, options).await
    }

    /// Rewrites the files of all tables: sorted, merged, and with maximum zstd compression. Optimized files are
    /// skipped, unless new data is a fifth of the partition or more.
    ///
    /// # Errors
    /// Failures of the storage. The store is unchanged in that case.
    pub async fn optimize(&self, options: &OptimizeOptions) -> Result<OptimizeReport> {
        tsql_dataset::optimize::optimize(self, options).await
    }

    /// Merges small files if a partition has many of them, after streams and many ingests. It is fast, but no
    /// replacement for [`Store::optimize`]. [`Store::ingest`] and streams call it.
    ///
    /// # Errors
    /// Failures of the storage. The store is unchanged in that case. If another process has merged the same files,
    /// nothing is left to do.
    pub async fn merge_small_files(&self) -> Result<OptimizeReport> {
        tsql_dataset::optimize::merge_small_files(self).await
    }
}
