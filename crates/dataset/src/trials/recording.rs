//! Records of calls timed in this process, such as callables of a program that embeds this library.
//!
//! The timing rules and flags are those of kernels. Records are written to the local disk immediately and
//! committed in groups; each is stored once, even after a crash.

use std::collections::HashMap;
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use derive_setters::Setters;
use serde::{Deserialize, Serialize};
use tsql_codecs::json;
use tsql_error::{Error, Result};
use tsql_formats::measured;
use tsql_formats::rows::{Environment, JsonWriter, Kernel};
use tsql_measure::machine::Toolchain;
use tsql_measure::trial::{Outcome, Settings};
use tsql_measure::{backends, callbacks};
use tsql_metrics::median::median;
use tsql_store::Store;

use super::record_line::{RecordSubject, format_record, partition_repeats};
use super::record_sink::{self, RecordSink};
use super::trial_run::stream_name;
use crate::ingest::Report;
use crate::label_setters::label_setters;

/// Result of timing.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Timing {
    /// Repeats and flags.
    #[serde(flatten)]
    pub outcome: Outcome,
    /// Median of the repeats that count, in ns per call.
    pub median_ns: Option<f64>,
}

impl Timing {
    fn from_outcome(outcome: Outcome) -> Self {
        let (counted, _) = partition_repeats(&outcome);
        let walls: Vec<f64> = counted.iter().map(|repeat| repeat.wall_ns).collect();
        let median_ns = median(&walls).map(|median| median.value);
        Self { outcome, median_ns }
    }
}

/// Times `call(n)`, which makes `n` calls, on the processor. It makes one call first.
///
/// # Errors
/// [`Error::Measuring`] if there is no memory to flush the caches with.
pub fn time_calls(call: impl FnMut(u32), settings: &Settings) -> Result<Timing> {
    Ok(Timing::from_outcome(callbacks::time_calls(call, settings)?))
}

/// Times work on a GPU.
///
/// `time(launches, flushed)` makes that many launches, after a flush of the L2 cache if `flushed`, and
/// returns their total device time in ns. The GPU at `bus_id` (`0000:3b:00.0`) is monitored, if its driver
/// supports it.
///
/// # Errors
/// Errors of `time`.
pub fn time_launches<E>(
    time: impl FnMut(u32, bool) -> Result<f64, E>,
    settings: &Settings,
    bus_id: Option<&str>,
) -> Result<Timing, E> {
    callbacks::time_launches(time, settings, bus_id).map(Timing::from_outcome)
}

/// A timed call and its context.
#[derive(Clone, Debug, Deserialize)]
pub struct TimedCall {
    /// Workload key of the graph, as JSON.
    pub workload_key: String,
    /// Steps of the configuration, as JSON.
    pub steps: String,
    /// Name and content hash of the called program. Another program is another configuration.
    pub program: Option<String>,
    /// Target: `python`, `cuda`.
    pub target: String,
    /// Path of the calling program.
    pub interpreter: PathBuf,
    /// Versions of the calling program and of libraries that affect the timing.
    pub version: String,
    /// Number of the GPU, if one was used.
    pub gpu: Option<usize>,
    /// Timing settings.
    pub settings: Settings,
    /// Outcome of the timing.
    pub outcome: Outcome,
}

/// Options for recording.
#[derive(Clone, Debug, Setters)]
#[setters(generate = false)]
#[non_exhaustive]
pub struct RecordingOptions {
    name: String,
    platform: String,
    labels: Vec<(String, String)>,
    /// Sets the commit interval. Defaults to 30 s.
    #[setters(generate)]
    commit_every: Duration,
    /// Sets the number of records per commit. Defaults to 500.
    #[setters(generate)]
    commit_records: u64,
}

impl RecordingOptions {
    /// `name` becomes part of the source's name; `platform` is that of the records.
    pub fn new(name: impl Into<String>, platform: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            platform: platform.into(),
            labels: Vec::new(),
            commit_every: Duration::from_secs(30),
            commit_records: 500,
        }
    }

    label_setters! {
        /// Adds a label to the source.
    }
}

/// A stream of records of calls timed in this process.
///
/// - A record is on the local disk when [`Recording::add`] returns, and in the store after the next commit.
/// - Records left by a killed process are stored by the next recording or run.
pub struct Recording {
    sink: RecordSink,
    stream: String,
    options: RecordingOptions,
    /// Environments by a key of their attributes.
    environments: HashMap<String, Environment>,
}

/// Starts a stream of records of calls timed in this process.
///
/// # Errors
/// Invalid labels, and failures of the store.
pub async fn open_recording(store: &Store, options: &RecordingOptions) -> Result<Recording> {
    record_sink::resume(store).await?;
    let stream = stream_name(&options.name);
    let (platform, labels) = (&options.platform, &options.labels);
    Ok(Recording {
        sink: RecordSink::begin(store, &stream, platform, false, labels).await?,
        stream,
        options: options.clone(),
        environments: HashMap::new(),
    })
}

impl Recording {
    /// Name of the stream, which is the records' source.
    pub fn stream(&self) -> &str {
        &self.stream
    }

    /// Adds a record; returns when it is on the local disk.
    ///
    /// # Errors
    /// [`Error::Argument`] if graph or configuration is invalid JSON, and failures of disk and store.
    pub async fn add(&mut self, timed: &TimedCall) -> Result<()> {
        let canonical = |name, text: &str| {
            json::canonical(text).ok_or_else(|| Error::Argument {
                name,
                reason: format!("`{text}` is not JSON"),
            })
        };
        let environment = self.environment(timed);
        let subject = RecordSubject {
            workload_key: &canonical("workload_key", &timed.workload_key)?,
            steps: &canonical("steps", &timed.steps)?,
            kernel: &Kernel {
                program: timed.program.clone(),
                // Included in the environment.
                build: None,
            },
        };
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let now_s = now.map_or(0, |since| since.as_secs().cast_signed());
        let line = format_record(&subject, &timed.outcome, &environment, now_s);
        self.sink.add_line(&line).await?;
        let (pending, waited) = self.sink.pending();
        if pending >= self.options.commit_records || waited >= self.options.commit_every {
            self.sink.commit().await?;
        }
        Ok(())
    }

    fn environment(&mut self, timed: &TimedCall) -> Environment {
        let settings = serde_json::json!({
            "protocol": timed.settings,
            "limits": [],
            "tsql": env!("CARGO_PKG_VERSION"),
        });
        let settings = settings.to_string();
        let said = format!(
            "{} {} {:?} {settings}",
            timed.target, timed.version, timed.gpu
        );
        let known = self.environments.entry(said).or_insert_with(|| {
            let toolchain = Toolchain::new(&timed.interpreter, &timed.version, &[]);
            let machine = backends::describe_host(toolchain, timed.gpu);
            Environment {
                target: timed.target.clone(),
                log_version: measured::VERSION.to_owned(),
                machine: json::canonical(&machine.to_json()),
                settings: json::canonical(&settings),
                ..Environment::for_writer(JsonWriter::Python)
            }
        });
        known.clone()
    }

    /// Commits all records and returns their number.
    ///
    /// # Errors
    /// Failures of the store; the records are in a journal then, which the error names.
    pub async fn commit(&mut self) -> Result<u64> {
        self.sink.commit().await
    }

    /// Commits the remaining records.
    ///
    /// # Errors
    /// See [`Recording::commit`].
    pub async fn finish(self) -> Result<Report> {
        self.sink.finish().await
    }
}
