//! Records of what this process times itself: callables of a program that has this library in its process.
//!
//! They are timed by the rules and with the flags of kernels, and go the same way: on the local disk at once, into the
//! store in groups, each once whatever is killed.

use std::collections::HashMap;
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use tsql_codecs::json;
use tsql_formats::measured;
use tsql_formats::rows::{Environment, Kernel, Writer};
use tsql_measure::machine::Toolchain;
use tsql_measure::trial::{Outcome, Settings};
use tsql_measure::{backends, hosted};
use tsql_metrics::median::median;

use super::line::{Subject, counted, line};
use super::run::stream_name;
use super::sink::{self, Sink};
use crate::error::{Error, Result};
use crate::ingest::Report;
use crate::store::Store;

/// What timing gave.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Timing {
    /// All of it.
    #[serde(flatten)]
    pub outcome: Outcome,
    /// Median of the repeats that count, in nanoseconds of a call.
    pub median_ns: Option<f64>,
}

impl Timing {
    fn of(outcome: Outcome) -> Self {
        let (counted, _) = counted(&outcome);
        let walls: Vec<f64> = counted.iter().map(|repeat| repeat.wall_ns).collect();
        let median_ns = median(&walls).map(|median| median.value);
        Self { outcome, median_ns }
    }
}

/// Times what `call` does as often as it is told, on the processor; it is called once before.
///
/// # Errors
/// [`Error::Measuring`] where there is no memory to flush the caches with.
pub fn time_calls(call: impl FnMut(u32), settings: &Settings) -> Result<Timing> {
    Ok(Timing::of(hosted::calls(call, settings)?))
}

/// Times what runs on a GPU: `time(launches, flushed)` launches so often, after a flush of the L2 cache if asked, and gives
/// the nanoseconds that all took on the device. The GPU at `bus_id` (`0000:3b:00.0`) is watched, where its driver tells.
///
/// # Errors
/// What `time` fails with.
pub fn time_launches<E>(
    time: impl FnMut(u32, bool) -> Result<f64, E>,
    settings: &Settings,
    bus_id: Option<&str>,
) -> Result<Timing, E> {
    hosted::launches(time, settings, bus_id).map(Timing::of)
}

/// What was timed, and by whom.
#[derive(Clone, Debug, Deserialize)]
pub struct Timed {
    /// The graph: JSON.
    pub workload_key: String,
    /// The configuration: JSON.
    pub steps: String,
    /// Name and content hash of what was called: another program is another configuration.
    pub program: Option<String>,
    /// What it ran on: `python`, `cuda`.
    pub target: String,
    /// The program that called it.
    pub interpreter: PathBuf,
    /// That program's version, and those of what decides how fast it is.
    pub version: String,
    /// The number of the GPU that it ran on.
    pub gpu: Option<usize>,
    /// How it was timed.
    pub settings: Settings,
    /// What came of it.
    pub outcome: Outcome,
}

/// Where records of this process go.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RecordingOptions {
    name: String,
    platform: String,
    labels: Vec<(String, String)>,
    commit_every: Duration,
    commit_records: u64,
}

impl RecordingOptions {
    /// Records of a platform; of the name that of their source is made.
    pub fn new(name: impl Into<String>, platform: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            platform: platform.into(),
            labels: Vec::new(),
            commit_every: Duration::from_secs(30),
            commit_records: 500,
        }
    }

    /// A label of their source.
    #[must_use]
    pub fn label(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.labels.push((key.into(), value.into()));
        self
    }

    /// Time after which records are stored; 30 s.
    #[must_use]
    pub fn commit_every(mut self, time: Duration) -> Self {
        self.commit_every = time;
        self
    }

    /// Records after which they are stored; 500.
    #[must_use]
    pub fn commit_records(mut self, records: u64) -> Self {
        self.commit_records = records;
        self
    }
}

/// A stream of records that this process times itself.
///
/// - A record is on the local disk when [`Recording::take`] returns, and in the store after the next commit.
/// - What a killed process has left, the next recording or run stores.
pub struct Recording {
    sink: Sink,
    stream: String,
    options: RecordingOptions,
    /// By what records say of theirs.
    environments: HashMap<String, Environment>,
}

impl Store {
    /// Begins a stream of records that this process times itself.
    ///
    /// # Errors
    /// Labels that are none, and failures of the store.
    pub async fn recording(&self, options: &RecordingOptions) -> Result<Recording> {
        sink::resume(self).await?;
        let stream = stream_name(&options.name);
        let (platform, labels) = (&options.platform, &options.labels);
        Ok(Recording {
            sink: Sink::begin(self, &stream, platform, false, labels).await?,
            stream,
            options: options.clone(),
            environments: HashMap::new(),
        })
    }
}

impl Recording {
    /// The stream, which is the records' source.
    pub fn stream(&self) -> &str {
        &self.stream
    }

    /// Keeps a record; returns when it is on the local disk.
    ///
    /// # Errors
    /// [`Error::Argument`] for a graph or a configuration that is no JSON, and failures of disk and store.
    pub async fn take(&mut self, timed: &Timed) -> Result<()> {
        let canonical = |name, text: &str| {
            json::canonical(text).ok_or_else(|| Error::Argument {
                name,
                reason: format!("`{text}` is no JSON"),
            })
        };
        let environment = self.environment(timed);
        let subject = Subject {
            workload_key: &canonical("workload_key", &timed.workload_key)?,
            steps: &canonical("steps", &timed.steps)?,
            kernel: &Kernel {
                program: timed.program.clone(),
                // The environment says it.
                build: None,
            },
        };
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let now_s = now.map_or(0, |since| since.as_secs().cast_signed());
        let line = line(&subject, &timed.outcome, &environment, now_s);
        self.sink.take(&line).await?;
        let (pending, waited) = self.sink.pending();
        if pending >= self.options.commit_records || waited >= self.options.commit_every {
            self.sink.commit().await?;
        }
        Ok(())
    }

    fn environment(&mut self, timed: &Timed) -> Environment {
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
            let machine = backends::host(toolchain, timed.gpu);
            Environment {
                target: timed.target.clone(),
                log_version: measured::VERSION.to_owned(),
                machine: json::canonical(&machine.to_json()),
                settings: json::canonical(&settings),
                ..Environment::of(Writer::Python)
            }
        });
        known.clone()
    }

    /// Returns when all records are in the store; how many they were.
    ///
    /// # Errors
    /// Failures of the store: the records are in a journal then, which the error names.
    pub async fn commit(&mut self) -> Result<u64> {
        self.sink.commit().await
    }

    /// Stores what is left.
    ///
    /// # Errors
    /// As [`Recording::commit`].
    pub async fn finish(self) -> Result<Report> {
        self.sink.finish().await
    }
}
