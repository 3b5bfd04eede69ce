//! Ingestion of records from a running external program.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufReader, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use derive_setters::Setters;
use serde::{Serialize, Serializer};
use tokio::runtime::Handle;
use tsql_adapters::formats::StreamFormat;
use tsql_adapters::ingest_log::Labels;
use tsql_error::{Error, Result};
use tsql_measure::interrupt;
use tsql_store::Store;

use super::measure::run_blocking;
use super::record_sink::RecordSink;
use super::trial_run::stream_name;
use crate::ingest::Report;
use crate::label_setters::label_setters;
use crate::trials::resume_measured;

/// Polling interval of a log, and maximum delay of output.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// Options for ingesting a command's records.
#[derive(Clone, Debug, Setters)]
#[setters(strip_option)]
#[non_exhaustive]
pub struct ExecOptions {
    #[setters(skip)]
    pub(crate) command: Vec<OsString>,
    #[setters(skip)]
    pub(crate) platform: String,
    /// Sets the name of the run, which becomes part of its source's name. Defaults to the program's name.
    #[setters(into)]
    pub(crate) name: Option<String>,
    #[setters(skip)]
    pub(crate) labels: Vec<(String, String)>,
    /// Sets the format of lines: objects whose keys are columns, or auto_scheduler records.
    pub(crate) format: StreamFormat,
    /// Reads appended lines of this log instead of the command's output.
    #[setters(into)]
    pub(crate) log: Option<PathBuf>,
    /// Sets the commit interval. Defaults to 5 s.
    pub(crate) commit_every: Duration,
    /// Sets the number of records per commit. Defaults to 10,000.
    pub(crate) commit_records: u64,
    #[setters(skip)]
    pub(crate) environment: Vec<(OsString, OsString)>,
    /// Sets a stop flag. Once it is set, measured records are stored and the command receives SIGINT.
    pub(crate) stop: Arc<AtomicBool>,
    #[setters(skip)]
    pub(crate) interrupts_command: bool,
}

impl ExecOptions {
    /// `command` is a program with its arguments, `platform` that of the records.
    pub fn new(
        command: impl IntoIterator<Item = impl Into<OsString>>,
        platform: impl Into<String>,
    ) -> Self {
        Self {
            command: command.into_iter().map(Into::into).collect(),
            platform: platform.into(),
            name: None,
            labels: Vec::new(),
            format: StreamFormat::MEASURED,
            log: None,
            commit_every: Duration::from_secs(5),
            commit_records: 10_000,
            environment: Vec::new(),
            stop: Arc::default(),
            interrupts_command: true,
        }
    }

    label_setters! {
        /// Adds a label to the records' source.
    }

    /// Adds a variable to the environment of the command.
    pub fn environment(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.environment.push((name.into(), value.into()));
        self
    }

    /// Sends no SIGINT, because the command receives it from the terminal.
    pub fn without_interrupt(mut self) -> Self {
        self.interrupts_command = false;
        self
    }
}

/// Result of a command and its records.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Executed {
    /// Exit status. Serialized as the exit code, or null after a signal.
    #[serde(rename = "exit_code", serialize_with = "exit_code")]
    pub status: ExitStatus,
    /// Stream of the records, which is their source.
    pub stream: String,
    /// Ingest report of the records.
    pub stored: Report,
}

fn exit_code<S: Serializer>(status: &ExitStatus, to: S) -> std::result::Result<S::Ok, S::Error> {
    status.code().serialize(to)
}

/// Runs a program and appends its records as they appear in its output or in a log.
///
/// Output lines that begin with `{` are records; all others are written to standard error. If the
/// program fails, its records remain stored. Measurements of interrupted runs are stored first.
///
/// # Errors
/// If the program cannot be started, and failures of the store.
pub async fn measure_exec(store: &Store, options: &ExecOptions) -> Result<Executed> {
    resume_measured(store).await?;
    let (store, options) = (store.clone(), options.clone());
    run_blocking(move |runtime| run_command(&store, &options, runtime)).await
}

