//! Measurements: of programs in processes of their own, and of Python callables in this one.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::future::Future;
use std::path::PathBuf;
use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use pyo3::prelude::*;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::Mutex;
use tsql::Error;
use tsql::optional_setting::OptionalSetting as _;
use tsql::trials::{
    self, Cache, Event, ExecOptions, LoadedProgram, MeasureOptions, PairOptions, Recording,
    RecordingOptions, Search, Settings, TimedCall,
};

use crate::append::format_of;
use crate::errors::{argument_error, to_py_err};
use crate::progress::Progress;
use crate::runtime::{wait, wait_with_progress};
use crate::store::{Store, json};

/// Time for an interrupted run to end by itself.
const STOP_TIME: Duration = Duration::from_millis(200);

/// Options of a measurement, passed by Python.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct MeasureArgs {
    worker: Vec<OsString>,
    target: Option<String>,
    platform: Option<String>,
    name: Option<String>,
    labels: Vec<(String, String)>,
    core: Option<usize>,
    realtime: bool,
    sandbox: bool,
    jobs: Option<usize>,
    commit_s: f64,
    commit_records: u64,
    input_seed: u64,
    cache: Option<String>,
    keep_going: bool,
    search: String,
    trials: Option<u64>,
    seed: Option<u64>,
    skip_existing: bool,
}

impl MeasureArgs {
    fn options(self, py: Python<'_>) -> PyResult<MeasureOptions> {
        let mut options = MeasureOptions::new(self.worker)
            .realtime(self.realtime)
            .sandbox(self.sandbox)
            .commit_every(seconds(py, self.commit_s)?)
            .commit_records(self.commit_records)
            .input_seed(self.input_seed)
            .keep_going(self.keep_going)
            .skip_existing(self.skip_existing);
        options = match self.search.as_str() {
            "grid" => options.search(Search::Grid),
            "random" => options.search(Search::Random),
            "evolve" => options.search(Search::Evolve),
            other => {
                let reason =
                    format!("no search named `{other}`\nhint: there are grid, random, evolve");
                return Err(argument_error(py, "search", reason));
            }
        };
        match self.cache.as_deref() {
            None => {}
            Some("warm") => options = options.cache(Cache::Warm),
            Some("cold") => options = options.cache(Cache::Cold),
            Some(other) => {
                let reason = format!("no cache state named `{other}`\nhint: there are warm, cold");
                return Err(argument_error(py, "cache", reason));
            }
        }
        if let Some(target) = self.target {
            options = options
                .target(&target)
                .map_err(|error| to_py_err(py, &error))?;
        }
        options = options
            .set_if(self.platform, MeasureOptions::platform)
            .set_if(self.name, MeasureOptions::name)
            .labels(self.labels)
            .set_if(self.core, MeasureOptions::core)
            .set_if(self.jobs, MeasureOptions::jobs)
            .set_if(self.trials, MeasureOptions::trials)
            .set_if(self.seed, MeasureOptions::seed);
        Ok(options)
    }
}

/// Options of a repeated measurement, passed by Python.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct RepeatArgs {
    predicate: String,
    limit: u64,
    minimum_change: f64,
    trust: bool,
}

/// Options of running another program, passed by Python.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct ExecArgs {
    command: Vec<OsString>,
    platform: String,
    format: String,
    log: Option<PathBuf>,
    name: Option<String>,
    labels: Vec<(String, String)>,
    commit_s: f64,
    commit_records: u64,
}

impl ExecArgs {
    fn options(self, py: Python<'_>) -> PyResult<ExecOptions> {
        let options = ExecOptions::new(self.command, self.platform)
            .format(format_of(py, self.format)?)
            .commit_every(seconds(py, self.commit_s)?)
            .commit_records(self.commit_records)
            .set_if(self.log, ExecOptions::log)
            .set_if(self.name, ExecOptions::name)
            .labels(self.labels);
        Ok(options)
    }
}

/// Options of two commands in turn, passed by Python.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct PairArgs {
    base: Vec<OsString>,
    head: Vec<OsString>,
    platform: String,
    format: String,
    name: Option<String>,
    labels: Vec<(String, String)>,
    blocks: usize,
    budget_s: Option<f64>,
    minimum_change: Option<f64>,
}

impl PairArgs {
    fn options(self, py: Python<'_>) -> PyResult<PairOptions> {
        let budget = self
            .budget_s
            .map(|budget| seconds(py, budget))
            .transpose()?;
        let options = PairOptions::new(self.base, self.head, self.platform)
            .format(format_of(py, self.format)?)
            .blocks(self.blocks)
            .labels(self.labels)
            .set_if(self.name, PairOptions::name)
            .set_if(budget, PairOptions::budget)
            .set_if(self.minimum_change, PairOptions::minimum_change);
        Ok(options)
    }
}

/// A run with progress reports, which stops if the caller is interrupted.
#[derive(Default)]
struct MonitoredRun {
    stop: Arc<AtomicBool>,
    progress: Progress,
}

