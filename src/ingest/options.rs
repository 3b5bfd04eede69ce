//! How to ingest and to append, and what is told meanwhile.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use tsql_formats::exported::SIDECAR;
use tsql_formats::{Input, Named};

use crate::chosen::Lines;
use crate::error::{Error, Result};
use crate::formats::StreamFormat;
use crate::ledger::{Labelling, Labels, Ledger};
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
    pub(crate) labels: Vec<(String, String)>,
    /// Labels of files of an export, by their paths.
    pub(crate) recalled: HashMap<String, Labels>,
    pub(crate) progress: Progress,
    pub(crate) stop: Arc<AtomicBool>,
    /// Logs that are committed together at most.
    pub(crate) group_files: usize,
    /// Records that leave as a new source comes, by that source: those of its earlier versions.
    pub(crate) replacing: Replacing,
}

/// Records of earlier versions, by the source that takes their place.
pub(crate) type Replacing = Arc<HashMap<i64, Lines>>;

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
            labels: Vec::new(),
            recalled: HashMap::new(),
            progress: Arc::new(|_| {}),
            stop,
            group_files: 8192,
            replacing: Replacing::default(),
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

    /// Labels all files that are read: `key` (letters, digits and `.`, `-`, `_`) has this value, which is one line. The view
    /// `labels` has them. A file that the store has already keeps those that it has; of one that has grown a
    /// new value of a key takes the place of the old one.
    ///
    /// ```
    /// use tsql::{IngestOptions, Store};
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// let store = Store::create("memory:").await?;
    /// let options = IngestOptions::default().label("night", "7");
    /// store.ingest(&["data".to_owned()], &options).await?;
    /// let sql = "SELECT count(DISTINCT source_id) AS count FROM labels WHERE key = 'night' AND value = '7'";
    /// let answer = store.session().await?.sql(sql).await.unwrap().collect().await.unwrap();
    /// # let counts = answer[0].column(0);
    /// # let count = tsql::arrow::util::display::array_value_to_string(counts, 0).unwrap();
    /// # assert!(count.parse::<u64>().unwrap() > 0);
    /// # Ok::<(), tsql::Error>(()) }).unwrap();
    /// ```
    #[must_use]
    pub fn label(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.labels.push((key.into(), value.into()));
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
    /// configurations are new is left out, and what compressed archives hold beyond their first 256 MiB is compared with the
    /// store, not with other files that are given.
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

    /// The labels that files get.
    ///
    /// # Errors
    /// [`Error::Argument`] for what is no label, and for a key with two values.
    pub(super) fn labelling(&self) -> Result<Labelling> {
        Ok(Labelling {
            all: Labels::of_pairs(&self.labels)?,
            recalled: self.recalled.clone(),
        })
    }

    /// The same, knowing the labels that files had before they were exported.
    ///
    /// # Errors
    /// [`Error::Source`] for what is no label.
    pub(super) fn recalling(&self, found: &[Input]) -> Result<Self> {
        let mut recalled = HashMap::new();
        for input in found {
            let Some(exported) = input
                .exported
                .as_deref()
                .filter(|was| !was.labels.is_empty())
            else {
                continue;
            };
            let given = exported.labels.iter();
            let labels = Labels::new(given.map(|(key, value)| (key.as_str(), value.as_str())));
            let labels = labels.map_err(|error| Error::Source {
                location: input.path.clone(),
                reason: format!("{SIDECAR} says of it: {error}"),
            })?;
            // Files of the hub are known by the paths that they had there.
            let path = exported.hub_path.as_ref().unwrap_or(&input.path);
            recalled.insert(path.clone(), labels);
        }
        Ok(Self {
            recalled,
            ..self.clone()
        })
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

/// How to append a stream.
#[derive(Clone)]
#[non_exhaustive]
pub struct AppendOptions {
    pub(crate) stream: String,
    pub(crate) platform: String,
    pub(crate) format: StreamFormat,
    pub(crate) group_lines: u64,
    pub(crate) group_bytes: u64,
    pub(crate) group_time: Duration,
    pub(crate) strict: bool,
    pub(crate) labels: Vec<(String, String)>,
    pub(crate) stop: Arc<AtomicBool>,
}

impl AppendOptions {
    /// Records of a platform as the stream of this name (letters, digits, `-`, `_`, `.` and `/`), in the
    /// usual groups: 100,000 lines, 64 MiB, 5 seconds.
    #[must_use]
    pub fn new(stream: impl Into<String>, platform: impl Into<String>) -> Self {
        Self {
            stream: stream.into(),
            platform: platform.into(),
            format: StreamFormat::default(),
            group_lines: 100_000,
            group_bytes: 64 << 20,
            group_time: Duration::from_secs(5),
            strict: false,
            labels: Vec::new(),
            stop: Arc::default(),
        }
    }

    /// What the stream looks like, if it is not the usual format.
    #[must_use]
    pub fn format(mut self, format: StreamFormat) -> Self {
        self.format = format;
        self
    }

    /// Lines that are stored together at most.
    #[must_use]
    pub fn group_lines(mut self, lines: u64) -> Self {
        self.group_lines = lines;
        self
    }

    /// Bytes that are stored together at most.
    #[must_use]
    pub fn group_bytes(mut self, bytes: u64) -> Self {
        self.group_bytes = bytes;
        self
    }

    /// How long a line may wait to be stored.
    #[must_use]
    pub fn group_time(mut self, time: Duration) -> Self {
        self.group_time = time;
        self
    }

    /// Stops at the first line that is refused.
    #[must_use]
    pub fn strict(mut self, strict: bool) -> Self {
        self.strict = strict;
        self
    }

    /// Labels what is stored of the stream from now on, as [`IngestOptions::label`] labels files: a new value of a key
    /// takes the place of the old one for the whole stream.
    #[must_use]
    pub fn label(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.labels.push((key.into(), value.into()));
        self
    }

    /// Set it to stop: whole lines that were read are stored.
    #[must_use]
    pub fn stop(mut self, stop: Arc<AtomicBool>) -> Self {
        self.stop = stop;
        self
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
    /// So many more bytes of the files have been read, as they lie on the disk.
    Bytes(u64),
}
