//! Options for ingest and for streams, and progress events.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use derive_setters::Setters;
use tsql_adapters::formats::StreamFormat;
use tsql_adapters::ingest_log::{IngestLog, Labelling, Labels};
use tsql_error::{Error, Result};
use tsql_formats::autotuners::NamingOptions;
use tsql_formats::export_manifest::MANIFEST_FILE;
use tsql_formats::{Input, NamedFormat};
use tsql_schema::shard::Shard;
use tsql_store::Store;

use crate::label_setters::label_setters;
use crate::line_selection::LineSelection;

/// Options of an ingest.
#[derive(Clone, Setters)]
#[setters(strip_option)]
#[non_exhaustive]
pub struct IngestOptions {
    /// Sets the platform of the records.
    ///
    /// By default it comes from the format or from the file itself, and for a log it is the name of its
    /// directory. Logs that are given explicitly or by a pattern need it.
    #[setters(into)]
    pub(crate) platform: Option<String>,
    #[setters(skip)]
    pub(crate) naming: Arc<NamingOptions>,
    /// Reads all files as this format, independent of their content and of the file list of an export. By
    /// default the content determines the format. For archives it applies to their members.
    #[setters(into)]
    pub(crate) format: Option<String>,
    /// Stops at the first rejected line.
    pub(crate) strict: bool,
    /// Reads and parses everything, but writes nothing, and reports what would happen.
    ///
    /// New graphs and configurations are not counted. Members of compressed archives beyond the first 256
    /// MiB are compared with the store only, not with other inputs.
    pub(crate) dry_run: bool,
    /// Number of parser threads. The default is one per core.
    pub(crate) threads: Option<usize>,
    /// Ingests only this shard of the files, so that several processes can share the same inputs. Files
    /// that are read together are in the same shard.
    #[setters(rename = "shard")]
    pub(crate) part: Option<Shard>,
    #[setters(skip)]
    pub(crate) labels: Vec<(String, String)>,
    /// Labels of exported files, by path.
    #[setters(skip)]
    pub(crate) recalled: HashMap<String, Labels>,
    #[setters(skip)]
    pub(crate) progress: Progress,
    /// Sets the flag that stops the ingest. Committed files stay.
    pub(crate) stop: Arc<AtomicBool>,
    /// Maximum number of logs per commit.
    #[setters(skip)]
    pub(crate) group_files: usize,
    /// Records of earlier versions to be removed, by the source that replaces them.
    #[setters(skip)]
    pub(crate) replacing: Replacements,
}

/// Records of earlier versions, by the source that replaces them.
pub(crate) type Replacements = Arc<HashMap<i64, LineSelection>>;

impl Default for IngestOptions {
    fn default() -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        Self {
            platform: None,
            naming: Arc::default(),
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
            replacing: Replacements::default(),
        }
    }
}

impl IngestOptions {
    label_setters! {
        /// Labels all files that are read. `key` consists of letters, digits and `.`, `-`, `_`; the value is one
        /// line. The view `labels` shows them. A known file keeps its labels. For a file that has grown, the
        /// new value of a key replaces the old one.
        ///
        /// ```
        /// use tsql_dataset::ingest::IngestOptions;
        /// use tsql_store::Store;
        /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
        /// let store = Store::create("memory:").await?;
        /// let options = IngestOptions::default().label("night", "7");
        /// tsql_dataset::ingest::ingest(&store, &["../../data".to_owned()], &options).await?;
        /// let sql = "SELECT count(DISTINCT source_id) AS count FROM labels WHERE key = 'night' AND value = '7'";
        /// let answer = tsql_session::open_session(&store).await?.sql(sql).await.unwrap().collect().await.unwrap();
        /// # let counts = answer[0].column(0);
        /// # let count = arrow::util::display::array_value_to_string(counts, 0).unwrap();
        /// # assert!(count.parse::<u64>().unwrap() > 0);
        /// # Ok::<(), tsql_error::Error>(()) }).unwrap();
        /// ```
    }

    /// Sets the graph of all records of files that may lack one (autotuners): the name of a kernel, or a JSON list of a
    /// name and an object of sizes. It wins over file and path.
    ///
    /// # Errors
    ///
    /// [`Error::Argument`] for an empty text and for another list.
    pub fn graph(mut self, text: &str) -> Result<Self> {
        let set = Arc::make_mut(&mut self.naming).set_graph(text);
        let name = "graph";
        set.map_err(|reason| Error::Argument { name, reason })?;
        Ok(self)
    }

    /// Sets the commit of the code that all records measure. It wins over that of the file and becomes the label
    /// `commit`.
    ///
    /// # Errors
    ///
    /// [`Error::Argument`] for an empty text and for several lines.
    pub fn commit(mut self, text: &str) -> Result<Self> {
        let set = Arc::make_mut(&mut self.naming).set_commit(text);
        let name = "commit";
        set.map_err(|reason| Error::Argument { name, reason })?;
        self.labels.push((name.to_owned(), text.trim().to_owned()));
        Ok(self)
    }

