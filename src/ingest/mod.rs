//! Files into the store: read, parse, deduplicate, append, tell what happened.
//!
//! A file's records and other lines are part of the store when the ledger has it. What a crash has left of
//! one that the ledger does not have gives way to what the next run over it reads. Nothing is ever stored twice: a file that the store has is skipped, of
//! one that has grown only the new lines are read.
//!
//! ```
//! use tsql::{IngestOptions, Store};
//! # tokio::runtime::Runtime::new().unwrap().block_on(async {
//! let store = Store::create("memory:").await?;
//! let options = IngestOptions::default().strict(true);
//! let report = store.ingest(&["data".to_owned()], &options).await?;
//! assert!(report.is_clean() && report.records > 0);
//! # Ok::<(), tsql::Error>(()) }).unwrap();
//! ```
//!
//! [`Store::append`] and [`Store::appender`] take records while they are made.

mod batches;
mod beside;
pub(crate) mod commits;
mod fetch;
mod intake;
mod lines;
mod members;
mod options;
pub(crate) mod orphans;
mod paced;
mod parts;
mod repeated;
mod report;
mod stream;
mod whole;
mod workers;

use std::collections::{BTreeMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use tsql_formats::{Found, Input, Looks, Opened, STDIN, exported};

use crate::error::{Error, Result};
use crate::formats::taking::{Given, Taking, Visitor};
pub use crate::formats::{KnownSample, Level, StreamFormat};
use crate::formats::{platform, visit_each};
use crate::store::Store;
#[cfg(any(test, fuzzing))]
pub(crate) use batches::hand_on;
use intake::Intake;
pub use lines::Position;
pub use options::{AppendOptions, Event, IngestOptions, Progress};
#[cfg(any(test, fuzzing))]
pub(crate) use paced::Handed;
pub use repeated::RepeatedFile;
pub use report::{ReplacedFile, Report, SkippedFile};
pub use stream::Appender;

/// How often an ingest begins again because another one has committed one of its files.
const ATTEMPTS: u64 = 20;

/// Longest pause before the second attempt.
const PAUSE_MS: u64 = 50;

/// Portions of archives that are ingested together at most.
const GATHERED_PORTIONS: usize = 64;

/// Bytes inflated for them after which no more are added.
const GATHERED_BYTES: u64 = 64 << 20;

impl Store {
    /// Ingests files, directories, patterns, objects and folders of a bucket (`s3://bucket/logs/`),
    /// files of a web server, or `-` for standard input.
    ///
    /// # Errors
    /// [`Error::Source`] for an input that does not exist, that belongs to a store, or that is named
    /// and whose platform is not known (nothing is read then), [`Error::Argument`] for a format that nobody
    /// knows and for what is no label, [`Error::Rejected`] with `strict`, [`Error::Interrupted`], and failures of
    /// the storage. Bad lines and unreadable files are no errors: see [`Report`].
    pub async fn ingest(&self, inputs: &[String], options: &IngestOptions) -> Result<Report> {
        let started = Instant::now();
        if let Some(platform) = &options.platform {
            platform::check(platform, "--platform")?;
        }
        options.wanted()?;
        options.labelling()?;
        let mut found = Found::default();
        let mut elsewhere = Vec::new();
        for input in inputs {
            if input == STDIN {
                let opened = Opened::copied(std::io::stdin().lock());
                let opened = opened.map_err(Error::io("standard input"))?;
                let input = Input::of_pipe(opened, PathBuf::from(STDIN), STDIN, None)?;
                found.inputs.push(input);
            } else if fetch::is_elsewhere(input) {
                elsewhere.push(fetch::Elsewhere::find(input, options.part).await?);
            } else {
                let new = tsql_formats::find(input)?;
                found.inputs.extend(new.inputs);
                found.stores.extend(new.stores);
                found.failed.extend(new.failed);
            }
        }
        let mut report = left_out(&found);
        let mut inputs = distinct(found.inputs);
        parts::keep(options.part, &mut inputs, |input| &input.path);
        let found = exported::recall(inputs)?;
        let (files, bytes): (Vec<u64>, Vec<u64>) =
            elsewhere.iter().map(fetch::Elsewhere::size).unzip();
        (options.progress)(Event::Planned {
            files: found.len() as u64 + files.iter().sum::<u64>(),
            bytes: found.iter().map(Input::size).sum::<u64>() + bytes.iter().sum::<u64>(),
        });
        let before = self.data_bytes().await?;
        report.add(self.ingest_found(found, options).await?);
        for mut files in elsewhere {
            while let Some(portion) = files.next().await? {
                let inputs = exported::recall(portion.inputs)?;
                report.add(self.ingest_found(inputs, options).await?);
            }
        }
        if !options.labels.is_empty() {
            report.unlabelled_files = report.unchanged_files;
        }
        report.bytes_out = self.data_bytes().await?.saturating_sub(before);
        if !options.dry_run {
            report.repeated_files = self.repeated(&report.versions).await?;
        }
        report.elapsed = started.elapsed();
        if report.bytes_out > 0 && !options.dry_run {
            report.unmerged = self.merge_small().await;
        }
        Ok(report)
    }

    /// Ingests files that lie here.
    async fn ingest_found(&self, found: Vec<Input>, options: &IngestOptions) -> Result<Report> {
        let mut recalled = Report::default();
        recalled.recalled(&found, options.wanted()?, options.platform.as_deref());
        let options = &options.recalling(&found)?;
        let mut intake = Intake::of(found, options)?;
        let archives = std::mem::take(&mut intake.archives);
        let ingested = self.ingest_archives(intake, archives, options);
        // What ingests is large, and whoever calls has a stack of its own size.
        let mut report = Box::pin(ingested).await?;
        report.add(recalled);
        if options.stop.load(Ordering::Relaxed) {
            return Err(Error::Interrupted);
        }
        Ok(report)
    }

    async fn ingest_intake(&self, intake: Intake, options: &IngestOptions) -> Result<Report> {
        let mut report = intake.report;
        let logs = intake.logs;
        if !logs.is_empty() {
            report.add(until_done(async || lines::run(self, logs.clone(), options).await).await?);
        }
        let mut rooms = Rooms {
            store: self,
            options,
            given: intake.rooms,
            report,
        };
        visit_each(&mut rooms).await?;
        Ok(rooms.report)
    }

    /// Ingests files and what archives hold, together where these are small.
    async fn ingest_archives(
        &self,
        files: Intake,
        archives: Vec<Input>,
        options: &IngestOptions,
    ) -> Result<Report> {
        let mut report = Report::default();
        let mut gathered = Gathered {
            intake: files,
            ..Gathered::default()
        };
        for archive in archives {
            let mut is_any = false;
            let progress = Arc::clone(&options.progress);
            let mut portions = members::portions(&archive, options.wanted()?, progress);
            while let Some(portion) = portions.recv().await {
                let portion = portion?;
                let bytes = portion.bytes;
                let intake = Intake::of_portion(&archive, portion, options)?;
                is_any |= intake.is_any();
                if gathered.add(intake, bytes) {
                    let intake = std::mem::take(&mut gathered).intake;
                    report.add(Box::pin(self.ingest_intake(intake, options)).await?);
                }
            }
            if !is_any {
                let looks = Looks::new("an archive of nothing that is read");
                report.skipped_files.push(SkippedFile {
                    named: archive.explicit,
                    ..SkippedFile::found(archive.path.clone(), &looks)
                });
            }
        }
        report.add(Box::pin(self.ingest_intake(gathered.intake, options)).await?);
        Ok(report)
    }

    /// Merges small files, where there are many; says why they could not be merged.
    async fn merge_small(&self) -> Option<String> {
        let merged = self.fold().await;
        merged.err().map(|error| error.to_string())
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

/// Files, and those of archives, that are ingested together.
#[derive(Default)]
struct Gathered {
    intake: Intake,
    /// Portions, of each of which a file is open, and bytes that were inflated for them.
    portions: usize,
    bytes: u64,
}

impl Gathered {
    /// Takes the next ones; true where that is enough.
    fn add(&mut self, intake: Intake, bytes: u64) -> bool {
        self.intake.add(intake);
        self.portions += 1;
        self.bytes += bytes;
        self.portions >= GATHERED_PORTIONS || self.bytes >= GATHERED_BYTES
    }
}

/// Lets each format read what it is given.
struct Rooms<'a> {
    store: &'a Store,
    options: &'a IngestOptions,
    /// By the names of the formats' rooms.
    given: BTreeMap<&'static str, Vec<Given>>,
    report: Report,
}

impl Visitor for Rooms<'_> {
    async fn visit<T: Taking>(&mut self, room: T) -> Result<()> {
        let given = self.given.remove(room.name()).unwrap_or_default();
        if given.is_empty() {
            return Ok(());
        }
        let run = async || whole::run(room, self.store, given.clone(), self.options).await;
        self.report.add(until_done(run).await?);
        Ok(())
    }
}

/// Runs until no other ingest commits one of the same files meanwhile. A random pause keeps two from taking turns for ever.
pub(crate) async fn until_done<T>(run: impl AsyncFn() -> Result<Option<T>>) -> Result<T> {
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

#[cfg(test)]
mod tests;
