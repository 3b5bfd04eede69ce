//! Runs trials: builds the kernel and its reference, and times it in a worker process.
//!
//! * A failure of the kernel is an outcome. A fault of the machine or of the reference is an error, and no
//!   record should be written for it.
//! * No process is left behind, and no file once the runner is dropped.
//! * Builds can run ahead on other threads ([`Runner::prepare`]); only one kernel is timed at a time.

use std::ffi::OsString;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio, id};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use tempfile::TempDir;
use tsql_folders::Scratch;

use super::cc::{BuildRequest, CompiledLibrary, Compiler};
use super::compare::Tolerance;
use super::compiler_sandbox::CompilerSandbox;
use super::cores;
use super::environment::{self, ProcessKind};
use super::job::{ExpectedOutputs, Job, Task, WorkerLimits};
use super::process::{self, StderrLimit};
use super::readable_paths;
use super::reference::{self, ReferenceCache, ReferenceKey};
use super::trial::{Check, Language, Outcome, Settings, Trial};
use super::worker_result::{WorkerResult, parse_reports};
use crate::error::{Error, Result};

/// Bytes of a worker's standard error that are retained.
const STDERR_BYTES: usize = 4 << 10;
/// Factor of a reference's time limit. References are written for correctness rather than speed.
const REFERENCE_TIME_FACTOR: u32 = 10;
/// Time for a worker to start and report its active limits.
const START_TIMEOUT: Duration = Duration::from_secs(30);

/// Whether timing reserves the core.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Realtime {
    /// Reserve it if permitted, for kernels with one thread.
    #[default]
    Auto,
    /// Do not reserve it.
    Off,
}

/// Options for running kernels.
#[derive(Clone, Copy, Debug)]
pub struct RunnerOptions {
    /// Core to time on. Defaults to the quietest one if timing reserves the core, else any.
    pub core: Option<usize>,
    /// Whether kernels reserve the core.
    pub realtime: Realtime,
    /// Whether to confine kernels and compilers: see `sandbox`.
    pub sandbox: bool,
}

impl Default for RunnerOptions {
    fn default() -> Self {
        Self {
            core: None,
            realtime: Realtime::Auto,
            sandbox: true,
        }
    }
}

/// Runs C and C++ trials on this machine.
pub(crate) struct Runner {
    /// Command line of the worker process.
    worker: Vec<OsString>,
    /// Command line of the process that sandboxes compilers.
    builder: Vec<OsString>,
    folder: Scratch,
    options: RunnerOptions,
    /// Default core.
    default_core: Option<usize>,
    active: Vec<String>,
    compilers: Mutex<Vec<Compiler>>,
    references: ReferenceCache,
}

/// A built trial, or a failed build.
pub(crate) struct PreparedTrial {
    trial: Trial,
    folder: TempDir,
    built: Result<CompiledLibrary, Outcome>,
    seconds: f64,
}

impl Runner {
    /// Creates a folder in `scratch`, and starts a worker once to test it.
    ///
    /// # Errors
    /// If the folder cannot be created, or a worker does not start.
    pub(crate) fn new(
        worker: Vec<OsString>,
        builder: Vec<OsString>,
        scratch: &Path,
        options: RunnerOptions,
    ) -> Result<Self> {
        let mut runner = Self {
            worker,
            builder,
            folder: Scratch::new_in(scratch)?,
            options,
            default_core: cores::choose_core(),
            active: Vec::new(),
            compilers: Mutex::default(),
            references: ReferenceCache::default(),
        };
        runner.probe()?;
        Ok(runner)
    }

    /// Active limits and sandbox features: `rlimits`, `landlock`, `seccomp`, `pinned`, `realtime`.
    pub(crate) fn active_limits(&self) -> &[String] {
        &self.active
    }

    /// The compiler for programs in `language`.
    ///
    /// # Errors
    /// See [`Compiler::find`].
    pub(crate) fn compiler(&self, language: Language) -> Result<Compiler> {
        let mut compilers = self
            .compilers
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(compiler) = compilers
            .iter()
            .find(|compiler| compiler.language == language)
        {
            return Ok(compiler.clone());
        }
        let compiler = Compiler::find(language)?;
        compilers.push(compiler.clone());
        Ok(compiler)
    }

