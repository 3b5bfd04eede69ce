//! From a trial to its outcome: builds the kernel and its reference, and times it in a worker process.
//!
//! * A failure of the kernel is an outcome; an error is a fault of the machine or of the reference,
//!   and no record should be made of it.
//! * Nothing stays behind: no process, and no file once the runner is dropped.
//! * Builds may run ahead on other threads ([`Runner::prepare`]); only one kernel is timed at a time.

use std::ffi::OsString;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio, id};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use tempfile::TempDir;
use tsql_folders::Scratch;

use super::cc::{Built, Compiler, Plan};
use super::compare::Tolerance;
use super::confined::Builder;
use super::cores;
use super::ending::{Ending, ending};
use super::environment::{self, For};
use super::job::{Bounds, Expected, Job, Task};
use super::process::{self, Keep};
use super::readable;
use super::reference::{self, Key, References};
use super::trial::{Check, Language, Outcome, Settings, Trial};
use crate::error::{Error, Result};

/// Bytes of a worker's standard error that are kept.
const STDERR_BYTES: usize = 4 << 10;
/// References are written to be right, not to be fast: they get this many times the limit of a kernel.
const REFERENCE_PATIENCE: u32 = 10;
/// For a worker to start and to say which limits hold.
const START_LIMIT: Duration = Duration::from_secs(30);

/// Whether timing takes the core from all other processes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Realtime {
    /// Where it is allowed, for kernels of one thread.
    #[default]
    Auto,
    /// Leave it to whoever else wants it.
    Off,
}

/// How kernels are run.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Core to time on; by default the quietest one where timing takes the core, else any.
    pub core: Option<usize>,
    /// Whether kernels take the core for themselves.
    pub realtime: Realtime,
    /// Confine kernels and compilers: see `sandbox`.
    pub sandbox: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            core: None,
            realtime: Realtime::Auto,
            sandbox: true,
        }
    }
}

/// Runs the trials of C and C++ on this machine.
pub(crate) struct Runner {
    /// Command line of the worker process.
    worker: Vec<OsString>,
    /// Command line of the process that confines compilers.
    builder: Vec<OsString>,
    folder: Scratch,
    options: Options,
    /// The core that is taken where nobody names one.
    own_core: Option<usize>,
    active: Vec<String>,
    compilers: Mutex<Vec<Compiler>>,
    references: References,
}

/// A trial that is built, or that failed to build.
pub(crate) struct Prepared {
    trial: Trial,
    folder: TempDir,
    built: Result<Built, Outcome>,
    seconds: f64,
}

impl Runner {
    /// Makes a folder of its own in `scratch` and starts a worker once, to see that it can.
    ///
    /// # Errors
    /// Where the folder cannot be made, or a worker does not start.
    pub(crate) fn new(
        worker: Vec<OsString>,
        builder: Vec<OsString>,
        scratch: &Path,
        options: Options,
    ) -> Result<Self> {
        let mut runner = Self {
            worker,
            builder,
            folder: Scratch::within(scratch)?,
            options,
            own_core: cores::choose(),
            active: Vec::new(),
            compilers: Mutex::default(),
            references: References::default(),
        };
        runner.probe()?;
        Ok(runner)
    }

    /// What holds of the limits and of the sandbox: `rlimits`, `landlock`, `seccomp`, `pinned`, `realtime`.
    pub(crate) fn active(&self) -> &[String] {
        &self.active
    }

    /// The compiler for programs in `language`.
    ///
    /// # Errors
    /// As [`Compiler::find`].
    pub(crate) fn compiler(&self, language: Language) -> Result<Compiler> {
        let mut known = self
            .compilers
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(compiler) = known.iter().find(|compiler| compiler.language == language) {
            return Ok(compiler.clone());
        }
        let compiler = Compiler::find(language)?;
        known.push(compiler.clone());
        Ok(compiler)
    }

