//! Measuring as a call of a store.

use std::collections::HashMap;
use std::sync::Arc;

use serde::Serialize;
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tsql_measure::backends::Address;
use tsql_metrics::median::median;

use super::event::Event;
use super::known;
use super::loaded::Loaded;
use super::options::MeasureOptions;
use super::plan::Searches;
use super::run::{Done, Summary, TrialRun};
use super::sink::{self, Resumed};
use crate::error::{Error, Result};
use crate::ingest::Report;
use crate::store::Store;

/// What a run measured.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Measured {
    /// The platform of its records.
    pub platform: String,
    /// The stream that they are in, which is their source.
    pub stream: String,
    /// What the search drew from; `None` of a grid.
    pub seed: Option<u64>,
    /// Limits that held for kernels.
    pub limits: Vec<String>,
    /// What earlier runs had left and was stored.
    pub resumed: Resumed,
    /// In their order.
    pub trials: Vec<MeasuredTrial>,
    /// Trials that failed: they are records, too.
    pub failed: u64,
    /// It was told to stop.
    pub interrupted: bool,
    /// What it brought to the store.
    pub stored: Report,
}

impl Measured {
    pub(super) fn of(
        summary: Summary,
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
            trials: summary.trials.into_iter().map(MeasuredTrial::of).collect(),
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
    /// The graph.
    pub workload_key: String,
    /// The configuration.
    pub steps: String,
    /// Median of the repeats that count, in nanoseconds of a call; `None` where it failed.
    pub median_ns: Option<f64>,
    /// Those repeats.
    pub repeats_ns: Vec<f64>,
    /// Billions of floating-point operations a second, where the manifest says how many there are.
    pub gflops: Option<f64>,
    /// Largest error against the reference, where it has one.
    pub check_error: Option<f64>,
    /// What was odd.
    pub flags: Vec<String>,
    /// TVM's number of what went wrong, 0 for nothing.
    pub error_no: i16,
    /// What was said.
    pub error_message: Option<String>,
}

impl MeasuredTrial {
    fn of(done: Done) -> Self {
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

impl Store {
    /// Builds and times a program's configurations on this machine, and appends the timings as records of a stream of
    /// their own. What runs that were killed had left is stored first.
    ///
    /// A kernel that fails is a record. Dropped in the middle, the run goes on to the end of the kernel that is being timed
    /// where [`MeasureOptions::stop`] is set, else to its own.
    ///
    /// # Errors
    /// What the machine lacks: a compiler, a device, room; [`Error::Measuring`] where nearly all fail alike; failures of the
    /// store. What was measured before is in the store, or in a journal that the error names.
    pub async fn measure(&self, program: Loaded, options: &MeasureOptions) -> Result<Measured> {
        let (store, options, program) = (self.clone(), options.clone(), Arc::new(program));
        aside(move |runtime| measure(&store, &program, &options, runtime)).await
    }

    /// Stores what runs that were killed have measured.
    ///
    /// # Errors
    /// Failures of the store: the journals stay then.
    pub async fn resume_measured(&self) -> Result<Resumed> {
        sink::resume(self).await
    }
}

fn measure(
    store: &Store,
    program: &Arc<Loaded>,
    options: &MeasureOptions,
    runtime: &Handle,
) -> Result<Measured> {
    let resumed = runtime.block_on(sink::resume(store))?;
    options.tell(Event::Resumed(&resumed));
    let device = Address::of(program.manifest.language());
    let mut run = TrialRun::new(store, options, device, runtime)?;
    let known = if options.skip_existing {
        let environment = run.environment(program)?;
        runtime.block_on(known::measured(store, run.platform(), &environment))?
    } else {
        HashMap::new()
    };
    let (seed, platform) = (options.drawn(), run.platform().to_owned());
    let mut plan = Searches::of(program, options, seed, &known);
    let summary = run.all(&mut plan, program.manifest.name(), |event| {
        options.tell(event);
    })?;
    Ok(Measured::of(summary, platform, seed, resumed))
}

/// Does work that blocks for long on a thread of its own: no clock is read on a thread of the runtime.
pub(crate) async fn aside<T: Send + 'static, E: From<Error> + Send + 'static>(
    work: impl FnOnce(&Handle) -> Result<T, E> + Send + 'static,
) -> Result<T, E> {
    let runtime = Handle::current();
    let (end, ended) = oneshot::channel();
    std::thread::spawn(move || {
        // Nobody may wait for it any more.
        let _ = end.send(work(&runtime));
    });
    let lost = |_| Error::Internal("measuring ended without a word".to_owned());
    ended.await.map_err(lost)?
}
