//! Client side of a helper process of this program. It receives one request per line on standard input,
//! replies with one line each, and can be killed at any time.

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use serde::Serialize;

use super::job::Reply;
use crate::environment::{self, ProcessKind};
use crate::error::{Error, Result};

/// Bytes of standard error that are retained, from its end.
const TAIL_BYTES: usize = 4096;

/// Time for a process to exit after it closed its output.
const EXIT_WAIT: Duration = Duration::from_secs(2);

/// Result of waiting for a reply.
pub(super) enum Received {
    Reply(Reply),
    TimedOut,
    /// The process ended without a reply.
    Ended,
}

/// A helper process, killed on drop.
pub(super) struct Child {
    process: std::process::Child,
    stdin: ChildStdin,
    replies: Receiver<Reply>,
    stderr_tail: Option<JoinHandle<Vec<u8>>>,
}

impl Child {
    /// Starts `command` with the additional arguments `mode`.
    pub(super) fn start(command: &[OsString], mode: &[&str]) -> Result<Self> {
        let (program, arguments) = command
            .split_first()
            .ok_or_else(|| Error::Worker("no program to start as a worker".to_owned()))?;
        let mut command = Command::new(program);
        environment::set_environment(&mut command, ProcessKind::Cuda);
        let mut process = command
            .args(arguments)
            .args(mode)
            // Ctrl-C at the terminal goes only to the parent, which lets the running job finish.
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(Error::io(program))?;
        let (Some(stdin), Some(stdout), Some(stderr)) = (
            process.stdin.take(),
            process.stdout.take(),
            process.stderr.take(),
        ) else {
            return Err(Error::Worker("a worker has no pipes".to_owned()));
        };
        let (sender, replies) = mpsc::channel();
        thread::spawn(move || {
            for line in BufReader::new(stdout).split(b'\n').map_while(Result::ok) {
                // Lines that are not JSON are other output.
                if let Ok(reply) = serde_json::from_slice(&line)
                    && sender.send(reply).is_err()
                {
                    return;
                }
            }
        });
        let stderr_tail = thread::spawn(move || read_tail(stderr));
        Ok(Self {
            process,
            stdin,
            replies,
            stderr_tail: Some(stderr_tail),
        })
    }

    /// Sends a request; fails if the process has exited.
    pub(super) fn send(&mut self, request: &impl Serialize) -> std::io::Result<()> {
        let mut line = serde_json::to_vec(request)?;
        line.push(b'\n');
        self.stdin.write_all(&line)?;
        self.stdin.flush()
    }

    /// Waits for the next reply.
    pub(super) fn receive(&self, limit: Duration) -> Received {
        match self.replies.recv_timeout(limit) {
            Ok(reply) => Received::Reply(reply),
            Err(RecvTimeoutError::Timeout) => Received::TimedOut,
            Err(RecvTimeoutError::Disconnected) => Received::Ended,
        }
    }

    /// Ends the process, if necessary, and describes how it ended: `signal:11: <last line of standard
    /// error>`.
    pub(super) fn describe_exit(mut self) -> String {
        let status = self.wait_for_status(EXIT_WAIT);
        let _ = self.process.kill();
        let status = status.or_else(|| self.process.wait().ok());
        let stderr_tail = self
            .stderr_tail
            .take()
            .and_then(|stderr_tail| stderr_tail.join().ok());
        let stderr_tail = stderr_tail.unwrap_or_default();
        let stderr_tail = String::from_utf8_lossy(&stderr_tail);
        let mut lines = stderr_tail.lines().map(str::trim);
        let last = lines.rfind(|line| !line.is_empty()).unwrap_or_default();
        let exit = match status {
            Some(status) => match (status.signal(), status.code()) {
                (Some(signal), _) => format!("signal:{signal}"),
                (None, code) => format!("exit:{}", code.unwrap_or_default()),
            },
            None => "gone".to_owned(),
        };
        if last.is_empty() {
            exit
        } else {
            format!("{exit}: {last}")
        }
    }

    fn wait_for_status(&mut self, limit: Duration) -> Option<ExitStatus> {
        let started = Instant::now();
        loop {
            match self.process.try_wait() {
                Ok(None) if started.elapsed() < limit => thread::sleep(Duration::from_millis(5)),
                Ok(status) => return status,
                Err(_) => return None,
            }
        }
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        // Both calls fail if the process has exited.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Reads to the end and returns the last bytes.
fn read_tail(mut from: impl Read) -> Vec<u8> {
    let (mut tail, mut chunk) = (Vec::new(), [0; TAIL_BYTES]);
    while let Ok(count @ 1..) = from.read(&mut chunk) {
        tail.extend(chunk.iter().take(count));
        let surplus = tail.len().saturating_sub(TAIL_BYTES);
        tail.drain(..surplus);
    }
    tail
}