    /// Builds the kernel and, the first time for its workload, the reference.
    ///
    /// # Errors
    /// What the machine lacks: a compiler, room; a reference that does not build.
    pub(crate) fn prepare(&self, trial: &Trial) -> Result<Prepared> {
        let began = Instant::now();
        let folder = self.new_folder("trial-")?;
        let macros = trial.params.iter().chain(&trial.config);
        let plan = Plan {
            program: &trial.program,
            arguments: &trial.arguments,
            macros: macros
                .map(|(name, value)| (name.as_str(), *value))
                .collect(),
            timeout: seconds(trial.settings.timeout_build_s),
            builder: self.builder(),
        };
        let built = self
            .compiler(trial.program.language)?
            .build(&plan, folder.path())?;
        if let (Ok(_), Some(check)) = (&built, &trial.check) {
            self.reference(trial, check)?;
        }
        Ok(Prepared {
            trial: trial.clone(),
            folder,
            built,
            seconds: began.elapsed().as_secs_f64(),
        })
    }

    /// Checks and times a kernel that is built. One at a time.
    pub(crate) fn execute(&self, prepared: Prepared) -> Result<Outcome> {
        let began = Instant::now();
        let trial = &prepared.trial;
        let outcome = match &prepared.built {
            Err(outcome) => outcome.clone(),
            Ok(built) => {
                let job = Job {
                    task: Task::Time {
                        expected: self.expected(trial)?,
                    },
                    bounds: self.bounds(trial.settings.threads, prepared.folder.path()),
                    library: built.library.clone(),
                    ..self.job(trial)
                };
                self.work(&job, seconds(trial.settings.timeout_run_s))?.0
            }
        };
        Ok(Outcome {
            all_cost_s: prepared.seconds + began.elapsed().as_secs_f64(),
            ..outcome
        })
    }

    /// The file with the outputs of the reference, in the order of the arguments, on whatever device the trial
    /// runs; `None` without a check.
    ///
    /// # Errors
    /// A reference that does not build or run.
    #[cfg(feature = "cuda")]
    pub(crate) fn expected_outputs(&self, trial: &Trial) -> Result<Option<PathBuf>> {
        Ok(self.expected(trial)?.map(|expected| expected.outputs))
    }

    /// What the outputs of `trial` are compared with.
    fn expected(&self, trial: &Trial) -> Result<Option<Expected>> {
        let Some(check) = &trial.check else {
            return Ok(None);
        };
        let (library_key, built) = self.reference(trial, check)?;
        let key = reference::outputs_key(library_key, trial)?;
        let call = |outputs: &Path| self.call_reference(trial, &built, outputs);
        let outputs = self.references.outputs(key, self.folder.path(), call)?;
        let tolerance = Tolerance {
            rtol: check.rtol,
            atol: check.atol,
            metric: check.metric,
        };
        Ok(Some(Expected { outputs, tolerance }))
    }

    fn reference(&self, trial: &Trial, check: &Check) -> Result<(Key, Built)> {
        let key = reference::library_key(trial, check)?;
        let built = self.references.built(key, || {
            // It stays as long as the runner: configurations to come are compared with it.
            let folder = self.new_folder("reference-")?.keep();
            let plan = Plan {
                program: &check.reference,
                arguments: &trial.arguments,
                macros: trial
                    .params
                    .iter()
                    .map(|(name, value)| (name.as_str(), *value))
                    .collect(),
                timeout: seconds(trial.settings.timeout_build_s),
                builder: self.builder(),
            };
            let compiler = self.compiler(check.reference.language)?;
            compiler
                .build(&plan, &folder)?
                .map_err(|outcome| refuted(trial, &outcome))
        })?;
        Ok((key, built))
    }

    fn call_reference(&self, trial: &Trial, built: &Built, outputs: &Path) -> Result<()> {
        let folder = self.new_folder("call-")?;
        let written = folder.path().join("outputs");
        let job = Job {
            task: Task::Reference {
                outputs: written.clone(),
            },
            bounds: Bounds {
                core: None,
                realtime: false,
                ..self.bounds(trial.settings.threads, folder.path())
            },
            library: built.library.clone(),
            settings: Settings {
                timeout_run_s: trial.settings.timeout_run_s * f64::from(REFERENCE_PATIENCE),
                ..trial.settings.clone()
            },
            ..self.job(trial)
        };
        let (outcome, _) = self.work(&job, seconds(job.settings.timeout_run_s))?;
        if outcome.error_no != 0 {
            return Err(refuted(trial, &outcome));
        }
        fs::rename(&written, outputs).map_err(Error::io(outputs))
    }

