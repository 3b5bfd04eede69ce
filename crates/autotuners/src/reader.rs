//! The reader of a file: a stream of events beside a document.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use crate::detect::Format;
use crate::document::{Document, Event, Rejected};
use crate::error::Error;
use crate::formats;
use crate::mapping::Mapping;
use crate::model::{Graph, Origin, Sourced, Status, Trial};
use crate::value::{Fields, Value};

/// Facts that the file may lack.
#[derive(Debug, Clone, Default)]
pub struct ReadOptions {
    /// Path of the file. Some formats name the kernel or the device only there.
    pub path: Option<PathBuf>,
    /// Kernel name; wins over file and path.
    pub kernel: Option<String>,
    /// Problem; wins over the file where it is not empty.
    pub problem: Fields,
    /// Platform name; wins over file and path.
    pub platform: Option<String>,
    /// Mapping of the columns, for [`Format::Table`].
    pub mapping: Option<Mapping>,
}

impl ReadOptions {
    /// Name of the file without the extensions of compression and of `extensions`.
    pub(crate) fn stem(&self, extensions: &[&str]) -> Option<String> {
        let name = self.path.as_deref()?.file_name()?.to_str()?;
        let mut name = name;
        for extension in [".gz", ".bz2", ".zst"].iter().chain(extensions) {
            name = name.strip_suffix(extension).unwrap_or(name);
        }
        Some(name.to_owned())
    }

    /// Name of the folder of the file.
    pub(crate) fn folder(&self) -> Option<String> {
        let folder = self.path.as_deref().and_then(Path::parent)?;
        Some(folder.file_name()?.to_str()?.to_owned())
    }
}

/// Receives the events of a format.
pub(crate) struct Output {
    pub(crate) document: Document,
    pub(crate) options: ReadOptions,
    events: VecDeque<Event>,
}

impl Output {
    /// Emits a trial after the options have been applied.
    pub(crate) fn trial(&mut self, mut trial: Trial) {
        let given = |name: &Option<String>| {
            name.clone().map(|name| Sourced {
                name,
                origin: Origin::Option,
            })
        };
        self.complete(&mut trial.graph);
        if let Some(platform) = given(&self.options.platform) {
            trial.platform = Some(platform);
        } else if trial.platform.is_none() {
            trial.platform.clone_from(&self.document.device);
        }
        let counts = &mut self.document.counts;
        trial.ordinal = counts.trials;
        counts.trials += 1;
        match &trial.status {
            Status::Ok => counts.timed += u64::from(trial.time.is_some()),
            Status::Failed { .. } => counts.failed += 1,
            Status::Unmeasured { .. } => counts.unmeasured += 1,
        }
        if !matches!(trial.status, Status::Ok) {
            trial.time = None;
        }
        self.events.push_back(Event::Trial(Box::new(trial)));
    }

    /// Emits a graph without trials.
    pub(crate) fn empty_graph(&mut self, line: u64, mut graph: Graph) {
        self.complete(&mut graph);
        self.events.push_back(Event::EmptyGraph { line, graph });
    }

    /// Emits a rejected part.
    pub(crate) fn reject(&mut self, line: u64, reason: impl Into<String>) {
        self.document.counts.rejected += 1;
        self.events.push_back(Event::Rejected(Rejected {
            line,
            reason: reason.into(),
        }));
    }

    /// Sets a fact of the header.
    pub(crate) fn setting(&mut self, name: &str, value: Value) {
        self.document.settings.push((name.to_owned(), value));
    }

    fn complete(&self, graph: &mut Graph) {
        if let Some(name) = &self.options.kernel {
            graph.kernel = Some(Sourced {
                name: name.clone(),
                origin: Origin::Option,
            });
        }
        if !self.options.problem.is_empty() {
            graph.problem.clone_from(&self.options.problem);
        }
        graph.parameters.sort();
    }
}

/// A format's part of the reading.
pub(crate) trait FormatReader {
    /// Reads on and emits any number of events. Returns whether there is more.
    fn step(&mut self, output: &mut Output) -> Result<bool, Error>;
}

/// Reads a file as a stream of events.
pub struct Reader<'a> {
    format: Box<dyn FormatReader + 'a>,
    output: Output,
    more: bool,
}

impl std::fmt::Debug for Reader<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Reader")
            .field("document", &self.output.document)
            .finish_non_exhaustive()
    }
}

impl<'a> Reader<'a> {
    /// Opens a decompressed file of a detected format.
    #[must_use]
    pub fn new(format: Format, input: impl BufRead + 'a, options: ReadOptions) -> Self {
        let (reader, document) = formats::open(format, Box::new(input), &options);
        Self {
            format: reader,
            output: Output {
                document,
                options,
                events: VecDeque::new(),
            },
            more: true,
        }
    }

    /// Facts of the file; complete after the last event.
    #[must_use]
    pub fn document(&self) -> &Document {
        &self.output.document
    }
}

impl Iterator for Reader<'_> {
    type Item = Result<Event, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(event) = self.output.events.pop_front() {
                return Some(Ok(event));
            }
            if !self.more {
                return None;
            }
            match self.format.step(&mut self.output) {
                Ok(more) => self.more = more,
                Err(error) => {
                    self.more = false;
                    return Some(Err(error));
                }
            }
        }
    }
}

/// Decompresses gzip and bzip2 by their first bytes; other input passes unchanged.
///
/// # Errors
/// The first bytes cannot be read.
pub fn decompress<'a>(input: impl Read + 'a) -> std::io::Result<Box<dyn BufRead + 'a>> {
    let mut input = BufReader::new(input);
    let magic = input.fill_buf()?;
    Ok(if magic.starts_with(&[0x1f, 0x8b]) {
        Box::new(BufReader::new(flate2::bufread::MultiGzDecoder::new(input)))
    } else if magic.starts_with(b"BZh") {
        Box::new(BufReader::new(bzip2::bufread::MultiBzDecoder::new(input)))
    } else {
        Box::new(input)
    })
}
