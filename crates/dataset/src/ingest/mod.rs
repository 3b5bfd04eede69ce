//! Ingest of files: read, parse, deduplicate, append, report.
//!
//! The records and other lines of a file belong to the store once the ingest log contains the file. Rows
//! that a crash has left without such an entry are replaced by the next run over the file. Nothing is
//! stored twice: known files are skipped, and of a file that has grown only the new lines are read.
//!
//! ```
//! use tsql_dataset::ingest::IngestOptions;
//! use tsql_store::Store;
//! # tokio::runtime::Runtime::new().unwrap().block_on(async {
//! let store = Store::create("memory:").await?;
//! let options = IngestOptions::default().strict(true);
//! let report = tsql_dataset::ingest::ingest(&store, &["../../data".to_owned()], &options).await?;
//! assert!(report.is_clean() && report.records > 0);
//! # Ok::<(), tsql_error::Error>(()) }).unwrap();
//! ```
//!
//! [`append`] and [`open_appender`] ingest streams of records.

mod archive_members;
mod classify;
mod commit_groups;
pub(crate) mod commits;
mod companion_files;
mod documents;
mod fetch;
mod logs;
mod options;
pub(crate) mod orphans;
mod repeated;
mod report;
mod shard_filter;
mod stream;
mod workers;

pub use stream::{append, open_appender};

