//! Records that do not begin with `[Processing]`: those of backends and of earlier logs.

use super::backend::Backend;
use super::legacy::{self, Value};
use super::open::{Dialect, Open};
use super::run::{Block, Performance, Run, Trial};
use super::text::{put, short};

/// What a record is noted with whose sample no line names.
const NO_PATH: &str = "no path of the sample: the name of its model stands for it";

/// What stands before the `[Config]` keys of a reference.
const REFERENCE: &str = "reference_";

impl Open {
    /// A record of two backends whose sample a header names.
    pub(super) fn with_header(line: u64, path: &str) -> Self {
        let backend = Backend {
            has_header: true,
            ..Backend::default()
        };
        let mut open = Self::of(line, Dialect::Backend(backend));
        path.clone_into(&mut open.run.model_path);
        open
    }

    /// A record of one or two backends that begins with the path of its first log.
    pub(super) fn with_log_path(line: u64, path: &str) -> Self {
        let backend = Backend {
            log_path: Some(path.to_owned()),
            ..Backend::default()
        };
        Self::of(line, Dialect::Backend(backend))
    }

    /// A record of a backend that begins with its configuration.
    pub(super) fn side(line: u64) -> Self {
        Self::of(line, Dialect::Backend(Backend::default()))
    }

    pub(super) fn legacy(line: u64, path: &str) -> Self {
        let mut open = Self::of(line, Dialect::Legacy(false));
        path.clone_into(&mut open.run.model_path);
        open
    }

    pub(super) fn is_of_backends(&self) -> bool {
        self.backend().is_some()
    }

    /// Whether nothing but a configuration begins it.
    pub(super) fn is_plain_side(&self) -> bool {
        let is_plain = |backend: &Backend| !backend.has_header && backend.log_path.is_none();
        self.backend().is_some_and(is_plain)
    }

    /// Takes the path of the log of a side; false where it is that of another record.
    pub(super) fn log_path(&mut self, path: &str) -> bool {
        let Some(backend) = self.backend_mut() else {
            return false;
        };
        if backend.has_header {
            return true;
        }
        backend.is_target_next = backend.sides == 1 && backend.is_target(path);
        backend.is_target_next
    }

    /// Whether a configuration that follows is that of another record.
    pub(super) fn ends_with_next_side(&self) -> bool {
        let ends = |backend: &Backend| backend.sides > 0 && !backend.awaits_target();
        self.backend().is_some_and(ends)
    }

    /// Whether it is compared with a reference that it does not have.
    pub(super) fn lacks_reference(&self) -> bool {
        let lacks = |backend: &Backend| backend.is_compared && backend.sides == 1;
        self.backend().is_some_and(lacks)
    }

    /// Whether a record of one side is the reference of this one: it stands right before and is of the same model.
    pub(super) fn is_target_of(&self, run: &Run) -> bool {
        let model = |run: &Run| run.config("model").map(str::to_owned);
        let is_single = run.compiled == Block::default() && run.compiled_performance.is_none();
        is_single
            && run.line + run.lines == self.run.line
            && model(run).is_some()
            && model(run) == model(&self.run)
    }

    /// Takes a record of one side as its reference.
    pub(super) fn join(&mut self, reference: Run) {
        if let Some(backend) = self.backend_mut() {
            backend.sides = 2;
        }
        let own = std::mem::take(&mut self.run.phases);
        let own = own.map(|phases| phases.replace("eager:", "compiled:"));
        let phases: Vec<String> = reference.phases.into_iter().chain(own).collect();
        self.run.phases = (!phases.is_empty()).then(|| phases.join(" "));
        let target = self.run.eager_performance.take();
        self.run.compiled_performance = self.run.compiled_performance.take().or(target);
        self.run.eager_performance = reference.eager_performance;
        self.run.line = reference.line;
        self.run.has_error_line |= reference.has_error_line;
        let notes = reference.notes.into_iter();
        let notes = notes.filter(|(_, reason)| reason != NO_PATH);
        self.run.notes.splice(..0, notes);
        self.reference = reference.config;
        self.blocks.insert(0, reference.eager);
    }

    /// Whether a line is one of this record.
    pub(super) fn is_legacy_of(&self, line: &legacy::Line<'_>) -> bool {
        matches!(self.dialect, Dialect::Legacy(false))
            && self.run.model_path == line.model_path
            && self.run.values(line.key).is_none()
    }

