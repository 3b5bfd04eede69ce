//! Files into the store: read, parse, deduplicate, append, tell what happened.
//!
//! A file's records, other lines and ledger entry appear together or, after a crash, are completed
//! by the next run over it. Nothing is ever stored twice: a file that the store has is skipped, of
//! one that has grown only the new lines are read.

mod batches;
mod budget;
mod closed;
pub(crate) mod commits;
mod details;
mod documents;
mod fetch;
mod group;
mod intake;
mod known;
pub(crate) mod ledger;
mod orphans;
mod others;
mod paced;
mod pipeline;
mod platform;
mod prefixes;
mod run;
mod runs;
mod samples;
mod stream;
pub(crate) mod tables;
mod unpack;
mod workers;

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::io::{Read as _, Write as _};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::error::{Error, Result};
use crate::identity::ContentHasher;
use crate::reader::{self, Found, Input, Looks, STDIN, exported};
use crate::store::Store;
use closed::Closed;
use intake::Intake;
pub use known::{KnownSample, Level};
pub use run::Position;
pub use stream::{AppendOptions, Appender, StreamFormat};

/// Refused lines that a [`Report`] lists; all of them are in the view `rejects`.
const REJECTS_LISTED: usize = 20;

/// How often an ingest begins again because another one took a file of its.
const ATTEMPTS: usize = 20;

/// How to ingest.
#[derive(Clone)]
pub struct IngestOptions {
    /// Platform of the records; without it the hardware that a benchmark log of GraphNet names,
    /// `tpu-v3` for TpuGraphs, and for a log the name of the directory that it was found in. A log
    /// that is named itself, or matched by a pattern, needs it.
    pub platform: Option<String>,
    /// Stop at the first line that is refused.
    pub strict: bool,
    /// Write nothing; only say what would happen. Of samples only.
    pub dry_run: bool,
    /// Threads that parse; `None` for one for each core.
    pub threads: Option<usize>,
    /// Hears of every file that is begun and of bytes that have been read.
    pub progress: Progress,
    /// Set it to stop: what was committed stays.
    pub stop: Arc<AtomicBool>,
}

impl Default for IngestOptions {
    fn default() -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        Self {
            platform: None,
            strict: false,
            dry_run: false,
            threads: None,
            progress: Arc::new(|_| {}),
            stop,
        }
    }
}

impl IngestOptions {
    /// Threads that parse.
    fn parsers(&self) -> usize {
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        self.threads.unwrap_or(cores).max(1)
    }
}

/// Hears of an ingest's progress.
pub type Progress = Arc<dyn Fn(Event<'_>) + Send + Sync>;

/// A step of an ingest.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// So many files, of so many bytes, are to be looked at.
    Planned {
        /// Number of files.
        files: u64,
        /// Their size on disk in bytes.
        bytes: u64,
    },
    /// This file is begun.
    File(&'a str),
    /// So many more bytes (after decompression) have been read.
    Bytes(u64),
}

/// A file that no reader takes.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SkippedFile {
    /// How it was named, or where it was found.
    pub path: String,
    /// What it looks like: `an AutoTVM log (version 0.2)`, `text`.
    pub looks_like: String,
    /// What may be done about it.
    pub hint: Option<String>,
    /// It was named itself or matched a pattern, not found in a directory or archive.
    pub named: bool,
}

impl SkippedFile {
    /// One that was found.
    fn found(path: String, looks: &Looks) -> Self {
        Self {
            path,
            looks_like: looks.to_string(),
            hint: looks.hint.map(str::to_owned),
            named: false,
        }
    }
}