use std::collections::{BTreeMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use tsql_adapters::formats::format_reader::FormatInput;
use tsql_adapters::formats::{platform, visit_each};
use tsql_error::{Error, Result};
use tsql_formats::{FileDescription, FileHandle, FoundFiles, Input, STDIN, export_manifest};
use tsql_store::Store;

use classify::ClassifiedInputs;

use crate::ingest::repeated::find_repeated_files;
use crate::optimize::merge_small_files;

pub use logs::Position;
pub use options::{AppendOptions, Event, IngestOptions, Progress};
pub use repeated::RepeatedFile;
pub use report::{ReplacedFile, Report, SkippedFile};
pub use stream::Appender;
pub use tsql_adapters::formats::format_reader::{FormatReader, Visitor};
pub use tsql_adapters::formats::{Level, SimilarSample, StreamFormat};

/// Maximum number of attempts of an ingest. Each concurrent commit of one of its files costs one.
const ATTEMPTS: u64 = 20;

/// Maximum pause before the second attempt.
const PAUSE_MS: u64 = 50;

/// Maximum number of archive batches that are ingested together.
const GATHERED_PORTIONS: usize = 64;

/// Number of decompressed bytes after which no more batches are added.
const GATHERED_BYTES: u64 = 64 << 20;

/// Ingests files, directories, patterns, objects and folders of a bucket (`s3://bucket/logs/`), files
/// of a web server, or `-` for standard input.
///
/// # Errors
///
/// [`Error::Source`] for an input that does not exist, that belongs to a store, or that is given
/// explicitly and has no known platform (nothing is read then). [`Error::Argument`] for an unknown
/// format and for an invalid label. [`Error::Rejected`] with `strict`. [`Error::Interrupted`], and
/// storage errors. Rejected lines and unreadable files are not errors: see [`Report`].
pub async fn ingest(store: &Store, inputs: &[String], options: &IngestOptions) -> Result<Report> {
    let started = Instant::now();
    if let Some(platform) = &options.platform {
        platform::check(platform, "--platform")?;
    }
    options.requested_format()?;
    options.labelling()?;
    let mut found = FoundFiles::default();
    let mut elsewhere = Vec::new();
    for input in inputs {
        if input == STDIN {
            let opened = FileHandle::from_stream(std::io::stdin().lock());
            let opened = opened.map_err(Error::io("standard input"))?;
            let input = Input::from_pipe(opened, PathBuf::from(STDIN), STDIN, None)?;
            found.inputs.push(input);
        } else if fetch::is_remote(input) {
            elsewhere.push(fetch::RemoteFiles::find(input, options.part).await?);
        } else {
            let new = tsql_formats::find_inputs(input)?;
            found.inputs.extend(new.inputs);
            found.stores.extend(new.stores);
            found.failed.extend(new.failed);
        }
    }
    let mut report = report_unread(&found);
    let mut inputs = dedup_inputs(found.inputs);
    shard_filter::retain_shard(options.part, &mut inputs, |input| &input.path);
    let found = export_manifest::apply_export_manifests(inputs)?;
    let (files, bytes): (Vec<u64>, Vec<u64>) =
        elsewhere.iter().map(fetch::RemoteFiles::size).unzip();
    (options.progress)(Event::Planned {
        files: found.len() as u64 + files.iter().sum::<u64>(),
        bytes: found.iter().map(Input::size).sum::<u64>() + bytes.iter().sum::<u64>(),
    });
    let before = data_bytes(store).await?;
    report.add(ingest_local(store, found, options).await?);
    for mut files in elsewhere {
        while let Some(portion) = files.fetch_next().await? {
            let inputs = export_manifest::apply_export_manifests(portion.inputs)?;
            report.add(ingest_local(store, inputs, options).await?);
        }
    }
    if !options.labels.is_empty() {
        report.ignored_label_files = report.unchanged_files;
    }
    report.bytes_out = data_bytes(store).await?.saturating_sub(before);
    if !options.dry_run {
        report.repeated_files = find_repeated_files(store, &report.versions).await?;
    }
    report.elapsed = started.elapsed();
    if report.bytes_out > 0 && !options.dry_run {
        report.merge_error = merge_small(store).await;
    }
    Ok(report)
}

/// Ingests local files.
async fn ingest_local(store: &Store, found: Vec<Input>, options: &IngestOptions) -> Result<Report> {
    let mut recalled = Report::default();
    recalled.note_exported(
        &found,
        options.requested_format()?,
        options.platform.as_deref(),
    );
    let options = &options.with_exported_labels(&found)?;
    let mut intake = ClassifiedInputs::classify(found, options)?;
    let archives = std::mem::take(&mut intake.archives);
    let ingested = ingest_archives(store, intake, archives, options);
    // The future is large, and the stack size of the caller is unknown.
    let mut report = Box::pin(ingested).await?;
    report.add(recalled);
    if options.stop.load(Ordering::Relaxed) {
        return Err(Error::Interrupted);
    }
    Ok(report)
}

async fn ingest_classified(
    store: &Store,
    intake: ClassifiedInputs,
    options: &IngestOptions,
) -> Result<Report> {
    let mut report = intake.report;
    let logs = intake.logs;
    if !logs.is_empty() {
        report.add(retry_until_done(async || logs::run(store, logs.clone(), options).await).await?);
    }
    let mut rooms = DocumentVisitor {
        store,
        options,
        given: intake.rooms,
        report,
    };
    visit_each(&mut rooms).await?;
    Ok(rooms.report)
}

/// Ingests files and members of archives. Small ones are combined.
async fn ingest_archives(
    store: &Store,
    files: ClassifiedInputs,
    archives: Vec<Input>,
    options: &IngestOptions,
) -> Result<Report> {
    let mut report = Report::default();
    let mut gathered = PendingInputs {
        intake: files,
        ..PendingInputs::default()
    };
    for archive in archives {
        let mut is_any = false;
        let progress = Arc::clone(&options.progress);
        let mut portions =
            archive_members::archive_batches(&archive, options.requested_format()?, progress);
        while let Some(portion) = portions.recv().await {
            let portion = portion?;
            let bytes = portion.bytes;
            let intake = ClassifiedInputs::classify_batch(&archive, portion, options)?;
            is_any |= intake.has_inputs();
            if gathered.add(intake, bytes) {
                let intake = std::mem::take(&mut gathered).intake;
                report.add(Box::pin(ingest_classified(store, intake, options)).await?);
            }
        }
        if !is_any {
            let looks = FileDescription::new("an archive without files in a known format");
            report.skipped_files.push(SkippedFile {
                is_explicit: archive.explicit,
                ..SkippedFile::new(archive.path.clone(), &looks)
            });
        }
    }
    report.add(Box::pin(ingest_classified(store, gathered.intake, options)).await?);
    Ok(report)
}

/// Merges small files, if there are many. Returns the error message on failure.
async fn merge_small(store: &Store) -> Option<String> {
    let merged = merge_small_files(store).await;
    merged.err().map(|error| error.to_string())
}

/// Total size of the data files of all tables, in bytes.
///
/// # Errors
///
/// [`Error::Storage`] or [`Error::Log`] if a log cannot be read.
pub async fn data_bytes(store: &Store) -> Result<u64> {
    let mut bytes = 0;
    for table in tsql_schema::tables()? {
        if let Some(snapshot) = store.snapshot(&table.name).await? {
            bytes += snapshot
                .files()
                .iter()
                .map(|file| file.size_bytes)
                .sum::<u64>();
        }
    }
    Ok(bytes)
}

/// Files and archive members that are ingested together.
#[derive(Default)]
struct PendingInputs {
    intake: ClassifiedInputs,
    /// Number of batches, each with an open file, and their decompressed bytes.
    portions: usize,
    bytes: u64,
}

impl PendingInputs {
    /// Adds inputs. Returns whether there are enough.
    fn add(&mut self, intake: ClassifiedInputs, bytes: u64) -> bool {
        self.intake.add(intake);
        self.portions += 1;
        self.bytes += bytes;
        self.portions >= GATHERED_PORTIONS || self.bytes >= GATHERED_BYTES
    }
}

/// Ingests the inputs of each format.
struct DocumentVisitor<'a> {
    store: &'a Store,
    options: &'a IngestOptions,
    /// Inputs by format name.
    given: BTreeMap<&'static str, Vec<FormatInput>>,
    report: Report,
}

