//! Builds records that do not start with `[Processing]`: backend records and legacy records.

use super::backend::BackendRecord;
use super::legacy::{self, LegacyValue};
use super::record_builder::{RecordBuilder, RecordDialect};
use super::run::{Performance, Run, Trial, TrialBlock};
use super::text::{shorten, upsert};

/// Note on a record whose sample path is unknown.
const NO_PATH_NOTE: &str = "no path of the sample, the name of its model is used";

/// Prefix of the `[Config]` keys of a reference.
const REFERENCE_PREFIX: &str = "reference_";

impl RecordBuilder {
    /// Creates a record of two backends whose sample is named by a header.
    pub(super) fn with_header(line: u64, path: &str) -> Self {
        let backend = BackendRecord {
            has_header: true,
            ..BackendRecord::default()
        };
        let mut open = Self::with_dialect(line, RecordDialect::Backend(backend));
        path.clone_into(&mut open.run.model_path);
        open
    }

    /// Creates a record of one or two backends that starts with the path of its first log.
    pub(super) fn with_log_path(line: u64, path: &str) -> Self {
        let backend = BackendRecord {
            log_path: Some(path.to_owned()),
            ..BackendRecord::default()
        };
        Self::with_dialect(line, RecordDialect::Backend(backend))
    }

    /// Creates a backend record that starts with its configuration.
    pub(super) fn for_side(line: u64) -> Self {
        Self::with_dialect(line, RecordDialect::Backend(BackendRecord::default()))
    }

    pub(super) fn for_legacy(line: u64, path: &str) -> Self {
        let mut open = Self::with_dialect(line, RecordDialect::Legacy(false));
        path.clone_into(&mut open.run.model_path);
        open
    }

    pub(super) fn is_backend(&self) -> bool {
        self.backend().is_some()
    }

    /// Whether the record started with a configuration only.
    pub(super) fn is_plain_side(&self) -> bool {
        let is_plain = |backend: &BackendRecord| !backend.has_header && backend.log_path.is_none();
        self.backend().is_some_and(is_plain)
    }

    /// Reads the log path of a side; returns false if it belongs to another record.
    pub(super) fn take_log_path(&mut self, path: &str) -> bool {
        let Some(backend) = self.backend_mut() else {
            return false;
        };
        if backend.has_header {
            return true;
        }
        backend.is_target_next = backend.sides == 1 && backend.is_target(path);
        backend.is_target_next
    }

    /// Whether the next configuration belongs to another record.
    pub(super) fn ends_with_next_side(&self) -> bool {
        let is_complete = |backend: &BackendRecord| backend.sides > 0 && !backend.awaits_target();
        self.backend().is_some_and(is_complete)
    }

    /// Whether the record is compared with a reference that is still missing.
    pub(super) fn lacks_reference(&self) -> bool {
        let lacks = |backend: &BackendRecord| backend.is_compared && backend.sides == 1;
        self.backend().is_some_and(lacks)
    }

    /// Whether `run` is the reference of this record: it has one side, precedes the record directly and has the same
    /// model.
    pub(super) fn is_target_of(&self, run: &Run) -> bool {
        let model = |run: &Run| run.config_value("model").map(str::to_owned);
        let is_single = run.compiled == TrialBlock::default() && run.compiled_performance.is_none();
        is_single
            && run.line + run.lines == self.run.line
            && model(run).is_some()
            && model(run) == model(&self.run)
    }

    /// Adds a record of one side as the reference.
    pub(super) fn join_reference(&mut self, reference: Run) {
        if let Some(backend) = self.backend_mut() {
            backend.sides = 2;
        }
        let target_phases = std::mem::take(&mut self.run.phases);
        let target_phases = target_phases.map(|phases| phases.replace("eager:", "compiled:"));
        let phases: Vec<String> = reference.phases.into_iter().chain(target_phases).collect();
        self.run.phases = (!phases.is_empty()).then(|| phases.join(" "));
        let target = self.run.eager_performance.take();
        self.run.compiled_performance = self.run.compiled_performance.take().or(target);
        self.run.eager_performance = reference.eager_performance;
        self.run.line = reference.line;
        self.run.has_error_line |= reference.has_error_line;
        let notes = reference.notes.into_iter();
        let notes = notes.filter(|(_, reason)| reason != NO_PATH_NOTE);
        self.run.notes.splice(..0, notes);
        self.reference = reference.config;
        self.blocks.insert(0, reference.eager);
    }

    /// Whether a line continues this record.
    pub(super) fn continues_legacy(&self, line: &legacy::LegacyLine<'_>) -> bool {
        matches!(self.dialect, RecordDialect::Legacy(false))
            && self.run.model_path == line.model_path
            && self.run.check_values(line.key).is_none()
    }

