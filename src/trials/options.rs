//! Options of a run.

use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use tsql_measure::backends::DeviceAddress;
use tsql_measure::search::SearchStrategy;
use tsql_measure::trial::Cache;

use super::event::Event;
use crate::error::{Error, Result};

/// Default number of trials of a search.
const DEFAULT_TRIALS: u64 = 100;

/// Callback for progress events, called on the measuring thread. It should return quickly.
pub type Progress = Arc<dyn Fn(Event<'_>) + Send + Sync>;

/// Options for measuring a program.
#[derive(Clone)]
#[non_exhaustive]
pub struct MeasureOptions {
    pub(crate) worker: Vec<OsString>,
    /// Folder for temporary build files.
    pub(crate) scratch: PathBuf,
    pub(crate) target: Option<DeviceAddress>,
    pub(crate) platform: Option<String>,
    pub(crate) name: Option<String>,
    pub(crate) labels: Vec<(String, String)>,
    pub(crate) core: Option<usize>,
    pub(crate) realtime: bool,
    pub(crate) sandbox: bool,
    pub(crate) jobs: usize,
    pub(crate) commit_every: Duration,
    pub(crate) commit_records: u64,
    pub(crate) input_seed: u64,
    pub(crate) cache: Option<Cache>,
    pub(crate) keep_going: bool,
    pub(crate) stop: Arc<AtomicBool>,
    pub(crate) search: SearchStrategy,
    pub(crate) trials: Option<u64>,
    pub(crate) seed: Option<u64>,
    pub(crate) skip_existing: bool,
    pub(crate) progress: Option<Progress>,
}

impl fmt::Debug for MeasureOptions {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("MeasureOptions")
            .field("worker", &self.worker)
            .field("target", &self.target)
            .field("platform", &self.platform)
            .field("name", &self.name)
            .field("search", &self.search)
            .field("trials", &self.trials)
            .finish_non_exhaustive()
    }
}

impl MeasureOptions {
    /// `worker` is the command line of `tsql`, to which arguments are appended: kernels are built and run
    /// in its processes.
    pub fn new(worker: impl IntoIterator<Item = impl Into<OsString>>) -> Self {
        Self {
            worker: worker.into_iter().map(Into::into).collect(),
            scratch: std::env::temp_dir(),
            target: None,
            platform: None,
            name: None,
            labels: Vec::new(),
            core: None,
            realtime: true,
            sandbox: true,
            jobs: std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
            commit_every: Duration::from_secs(30),
            commit_records: 500,
            input_seed: 0,
            cache: None,
            keep_going: false,
            stop: Arc::default(),
            search: SearchStrategy::Evolve,
            trials: None,
            seed: None,
            skip_existing: false,
            progress: None,
        }
    }

    /// Sets the device: `cpu`, `cuda:1`. Defaults to a device for the program's language.
    ///
    /// # Errors
    /// [`Error::Argument`] for an invalid device.
    pub fn target(mut self, target: &str) -> Result<Self> {
        let wrong = |reason| Error::Argument {
            name: "target",
            reason,
        };
        self.target = Some(DeviceAddress::parse(target).map_err(wrong)?);
        Ok(self)
    }

    /// Sets the platform of the records. Defaults to a short name of the device.
    #[must_use]
    pub fn platform(mut self, platform: impl Into<String>) -> Self {
        self.platform = Some(platform.into());
        self
    }

    /// Sets the name of the run, which becomes part of its source's name. Defaults to the program's name.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Adds a label to the records' source.
    #[must_use]
    pub fn label(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.labels.push((key.into(), value.into()));
        self
    }

    /// Sets the core to time on. Defaults to a quiet one.
    #[must_use]
    pub fn core(mut self, core: usize) -> Self {
        self.core = Some(core);
        self
    }

    /// Sets whether timing reserves the core, if permitted.
    #[must_use]
    pub fn realtime(mut self, realtime: bool) -> Self {
        self.realtime = realtime;
        self
    }

    /// Sets whether kernels and compilers are confined.
    #[must_use]
    pub fn sandbox(mut self, sandbox: bool) -> Self {
        self.sandbox = sandbox;
        self
    }

    /// Sets the number of parallel builds. Defaults to the number of cores.
    #[must_use]
    pub fn jobs(mut self, jobs: usize) -> Self {
        self.jobs = jobs;
        self
    }

    /// Sets the commit interval. Defaults to 30 s.
    #[must_use]
    pub fn commit_every(mut self, time: Duration) -> Self {
        self.commit_every = time;
        self
    }

    /// Sets the number of records per commit. Defaults to 500.
    #[must_use]
    pub fn commit_records(mut self, records: u64) -> Self {
        self.commit_records = records;
        self
    }

    /// Sets the seed of the input values. Defaults to 0.
    #[must_use]
    pub fn input_seed(mut self, seed: u64) -> Self {
        self.input_seed = seed;
        self
    }

    /// Sets the state of the caches before a call. Defaults to that in the manifest.
    #[must_use]
    pub fn cache(mut self, cache: Cache) -> Self {
        self.cache = Some(cache);
        self
    }

    /// Continues even if nearly all trials fail in the same way.
    #[must_use]
    pub fn keep_going(mut self, keep_going: bool) -> Self {
        self.keep_going = keep_going;
        self
    }

    /// Sets a stop flag. Once it is set, the run ends after the current kernel, and its measurements are
    /// stored.
    #[must_use]
    pub fn stop(mut self, stop: Arc<AtomicBool>) -> Self {
        self.stop = stop;
        self
    }

    /// Sets the search strategy.
    #[must_use]
    pub fn search(mut self, search: SearchStrategy) -> Self {
        self.search = search;
        self
    }

    /// Sets the maximum number of trials over all workloads. Defaults to 100; a grid is unlimited.
    #[must_use]
    pub fn trials(mut self, trials: u64) -> Self {
        self.trials = Some(trials);
        self
    }

    /// Sets the seed of the search. Defaults to a random one for each run.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// Skips configurations of the same program and build that the store already has for the platform.
    #[must_use]
    pub fn skip_existing(mut self, skip: bool) -> Self {
        self.skip_existing = skip;
        self
    }

    /// Sets the progress callback.
    #[must_use]
    pub fn progress(mut self, heard: impl Fn(Event<'_>) + Send + Sync + 'static) -> Self {
        self.progress = Some(Arc::new(heard));
        self
    }

    /// The device to use, which must have the backend of `of`.
    pub(crate) fn device(&self, of: DeviceAddress) -> Result<DeviceAddress> {
        let target = self.target.unwrap_or(of);
        if !target.has_same_backend(of) {
            let (wanted, given) = (of.backend.noun(), target.backend.noun());
            return Err(Error::Argument {
                name: "target",
                reason: format!("the program is for {wanted}, found {given}"),
            });
        }
        Ok(target)
    }

    /// Seed of the search, `None` for a grid. A random seed is short enough to type.
    pub(crate) fn search_seed(&self) -> Option<u64> {
        let draws = self.search != SearchStrategy::Grid;
        draws.then(|| self.seed.unwrap_or_else(|| fastrand::u64(..1 << 32)))
    }

    /// Maximum number of trials.
    pub(crate) fn max_trials(&self) -> Option<u64> {
        match self.search {
            SearchStrategy::Grid => self.trials,
            SearchStrategy::Random | SearchStrategy::Evolve => self.trials.or(Some(DEFAULT_TRIALS)),
        }
    }

    pub(crate) fn report(&self, event: Event<'_>) {
        if let Some(progress) = &self.progress {
            progress(event);
        }
    }
}
