//! Runs a command in its own process group, captures its output, and kills the group at a time limit.
//!
//! * When `run` returns, no process of the group is left, however the command ended.
//! * A pipe that an escaped process holds open does not block `run`.

use std::io::{self, Read};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::signal::{Signal, kill, killpg};
use nix::sys::wait::{Id, WaitPidFlag, waitid};
use nix::unistd::Pid;

use super::schedule;

/// Time to read the rest of a pipe after its process ended.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(1);

/// Bytes of standard error that are retained.
#[derive(Clone, Copy, Debug)]
pub(super) enum StderrLimit {
    First(usize),
    Last(usize),
}

/// Way in which a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ExitKind {
    Exited(i32),
    Signalled(i32),
    /// Killed at the time limit.
    TimedOut,
}

/// An exited command.
#[derive(Debug)]
pub(super) struct FinishedProcess {
    pub(super) end: ExitKind,
    pub(super) stdout: Vec<u8>,
    pub(super) stderr: String,
}

/// Maximum bytes of standard output that are retained.
const STDOUT_BYTES: usize = 64 << 20;

/// Runs `command`; an error means that it could not be started.
///
/// If the command reserves a core (`busy_core`), the watchdog avoids it.
pub(super) fn run(
    command: &mut Command,
    limit: Duration,
    keep: StderrLimit,
    busy_core: Option<usize>,
) -> io::Result<FinishedProcess> {
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.process_group(0).spawn()?;
    let group = i32::try_from(child.id()).map(Pid::from_raw);
    let group = group.map_err(io::Error::other)?;
    let stdout = child
        .stdout
        .take()
        .map(|pipe| read_pipe(pipe, StderrLimit::First(STDOUT_BYTES)));
    let stderr = child.stderr.take().map(|pipe| read_pipe(pipe, keep));
    let timed_out = Arc::new(AtomicBool::new(false));
    let (end_sender, end) = channel::<()>();
    let watchdog = {
        let timed_out = Arc::clone(&timed_out);
        thread::spawn(move || {
            schedule::become_watchdog(busy_core);
            if end.recv_timeout(limit) == Err(RecvTimeoutError::Timeout) {
                timed_out.store(true, Ordering::SeqCst);
                kill_group(group);
            }
        })
    };
    wait_for_exit(group);
    drop(end_sender);
    let _ = watchdog.join();
    // The first process is dead but not reaped, so its number, and the group's, is not reused.
    kill_group(group);
    let end = reap(&mut child, timed_out.load(Ordering::SeqCst))?;
    let stdout = stdout.map(PipeReader::finish).unwrap_or_default();
    let stderr = stderr.map(PipeReader::finish).unwrap_or_default();
    Ok(FinishedProcess {
        end,
        stdout,
        stderr: String::from_utf8_lossy(&stderr).into_owned(),
    })
}

fn wait_for_exit(process: Pid) {
    let flags = WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT;
    while waitid(Id::Pid(process), flags) == Err(Errno::EINTR) {}
}

/// Asks a process to stop, like Ctrl-C. The call fails if the process has exited, which is fine.
pub fn interrupt(process: &Child) {
    if let Ok(id) = i32::try_from(process.id()) {
        let _ = kill(Pid::from_raw(id), Signal::SIGINT);
    }
}

fn kill_group(group: Pid) {
    // The call fails if no process is left, which is fine.
    let _ = killpg(group, Signal::SIGKILL);
}

fn reap(child: &mut Child, timed_out: bool) -> io::Result<ExitKind> {
    let status = child.wait()?;
    Ok(match (status.code(), status.signal()) {
        (Some(code), _) => ExitKind::Exited(code),
        (None, Some(9)) if timed_out => ExitKind::TimedOut,
        (None, signal) => ExitKind::Signalled(signal.unwrap_or(0)),
    })
}

/// A pipe that a background thread reads to its end.
struct PipeReader {
    retained: Arc<Mutex<Vec<u8>>>,
    end: Receiver<()>,
}

