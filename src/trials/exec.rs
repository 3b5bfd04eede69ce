//! Records that another program measures, taken as they appear.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufReader, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use tokio::runtime::Handle;

use super::run::stream_name;
use super::sink::Sink;
use crate::error::{Error, Result};
use crate::ingest::Report;
use crate::ledger::Labels;
use crate::store::Store;

/// How often a log is looked at, and how long output may wait.
const LOOK: Duration = Duration::from_millis(200);

/// How a command's records are taken.
pub(crate) struct ExecOptions {
    pub(crate) command: Vec<OsString>,
    pub(crate) platform: String,
    /// Name of the run; the command's without.
    pub(crate) name: Option<String>,
    /// Labels of the records' source.
    pub(crate) labels: Vec<(String, String)>,
    /// Lines are auto_scheduler's.
    pub(crate) tenset: bool,
    /// The log that it writes, instead of its output.
    pub(crate) log: Option<PathBuf>,
    pub(crate) commit_every: Duration,
    pub(crate) commit_records: u64,
    /// Is set when the run is to end; the command hears the same signal.
    pub(crate) stop: Arc<AtomicBool>,
}

/// What became of a command and its records.
pub(crate) struct Executed {
    pub(crate) status: ExitStatus,
    pub(crate) report: Report,
}

/// Runs the command to its end.
///
/// # Errors
/// Where it cannot be started, and failures of the store.
pub(crate) fn exec(store: &Store, options: &ExecOptions, runtime: &Handle) -> Result<Executed> {
    let Some((program, arguments)) = options.command.split_first() else {
        return Err(Error::Argument {
            name: "command",
            reason: "no command".to_owned(),
        });
    };
    // Before anything is started.
    Labels::of_pairs(&options.labels)?;
    let name = Path::new(program).file_name().unwrap_or(program);
    let name = name.to_string_lossy();
    let stream = stream_name(options.name.as_deref().unwrap_or(&name));
    let (sender, lines) = channel();
    let ended = Arc::new(AtomicBool::new(false));
    let watched = options
        .log
        .as_ref()
        .map(|log| watch(log.clone(), sender.clone(), Arc::clone(&ended)));
    let started = Command::new(program)
        .args(arguments)
        .stdout(Stdio::piped())
        .spawn();
    let mut child = started.map_err(Error::io(PathBuf::from(program)))?;
    let (platform, labels) = (&options.platform, &options.labels);
    let begun = Sink::begin(store, &stream, platform, options.tenset, labels);
    let mut sink = runtime.block_on(begun).inspect_err(|_| {
        // Nobody would take what it says.
        let _ = child.kill();
    })?;
    let output = child.stdout.take().map(BufReader::new);
    let is_log = options.log.is_some();
    let talker = std::thread::spawn(move || {
        if let Some(output) = output {
            pass(output, is_log, &sender);
        }
    });
    let taken = take(
        &mut sink, options, &lines, &mut child, &ended, is_log, runtime,
    );
    let status = child.wait().map_err(Error::io(PathBuf::from(program)))?;
    ended.store(true, Ordering::Relaxed);
    // Both end with their input.
    let _ = talker.join();
    if let Some(watched) = watched {
        let _ = watched.join();
    }
    let rest = taken.and_then(|()| {
        lines
            .try_iter()
            .try_for_each(|line| runtime.block_on(sink.take(&line)))
    });
    let report = runtime.block_on(sink.finish())?;
    rest.map(|()| Executed { status, report })
}

/// Takes lines until the command has ended and all that it said is here.
fn take(
    sink: &mut Sink,
    options: &ExecOptions,
    lines: &Receiver<String>,
    child: &mut Child,
    ended: &AtomicBool,
    is_log: bool,
    runtime: &Handle,
) -> Result<()> {
    loop {
        match lines.recv_timeout(LOOK) {
            Ok(line) => runtime.block_on(sink.take(&line))?,
            Err(RecvTimeoutError::Disconnected) => return Ok(()),
            Err(RecvTimeoutError::Timeout) if is_log => {
                if child.try_wait().ok().flatten().is_some() {
                    ended.store(true, Ordering::Relaxed);
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
        let (pending, waited) = sink.pending();
        let due = pending >= options.commit_records || waited >= options.commit_every;
        if pending > 0 && (due || options.stop.load(Ordering::Relaxed)) {
            runtime.block_on(sink.commit())?;
        }
    }
}

/// Hands on the records in a command's output; the rest is for people.
fn pass(mut output: impl io::BufRead, is_log: bool, sender: &Sender<String>) {
    let mut bytes = Vec::new();
    while output
        .read_until(b'\n', &mut bytes)
        .is_ok_and(|count| count > 0)
    {
        let record = (!is_log).then(|| record(&bytes)).flatten();
        match record {
            Some(line) => {
                if sender.send(line).is_err() {
                    return;
                }
            }
            None => {
                let _ = io::stderr().lock().write_all(&bytes);
            }
        }
        bytes.clear();
    }
}

/// A line that may be a record, without its ending.
fn record(line: &[u8]) -> Option<String> {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let text = std::str::from_utf8(line).ok()?;
    text.starts_with('{').then(|| text.to_owned())
}

/// Follows a log from its present end on, until the command has ended.
fn watch(
    log: PathBuf,
    sender: Sender<String>,
    ended: Arc<AtomicBool>,
) -> std::thread::JoinHandle<()> {
    let mut at = std::fs::metadata(&log).map_or(0, |meta| meta.len());
    std::thread::spawn(move || {
        loop {
            // What was written before it ended is read after that.
            let last = ended.load(Ordering::Relaxed);
            if let Ok(mut file) = File::open(&log) {
                let length = file.metadata().map_or(at, |meta| meta.len());
                if length < at {
                    // Begun anew.
                    at = 0;
                }
                let mut bytes = Vec::new();
                let read = file
                    .seek(SeekFrom::Start(at))
                    .and_then(|_| file.read_to_end(&mut bytes));
                let whole = memchr::memrchr(b'\n', &bytes).map_or(0, |end| end + 1);
                let whole = if last { bytes.len() } else { whole };
                if read.is_ok() {
                    let lines = bytes
                        .get(..whole)
                        .unwrap_or(&[])
                        .split(|&byte| byte == b'\n');
                    for line in lines.filter_map(record) {
                        if sender.send(line).is_err() {
                            return;
                        }
                    }
                    at += whole as u64;
                }
            }
            if last {
                return;
            }
            std::thread::sleep(LOOK);
        }
    })
}
