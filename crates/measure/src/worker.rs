//! Worker process: loads one kernel, checks it, times it, and reports the outcome.
//!
//! A kernel can only damage this process, so the runner survives.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::path::Path;
use std::time::Instant;

use nix::unistd::dup2_stdout;

use super::buffers::{Buffers, JobError, out_of_memory};
use super::clock::{ClockedCaller, flush_buffer};
use super::conditions::Watch;
use super::job::{ExpectedOutputs, Job, Task, WorkerLimits, WorkerReport, failed_outcome};
use super::library::{LoadError, LoadedKernel, exit_immediately};
use super::limits;
use super::schedule;
use super::timing;
use super::trial::{Cache, Outcome};
use super::worker_result::FAULT_EXIT_CODE;

/// Runs the job on standard input and ends the process.
pub(crate) fn run() -> ! {
    let code = match run_job() {
        Ok(()) => 0,
        Err(error) => {
            let _ = writeln!(io::stderr(), "{error}");
            FAULT_EXIT_CODE
        }
    };
    exit_immediately(code)
}

fn run_job() -> io::Result<()> {
    // Separates the output of the kernel from the reports.
    let mut reports = File::from(io::stdout().as_fd().try_clone_to_owned()?);
    dup2_stdout(io::stderr())?;
    let mut text = String::new();
    io::stdin().read_to_string(&mut text)?;
    let job: Job = serde_json::from_str(&text)?;
    let mut report = |report: WorkerReport| -> io::Result<()> {
        let mut line = serde_json::to_string(&report)?;
        line.push('\n');
        reports.write_all(line.as_bytes())
    };
    let ready = match Buffers::size(&job.arguments) {
        Err(outcome) => return report(WorkerReport::Done(outcome)),
        Ok(bytes) => limits::apply_limits(&job, bytes),
    };
    match ready {
        Err(fault) => return report(WorkerReport::Fault(fault)),
        Ok(active) => report(WorkerReport::Ready(bind_thread(&job, active)))?,
    }
    let mut step = |step: &str| report(WorkerReport::Step(step.to_owned()));
    let done = match &job.task {
        Task::Probe => probe_limits(&job.bounds),
        Task::Reference { outputs } => run_reference(&job, outputs, &mut step),
        Task::Time { expected } => measure(&job, expected.as_ref(), &mut step),
    };
    match done {
        Ok(outcome) | Err(JobError::Failed(outcome)) => report(WorkerReport::Done(outcome)),
        Err(JobError::Fault(fault)) => report(WorkerReport::Fault(fault)),
    }
}

/// Pins the thread and sets its priority, if requested. Adds the restrictions that are active.
fn bind_thread(job: &Job, mut active: Vec<String>) -> Vec<String> {
    if job.bounds.core.is_some_and(schedule::pin_to_core) {
        active.push("pinned".to_owned());
    }
    if job.bounds.realtime && schedule::enter_realtime().is_some() {
        active.push("realtime".to_owned());
    }
    active
}

/// Tests whether the folder is accessible: root has dropped the capability that opens any folder.
fn probe_limits(bounds: &WorkerLimits) -> Result<Outcome, JobError> {
    let path = bounds.folder.join("probe");
    let written = File::create(&path).and_then(|_| File::open(&path));
    let fault = |error| {
        let path = path.display();
        JobError::Fault(format!(
            "{path}: {error}\nhint: set TMPDIR to a folder that you own, below folders that you can open, or use --no-sandbox"
        ))
    };
    written.map(|_| Outcome::default()).map_err(fault)
}

/// Reports the next step.
type ReportStep<'a> = dyn FnMut(&str) -> io::Result<()> + 'a;

fn run_reference(job: &Job, outputs: &Path, step: &mut ReportStep) -> Result<Outcome, JobError> {
    let (kernel, mut buffers) = load(job, step)?;
    report_step(step, "calling the reference")?;
    buffers.reset(job);
    kernel.call(&buffers.pointers);
    buffers.check_bounds(job)?;
    buffers.check_written(job)?;
    let fault = |error: io::Error| JobError::Fault(format!("{}: {error}", outputs.display()));
    let mut file = File::create(outputs).map_err(fault)?;
    for (_, _, buffer) in buffers.outputs(job) {
        file.write_all(buffer.bytes()).map_err(fault)?;
    }
    Ok(Outcome::default())
}

fn measure(
    job: &Job,
    expected: Option<&ExpectedOutputs>,
    step: &mut ReportStep,
) -> Result<Outcome, JobError> {
    let (kernel, mut buffers) = load(job, step)?;
    let flushed = match job.settings.cache {
        Cache::Cold => Some(flush_buffer().map_err(|errno| out_of_memory(&errno.to_string()))?),
        Cache::Warm => None,
    };
    report_step(step, "in the checked call")?;
    buffers.reset(job);
    let inputs = buffers.input_hash(job);
    let began = Instant::now();
    kernel.call(&buffers.pointers);
    let first_call = began.elapsed();
    buffers.check_bounds(job)?;
    if buffers.input_hash(job) != inputs {
        let message = "input_changed: the kernel wrote to a buffer that is only an input";
        return Err(JobError::Failed(failed_outcome(5, message)));
    }
    let before = buffers.check_outputs(job, expected)?;

    report_step(step, "while timing")?;
    let watch = Watch::begin(job.bounds.core);
    let mut timing = {
        let threads = job.settings.threads;
        let call = |number| {
            for _ in 0..number {
                kernel.call(&buffers.pointers);
            }
        };
        let mut kernel = ClockedCaller::new(call, threads, flushed);
        let _realtime = job.bounds.realtime.then(schedule::enter_realtime).flatten();
        timing::time(&mut kernel, &job.settings, first_call)
    };
    timing.flags.extend(watch.flags().map(str::to_owned));

    report_step(step, "in the check after timing")?;
    // The timed calls have changed buffers that they both read and write.
    if buffers.has_inout(job) {
        buffers.reset(job);
        kernel.call(&buffers.pointers);
    }
    buffers.check_bounds(job)?;
    let after = buffers.check_outputs(job, expected)?;
    Ok(Outcome {
        repeats: timing.repeats,
        number: timing.number.into(),
        flags: timing.flags,
        check_error: before.zip(after).map(|(before, after)| before.max(after)),
        ..Outcome::default()
    })
}

fn report_step(step: &mut ReportStep, text: &str) -> Result<(), JobError> {
    step(text).map_err(|error| JobError::Fault(format!("result pipe: {error}")))
}

fn load(job: &Job, step: &mut ReportStep) -> Result<(LoadedKernel, Buffers), JobError> {
    report_step(step, "while its library was loaded")?;
    let kernel = LoadedKernel::load(&job.library).map_err(|error| match error {
        LoadError::Dlopen(reason) => {
            JobError::Failed(failed_outcome(2, format!("dlopen: {reason}")))
        }
        LoadError::MissingSymbol(reason) => {
            JobError::Failed(failed_outcome(2, format!("missing_symbol: {reason}")))
        }
        LoadError::NotExecutable(reason) => JobError::Fault(format!(
            "{reason}\nhint: choose a scratch folder that is not mounted `noexec`"
        )),
    })?;
    Ok((kernel, Buffers::new(&job.arguments)?))
}
