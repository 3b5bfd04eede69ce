//! Interface between the reader of a file and its format.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

use crate::document::{Document, Event, Rejected};
use crate::error::Error;
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
    /// Mapping of the columns, for [`crate::Format::Table`].
    pub mapping: Option<Mapping>,
}

impl ReadOptions {
    /// Name of the file without the extensions of compression and of `extensions`.
    pub(crate) fn stem(&self, extensions: &[&str]) -> Option<String> {
        let name = self.path.as_deref()?.file_name()?.to_str()?;
        let mut name = name;
        for extension in [".gz", ".bz2", ".zst", ".xz"].iter().chain(extensions) {
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
    pub(crate) events: VecDeque<Event>,
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
