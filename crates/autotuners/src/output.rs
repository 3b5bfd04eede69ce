//! Interface between the reader of a file and its format.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

use crate::document::{Document, Event, Rejected};
use crate::error::Error;
use crate::json::parse;
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
    /// Facts of the run that the file may lack.
    pub run: RunOptions,
    /// Content of the files beside this one that [`crate::Format::companions`] names.
    pub companions: Vec<(String, Vec<u8>)>,
}

/// Facts of the run of a benchmark, given by the caller. They win over the file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunOptions {
    /// Commit of the measured code.
    pub commit: Option<String>,
    /// Time of the measurement, with its zone.
    pub measured_at: Option<String>,
    /// Names of parameters that belong to the graph, not to the configuration.
    pub graph_parameters: Vec<String>,
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

    /// Content of a file beside this one, as JSON.
    pub(crate) fn companion(&self, name: &str) -> Option<Value> {
        let mut companions = self.companions.iter();
        let (_, content) = companions.find(|(known, _)| known == name)?;
        parse(content).ok()
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
        self.apply_run_options(&mut trial);
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

    /// Reports that a part of the file shows that it was edited.
    pub(crate) fn warn_edited(&mut self, line: u64, reason: impl Into<String>) {
        self.document.is_edited = true;
        self.events.push_back(Event::Warning(Rejected {
            line,
            reason: reason.into(),
        }));
    }

    /// Sets a fact of the header.
    pub(crate) fn setting(&mut self, name: &str, value: Value) {
        self.document.settings.push((name.to_owned(), value));
    }

    /// Appends a value to a setting that is a list.
    pub(crate) fn add_to_setting(&mut self, name: &str, value: Value) {
        let settings = &mut self.document.settings;
        match settings.iter_mut().find(|(known, _)| known == name) {
            Some((_, Value::List(values))) => values.push(value),
            _ => settings.push((name.to_owned(), Value::List(vec![value]))),
        }
    }

    /// Sets the facts of the run that the caller gives, and moves parameters to the graph.
    fn apply_run_options(&self, trial: &mut Trial) {
        let given = &self.options.run;
        if let Some(commit) = &given.commit {
            trial.run.retain(|(name, _)| name != "commit");
            trial.run.push(("commit".to_owned(), Value::text(commit)));
            trial
                .run
                .push(("commit_from".to_owned(), Value::text("option")));
        }
        if let Some(time) = &given.measured_at {
            trial.timestamp = Some(time.clone());
            trial
                .run
                .push(("measured_at".to_owned(), Value::text(time)));
        }
        if !given.graph_parameters.is_empty() {
            let parameters = std::mem::take(&mut trial.configuration);
            let is_moved = |(name, _): &(String, Value)| given.graph_parameters.contains(name);
            let (moved, others): (Fields, Fields) = parameters.into_iter().partition(is_moved);
            trial.configuration = others;
            let names = &mut trial.graph.parameters;
            names.retain(|name| !moved.iter().any(|(other, _)| other == name));
            if self.options.problem.is_empty() {
                trial.graph.problem.extend(moved);
            }
        }
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