impl MonitoredRun {
    fn options(&self, options: MeasureOptions) -> MeasureOptions {
        let (told, mut total, mut done) = (self.progress.clone(), 0, 0);
        let hear = std::sync::Mutex::new(move |event: Event<'_>| match event {
            Event::Started { total: all, .. } => total = all.unwrap_or_default(),
            Event::Measured { item, .. } => {
                done += 1;
                told.note(&item.workload_key(), done, total);
            }
            _ => {}
        });
        options.stop(Arc::clone(&self.stop)).progress(move |event| {
            let mut hear = hear
                .lock()
                .unwrap_or_else(std::sync::PoisonError::into_inner);
            hear(event);
        })
    }

    /// Waits for the result of the run; returns JSON.
    fn wait<T: Serialize + Send + 'static, F: Future<Output = tsql::Result<T>>>(
        self,
        py: Python<'_>,
        heard: Option<Py<PyAny>>,
        call: impl FnOnce() -> F + Send + 'static,
    ) -> PyResult<String> {
        let ended = wait_with_progress(py, call, self.progress.reporter(heard));
        if ended.is_err() {
            // The running measurement ends, and finished ones are stored.
            self.stop.store(true, Ordering::Relaxed);
            py.detach(|| std::thread::sleep(STOP_TIME));
        }
        json(py, &ended?)
    }
}

fn seconds(py: Python<'_>, seconds: f64) -> PyResult<Duration> {
    let time = Duration::try_from_secs_f64(seconds);
    time.map_err(|error| argument_error(py, "commit_s", format!("{seconds} s: {error}")))
}

#[pymethods]
impl Store {
    /// Measures a program: the path of a manifest, the name of a template, or (with `sources`) the text of a
    /// manifest named `name`.
    #[pyo3(signature = (program, text, sources, how, heard))]
    fn measure(
        &self,
        py: Python<'_>,
        program: String,
        text: Option<String>,
        sources: BTreeMap<String, String>,
        how: MeasureArgs,
        heard: Option<Py<PyAny>>,
    ) -> PyResult<String> {
        let loaded = match text {
            Some(text) => LoadedProgram::from_texts(&text, &program, &sources),
            None => LoadedProgram::open(&program),
        };
        let loaded = loaded.map_err(|error| to_py_err(py, &error))?;
        let watched = MonitoredRun::default();
        let options = watched.options(how.options(py)?);
        let store = self.get(py)?;
        watched.wait(py, heard, move || async move {
            store.measure(loaded, &options).await
        })
    }

    /// Repeats the measurement of the records that match the predicate; returns the report as JSON.
    fn measure_repeat(
        &self,
        py: Python<'_>,
        asked: RepeatArgs,
        how: MeasureArgs,
        heard: Option<Py<PyAny>>,
    ) -> PyResult<String> {
        let RepeatArgs {
            predicate,
            limit,
            minimum_change,
            trust,
        } = asked;
        let store = self.get(py)?;
        let chosen = wait(py, move || async move {
            store.find_repeatable(&predicate, limit).await
        })?;
        if !trust {
            let programs = chosen.programs().map_err(|error| to_py_err(py, &error))?;
            let hint = "hint: with trust=True they are; `SELECT program FROM environments` shows their texts";
            return Err(argument_error(py, "trust", format!("{programs}\n{hint}")));
        }
        let watched = MonitoredRun::default();
        let options = watched.options(how.options(py)?);
        let store = self.get(py)?;
        watched.wait(py, heard, move || async move {
            store.measure_again(chosen, &options, minimum_change).await
        })
    }

    /// Runs a command and stores the records that it prints, or appends to a log; returns the report as JSON.
    fn measure_exec(&self, py: Python<'_>, how: ExecArgs) -> PyResult<String> {
        let watched = MonitoredRun::default();
        let options = how.options(py)?.stop(Arc::clone(&watched.stop));
        let store = self.get(py)?;
        watched.wait(py, None, move || async move {
            store.measure_exec(&options).await
        })
    }

    /// Runs two commands in turn and compares their records; returns the report as JSON.
    fn measure_pair(&self, py: Python<'_>, how: PairArgs) -> PyResult<String> {
        let watched = MonitoredRun::default();
        let options = how.options(py)?.stop(Arc::clone(&watched.stop));
        let store = self.get(py)?;
        watched.wait(py, None, move || async move {
            store.measure_pair(&options).await
        })
    }

    /// Stores the measurements of killed runs; returns the report as JSON.
    fn resume_measured(&self, py: Python<'_>) -> PyResult<String> {
        let store = self.get(py)?;
        json(
            py,
            &wait(py, move || async move { store.resume_measured().await })?,
        )
    }