    /// Builds the kernel and, once per workload, the reference.
    ///
    /// # Errors
    /// If the machine lacks a compiler or disk space, or if the reference does not build.
    pub(crate) fn prepare(&self, trial: &Trial) -> Result<PreparedTrial> {
        let began = Instant::now();
        let folder = self.new_folder("trial-")?;
        let macros = trial.params.iter().chain(&trial.config);
        let plan = BuildRequest {
            program: &trial.program,
            arguments: &trial.arguments,
            macros: macros
                .map(|(name, value)| (name.as_str(), *value))
                .collect(),
            timeout: duration_from_secs(trial.settings.timeout_build_s),
            builder: self.builder(),
        };
        let built = self
            .compiler(trial.program.language)?
            .build(&plan, folder.path())?;
        if let (Ok(_), Some(check)) = (&built, &trial.check) {
            self.build_reference(trial, check)?;
        }
        Ok(PreparedTrial {
            trial: trial.clone(),
            folder,
            built,
            seconds: began.elapsed().as_secs_f64(),
        })
    }

    /// Checks and times a built kernel. One at a time.
    pub(crate) fn execute(&self, prepared: PreparedTrial) -> Result<Outcome> {
        let began = Instant::now();
        let trial = &prepared.trial;
        let outcome = match &prepared.built {
            Err(outcome) => outcome.clone(),
            Ok(built) => {
                let job = Job {
                    task: Task::Time {
                        expected: self.compute_expected(trial)?,
                    },
                    bounds: self.worker_limits(trial.settings.threads, prepared.folder.path()),
                    library: built.library.clone(),
                    ..self.base_job(trial)
                };
                self.run_worker(&job, duration_from_secs(trial.settings.timeout_run_s))?
                    .0
            }
        };
        Ok(Outcome {
            all_cost_s: prepared.seconds + began.elapsed().as_secs_f64(),
            ..outcome
        })
    }

    /// File with the outputs of the reference, in the order of the arguments; `None` without a check. Used
    /// for trials on any device.
    ///
    /// # Errors
    /// If the reference does not build or run.
    #[cfg(feature = "cuda")]
    pub(crate) fn expected_outputs(&self, trial: &Trial) -> Result<Option<PathBuf>> {
        Ok(self
            .compute_expected(trial)?
            .map(|expected| expected.outputs))
    }

    /// Expected outputs and tolerance of `trial`.
    fn compute_expected(&self, trial: &Trial) -> Result<Option<ExpectedOutputs>> {
        let Some(check) = &trial.check else {
            return Ok(None);
        };
        let (library_key, built) = self.build_reference(trial, check)?;
        let key = reference::outputs_key(library_key, trial)?;
        let call = |outputs: &Path| self.call_reference(trial, &built, outputs);
        let outputs = self
            .references
            .get_or_compute_outputs(key, self.folder.path(), call)?;
        let tolerance = Tolerance {
            rtol: check.rtol,
            atol: check.atol,
            metric: check.metric,
        };
        Ok(Some(ExpectedOutputs { outputs, tolerance }))
    }

    fn build_reference(
        &self,
        trial: &Trial,
        check: &Check,
    ) -> Result<(ReferenceKey, CompiledLibrary)> {
        let key = reference::library_key(trial, check)?;
        let built = self.references.get_or_build(key, || {
            // Retained until the runner is dropped: later configurations are compared with it.
            let folder = self.new_folder("reference-")?.keep();
            let plan = BuildRequest {
                program: &check.reference,
                arguments: &trial.arguments,
                macros: trial
                    .params
                    .iter()
                    .map(|(name, value)| (name.as_str(), *value))
                    .collect(),
                timeout: duration_from_secs(trial.settings.timeout_build_s),
                builder: self.builder(),
            };
            let compiler = self.compiler(check.reference.language)?;
            compiler
                .build(&plan, &folder)?
                .map_err(|outcome| reference_error(trial, &outcome))
        })?;
        Ok((key, built))
    }

    fn call_reference(&self, trial: &Trial, built: &CompiledLibrary, outputs: &Path) -> Result<()> {
        let folder = self.new_folder("call-")?;
        let written = folder.path().join("outputs");
        let job = Job {
            task: Task::Reference {
                outputs: written.clone(),
            },
            bounds: WorkerLimits {
                core: None,
                realtime: false,
                ..self.worker_limits(trial.settings.threads, folder.path())
            },
            library: built.library.clone(),
            settings: Settings {
                timeout_run_s: trial.settings.timeout_run_s * f64::from(REFERENCE_TIME_FACTOR),
                ..trial.settings.clone()
            },
            ..self.base_job(trial)
        };
        let (outcome, _) = self.run_worker(&job, duration_from_secs(job.settings.timeout_run_s))?;
        if outcome.error_no != 0 {
            return Err(reference_error(trial, &outcome));
        }
        fs::rename(&written, outputs).map_err(Error::io(outputs))
    }

