//! Server side of the helper processes. `compile` handles one request; `run N` handles jobs on device `N`
//! until its input ends. Both use one JSON object per line.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, BufRead, Write};
use std::os::fd::AsFd;
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, dup2_stdout};
use serde::de::DeserializeOwned;

use super::bench::{DeviceBench, TrialError};
use super::code::Code;
use super::compiler::run_request;
use super::driver::{Context, Driver};
use super::job::{CompileRequest, CudaJob, Reply, failed_outcome};
use super::monitor::Monitor;
use super::probe::explain_driver_error;
use crate::error::{Error, Result};
use crate::trial::Outcome;

/// Time for a running kernel after the parent exited. A kernel may never end.
const GRACE: Duration = Duration::from_secs(2);

/// Runs the hidden command: `compile`, or `run` and a device number.
///
/// # Errors
/// For other arguments, and if nobody reads the replies.
pub(crate) fn serve(arguments: &[&OsStr]) -> Result<()> {
    let mut replies = Replies::open().map_err(Error::io("standard output"))?;
    let lines = read_lines();
    let mode: Vec<_> = arguments.iter().map(|word| word.to_str()).collect();
    match mode.as_slice() {
        [Some("compile")] => {
            let request: Option<CompileRequest> = next_message(&lines)?;
            request.map_or(Ok(()), |request| replies.send(&run_request(&request)))
        }
        [Some("run"), Some(ordinal)] => {
            let invalid_number =
                |_| Error::Worker(format!("`{ordinal}` is not the number of a device"));
            serve_device(
                ordinal.parse().map_err(invalid_number)?,
                &lines,
                &mut replies,
            )
        }
        _ => Err(Error::Worker("this command is internal to tsql".to_owned())),
    }
}

/// Output for replies: the original standard output. A kernel's own `printf` is redirected to standard
/// error.
struct Replies(File);

impl Replies {
    fn open() -> io::Result<Self> {
        let replies = File::from(io::stdout().as_fd().try_clone_to_owned()?);
        dup2_stdout(io::stderr())?;
        Ok(Self(replies))
    }

    fn send(&mut self, reply: &Reply) -> Result<()> {
        let mut line =
            serde_json::to_vec(reply).map_err(|error| Error::Worker(error.to_string()))?;
        line.push(b'\n');
        self.0
            .write_all(&line)
            .map_err(Error::io("standard output"))
    }
}

/// Reads standard input on another thread, so that its end is noticed while a kernel runs.
fn read_lines() -> Receiver<String> {
    let (sender, lines) = mpsc::channel();
    thread::spawn(move || {
        for line in io::stdin().lock().lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                return;
            }
        }
        drop(sender);
        thread::sleep(GRACE);
        // An orderly exit would wait for the kernel.
        let _ = kill(Pid::this(), Signal::SIGKILL);
    });
    lines
}

/// The next request; `None` at the end of the input.
fn next_message<T: DeserializeOwned>(lines: &Receiver<String>) -> Result<Option<T>> {
    let Ok(line) = lines.recv() else {
        return Ok(None);
    };
    let request = serde_json::from_str(&line);
    let request = request.map_err(|error| Error::Worker(format!("not a request: {error}")))?;
    Ok(Some(request))
}

fn serve_device(ordinal: u32, lines: &Receiver<String>, replies: &mut Replies) -> Result<()> {
    let driver = match Driver::open() {
        Ok(driver) => driver,
        Err(absent) => return replies.send(&Reply::Fault(explain_driver_error(&absent))),
    };
    let opened = driver
        .device(ordinal)
        .and_then(|device| Ok((device, Context::new(device)?, device.bus_id()?)));
    let (device, context, bus_id) = match opened {
        Ok(opened) => opened,
        Err(code) => return replies.send(&Reply::Fault(format!("no context: error `{code}`"))),
    };
    let monitor = Monitor::open();
    let gpu = monitor.gpu(&bus_id);
    let bench = DeviceBench {
        device,
        context: &context,
        gpu: &gpu,
    };
    replies.send(&Reply::Ready)?;
    while let Some(job) = next_message(lines)? {
        let reply = reply_to(&bench, &job);
        replies.send(&reply)?;
        if !matches!(reply, Reply::Done { last: false, .. }) {
            break;
        }
    }
    Ok(())
}

fn reply_to(bench: &DeviceBench<'_>, job: &CudaJob) -> Reply {
    let done = |outcome, last| Reply::Done { outcome, last };
    match run_trial(bench, job) {
        Ok(outcome) | Err(TrialError::Outcome(outcome)) => done(outcome, false),
        Err(TrialError::Fault(reason)) => Reply::Fault(reason),
        Err(TrialError::Code(code)) if code.is_fault() => Reply::Fault(format!("error `{code}`")),
        Err(TrialError::Code(Code::OUT_OF_MEMORY)) => done(
            failed_outcome(4, format!("oom: {}", Code::OUT_OF_MEMORY)),
            false,
        ),
        Err(TrialError::Code(code)) => {
            done(failed_outcome(4, format!("cuda:{code}")), code.is_sticky())
        }
    }
}

fn run_trial(bench: &DeviceBench<'_>, job: &CudaJob) -> std::result::Result<Outcome, TrialError> {
    let read_file = |path| {
        fs::read(path).map_err(|error| TrialError::Fault(Error::io(path)(error).to_string()))
    };
    let cubin = read_file(&job.cubin)?;
    let reference = job.reference.as_ref().map(read_file).transpose()?;
    bench.measure(&job.trial, &cubin, reference.as_deref())
}
