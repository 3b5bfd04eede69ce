//! The worker process: loads one kernel, checks it, times it, and says what came of it.
//!
//! Everything that a kernel can break is in this process, so that the runner survives it.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::path::Path;
use std::time::Instant;

use nix::unistd::dup2_stdout;

use super::arguments::{Buffers, Stop, out_of_memory};
use super::clock::{Clocked, flush_buffer};
use super::conditions::Watch;
use super::ending::BROKEN;
use super::job::{Bounds, Expected, Job, Report, Task, failure};
use super::library::{Kernel, LoadError, exit_at_once};
use super::limits;
use super::schedule;
use super::timing;
use super::trial::{Cache, Outcome};

/// Runs the job on standard input and ends the process.
pub(crate) fn run() -> ! {
    let code = match work() {
        Ok(()) => 0,
        Err(error) => {
            let _ = writeln!(io::stderr(), "{error}");
            BROKEN
        }
    };
    exit_at_once(code)
}

fn work() -> io::Result<()> {
    // What the kernel prints must not get between the reports.
    let mut reports = File::from(io::stdout().as_fd().try_clone_to_owned()?);
    dup2_stdout(io::stderr())?;
    let mut text = String::new();
    io::stdin().read_to_string(&mut text)?;
    let job: Job = serde_json::from_str(&text)?;
    let mut report = |report: Report| -> io::Result<()> {
        let mut line = serde_json::to_string(&report)?;
        line.push('\n');
        reports.write_all(line.as_bytes())
    };
    let ready = match Buffers::size(&job.arguments) {
        Err(outcome) => return report(Report::Done(outcome)),
        Ok(bytes) => limits::enter(&job, bytes),
    };
    match ready {
        Err(fault) => return report(Report::Fault(fault)),
        Ok(active) => report(Report::Ready(bound(&job, active)))?,
    }
    let mut step = |step: &str| report(Report::Step(step.to_owned()));
    let done = match &job.task {
        Task::Probe => probe(&job.bounds),
        Task::Reference { outputs } => refer(&job, outputs, &mut step),
        Task::Time { expected } => measure(&job, expected.as_ref(), &mut step),
    };
    match done {
        Ok(outcome) | Err(Stop::Failed(outcome)) => report(Report::Done(outcome)),
        Err(Stop::Fault(fault)) => report(Report::Fault(fault)),
    }
}

/// Pins the thread where asked, and adds what of it holds.
fn bound(job: &Job, mut active: Vec<String>) -> Vec<String> {
    if job.bounds.core.is_some_and(schedule::pin) {
        active.push("pinned".to_owned());
    }
    if job.bounds.realtime && schedule::realtime().is_some() {
        active.push("realtime".to_owned());
    }
    active
}

/// Whether what lies in the folder can be reached: root has given up what opens any folder to it.
fn probe(bounds: &Bounds) -> Result<Outcome, Stop> {
    let path = bounds.folder.join("probe");
    let written = File::create(&path).and_then(|_| File::open(&path));
    let fault = |error| {
        let path = path.display();
        Stop::Fault(format!(
            "{path}: {error}\nhint: TMPDIR names a folder that you own, with all above it open to you; --no-sandbox does without"
        ))
    };
    written.map(|_| Outcome::default()).map_err(fault)
}

/// Says what comes next.
type Step<'a> = dyn FnMut(&str) -> io::Result<()> + 'a;

fn refer(job: &Job, outputs: &Path, step: &mut Step) -> Result<Outcome, Stop> {
    let (kernel, mut buffers) = load(job, step)?;
    say(step, "calling the reference")?;
    buffers.reset(job);
    kernel.call(&buffers.pointers);
    buffers.check_bounds(job)?;
    buffers.check_written(job)?;
    let fault = |error: io::Error| Stop::Fault(format!("{}: {error}", outputs.display()));
    let mut file = File::create(outputs).map_err(fault)?;
    for (_, _, buffer) in buffers.outputs(job) {
        file.write_all(buffer.bytes()).map_err(fault)?;
    }
    Ok(Outcome::default())
}

fn measure(job: &Job, expected: Option<&Expected>, step: &mut Step) -> Result<Outcome, Stop> {
    let (kernel, mut buffers) = load(job, step)?;
    let flushed = match job.settings.cache {
        Cache::Cold => Some(flush_buffer().map_err(|errno| out_of_memory(&errno.to_string()))?),
        Cache::Warm => None,
    };
    say(step, "in the checked call")?;
    buffers.reset(job);
    let inputs = buffers.input_hash(job);
    let began = Instant::now();
    kernel.call(&buffers.pointers);
    let first_call = began.elapsed();
    buffers.check_bounds(job)?;
    if buffers.input_hash(job) != inputs {
        let message = "input_changed: the kernel wrote to a buffer that is only an input";
        return Err(Stop::Failed(failure(5, message)));
    }
    let before = buffers.check_outputs(job, expected)?;

    say(step, "while timing")?;
    let watch = Watch::begin(job.bounds.core);
    let mut timing = {
        let threads = job.settings.threads;
        let call = |number| {
            for _ in 0..number {
                kernel.call(&buffers.pointers);
            }
        };
        let mut kernel = Clocked::new(call, threads, flushed);
        let _realtime = job.bounds.realtime.then(schedule::realtime).flatten();
        timing::time(&mut kernel, &job.settings, first_call)
    };
    timing.flags.extend(watch.flags().map(str::to_owned));

    say(step, "in the check after timing")?;
    // The calls that were timed have changed what they both read and write.
    if buffers.any_inout(job) {
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

fn say(step: &mut Step, text: &str) -> Result<(), Stop> {
    step(text).map_err(|error| Stop::Fault(format!("result pipe: {error}")))
}

fn load(job: &Job, step: &mut Step) -> Result<(Kernel, Buffers), Stop> {
    say(step, "while its library was loaded")?;
    let kernel = Kernel::load(&job.library).map_err(|error| match error {
        LoadError::Dlopen(reason) => Stop::Failed(failure(2, format!("dlopen: {reason}"))),
        LoadError::MissingSymbol(reason) => {
            Stop::Failed(failure(2, format!("missing_symbol: {reason}")))
        }
        LoadError::NotExecutable(reason) => Stop::Fault(format!(
            "{reason}\nhint: choose a scratch folder that is not mounted `noexec`"
        )),
    })?;
    Ok((kernel, Buffers::new(&job.arguments)?))
}
