//! How to ingest, and what is told meanwhile.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// How to ingest.
#[derive(Clone)]
#[non_exhaustive]
pub struct IngestOptions {
    pub(crate) platform: Option<String>,
    pub(crate) strict: bool,
    pub(crate) dry_run: bool,
    pub(crate) threads: Option<usize>,
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
            strict: false,
            dry_run: false,
            threads: None,
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

    /// Stops at the first line that is refused.
    #[must_use]
    pub fn strict(mut self, strict: bool) -> Self {
        self.strict = strict;
        self
    }

    /// Writes nothing; only says what would happen. Of samples only.
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
