//! One run: trials are built in parallel, timed one at a time, and stored in groups.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::Ordering;
use std::time::{SystemTime, UNIX_EPOCH};

use tokio::runtime::Handle;
use tsql_codecs::json;
use tsql_error::{Error, Result};
use tsql_formats::measured;
use tsql_formats::rows::{Environment, JsonWriter, Kernel as Known};
use tsql_measure::backends::DeviceAddress;
use tsql_measure::device::{Device, Kernel, Realtime, RunnerOptions, Setup};
use tsql_measure::trial::Outcome;
use tsql_metrics::median::median;
use tsql_store::Store;

use super::event::Event;
use super::loaded_program::{LoadedProgram, TrialSpec};
use super::options::MeasureOptions;
use super::plan::TrialPlan;
use super::record_line::{RecordSubject, format_record, partition_repeats};
use super::record_sink::RecordSink;
use crate::ingest::Report;

/// Number of recent outcomes that are checked for identical failures.
const RECENT_TRIALS: usize = 50;

/// Number of identical failures among them that ends the run: the cause is probably common to all.
const MAX_SAME_FAILURES: usize = 46;

/// Result of a run.
pub(crate) struct RunSummary {
    pub(crate) stream: String,
    /// Active limits of kernels.
    pub(crate) active: Vec<String>,
    pub(crate) failed: u64,
    pub(crate) interrupted: bool,
    pub(crate) report: Report,
    /// Trials in their order.
    pub(crate) trials: Vec<FinishedTrial>,
}

/// A measured trial, with the values in the final report.
pub(crate) struct FinishedTrial {
    pub(crate) item: TrialSpec,
    /// Times of the repeats that count, in ns per call; empty for a failure.
    pub(crate) times_ns: Vec<f64>,
    /// Quality flags.
    pub(crate) flags: Vec<String>,
    /// TVM's error number, 0 for success.
    pub(crate) error_no: i16,
    /// Largest error against the reference.
    pub(crate) check_error: Option<f64>,
    /// Error message.
    pub(crate) failure: Option<String>,
}

/// A built kernel, or the outcome of a failed build.
type BuildResult = Result<Result<Box<dyn Kernel>, Outcome>>;

/// A prepared run with an open device.
pub(crate) struct TrialRun<'a> {
    store: &'a Store,
    options: &'a MeasureOptions,
    device: Box<dyn Device>,
    platform: String,
    runtime: Handle,
    environments: HashMap<String, Environment>,
}

impl<'a> TrialRun<'a> {
    /// # Errors
    /// If the machine lacks a compiler, a device or disk space.
    pub(crate) fn new(
        store: &'a Store,
        options: &'a MeasureOptions,
        device: DeviceAddress,
        runtime: &Handle,
    ) -> Result<Self> {
        let realtime = if options.realtime {
            Realtime::Auto
        } else {
            Realtime::Off
        };
        let limits = RunnerOptions {
            core: options.core,
            realtime,
            sandbox: options.sandbox,
        };
        let device = options.device(device)?.open(&Setup {
            command: &options.worker,
            scratch: &options.scratch,
            options: limits,
        })?;
        let platform = options.platform.clone();
        Ok(Self {
            platform: platform.unwrap_or_else(|| device.platform()),
            store,
            options,
            device,
            runtime: runtime.clone(),
            environments: HashMap::new(),
        })
    }

    /// Platform of the records.
    pub(crate) fn platform(&self) -> &str {
        &self.platform
    }

    /// Sets the platform of the records.
    pub(crate) fn set_platform(&mut self, platform: &str) {
        platform.clone_into(&mut self.platform);
    }