/// What an ingest did.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Report {
    /// Files whose lines were read.
    pub files: u64,
    /// Files that the store had already.
    pub unchanged_files: u64,
    /// Files with the bytes of one that the store has under another name: only named.
    pub same_files: u64,
    /// Files of which only new lines at the end were read.
    pub grown_files: u64,
    /// Files of whose name the store has another one: path, and the name that each got in the store.
    pub renamed_files: Vec<(String, String)>,
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
    /// Lines that an interrupted run had stored already.
    pub resumed_records: u64,
    /// Records that failed when they were measured.
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
    /// Samples of GraphNet that the store did not have.
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
    /// Time taken.
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

    /// Notes what is odd about an input that is taken; with `strict` it is an error.
    fn note(&mut self, path: String, line: u64, reason: String, strict: bool) -> Result<()> {
        self.notes += 1;
        if strict {
            return Err(Error::Rejected { path, line, reason });
        }
        if self.first_notes.len() < REJECTS_LISTED {
            self.first_notes.push((path, line, reason));
        }
        Ok(())
    }

    /// Counts files of an export, and says where they are not taken as what they were.
    fn recalled(&mut self, inputs: &[Input], platform: Option<&str>) {
        let mut others: BTreeMap<&str, (u64, &str)> = BTreeMap::new();
        for input in inputs {
            let Some(exported) = &input.exported else {
                continue;
            };
            self.exported_files += 1;
            let differs = platform.is_some_and(|platform| platform != exported.platform);
            if differs && exported.platform != samples::NO_PLATFORM {
                let of = others.entry(exported.platform.as_str());
                of.or_insert((0, input.path.as_str())).0 += 1;
            }
        }
        for (was, (files, first)) in others {
            let platform = platform.unwrap_or_default();
            let reason = format!(
                "{} says platform `{was}` of {files} files like it; they are taken as `{platform}`, as asked",
                exported::SIDECAR
            );
            self.notes += 1;
            self.first_notes.push((first.to_owned(), 0, reason));
        }
    }

    /// Says where a file could not keep its name.
    fn renamed(&mut self, file: &Closed) {
        if file.reading.given.is_some() {
            let renamed = (file.path.clone(), file.reading.name.clone());
            self.renamed_files.push(renamed);
        }
    }

    /// Adds what another run did.
    fn add(&mut self, other: Self) {
        for (sum, count) in [
            (&mut self.files, other.files),
            (&mut self.unchanged_files, other.unchanged_files),
            (&mut self.same_files, other.same_files),
            (&mut self.grown_files, other.grown_files),
            (&mut self.exported_files, other.exported_files),
            (&mut self.lines, other.lines),
            (&mut self.records, other.records),
            (&mut self.resumed_records, other.resumed_records),
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
        self.renamed_files.extend(other.renamed_files);
        self.skipped_files.extend(other.skipped_files);
        self.platforms.extend(other.platforms);
        self.failed_files.extend(other.failed_files);
        self.first_rejects.extend(other.first_rejects);
        self.known_samples.extend(other.known_samples);
        self.first_notes.extend(other.first_notes);
        self.elapsed += other.elapsed;
    }
}

impl Store {
    /// Ingests files, directories, patterns, objects and folders of a bucket (`s3://bucket/logs/`),
    /// files of a web server, or `-` for standard input.
    ///
    /// # Errors
    /// [`Error::Source`] for an input that does not exist, that belongs to a store, or that is named
    /// and whose platform is not known (nothing is read then), [`Error::Rejected`] with `strict`, [`Error::Interrupted`], and failures of
    /// the storage. Bad lines and unreadable files are no errors: see [`Report`].
    pub async fn ingest(&self, inputs: &[String], options: &IngestOptions) -> Result<Report> {
        let started = Instant::now();
        if let Some(platform) = &options.platform {
            platform::check(platform, "--platform")?;
        }
        let mut spooled = None;
        let mut found = Found::default();
        let mut elsewhere = Vec::new();
        for input in inputs {
            if input == STDIN {
                let (file, path) = spool()?;
                found.inputs.push(standard_input(&path)?);
                spooled = Some(file);
            } else if fetch::is_elsewhere(input) {
                elsewhere.push(fetch::Elsewhere::find(input).await?);
            } else {
                let new = reader::find(input)?;
                found.inputs.extend(new.inputs);
                found.stores.extend(new.stores);
                found.failed.extend(new.failed);
            }
        }
        let mut report = left_out(&found);
        let found = exported::recall(distinct(found.inputs))?;
        let size = |input: &Input| std::fs::metadata(&input.file).map_or(0, |meta| meta.len());
        let (files, bytes): (Vec<u64>, Vec<u64>) =
            elsewhere.iter().map(fetch::Elsewhere::size).unzip();
        (options.progress)(Event::Planned {
            files: found.len() as u64 + files.iter().sum::<u64>(),
            bytes: found.iter().map(size).sum::<u64>() + bytes.iter().sum::<u64>(),
        });
        let before = self.data_bytes().await?;
        report.add(self.ingest_found(found, options).await?);
        drop(spooled);
        for mut files in elsewhere {
            while let Some(portion) = files.next().await? {
                let inputs = exported::recall(portion.inputs)?;
                report.add(self.ingest_found(inputs, options).await?);
            }
        }
        report.bytes_out = self.data_bytes().await?.saturating_sub(before);
        report.elapsed = started.elapsed();
        Ok(report)
    }

    /// Ingests files that lie here.
    async fn ingest_found(&self, found: Vec<Input>, options: &IngestOptions) -> Result<Report> {
        let mut recalled = Report::default();
        recalled.recalled(&found, options.platform.as_deref());
        let mut intake = Intake::of(found, options)?;
        let archives = std::mem::take(&mut intake.archives);
        let mut report = self.ingest_intake(intake, options).await?;
        report.add(recalled);
        for archive in archives {
            report.add(self.ingest_archive(&archive, options).await?);
        }
        if options.stop.load(Ordering::Relaxed) {
            return Err(Error::Interrupted);
        }
        Ok(report)
    }