impl Visitor for DocumentVisitor<'_> {
    async fn visit<T: FormatReader>(&mut self, room: T) -> Result<()> {
        let given = self.given.remove(room.name()).unwrap_or_default();
        if given.is_empty() {
            return Ok(());
        }
        let run = async || documents::run(room, self.store, given.clone(), self.options).await;
        self.report.add(retry_until_done(run).await?);
        Ok(())
    }
}

/// Retries until no other ingest commits one of the same files meanwhile. A random pause avoids livelock.
pub(crate) async fn retry_until_done<T>(run: impl AsyncFn() -> Result<Option<T>>) -> Result<T> {
    let started = Instant::now();
    for attempt in 1..=ATTEMPTS {
        if let Some(report) = run().await? {
            return Ok(report);
        }
        let pause_ms = fastrand::u64(..PAUSE_MS * attempt);
        tokio::time::sleep(Duration::from_millis(pause_ms)).await;
    }
    Err(Error::Contended {
        table: "sources".to_owned(),
        seconds: started.elapsed().as_secs(),
    })
}

/// Removes duplicate files.
fn dedup_inputs(inputs: Vec<Input>) -> Vec<Input> {
    let mut seen = HashSet::new();
    let canonical = |input: &Input| {
        let path = input.file.canonicalize();
        path.unwrap_or_else(|_| input.file.clone())
    };
    let mut inputs = inputs;
    inputs.retain(|input| seen.insert(canonical(input)));
    inputs
}

/// Reports inputs that are not read.
fn report_unread(found: &FoundFiles) -> Report {
    let stores = found.stores.iter().cloned();
    let store = FileDescription::new("a store");
    Report {
        skipped_files: stores.map(|path| SkippedFile::new(path, &store)).collect(),
        failed_files: found.failed.clone(),
        ..Report::default()
    }
}

#[cfg(test)]
mod tests;
