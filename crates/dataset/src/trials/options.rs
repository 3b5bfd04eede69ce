//! Options of a run.

use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use derive_setters::Setters;
use tsql_error::{Error, Result};
use tsql_measure::backends::DeviceAddress;
use tsql_measure::search::SearchStrategy;
use tsql_measure::trial::Cache;

use super::event::Event;
use crate::label_setters::label_setters;

/// Default number of trials of a search.
const DEFAULT_TRIALS: u64 = 100;

/// Callback for progress events, called on the measuring thread. It should return quickly.
pub type Progress = Arc<dyn Fn(Event<'_>) + Send + Sync>;

/// Options for measuring a program.
#[derive(Clone, Setters)]
#[setters(strip_option)]
#[non_exhaustive]
pub struct MeasureOptions {
    #[setters(skip)]
    pub(crate) worker: Vec<OsString>,
    /// Folder for temporary build files.
    #[setters(skip)]
    pub(crate) scratch: PathBuf,
    /// Sets the device.
    #[setters(rename = "device_address")]
    pub(crate) target: Option<DeviceAddress>,
    /// Sets the platform of the records. Defaults to a short name of the device.
    #[setters(into)]
    pub(crate) platform: Option<String>,
    /// Sets the name of the run, which becomes part of its source's name. Defaults to the program's name.
    #[setters(into)]
    pub(crate) name: Option<String>,
    #[setters(skip)]
    pub(crate) labels: Vec<(String, String)>,
    /// Sets the core to time on. Defaults to a quiet one.
    pub(crate) core: Option<usize>,
    /// Sets whether timing reserves the core, if permitted.
    pub(crate) realtime: bool,
    /// Sets whether kernels and compilers are confined.
    pub(crate) sandbox: bool,
    /// Sets the number of parallel builds. Defaults to the number of cores.
    pub(crate) jobs: usize,
    /// Sets the commit interval. Defaults to 30 s.
    pub(crate) commit_every: Duration,
    /// Sets the number of records per commit. Defaults to 500.
    pub(crate) commit_records: u64,
    /// Sets the seed of the input values. Defaults to 0.
    pub(crate) input_seed: u64,
    /// Sets the state of the caches before a call. Defaults to that in the manifest.
    pub(crate) cache: Option<Cache>,
    /// Continues even if nearly all trials fail in the same way.
    pub(crate) keep_going: bool,
    /// Sets a stop flag. Once it is set, the run ends after the current kernel, and its measurements are
    /// stored.
    pub(crate) stop: Arc<AtomicBool>,
    /// Sets the search strategy.
    pub(crate) search: SearchStrategy,
    /// Sets the maximum number of trials over all workloads. Defaults to 100; a grid is unlimited.
    pub(crate) trials: Option<u64>,
    /// Sets the seed of the search. Defaults to a random one for each run.
    pub(crate) seed: Option<u64>,
    /// Skips configurations of the same program and build that the store already has for the platform.
    pub(crate) skip_existing: bool,
    #[setters(skip)]
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

    label_setters! {
        /// Adds a label to the records' source.
    }

    /// Sets the progress callback.
    #[must_use]
    pub fn progress(mut self, callback: impl Fn(Event<'_>) + Send + Sync + 'static) -> Self {
        self.progress = Some(Arc::new(callback));
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
    pub fn search_seed(&self) -> Option<u64> {
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
