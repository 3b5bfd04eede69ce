//! How to ingest, and what is told meanwhile.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use tsql_formats::Named;

use crate::error::{Error, Result};
use crate::ledger::Ledger;
use crate::part::Part;
use crate::store::Store;

/// How to ingest.
#[derive(Clone)]
#[non_exhaustive]
pub struct IngestOptions {
    pub(crate) platform: Option<String>,
    pub(crate) format: Option<String>,
    pub(crate) strict: bool,
    pub(crate) dry_run: bool,
    pub(crate) threads: Option<usize>,
    pub(crate) part: Option<Part>,
    pub(crate) progress: Progress,
    pub(crate) stop: Arc<AtomicBool>,
    /// Logs that are committed together at most.
    pub(crate) group_files: usize,
}

impl Default for IngestOptions {
    fn default() -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        Self {
            platform: None,
            format: None,
            strict: false,
            dry_run: false,
            threads: None,
            part: None,
            progress: Arc::new(|_| {}),
            stop,
            group_files: 8192,
        }
    }
}

impl IngestOptions {
    /// Platform of the records; without it the one that a file's format knows or the file itself names,
    /// and for a log the name of the directory that it was found in. A log that is named itself, or
    /// matched by a pattern, needs it.
    #[must_use]
    pub fn platform(mut self, platform: impl Into<String>) -> Self {
        self.platform = Some(platform.into());
        self
    }

    /// Takes only this part of the files, so that several processes share them: of the same inputs, each with
    /// another part. Files that are read together are in the same one.
    #[must_use]
    pub fn part(mut self, part: Part) -> Self {
        self.part = Some(part);
        self
    }

    /// Name of the format that all files are taken as, whatever they look like and whatever an export says
    /// of them; without it each is told by its content. Files in archives are meant, not these.
    #[must_use]
    pub fn format(mut self, name: impl Into<String>) -> Self {
        self.format = Some(name.into());
        self
    }

    /// Stops at the first line that is refused.
    #[must_use]
    pub fn strict(mut self, strict: bool) -> Self {
        self.strict = strict;
        self
    }

    /// Writes nothing: reads and parses everything, and says what would happen. How many graphs and
    /// configurations are new is left out, and logs in an archive are compared with the store, not with other
    /// files that are given.
    #[must_use]
    pub fn dry_run(mut self, dry_run: bool) -> Self {
        self.dry_run = dry_run;
        self
    }

    /// Threads that parse; one for each core unless it is set.
    #[must_use]
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = Some(threads);
        self
    }

    /// Hears of every file that is begun and of bytes that have been read.
    #[must_use]
    pub fn progress(mut self, heard: impl Fn(Event<'_>) + Send + Sync + 'static) -> Self {
        self.progress = Arc::new(heard);
        self
    }

    /// Set it to stop: what was committed stays.
    #[must_use]
    pub fn stop(mut self, stop: Arc<AtomicBool>) -> Self {
        self.stop = stop;
        self
    }
}

impl IngestOptions {
    /// Threads that parse.
    pub(super) fn parsers(&self) -> usize {
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        self.threads.unwrap_or(cores).max(1)
    }

    /// The format that is asked for.
    ///
    /// # Errors
    /// [`Error::Argument`] for a name that no format has.
    pub(super) fn wanted(&self) -> Result<Option<Named>> {
        let Some(name) = &self.format else {
            return Ok(None);
        };
        let format = Named::of(name).ok_or_else(|| {
            let names: Vec<&str> = Named::all().into_iter().map(Named::name).collect();
            let reason = format!("`{name}` is none; there are {}", names.join(", "));
            let name = "format";
            Error::Argument { name, reason }
        })?;
        Ok(Some(format))
    }

    /// The ledger that a run goes by. A dry run acknowledges nothing, and so leaves the disk alone.
    pub(super) async fn ledger(&self, store: &Store) -> Result<Ledger> {
        if self.dry_run {
            Ledger::load(store).await
        } else {
            Ledger::settled(store).await
        }
    }
}

/// Is told how far an ingest is.
pub type Progress = Arc<dyn Fn(Event<'_>) + Send + Sync>;

/// A step of an ingest.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
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