    /// Starts a stream of records that this process measures.
    fn recording(
        &self,
        py: Python<'_>,
        name: String,
        platform: String,
        labels: Vec<(String, String)>,
        commit_s: f64,
        commit_records: u64,
    ) -> PyResult<Recorder> {
        let options = RecordingOptions::new(name, platform)
            .commit_every(seconds(py, commit_s)?)
            .commit_records(commit_records)
            .labels(labels);
        let store = self.get(py)?;
        let recording = wait(py, move || async move { store.recording(&options).await })?;
        Ok(Recorder {
            stream: recording.stream().to_owned(),
            recording: Arc::new(Mutex::new(Some(recording))),
            process: process::id(),
        })
    }
}

/// A stream of records that this process measures.
#[pyclass(frozen, module = "tsql._native")]
pub(crate) struct Recorder {
    #[pyo3(get)]
    stream: String,
    /// `None` once it was finished.
    recording: Arc<Mutex<Option<Recording>>>,
    process: u32,
}

impl Recorder {
    fn check(&self, py: Python<'_>) -> PyResult<()> {
        if self.process == process::id() {
            Ok(())
        } else {
            Err(to_py_err(py, &Error::Closed))
        }
    }
}

#[pymethods]
impl Recorder {
    /// Stores a record, passed as JSON, on the local disk.
    fn take(&self, py: Python<'_>, timed: &str) -> PyResult<()> {
        self.check(py)?;
        let timed: TimedCall = parse_json(py, "timed", timed)?;
        let recording = Arc::clone(&self.recording);
        wait(py, move || async move {
            let mut recording = recording.lock().await;
            recording.as_mut().ok_or(Error::Closed)?.add(&timed).await
        })
    }

    /// Waits until all records are in the store; returns their number.
    fn commit(&self, py: Python<'_>) -> PyResult<u64> {
        self.check(py)?;
        let recording = Arc::clone(&self.recording);
        wait(py, move || async move {
            let mut recording = recording.lock().await;
            recording.as_mut().ok_or(Error::Closed)?.commit().await
        })
    }

    /// Stores the remaining records; returns the report as JSON.
    fn finish(&self, py: Python<'_>) -> PyResult<String> {
        self.check(py)?;
        let recording = Arc::clone(&self.recording);
        let report = wait(py, move || async move {
            let recording = recording.lock().await.take().ok_or(Error::Closed)?;
            recording.finish().await
        });
        json(py, &report?)
    }
}

/// Parses a value from JSON.
fn parse_json<T: DeserializeOwned>(py: Python<'_>, name: &'static str, text: &str) -> PyResult<T> {
    serde_json::from_str(text).map_err(|error| argument_error(py, name, error.to_string()))
}

/// Measures `call(number)`, which runs the callable `number` times, with settings in JSON; returns the result
/// as JSON. An exception of the callable is raised after the remaining calls are skipped.
#[pyfunction]
pub(crate) fn time_calls(
    py: Python<'_>,
    call: &Bound<'_, PyAny>,
    settings: &str,
) -> PyResult<String> {
    let settings: Settings = parse_json(py, "settings", settings)?;
    let mut failed = None;
    let timing = trials::time_calls(
        |number| {
            if failed.is_none() {
                failed = call.call1((number,)).err();
            }
        },
        &settings,
    );
    match failed {
        Some(error) => Err(error),
        None => json(py, &timing.map_err(|error| to_py_err(py, &error))?),
    }
}

/// Measures with `time(launches, flushed)`, which returns nanoseconds of the device, with settings in JSON;
/// returns the result as JSON.
#[pyfunction]
#[pyo3(signature = (time, settings, bus_id))]
pub(crate) fn time_launches(
    py: Python<'_>,
    time: &Bound<'_, PyAny>,
    settings: &str,
    bus_id: Option<&str>,
) -> PyResult<String> {
    let settings: Settings = parse_json(py, "settings", settings)?;
    let time = |launches: u32, flushed: bool| time.call1((launches, flushed))?.extract::<f64>();
    json(py, &trials::time_launches(time, &settings, bus_id)?)
}

/// Returns the default platform name: a short form of this device name, or this machine's processor.
#[pyfunction]
#[pyo3(signature = (device=None))]
pub(crate) fn platform(device: Option<&str>) -> String {
    trials::platform_of_device(device)
}

/// Returns the description of this machine that is stored with every record, as JSON.
#[pyfunction]
pub(crate) fn machine(py: Python<'_>) -> String {
    py.detach(trials::machine_json)
}

/// Returns conditions that would distort measurements here, as JSON.
#[pyfunction]
pub(crate) fn doctor(py: Python<'_>) -> PyResult<String> {
    json(py, &py.detach(trials::run_doctor))
}

/// Returns the devices that kernels can be measured on, as lines of text.
#[pyfunction]
pub(crate) fn devices(py: Python<'_>) -> Vec<String> {
    py.detach(trials::describe_devices)
}

/// Returns the name, description and manifest of each template.
#[pyfunction]
pub(crate) fn templates() -> Vec<(&'static str, &'static str, &'static str)> {
    let all = trials::templates().iter();
    all.map(|one| (one.name, one.about, one.manifest)).collect()
}