    /// Sandbox of compilers, if it is enabled.
    fn builder(&self) -> Option<CompilerSandbox<'_>> {
        let builder = CompilerSandbox {
            command: &self.builder,
        };
        self.options.sandbox.then_some(builder)
    }

    fn base_job(&self, trial: &Trial) -> Job {
        Job {
            task: Task::Probe,
            bounds: self.worker_limits(1, self.folder.path()),
            library: PathBuf::new(),
            arguments: trial.arguments.clone(),
            settings: trial.settings.clone(),
            seed: trial.seed,
        }
    }

    /// Only kernels with one thread reserve the core, because several threads would share it.
    fn worker_limits(&self, threads: u32, folder: &Path) -> WorkerLimits {
        let is_single_threaded = threads <= 1;
        let realtime = is_single_threaded && self.options.realtime == Realtime::Auto;
        // Without reserving the core, a pinned kernel would wait for it while another core is idle.
        let core = self
            .options
            .core
            .or_else(|| realtime.then_some(self.default_core).flatten());
        WorkerLimits {
            parent: i32::try_from(id()).unwrap_or(0),
            core: core.filter(|_| is_single_threaded),
            realtime,
            sandbox: self.options.sandbox,
            folder: folder.to_owned(),
            readable: self.readable_paths(),
        }
    }

    /// Paths that kernels may read: installed software, files of the runner, and compiler libraries.
    fn readable_paths(&self) -> Vec<PathBuf> {
        let compilers = self.compilers.lock();
        let compilers = compilers.unwrap_or_else(PoisonError::into_inner);
        let toolchains = compilers
            .iter()
            .flat_map(|compiler| readable_paths::toolchain_paths(&compiler.path));
        readable_paths::system_paths()
            .into_iter()
            .chain([self.folder.path().to_owned()])
            .chain(toolchains)
            .collect()
    }

    fn probe(&mut self) -> Result<()> {
        let folder = self.new_folder("probe-")?;
        let job = Job {
            task: Task::Probe,
            bounds: self.worker_limits(1, folder.path()),
            library: PathBuf::new(),
            arguments: Vec::new(),
            settings: Settings::default(),
            seed: 0,
        };
        let (_, mut active) = self.run_worker(&job, START_TIMEOUT)?;
        if !active.iter().any(|name| name == "realtime") {
            self.options.realtime = Realtime::Off;
            // From here on, the core is pinned only if the options name one.
            active.retain(|name| name != "pinned" || self.options.core.is_some());
        }
        self.active = active;
        Ok(())
    }

    /// Runs a worker on `job` until it ends.
    fn run_worker(&self, job: &Job, limit: Duration) -> Result<(Outcome, Vec<String>)> {
        let path = job.bounds.folder.join("job.json");
        let text = serde_json::to_vec(job).map_err(|error| Error::Worker(error.to_string()))?;
        fs::write(&path, text).map_err(Error::io(&path))?;
        let input = File::open(&path).map_err(Error::io(&path))?;
        let mut command = self.worker_command(job);
        command.stdin(Stdio::from(input));
        let busy = job.bounds.core.filter(|_| job.bounds.realtime);
        let finished = process::run(&mut command, limit, StderrLimit::Last(STDERR_BYTES), busy)
            .map_err(Error::io(command.get_program()))?;
        match parse_reports(&finished, limit) {
            WorkerResult::Outcome(outcome, active) => Ok((outcome, active)),
            WorkerResult::Fault(fault) => Err(Error::Worker(fault)),
        }
    }

    fn worker_command(&self, job: &Job) -> Command {
        let mut words = self.worker.iter();
        let mut command = Command::new(words.next().cloned().unwrap_or_default());
        command.args(words).current_dir(&job.bounds.folder);
        environment::set_environment(&mut command, ProcessKind::Kernels);
        let threads = job.settings.threads.max(1).to_string();
        for variable in ["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"] {
            command.env(variable, &threads);
        }
        command.env("OMP_DYNAMIC", "false");
        if job.settings.threads > 1 {
            command
                .env("OMP_PROC_BIND", "close")
                .env("OMP_PLACES", "cores");
        }
        command.env("LC_ALL", "C").env("TMPDIR", &job.bounds.folder);
        command
    }

    fn new_folder(&self, prefix: &str) -> Result<TempDir> {
        let folder = tempfile::Builder::new()
            .prefix(prefix)
            .tempdir_in(self.folder.path());
        folder.map_err(Error::io(self.folder.path()))
    }
}

/// Error of a reference that fails, which would make all its kernels fail.
fn reference_error(trial: &Trial, outcome: &Outcome) -> Error {
    let message = outcome.error_message.as_deref().unwrap_or("failed");
    Error::Reference(format!(
        "the reference of `{}` failed: {message}\nhint: correct the reference, because kernels are checked against it",
        trial.name
    ))
}

fn duration_from_secs(limit: f64) -> Duration {
    Duration::from_secs_f64(limit.clamp(0.001, 1e6))
}
