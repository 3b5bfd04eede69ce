//! The processes that do the work: `compile` does one order, `run N` does jobs on device `N` until
//! its input ends. Both speak lines of JSON.

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

use super::bench::{Station, Stop};
use super::code::Code;
use super::compiler::carry_out;
use super::driver::{Context, Driver};
use super::job::{Job, Order, Reply, failure};
use super::monitor::Monitor;
use super::probe::explain;
use crate::error::{Error, Result};
use crate::trial::Outcome;

/// After the one who asks is gone, what still runs gets this long. A kernel may never end.
const GRACE: Duration = Duration::from_secs(2);

/// Serves as the hidden command says: `compile`, or `run` and the number of a device.
///
/// # Errors
/// Where it is asked for something else, or nobody listens.
pub(crate) fn serve(arguments: &[&OsStr]) -> Result<()> {
    let mut replies = Replies::open().map_err(Error::io("standard output"))?;
    let lines = read_lines();
    let mode: Vec<_> = arguments.iter().map(|word| word.to_str()).collect();
    match mode.as_slice() {
        [Some("compile")] => {
            let order: Option<Order> = next(&lines)?;
            order.map_or(Ok(()), |order| replies.send(&carry_out(&order)))
        }
        [Some("run"), Some(ordinal)] => {
            let wrong = |_| Error::Worker(format!("`{ordinal}` is not the number of a device"));
            run(ordinal.parse().map_err(wrong)?, &lines, &mut replies)
        }
        _ => Err(Error::Worker("this command is for tsql itself".to_owned())),
    }
}

/// Where replies go: what was standard output. A kernel's own `printf` goes to standard error.
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

/// Reads standard input on a thread of its own, so that its end is noticed during a kernel.
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
        // Not an orderly exit: that would wait for the kernel.
        let _ = kill(Pid::this(), Signal::SIGKILL);
    });
    lines
}

/// The next request; `None` at the end of the input.
fn next<T: DeserializeOwned>(lines: &Receiver<String>) -> Result<Option<T>> {
    let Ok(line) = lines.recv() else {
        return Ok(None);
    };
    let request = serde_json::from_str(&line);
    let request = request.map_err(|error| Error::Worker(format!("not a request: {error}")))?;
    Ok(Some(request))
}

fn run(ordinal: u32, lines: &Receiver<String>, replies: &mut Replies) -> Result<()> {
    let driver = match Driver::open() {
        Ok(driver) => driver,
        Err(absent) => return replies.send(&Reply::Fault(explain(&absent))),
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
    let station = Station {
        device,
        context: &context,
        gpu: &gpu,
    };
    replies.send(&Reply::Ready)?;
    while let Some(job) = next(lines)? {
        let reply = reply_to(&station, &job);
        replies.send(&reply)?;
        if !matches!(reply, Reply::Done { last: false, .. }) {
            break;
        }
    }
    Ok(())
}

fn reply_to(station: &Station<'_>, job: &Job) -> Reply {
    let done = |outcome, last| Reply::Done { outcome, last };
    match attempt(station, job) {
        Ok(outcome) | Err(Stop::Outcome(outcome)) => done(outcome, false),
        Err(Stop::Fault(reason)) => Reply::Fault(reason),
        Err(Stop::Code(code)) if code.is_fault() => Reply::Fault(format!("error `{code}`")),
        Err(Stop::Code(Code::OUT_OF_MEMORY)) => {
            done(failure(4, format!("oom: {}", Code::OUT_OF_MEMORY)), false)
        }
        Err(Stop::Code(code)) => done(failure(4, format!("cuda:{code}")), code.is_sticky()),
    }
}

fn attempt(station: &Station<'_>, job: &Job) -> std::result::Result<Outcome, Stop> {
    let read =
        |path| fs::read(path).map_err(|error| Stop::Fault(Error::io(path)(error).to_string()));
    let cubin = read(&job.cubin)?;
    let reference = job.reference.as_ref().map(read).transpose()?;
    station.measure(&job.trial, &cubin, reference.as_deref())
}