/// Runs the command until it ends.
fn run_command(store: &Store, options: &ExecOptions, runtime: &Handle) -> Result<Executed> {
    let Some((program, arguments)) = options.command.split_first() else {
        return Err(Error::Argument {
            name: "command",
            reason: "no command is given".to_owned(),
        });
    };
    // Checked before anything is started.
    let is_tenset = options.format == StreamFormat::TENSET;
    if !is_tenset && options.format != StreamFormat::MEASURED {
        let reason = format!(
            "records of a command must be lines in the format `measured` or `tenset`, found `{}`",
            options.format.name()
        );
        return Err(Error::Argument {
            name: "format",
            reason,
        });
    }
    Labels::from_pairs(&options.labels)?;
    let name = Path::new(program).file_name().unwrap_or(program);
    let name = name.to_string_lossy();
    let stream = stream_name(options.name.as_deref().unwrap_or(&name));
    let (sender, lines) = channel();
    let ended = Arc::new(AtomicBool::new(false));
    let watched = options
        .log
        .as_ref()
        .map(|log| follow_log(log.clone(), sender.clone(), Arc::clone(&ended)));
    let started = Command::new(program)
        .args(arguments)
        .envs(
            options
                .environment
                .iter()
                .map(|(name, value)| (name, value)),
        )
        .stdout(Stdio::piped())
        .spawn();
    let mut child = started.map_err(Error::io(PathBuf::from(program)))?;
    let (platform, labels) = (&options.platform, &options.labels);
    let begun = RecordSink::begin(store, &stream, platform, is_tenset, labels);
    let mut sink = runtime.block_on(begun).inspect_err(|_| {
        // The reader of its output is gone.
        let _ = child.kill();
    })?;
    let output = child.stdout.take().map(BufReader::new);
    let is_log = options.log.is_some();
    let talker = std::thread::spawn(move || {
        if let Some(output) = output {
            forward_output(output, is_log, &sender);
        }
    });
    let taken = receive_lines(
        &mut sink, options, &lines, &mut child, &ended, is_log, runtime,
    );
    let status = child.wait().map_err(Error::io(PathBuf::from(program)))?;
    ended.store(true, Ordering::Relaxed);
    // Both threads end with their input.
    let _ = talker.join();
    if let Some(watched) = watched {
        let _ = watched.join();
    }
    let rest = taken.and_then(|()| {
        lines
            .try_iter()
            .try_for_each(|line| runtime.block_on(sink.add_line(&line)))
    });
    let stored = runtime.block_on(sink.finish())?;
    rest.map(|()| Executed {
        status,
        stream,
        stored,
    })
}

/// Receives and commits lines until the command has ended and its output is complete.
fn receive_lines(
    sink: &mut RecordSink,
    options: &ExecOptions,
    lines: &Receiver<String>,
    child: &mut Child,
    ended: &AtomicBool,
    is_log: bool,
    runtime: &Handle,
) -> Result<()> {
    let mut is_interrupted = !options.interrupts_command;
    loop {
        let stops = options.stop.load(Ordering::Relaxed);
        if stops && !is_interrupted {
            interrupt(child);
            is_interrupted = true;
        }
        match lines.recv_timeout(POLL_INTERVAL) {
            Ok(line) => runtime.block_on(sink.add_line(&line))?,
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

/// Sends the records in a command's output to `sender` and writes other lines to standard error.
fn forward_output(mut output: impl io::BufRead, is_log: bool, sender: &Sender<String>) {
    let mut bytes = Vec::new();
    while output
        .read_until(b'\n', &mut bytes)
        .is_ok_and(|count| count > 0)
    {
        let record = (!is_log).then(|| parse_record(&bytes)).flatten();
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

/// Returns the line without its line ending if it can be a record.
fn parse_record(line: &[u8]) -> Option<String> {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let text = std::str::from_utf8(line).ok()?;
    text.starts_with('{').then(|| text.to_owned())
}

/// Follows a log from its current end until the command has ended.
fn follow_log(
    log: PathBuf,
    sender: Sender<String>,
    ended: Arc<AtomicBool>,
) -> std::thread::JoinHandle<()> {
    let mut at = std::fs::metadata(&log).map_or(0, |meta| meta.len());
    std::thread::spawn(move || {
        loop {
            // Read before the file, so that lines written before the end are included.
            let last = ended.load(Ordering::Relaxed);
            if let Ok(mut file) = File::open(&log) {
                let length = file.metadata().map_or(at, |meta| meta.len());
                if length < at {
                    // The log was truncated.
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
                    for line in lines.filter_map(parse_record) {
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
            std::thread::sleep(POLL_INTERVAL);
        }
    })
}