    /// Measures all trials of `plan`.
    ///
    /// # Errors
    /// Faults of the machine and of the store. Earlier measurements are in the store, or in a journal that
    /// the error names.
    pub(crate) fn run(
        mut self,
        plan: &mut dyn TrialPlan,
        name: &str,
        mut told: impl FnMut(Event<'_>),
    ) -> Result<RunSummary> {
        let name = self.options.name.as_deref().unwrap_or(name);
        let stream = stream_name(name);
        let (platform, labels) = (&self.platform, &self.options.labels);
        let begun = RecordSink::begin(self.store, &stream, platform, false, labels);
        let mut sink = self.runtime.block_on(begun)?;
        told(Event::Started {
            total: plan.total(),
            platform: &self.platform,
            stream: &stream,
            active: self.device.active(),
        });
        let mut trials = Vec::new();
        let measured = self.measure(plan, &mut sink, &mut trials, &mut told);
        // Measurements are stored, whatever ended the run.
        let pending = sink.pending().0;
        let report = self.runtime.block_on(sink.finish())?;
        if pending > 0 {
            told(Event::Committed(pending));
        }
        let interrupted = measured?;
        let failed = trials
            .iter()
            .filter(|done: &&FinishedTrial| done.failure.is_some())
            .count();
        Ok(RunSummary {
            stream,
            active: self.device.active().to_vec(),
            failed: failed as u64,
            interrupted,
            report,
            trials,
        })
    }

    /// Returns whether the run was stopped.
    fn measure(
        &mut self,
        plan: &mut dyn TrialPlan,
        sink: &mut RecordSink,
        trials: &mut Vec<FinishedTrial>,
        told: &mut dyn FnMut(Event<'_>),
    ) -> Result<bool> {
        let mut recent = VecDeque::new();
        loop {
            let group: Vec<TrialSpec> = std::iter::from_fn(|| plan.next())
                .take(self.options.jobs.max(1) * 2)
                .collect();
            if group.is_empty() {
                return Ok(false);
            }
            for (item, built) in self.build(group) {
                if self.options.stop.load(Ordering::Relaxed) {
                    return Ok(true);
                }
                let outcome = match built? {
                    Ok(kernel) => kernel.time()?,
                    Err(outcome) => outcome,
                };
                let environment = self.environment(&item.loaded)?;
                let now = SystemTime::now().duration_since(UNIX_EPOCH);
                let now_s = now.map_or(0, |since| since.as_secs().cast_signed());
                let subject = RecordSubject {
                    workload_key: &item.workload_key(),
                    steps: &item.steps(),
                    // Included in the environment.
                    kernel: &Known::default(),
                };
                let line = format_record(&subject, &outcome, &environment, now_s);
                self.runtime.block_on(sink.add_line(&line))?;
                let times_ns = counting_times_ns(&outcome);
                let median_ns = median(&times_ns).map(|median| median.value);
                plan.add_result(&item, median_ns);
                told(Event::Measured {
                    item: &item,
                    outcome: &outcome,
                    median_ns,
                });
                self.check_failures(&mut recent, &outcome)?;
                let failed = outcome.error_no != 0;
                trials.push(FinishedTrial {
                    item,
                    times_ns,
                    flags: outcome.flags,
                    error_no: outcome.error_no,
                    check_error: outcome.check_error,
                    failure: failed.then(|| outcome.error_message.unwrap_or_default()),
                });
                let (pending, waited) = sink.pending();
                if pending >= self.options.commit_records || waited >= self.options.commit_every {
                    let count = self.runtime.block_on(sink.commit())?;
                    told(Event::Committed(count));
                }
            }
        }
    }

    /// Builds a group of trials in parallel.
    fn build(&self, group: Vec<TrialSpec>) -> Vec<(TrialSpec, BuildResult)> {
        let next = std::sync::atomic::AtomicUsize::new(0);
        let built: Vec<_> = group.iter().map(|_| std::sync::Mutex::new(None)).collect();
        let work = || {
            loop {
                let place = next.fetch_add(1, Ordering::Relaxed);
                let (Some(item), Some(slot)) = (group.get(place), built.get(place)) else {
                    return;
                };
                if self.options.stop.load(Ordering::Relaxed) {
                    return;
                }
                let one = self.build_one(item);
                *slot
                    .lock()
                    .unwrap_or_else(std::sync::PoisonError::into_inner) = Some(one);
            }
        };
        std::thread::scope(|scope| {
            for _ in 0..self.options.jobs.max(1) {
                scope.spawn(work);
            }
        });
        let built = built.into_iter().map(|slot| {
            let slot = slot.into_inner();
            slot.unwrap_or_else(std::sync::PoisonError::into_inner)
        });
        let done = group.into_iter().zip(built);
        // Trials that were not started before the stop are dropped.
        done.filter_map(|(item, built)| Some((item, built?)))
            .collect()
    }

    fn build_one(&self, item: &TrialSpec) -> BuildResult {
        let manifest = &item.loaded.manifest;
        match manifest.trial(&item.params, &item.config, self.options.input_seed) {
            Ok(mut trial) => {
                if let Some(cache) = self.options.cache {
                    trial.settings.cache = cache;
                }
                Ok(self.device.build(&trial)?)
            }
            Err(refusal) => Ok(Err(Outcome {
                error_no: 1,
                error_message: Some(refusal.message),
                ..Outcome::default()
            })),
        }
    }

    /// Environment of a program's records, cached.
    pub(crate) fn environment(&mut self, loaded: &LoadedProgram) -> Result<Environment> {
        if let Some(known) = self.environments.get(&loaded.program) {
            return Ok(known.clone());
        }
        let manifest = &loaded.manifest;
        let mut settings = manifest.settings().clone();
        if let Some(cache) = self.options.cache {
            settings.cache = cache;
        }
        let settings = serde_json::json!({
            "protocol": settings,
            "limits": self.device.active(),
            "seed": self.options.input_seed,
            "tsql": env!("CARGO_PKG_VERSION"),
        });
        let (language, flags) = (manifest.language(), manifest.flags());
        let machine = self.device.environment(language, flags)?;
        let environment = Environment {
            target: self.device.target(language),
            log_version: measured::VERSION.to_owned(),
            machine: json::canonical(&machine),
            settings: json::canonical(&settings.to_string()),
            program: Some(loaded.program.clone()),
            ..Environment::for_writer(JsonWriter::Python)
        };
        self.environments
            .insert(loaded.program.clone(), environment.clone());
        Ok(environment)
    }

    /// Ends a run if nearly all recent trials failed in the same way.
    fn check_failures(
        &self,
        recent: &mut VecDeque<Option<String>>,
        outcome: &Outcome,
    ) -> Result<()> {
        let message = outcome.error_message.as_deref().unwrap_or_default();
        let kind = message.split(": ").next().unwrap_or_default().to_owned();
        recent.push_back((outcome.error_no != 0).then(|| format!("{} {kind}", outcome.error_no)));
        if recent.len() > RECENT_TRIALS {
            recent.pop_front();
        }
        let last = recent.back().cloned().flatten();
        let alike = recent
            .iter()
            .filter(|one| last.is_some() && **one == last)
            .count();
        if self.options.keep_going || alike < MAX_SAME_FAILURES {
            return Ok(());
        }
        Err(Error::Measuring(format!(
            "{alike} of the last {RECENT_TRIALS} kernels failed in the same way: `{message}`\n\
             hint: fix the cause, or continue with --keep-going"
        )))
    }
}

/// Times of the repeats that count.
fn counting_times_ns(outcome: &Outcome) -> Vec<f64> {
    if outcome.error_no != 0 {
        return Vec::new();
    }
    let (counted, _) = partition_repeats(outcome);
    counted.iter().map(|repeat| repeat.wall_ns).collect()
}

/// `name` with the time and a random suffix, because each run is a stream of its own.
pub(super) fn stream_name(name: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
    let name: String = name
        .chars()
        .map(|c| if plain(c) { c } else { '-' })
        .collect();
    let time = chrono::Utc::now().format("%Y%m%dT%H%M%SZ");
    let random = uuid::Uuid::new_v4().simple().to_string();
    let random = random.get(..8).unwrap_or_default();
    format!("measure/{name}-{time}-{random}")
}