    /// Sets the time of the measurements, as RFC 3339. It wins over that of the file.
    ///
    /// # Errors
    ///
    /// [`Error::Argument`] for another text and for a time without a zone.
    pub fn measured_at(mut self, text: &str) -> Result<Self> {
        let set = Arc::make_mut(&mut self.naming).set_measured_at(text);
        let name = "measured_at";
        set.map_err(|reason| Error::Argument { name, reason })?;
        Ok(self)
    }

    /// Sets the names of the parameters, separated by commas, that belong to the graph and not to the configuration.
    ///
    /// # Errors
    ///
    /// [`Error::Argument`] for an empty name.
    pub fn graph_parameters(mut self, text: &str) -> Result<Self> {
        let set = Arc::make_mut(&mut self.naming).set_graph_parameters(text);
        let name = "graph_parameters";
        set.map_err(|reason| Error::Argument { name, reason })?;
        Ok(self)
    }

    /// Adds the text of a mapping file: graphs, platforms and columns of tables by patterns of paths.
    ///
    /// # Errors
    ///
    /// [`Error::Argument`] for a text that is no such mapping.
    pub fn map(mut self, text: &str) -> Result<Self> {
        let added = Arc::make_mut(&mut self.naming).add_map(text);
        let name = "map";
        added.map_err(|reason| Error::Argument { name, reason })?;
        Ok(self)
    }

    /// Sets the callback for progress events.
    #[must_use]
    pub fn progress(mut self, callback: impl Fn(Event<'_>) + Send + Sync + 'static) -> Self {
        self.progress = Arc::new(callback);
        self
    }
}

impl IngestOptions {
    /// Number of parser threads.
    pub(super) fn parser_threads(&self) -> usize {
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        self.threads.unwrap_or(cores).max(1)
    }

    /// The requested format.
    ///
    /// # Errors
    ///
    /// [`Error::Argument`] for an unknown name.
    pub(super) fn requested_format(&self) -> Result<Option<NamedFormat>> {
        let Some(name) = &self.format else {
            return Ok(None);
        };
        let format = NamedFormat::by_name(name).ok_or_else(|| {
            let names: Vec<&str> = NamedFormat::all()
                .into_iter()
                .map(NamedFormat::name)
                .collect();
            let reason = format!("no format `{name}`, expected one of {}", names.join(", "));
            let name = "format";
            Error::Argument { name, reason }
        })?;
        Ok(Some(format))
    }

    /// The labels of the files.
    ///
    /// # Errors
    ///
    /// [`Error::Argument`] for an invalid label, and for a key with two values.
    pub fn labelling(&self) -> Result<Labelling> {
        Ok(Labelling {
            all: Labels::from_pairs(&self.labels)?,
            recalled: self.recalled.clone(),
        })
    }

    /// Adds the labels that exported files had before the export.
    ///
    /// # Errors
    ///
    /// [`Error::Source`] for an invalid label.
    pub(super) fn with_exported_labels(&self, found: &[Input]) -> Result<Self> {
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
                reason: format!("{MANIFEST_FILE} has an invalid label for it: {error}"),
            })?;
            // Files of the hub are identified by their paths there.
            let path = exported.hub_path.as_ref().unwrap_or(&input.path);
            recalled.insert(path.clone(), labels);
        }
        Ok(Self {
            recalled,
            ..self.clone()
        })
    }

    /// Loads the ingest log for a run. A dry run acknowledges nothing, so it needs no sync.
    pub(super) async fn load_ingest_log(&self, store: &Store) -> Result<IngestLog> {
        if self.dry_run {
            IngestLog::load(store).await
        } else {
            IngestLog::load_durable(store).await
        }
    }
}

/// Options of a stream.
#[derive(Clone, Setters)]
#[non_exhaustive]
pub struct AppendOptions {
    #[setters(skip)]
    pub(crate) stream: String,
    #[setters(skip)]
    pub(crate) platform: String,
    /// Sets the format of the stream.
    pub(crate) format: StreamFormat,
    /// Maximum number of lines per commit batch.
    pub(crate) group_lines: u64,
    /// Maximum number of bytes per commit batch.
    pub(crate) group_bytes: u64,
    /// Maximum time that a line waits to be stored.
    pub(crate) group_time: Duration,
    /// Stops at the first rejected line.
    pub(crate) strict: bool,
    #[setters(skip)]
    pub(crate) labels: Vec<(String, String)>,
    /// Sets the flag that stops the stream. Complete lines that were read are stored.
    pub(crate) stop: Arc<AtomicBool>,
}

impl AppendOptions {
    /// Creates options for the stream with this name (letters, digits, `-`, `_`, `.` and `/`) and platform.
    ///
    /// Defaults per commit batch: 100,000 lines, 64 MiB, 5 seconds.
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

    label_setters! {
        /// Labels the new segments of the stream, like [`IngestOptions::label`]. A new value of a key replaces
        /// the old one for the whole stream.
    }
}

/// Callback for progress events.
pub type Progress = Arc<dyn Fn(Event<'_>) + Send + Sync>;

/// A progress event of an ingest.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Event<'a> {
    /// Number and size of the files to be processed.
    Planned {
        /// Number of files.
        files: u64,
        /// Total size on disk in bytes.
        bytes: u64,
    },
    /// A file is started.
    File(&'a str),
    /// Number of bytes read since the last event, as stored on disk.
    Bytes(u64),
}