    /// What confines compilers, where anything does.
    fn builder(&self) -> Option<Builder<'_>> {
        let builder = Builder {
            command: &self.builder,
        };
        self.options.sandbox.then_some(builder)
    }

    fn job(&self, trial: &Trial) -> Job {
        Job {
            task: Task::Probe,
            bounds: self.bounds(1, self.folder.path()),
            library: PathBuf::new(),
            arguments: trial.arguments.clone(),
            settings: trial.settings.clone(),
            seed: trial.seed,
        }
    }

    /// A core for itself is for kernels of one thread only: the others' threads would share it.
    fn bounds(&self, threads: u32, folder: &Path) -> Bounds {
        let alone = threads <= 1;
        let realtime = alone && self.options.realtime == Realtime::Auto;
        // Without taking the core, being tied to it would mean to queue there while another is free.
        let core = self
            .options
            .core
            .or_else(|| realtime.then_some(self.own_core).flatten());
        Bounds {
            parent: i32::try_from(id()).unwrap_or(0),
            core: core.filter(|_| alone),
            realtime,
            sandbox: self.options.sandbox,
            folder: folder.to_owned(),
            readable: self.readable(),
        }
    }

    /// What kernels may read: what is installed, what the runner has made, and libraries of compilers.
    fn readable(&self) -> Vec<PathBuf> {
        let known = self.compilers.lock();
        let known = known.unwrap_or_else(PoisonError::into_inner);
        let toolchains = known
            .iter()
            .flat_map(|compiler| readable::toolchain(&compiler.path));
        readable::installed()
            .into_iter()
            .chain([self.folder.path().to_owned()])
            .chain(toolchains)
            .collect()
    }

    fn probe(&mut self) -> Result<()> {
        let folder = self.new_folder("probe-")?;
        let job = Job {
            task: Task::Probe,
            bounds: self.bounds(1, folder.path()),
            library: PathBuf::new(),
            arguments: Vec::new(),
            settings: Settings::default(),
            seed: 0,
        };
        let (_, mut active) = self.work(&job, START_LIMIT)?;
        if !active.iter().any(|name| name == "realtime") {
            self.options.realtime = Realtime::Off;
            // No core is taken from now on unless one was asked for.
            active.retain(|name| name != "pinned" || self.options.core.is_some());
        }
        self.active = active;
        Ok(())
    }

    /// Runs a worker on `job` to its end.
    fn work(&self, job: &Job, limit: Duration) -> Result<(Outcome, Vec<String>)> {
        let path = job.bounds.folder.join("job.json");
        let text = serde_json::to_vec(job).map_err(|error| Error::Worker(error.to_string()))?;
        fs::write(&path, text).map_err(Error::io(&path))?;
        let input = File::open(&path).map_err(Error::io(&path))?;
        let mut command = self.command(job);
        command.stdin(Stdio::from(input));
        let busy = job.bounds.core.filter(|_| job.bounds.realtime);
        let finished = process::run(&mut command, limit, Keep::Last(STDERR_BYTES), busy)
            .map_err(Error::io(command.get_program()))?;
        match ending(&finished, limit) {
            Ending::Outcome(outcome, active) => Ok((outcome, active)),
            Ending::Fault(fault) => Err(Error::Worker(fault)),
        }
    }

    fn command(&self, job: &Job) -> Command {
        let mut words = self.worker.iter();
        let mut command = Command::new(words.next().cloned().unwrap_or_default());
        command.args(words).current_dir(&job.bounds.folder);
        environment::give(&mut command, For::Kernels);
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

/// A reference that fails would make all its kernels fail.
fn refuted(trial: &Trial, outcome: &Outcome) -> Error {
    let message = outcome.error_message.as_deref().unwrap_or("failed");
    Error::Reference(format!(
        "the reference of `{}` failed: {message}\nhint: no kernel can be checked until it is right",
        trial.name
    ))
}

fn seconds(limit: f64) -> Duration {
    Duration::from_secs_f64(limit.clamp(0.001, 1e6))
}