impl PipeReader {
    fn finish(self) -> Vec<u8> {
        // Both results are fine: the end of the pipe, and the timeout.
        let _ = self.end.recv_timeout(DRAIN_TIMEOUT);
        let mut retained = self.retained.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut retained)
    }
}

fn read_pipe(mut pipe: impl Read + Send + 'static, keep: StderrLimit) -> PipeReader {
    let retained = Arc::new(Mutex::new(Vec::new()));
    let (end_sender, end) = channel::<()>();
    let shared = Arc::clone(&retained);
    thread::spawn(move || {
        let mut chunk = vec![0; 16 << 10];
        while let Ok(length @ 1..) = pipe.read(&mut chunk) {
            let mut retained = shared.lock().unwrap_or_else(PoisonError::into_inner);
            retained.extend_from_slice(chunk.get(..length).unwrap_or_default());
            match keep {
                StderrLimit::First(bytes) => retained.truncate(bytes),
                StderrLimit::Last(bytes) => {
                    let excess = retained.len().saturating_sub(bytes);
                    retained.drain(..excess);
                }
            }
        }
        drop(end_sender);
    });
    PipeReader { retained, end }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    fn shell(script: &str, limit_ms: u64, keep: StderrLimit) -> FinishedProcess {
        let mut command = Command::new("sh");
        command.arg("-c").arg(script);
        run(&mut command, Duration::from_millis(limit_ms), keep, None).unwrap()
    }

    #[test]
    fn exit_code_and_output_are_separate() {
        let finished = shell(
            "echo out; echo err >&2; exit 3",
            5000,
            StderrLimit::Last(100),
        );
        assert_eq!(finished.end, ExitKind::Exited(3));
        assert_eq!(finished.stdout, b"out\n");
        assert_eq!(finished.stderr, "err\n");
    }

    #[test]
    fn a_command_is_killed_at_the_limit_with_all_its_children() {
        let began = Instant::now();
        let finished = shell("sleep 77 & echo $!; sleep 77", 300, StderrLimit::Last(100));
        assert_eq!(finished.end, ExitKind::TimedOut);
        assert!(began.elapsed() < Duration::from_secs(3));
        assert_is_gone(&finished.stdout);
    }

    #[test]
    fn children_that_outlive_the_command_are_killed() {
        let began = Instant::now();
        let finished = shell("sleep 77 & echo $!", 5000, StderrLimit::Last(100));
        assert_eq!(finished.end, ExitKind::Exited(0));
        assert!(began.elapsed() < Duration::from_secs(3));
        assert_is_gone(&finished.stdout);
    }

    #[test]
    fn a_signal_is_not_an_exit_code() {
        let finished = shell("kill -SEGV $$", 5000, StderrLimit::Last(100));
        assert_eq!(finished.end, ExitKind::Signalled(11));
    }

    #[test]
    fn the_end_of_a_long_standard_error_is_returned() {
        let script = "head -c 100000 /dev/zero | tr '\\0' a >&2; echo end >&2";
        let last = shell(script, 5000, StderrLimit::Last(8)).stderr;
        assert_eq!(last, "aaaaend\n");
        let first = shell(script, 5000, StderrLimit::First(8)).stderr;
        assert_eq!(first, "aaaaaaaa");
    }

    #[test]
    fn a_missing_program_cannot_be_started() {
        let mut command = Command::new("/nonexistent/program");
        assert!(run(&mut command, DRAIN_TIMEOUT, StderrLimit::Last(1), None).is_err());
    }

    /// Asserts that the process whose number was printed has ended (it may not be reaped yet).
    fn assert_is_gone(stdout: &[u8]) {
        let number = String::from_utf8(stdout.to_vec()).unwrap();
        for _ in 0..50 {
            let stat = std::fs::read_to_string(format!("/proc/{}/stat", number.trim()));
            if stat.map_or(true, |stat| stat.contains(") Z ")) {
                return;
            }
            thread::sleep(Duration::from_millis(20));
        }
        panic!("process {number} still runs");
    }
}