    /// Reads a line about the sample.
    pub(super) fn read_legacy_line(&mut self, number: u64, line: &legacy::LegacyLine<'_>) {
        if line.is_malformed {
            let reason = format!("not a number after `{}`", shorten(line.key));
            self.run.note(number, reason);
        }
        match &line.value {
            LegacyValue::Outputs(values) => {
                if line.key == "equal" {
                    self.run.equal_is_malformed = line.is_malformed;
                }
                // The tool compares only tensors of the same type and shape; otherwise it aborts.
                let marks = &mut self.run.marks;
                (marks.eager, marks.compiled) = (true, true);
                (marks.shape, marks.datatype) = (true, true);
                upsert(&mut self.run.correctness, line.key, values.clone());
            }
            LegacyValue::Durations(eager, compiled) => {
                self.run.eager_performance = eager.map(Performance::from_mean);
                self.run.compiled_performance = compiled.map(Performance::from_mean);
                let ratio = eager
                    .zip(*compiled)
                    .map(|(eager, compiled)| eager / compiled);
                self.run.e2e_speedup = ratio.filter(|ratio| ratio.is_finite());
                self.dialect = RecordDialect::Legacy(true);
            }
        }
    }

    /// Prepends the configuration values in which the reference differs. Uses the model name if the path is unknown.
    pub(super) fn state_reference(&mut self) {
        let target_config = std::mem::take(&mut self.run.config);
        let differs = |(key, value): &(String, String)| {
            target_config
                .iter()
                .all(|(name, other)| name != key || other != value)
        };
        let reference = std::mem::take(&mut self.reference).into_iter();
        let reference = reference.filter(differs);
        let mut config: Vec<(String, String)> = reference
            .map(|(key, value)| (format!("{REFERENCE_PREFIX}{key}"), value))
            .collect();
        config.extend(target_config);
        self.run.config = config;
        if self.run.model_path.is_empty() {
            let model = self
                .run
                .config_value("model")
                .unwrap_or_default()
                .to_owned();
            self.run.note(self.run.line, NO_PATH_NOTE);
            self.run.model_path = model;
        }
    }
}

impl RecordBuilder {
    /// Drops trials that do not match the durations of the record. The tool prints them to different streams, which may
    /// be interleaved in any order.
    pub(super) fn check_trials(&mut self) {
        let mean = |block: &TrialBlock| {
            let (sum, count) = block.trials.iter().fold((0.0, 0.0), |(sum, count), trial| {
                (sum + trial.e2e_ms, count + 1.0)
            });
            sum / count
        };
        let logged_means = [&self.run.eager_performance, &self.run.compiled_performance];
        let logged_means = logged_means.map(|side| side.as_ref().and_then(|side| side.e2e_mean));
        let is_near = |(block, logged_mean): (&TrialBlock, Option<f64>)| {
            logged_mean.is_some_and(|logged_mean| {
                (mean(block) - logged_mean).abs() <= MAX_DURATION_ERROR * logged_mean
            })
        };
        if !self.blocks.is_empty() && !self.blocks.iter().zip(logged_means).all(is_near) {
            let reason = "trials that do not match the durations are dropped";
            self.run.note(self.run.line, reason);
            self.blocks.clear();
        }
    }
}

/// Maximum relative difference between a duration and the mean of its trials. Both have three digits.
const MAX_DURATION_ERROR: f64 = 0.02;

/// Trials of a [`legacy`] log, which precede their record.
#[derive(Debug, Default)]
pub(super) struct LegacyTrials {
    first_trial_line: Option<u64>,
    blocks: Vec<Vec<f64>>,
}

impl LegacyTrials {
    /// Reads a line, which may be a trial or start a block of trials.
    pub(super) fn read_line(&mut self, line: u64, text: &str) {
        if text.starts_with("[Profiling] Using device: ") {
            self.first_trial_line.get_or_insert(line);
            self.blocks.push(Vec::new());
        } else if let Some((_, milliseconds)) = legacy::parse_trial(text)
            && let Some(block) = self.blocks.last_mut()
        {
            block.push(milliseconds);
        }
    }

    /// Whether trials have started.
    pub(super) fn has_started(&self) -> bool {
        self.first_trial_line.is_some()
    }

    /// Number of the line in which the trials start.
    pub(super) fn first_line(&self) -> Option<u64> {
        self.first_trial_line
    }

    /// Moves the trials to a record if there is one block per side.
    pub(super) fn move_to(&mut self, open: &mut RecordBuilder) {
        let blocks = std::mem::take(&mut self.blocks);
        *self = Self::default();
        if blocks.len() == 2 && blocks.iter().all(|block| !block.is_empty()) {
            let block = |times: Vec<f64>| TrialBlock {
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
