//! How a run measures.

use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use tsql_measure::backends::Address;
use tsql_measure::search::Kind;
use tsql_measure::trial::Cache;

use super::event::Event;
use crate::error::{Error, Result};

/// Trials where neither anybody nor the search says how many.
const TRIALS: u64 = 100;

/// Hears what happens in a run, on the thread that measures: it is not to take long.
pub type Progress = Arc<dyn Fn(Event<'_>) + Send + Sync>;

/// How a program is measured.
#[derive(Clone)]
#[non_exhaustive]
pub struct MeasureOptions {
    pub(crate) worker: Vec<OsString>,
    /// Where builds lie while they are needed.
    pub(crate) scratch: PathBuf,
    pub(crate) target: Option<Address>,
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
    pub(crate) search: Kind,
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
    /// Kernels are built and called in processes of their own, which are started by `worker`: the command line of the
    /// command `tsql`, to which further words are put.
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
            search: Kind::Evolve,
            trials: None,
            seed: None,
            skip_existing: false,
            progress: None,
        }
    }

    /// The device: `cpu`, `cuda:1`; without, what the program is written for.
    ///
    /// # Errors
    /// [`Error::Argument`] for what is no device.
    pub fn target(mut self, target: &str) -> Result<Self> {
        let wrong = |reason| Error::Argument {
            name: "target",
            reason,
        };
        self.target = Some(Address::parse(target).map_err(wrong)?);
        Ok(self)
    }

    /// Platform of the records; without, the device in short.
    #[must_use]
    pub fn platform(mut self, platform: impl Into<String>) -> Self {
        self.platform = Some(platform.into());
        self
    }

    /// Name of the run, of which that of its source is made; without, the program's.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// A label of the records' source.
    #[must_use]
    pub fn label(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.labels.push((key.into(), value.into()));
        self
    }

    /// The core to time on; without, a quiet one.
    #[must_use]
    pub fn core(mut self, core: usize) -> Self {
        self.core = Some(core);
        self
    }

    /// Whether timing takes the core from others, where it may.
    #[must_use]
    pub fn realtime(mut self, realtime: bool) -> Self {
        self.realtime = realtime;
        self
    }

    /// Whether kernels and compilers are confined.
    #[must_use]
    pub fn sandbox(mut self, sandbox: bool) -> Self {
        self.sandbox = sandbox;
        self
    }

    /// Kernels that are built at the same time; without, one for each core.
    #[must_use]
    pub fn jobs(mut self, jobs: usize) -> Self {
        self.jobs = jobs;
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

    /// What the values of inputs are drawn from; 0.
    #[must_use]
    pub fn input_seed(mut self, seed: u64) -> Self {
        self.input_seed = seed;
        self
    }

    /// What caches hold before a call; without, what the manifest says.
    #[must_use]
    pub fn cache(mut self, cache: Cache) -> Self {
        self.cache = Some(cache);
        self
    }

    /// Goes on where nearly all fail alike.
    #[must_use]
    pub fn keep_going(mut self, keep_going: bool) -> Self {
        self.keep_going = keep_going;
        self
    }

    /// Once set, the run ends after the kernel that is being timed; what was measured is stored.
    #[must_use]
    pub fn stop(mut self, stop: Arc<AtomicBool>) -> Self {
        self.stop = stop;
        self
    }

    /// In which order configurations come.
    #[must_use]
    pub fn search(mut self, search: Kind) -> Self {
        self.search = search;
        self
    }

    /// Trials at most, over all workloads; without 100, of a grid all.
    #[must_use]
    pub fn trials(mut self, trials: u64) -> Self {
        self.trials = Some(trials);
        self
    }

    /// What the search draws configurations from; without, another number for each run.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// Leaves out configurations of this very program, built as here, that the store has for the platform.
    #[must_use]
    pub fn skip_existing(mut self, skip: bool) -> Self {
        self.skip_existing = skip;
        self
    }

    /// Hears what happens.
    #[must_use]
    pub fn progress(mut self, heard: impl Fn(Event<'_>) + Send + Sync + 'static) -> Self {
        self.progress = Some(Arc::new(heard));
        self
    }

    /// The device for programs that are for one like `of`.
    pub(crate) fn device(&self, of: Address) -> Result<Address> {
        let target = self.target.unwrap_or(of);
        if !target.is_like(of) {
            let (wanted, given) = (of.backend.noun(), target.backend.noun());
            return Err(Error::Argument {
                name: "target",
                reason: format!("the program is for {wanted}, not for {given}"),
            });
        }
        Ok(target)
    }

    /// What the search draws from; a grid does not. Short enough to be typed again.
    pub(crate) fn drawn(&self) -> Option<u64> {
        let draws = self.search != Kind::Grid;
        draws.then(|| self.seed.unwrap_or_else(|| fastrand::u64(..1 << 32)))
    }

    /// Trials at most.
    pub(crate) fn most(&self) -> Option<u64> {
        match self.search {
            Kind::Grid => self.trials,
            Kind::Random | Kind::Evolve => self.trials.or(Some(TRIALS)),
        }
    }

    pub(crate) fn tell(&self, event: Event<'_>) {
        if let Some(progress) = &self.progress {
            progress(event);
        }
    }
}
