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

use serde::{Serialize, Serializer};
use tokio::runtime::Handle;
use tsql_measure::interrupt;

use super::measure::aside;
use super::run::stream_name;
use super::sink::Sink;
use crate::error::{Error, Result};
use crate::formats::StreamFormat;
use crate::ingest::Report;
use crate::ledger::Labels;
use crate::store::Store;

/// How often a log is looked at, and how long output may wait.
const LOOK: Duration = Duration::from_millis(200);

/// How a command's records are taken.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ExecOptions {
    pub(crate) command: Vec<OsString>,
    pub(crate) platform: String,
    pub(crate) name: Option<String>,
    pub(crate) labels: Vec<(String, String)>,
    pub(crate) format: StreamFormat,
    pub(crate) log: Option<PathBuf>,
    pub(crate) commit_every: Duration,
    pub(crate) commit_records: u64,
    pub(crate) stop: Arc<AtomicBool>,
    pub(crate) is_told_to_stop: bool,
}

impl ExecOptions {
    /// A program with its arguments, and the platform of the records.
    pub fn new(
        command: impl IntoIterator<Item = impl Into<OsString>>,
        platform: impl Into<String>,
    ) -> Self {
        Self {
            command: command.into_iter().map(Into::into).collect(),
            platform: platform.into(),
            name: None,
            labels: Vec::new(),
            format: StreamFormat::Measured,
            log: None,
            commit_every: Duration::from_secs(5),
            commit_records: 10_000,
            stop: Arc::default(),
            is_told_to_stop: true,
        }
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

    /// What its lines look like: objects whose keys are columns, or auto_scheduler's.
    #[must_use]
    pub fn format(mut self, format: StreamFormat) -> Self {
        self.format = format;
        self
    }

    /// The log that it writes, which is taken instead of its output: what is added from now on.
    #[must_use]
    pub fn log(mut self, log: impl Into<PathBuf>) -> Self {
        self.log = Some(log.into());
        self
    }

    /// Time after which records are stored; 5 s.
    #[must_use]
    pub fn commit_every(mut self, time: Duration) -> Self {
        self.commit_every = time;
        self
    }

    /// Records after which they are stored; 10,000.
    #[must_use]
    pub fn commit_records(mut self, records: u64) -> Self {
        self.commit_records = records;
        self
    }

    /// Once set, what was measured is stored, and the command is told to stop (SIGINT).
    #[must_use]
    pub fn stop(mut self, stop: Arc<AtomicBool>) -> Self {
        self.stop = stop;
        self
    }

    /// The command hears of the end by itself, as from a terminal.
    pub(crate) fn stops_by_itself(mut self) -> Self {
        self.is_told_to_stop = false;
        self
    }
}

/// What became of a command and its records.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Executed {
    /// How it ended; as JSON its code, which one that a signal ended does not have.
    #[serde(rename = "exit_code", serialize_with = "exit_code")]
    pub status: ExitStatus,
    /// The stream that its records are in, which is their source.
    pub stream: String,
    /// What they brought to the store.
    pub stored: Report,
}

fn exit_code<S: Serializer>(status: &ExitStatus, to: S) -> std::result::Result<S::Ok, S::Error> {
    status.code().serialize(to)
}

impl Store {
    /// Runs a program and appends the records that it prints, or writes to a log, as they appear. Lines of its output that
    /// begin with `{` are records; all others go to standard error.
    ///
    /// Where the program fails, the records that it gave stay. What runs that were killed had left is stored first.
    ///
    /// # Errors
    /// Where it cannot be started, and failures of the store.
    pub async fn measure_exec(&self, options: &ExecOptions) -> Result<Executed> {
        self.resume_measured().await?;
        let (store, options) = (self.clone(), options.clone());
        aside(move |runtime| exec(&store, &options, runtime)).await
    }
}

/// Runs the command to its end.
fn exec(store: &Store, options: &ExecOptions, runtime: &Handle) -> Result<Executed> {
    let Some((program, arguments)) = options.command.split_first() else {
        return Err(Error::Argument {
            name: "command",
            reason: "no command".to_owned(),
        });
    };
    // Before anything is started.
    let is_tenset = match options.format {
        StreamFormat::Tenset => true,
        StreamFormat::Measured => false,
        other => {
            let reason = format!(
                "records of a command are lines of `measured` or `tenset`, not of `{}`",
                other.name()
            );
            return Err(Error::Argument {
                name: "format",
                reason,
            });
        }
    };
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
    let begun = Sink::begin(store, &stream, platform, is_tenset, labels);
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
    let stored = runtime.block_on(sink.finish())?;
    rest.map(|()| Executed {
        status,
        stream,
        stored,
    })
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
    let mut told = !options.is_told_to_stop;
    loop {
        let stops = options.stop.load(Ordering::Relaxed);
        if stops && !told {
            interrupt(child);
            told = true;
        }
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
        if pending > 0 && (due || stops) {
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