    async fn ingest_intake(&self, intake: Intake, options: &IngestOptions) -> Result<Report> {
        let Intake {
            logs,
            documents,
            benchmarks,
            places,
            mut report,
            ..
        } = intake;
        if !logs.is_empty() {
            report.add(until_done(async || run::run(self, logs.clone(), options).await).await?);
        }
        if !documents.is_empty() {
            let run = async || documents::run(self, documents.clone(), options).await;
            report.add(until_done(run).await?);
        }
        if !benchmarks.is_empty() {
            let run = async || runs::run(self, &benchmarks, options).await;
            report.add(until_done(run).await?);
        }
        if !places.is_empty() {
            report.add(samples::run(self, places, options).await?);
        }
        Ok(report)
    }

    /// Ingests the logs in an archive, as if it were the folder that it unpacks to.
    async fn ingest_archive(&self, archive: &Input, options: &IngestOptions) -> Result<Report> {
        let mut report = Report::default();
        let mut any = false;
        let mut portions = unpack::portions(archive);
        while let Some(portion) = portions.recv().await {
            let mut portion = portion?;
            report.failed_files.append(&mut portion.failed);
            report.skipped_files.append(&mut portion.skipped);
            let inputs = std::mem::take(&mut portion.inputs);
            any |= !inputs.is_empty() || !report.failed_files.is_empty();
            let mut intake = Intake::of(inputs, options)?;
            intake.skip_archives(options)?;
            report.add(self.ingest_intake(intake, options).await?);
        }
        if !any {
            let looks = Looks::new("an archive of nothing that is read");
            report.skipped_files.push(SkippedFile {
                named: archive.explicit,
                ..SkippedFile::found(archive.path.clone(), &looks)
            });
        }
        Ok(report)
    }

    /// Bytes of all data files of all tables.
    ///
    /// # Errors
    /// [`Error::Storage`] or [`Error::Log`] where a log cannot be read.
    pub async fn data_bytes(&self) -> Result<u64> {
        let mut bytes = 0;
        for table in crate::schema::tables()? {
            if let Some(snapshot) = self.snapshot(&table.name).await? {
                bytes += snapshot
                    .files()
                    .iter()
                    .map(|file| file.size_bytes)
                    .sum::<u64>();
            }
        }
        Ok(bytes)
    }
}

/// Runs until no other ingest takes a file of its.
async fn until_done(run: impl AsyncFn() -> Result<Option<Report>>) -> Result<Report> {
    let started = Instant::now();
    for _ in 0..ATTEMPTS {
        if let Some(report) = run().await? {
            return Ok(report);
        }
    }
    Err(Error::Contended {
        table: "sources".to_owned(),
        seconds: started.elapsed().as_secs(),
    })
}

/// Each file once.
fn distinct(inputs: Vec<Input>) -> Vec<Input> {
    let mut seen = HashSet::new();
    let canonical = |input: &Input| {
        let path = input.file.canonicalize();
        path.unwrap_or_else(|_| input.file.clone())
    };
    let mut inputs = inputs;
    inputs.retain(|input| seen.insert(canonical(input)));
    inputs
}

/// What was found and is not looked at.
fn left_out(found: &Found) -> Report {
    let stores = found.stores.iter().cloned();
    let store = Looks::new("a store");
    Report {
        skipped_files: stores
            .map(|path| SkippedFile::found(path, &store))
            .collect(),
        failed_files: found.failed.clone(),
        ..Report::default()
    }
}

/// Standard input in a temporary file, because it is looked at more than once.
fn spool() -> Result<(tempfile::NamedTempFile, PathBuf)> {
    let failed = Error::io("standard input");
    let mut file = tempfile::NamedTempFile::new().map_err(Error::io(std::env::temp_dir()))?;
    let copied = std::io::copy(&mut std::io::stdin().lock(), file.as_file_mut());
    copied
        .and_then(|_| file.as_file_mut().flush())
        .map_err(failed)?;
    let path = file.path().to_owned();
    Ok((file, path))
}

/// Its name is the hash of its content: two streams are two sources, the same one is the same.
fn standard_input(file: &std::path::Path) -> Result<Input> {
    let (mut reader, _) = reader::open(file)?;
    let mut hasher = ContentHasher::new();
    let mut buffer = vec![0; 1 << 20];
    loop {
        let read = reader.read(&mut buffer).map_err(Error::io(file))?;
        if read == 0 {
            break;
        }
        hasher.update(buffer.get(..read).unwrap_or(&[]));
    }
    let name = format!("stdin/{}.json", hasher.hex());
    let file = file.to_owned();
    Ok(Input {
        file,
        path: STDIN.to_owned(),
        name,
        directory: None,
        explicit: true,
        exported: None,
    })
}

#[cfg(test)]
mod tests;
