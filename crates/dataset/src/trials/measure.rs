//! Measurement of programs, as methods of a store.

use std::collections::HashMap;
use std::sync::Arc;

use serde::Serialize;
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tsql_error::{Error, Result};
use tsql_measure::backends::DeviceAddress;
use tsql_metrics::median::median;
use tsql_store::Store;

use super::event::Event;
use super::loaded_program::LoadedProgram;
use super::measured_configs;
use super::options::MeasureOptions;
use super::plan::SearchPlan;
use super::record_sink::{self, Resumed};
use super::trial_run::{FinishedTrial, RunSummary, TrialRun};
use crate::ingest::Report;

/// Result of a measurement run.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Measured {
    /// Platform of the records.
    pub platform: String,
    /// Stream of the records, which is their source.
    pub stream: String,
    /// Seed of the search; `None` for a grid.
    pub seed: Option<u64>,
    /// Active limits of kernels.
    pub limits: Vec<String>,
    /// Stored measurements of interrupted runs.
    pub resumed: Resumed,
    /// Trials in their order.
    pub trials: Vec<MeasuredTrial>,
    /// Number of failed trials, which are records, too.
    pub failed: u64,
    /// Whether the run was stopped.
    pub interrupted: bool,
    /// Ingest report of the records.
    pub stored: Report,
}

impl Measured {
    pub(super) fn new(
        summary: RunSummary,
        platform: String,
        seed: Option<u64>,
        resumed: Resumed,
    ) -> Self {
        Self {
            platform,
            stream: summary.stream,
            seed,
            limits: summary.active,
            resumed,
            trials: summary
                .trials
                .into_iter()
                .map(MeasuredTrial::from_finished)
                .collect(),
            failed: summary.failed,
            interrupted: summary.interrupted,
            stored: summary.report,
        }
    }
}

/// A trial of a run.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct MeasuredTrial {
    /// Workload key of the graph.
    pub workload_key: String,
    /// Steps of the configuration.
    pub steps: String,
    /// Median of the repeats that count, in ns per call; `None` for a failure.
    pub median_ns: Option<f64>,
    /// Times of these repeats, in ns per call.
    pub repeats_ns: Vec<f64>,
    /// Billions of floating-point operations per second, if the manifest has their number.
    pub gflops: Option<f64>,
    /// Largest error against the reference, if there is one.
    pub check_error: Option<f64>,
    /// Quality flags.
    pub flags: Vec<String>,
    /// TVM's error number, 0 for success.
    pub error_no: i16,
    /// Error message.
    pub error_message: Option<String>,
}

impl MeasuredTrial {
    fn from_finished(done: FinishedTrial) -> Self {
        let manifest = &done.item.loaded.manifest;
        let mut workloads = manifest.workloads().iter();
        let workload = workloads.find(|workload| workload.params == done.item.params);
        let median_ns = median(&done.times_ns).map(|median| median.value);
        let flops = workload.and_then(|workload| workload.flops);
        Self {
            workload_key: done.item.workload_key(),
            steps: done.item.steps(),
            median_ns,
            gflops: flops.zip(median_ns).map(|(flops, ns)| flops / ns),
            repeats_ns: done.times_ns,
            check_error: done.check_error,
            flags: done.flags,
            error_no: done.error_no,
            error_message: done.failure,
        }
    }
}

/// Builds and times a program's configurations on this machine, and appends the timings as records of a
/// new stream. Measurements of interrupted runs are stored first.
///
/// A kernel that fails is a record. If the future is dropped, the run continues in the background:
/// until the current kernel is finished if [`MeasureOptions::stop`] is set, else to its end.
///
/// # Errors
/// If the machine lacks a compiler, a device or disk space; [`Error::Measuring`] if nearly all kernels
/// fail in the same way; failures of the store. Earlier measurements are in the store, or in a journal
/// that the error names.
pub async fn measure(
    store: &Store,
    program: LoadedProgram,
    options: &MeasureOptions,
) -> Result<Measured> {
    let (store, options, program) = (store.clone(), options.clone(), Arc::new(program));
    run_blocking(move |runtime| measure_blocking(&store, &program, &options, runtime)).await
}

/// Stores measurements of interrupted runs.
///
/// # Errors
/// Failures of the store; the journals are retained then.
pub async fn resume_measured(store: &Store) -> Result<Resumed> {
    record_sink::resume(store).await
}

fn measure_blocking(
    store: &Store,
    program: &Arc<LoadedProgram>,
    options: &MeasureOptions,
    runtime: &Handle,
) -> Result<Measured> {
    let resumed = runtime.block_on(record_sink::resume(store))?;
    options.report(Event::Resumed(&resumed));
    let device = DeviceAddress::for_language(program.manifest.language());
    let mut run = TrialRun::new(store, options, device, runtime)?;
    let known = if options.skip_existing {
        let environment = run.environment(program)?;
        runtime.block_on(measured_configs::measured_configs(
            store,
            run.platform(),
            &environment,
        ))?
    } else {
        HashMap::new()
    };
    let (seed, platform) = (options.search_seed(), run.platform().to_owned());
    let mut plan = SearchPlan::from_options(program, options, seed, &known);
    let summary = run.run(&mut plan, program.manifest.name(), |event| {
        options.report(event);
    })?;
    Ok(Measured::new(summary, platform, seed, resumed))
}

/// Runs blocking work on its own thread, so that timing never runs on a thread of the runtime.
pub(crate) async fn run_blocking<T: Send + 'static, E: From<Error> + Send + 'static>(
    work: impl FnOnce(&Handle) -> Result<T, E> + Send + 'static,
) -> Result<T, E> {
    let runtime = Handle::current();
    let (end, ended) = oneshot::channel();
    std::thread::spawn(move || {
        // The receiver may have been dropped.
        let _ = end.send(work(&runtime));
    });
    let lost = |_| Error::Internal("the measuring thread ended unexpectedly".to_owned());
    ended.await.map_err(lost)?
}