    /// Reads a line about its sample.
    pub(super) fn legacy_line(&mut self, number: u64, line: &legacy::Line<'_>) {
        if line.is_malformed {
            let reason = format!("not a number after `{}`", short(line.key));
            self.run.note(number, reason);
        }
        match &line.value {
            Value::Outputs(values) => {
                if line.key == "equal" {
                    self.run.equal_is_malformed = line.is_malformed;
                }
                // That tool compares tensors of one type and shape, or ends.
                let marks = &mut self.run.marks;
                (marks.eager, marks.compiled) = (true, true);
                (marks.shape, marks.datatype) = (true, true);
                put(&mut self.run.correctness, line.key, values.clone());
            }
            Value::Durations(eager, compiled) => {
                self.run.eager_performance = eager.map(Performance::of_mean);
                self.run.compiled_performance = compiled.map(Performance::of_mean);
                let ratio = eager
                    .zip(*compiled)
                    .map(|(eager, compiled)| eager / compiled);
                self.run.e2e_speedup = ratio.filter(|ratio| ratio.is_finite());
                self.dialect = Dialect::Legacy(true);
            }
        }
    }

    /// Puts what the reference has of its own before the configuration, and the name of the model where no path is known.
    pub(super) fn state_reference(&mut self) {
        let own = std::mem::take(&mut self.run.config);
        let differs = |(key, value): &(String, String)| {
            own.iter()
                .all(|(name, other)| name != key || other != value)
        };
        let reference = std::mem::take(&mut self.reference).into_iter();
        let reference = reference.filter(differs);
        let mut config: Vec<(String, String)> = reference
            .map(|(key, value)| (format!("{REFERENCE}{key}"), value))
            .collect();
        config.extend(own);
        self.run.config = config;
        if self.run.model_path.is_empty() {
            let model = self.run.config("model").unwrap_or_default().to_owned();
            self.run.note(self.run.line, NO_PATH);
            self.run.model_path = model;
        }
    }
}

impl Open {
    /// Leaves out trials that are not those of its durations: that tool prints both into different streams, which may
    /// be mixed in any order.
    pub(super) fn check_trials(&mut self) {
        let mean = |block: &Block| {
            let (sum, count) = block.trials.iter().fold((0.0, 0.0), |(sum, count), trial| {
                (sum + trial.e2e_ms, count + 1.0)
            });
            sum / count
        };
        let stated = [&self.run.eager_performance, &self.run.compiled_performance];
        let stated = stated.map(|side| side.as_ref().and_then(|side| side.e2e_mean));
        let is_near = |(block, stated): (&Block, Option<f64>)| {
            stated.is_some_and(|stated| (mean(block) - stated).abs() <= DURATION_ERROR * stated)
        };
        if !self.blocks.is_empty() && !self.blocks.iter().zip(stated).all(is_near) {
            let reason = "trials that are not those of its durations are left out";
            self.run.note(self.run.line, reason);
            self.blocks.clear();
        }
    }
}

/// How far a duration, which has three digits, may be from the mean of its trials, of which each has three.
const DURATION_ERROR: f64 = 0.02;

/// Trials of a [`legacy`] log, which come before the record that they are of.
#[derive(Debug, Default)]
pub(super) struct Timings {
    begin: Option<u64>,
    blocks: Vec<Vec<f64>>,
}

impl Timings {
    /// Reads a line, which may be a trial or begin some.
    pub(super) fn read(&mut self, line: u64, text: &str) {
        if text.starts_with("[Profiling] Using device: ") {
            self.begin.get_or_insert(line);
            self.blocks.push(Vec::new());
        } else if let Some((_, milliseconds)) = legacy::trial(text)
            && let Some(block) = self.blocks.last_mut()
        {
            block.push(milliseconds);
        }
    }

    /// Whether there are trials.
    pub(super) fn is_any(&self) -> bool {
        self.begin.is_some()
    }

    /// The line that they begin in.
    pub(super) fn begin(&self) -> Option<u64> {
        self.begin
    }

    /// Gives a record its trials: those of both sides, where there are two blocks.
    pub(super) fn give(&mut self, open: &mut Open) {
        let blocks = std::mem::take(&mut self.blocks);
        *self = Self::default();
        if blocks.len() == 2 && blocks.iter().all(|block| !block.is_empty()) {
            let block = |times: Vec<f64>| Block {
                trials: times
                    .into_iter()
                    .map(|e2e_ms| Trial {
                        e2e_ms,
                        gpu_ms: None,
                    })
                    .collect(),
                kernel_ms: None,
            };
            open.blocks = blocks.into_iter().map(block).collect();
        }
    }
}
