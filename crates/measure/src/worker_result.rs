//! Result of a kernel, derived from the output and exit of its worker process.

use std::time::Duration;

use nix::sys::signal::Signal;

use super::job::{WorkerReport, failed_outcome};
use super::process::{ExitKind, FinishedProcess};
use super::trial::Outcome;

/// Exit codes of a worker that failed itself: after a panic, and after an error outside of any kernel.
const PANIC_EXIT_CODE: i32 = 101;
pub(super) const FAULT_EXIT_CODE: i32 = 125;

/// Maximum characters of a worker's last line on standard error in a message.
const MAX_MESSAGE_CHARACTERS: usize = 300;

/// Result of a worker process.
#[derive(Debug, PartialEq)]
pub(super) enum WorkerResult {
    /// Outcome of the kernel, and the limits that were active.
    Outcome(Outcome, Vec<String>),
    /// A fault of the machine or of the worker itself.
    Fault(String),
}

/// Parses the reports of an exited worker. `limit` is its wall time limit.
pub(super) fn parse_reports(finished: &FinishedProcess, limit: Duration) -> WorkerResult {
    let mut active = None;
    let mut step = String::new();
    let mut garbage = false;
    for line in finished.stdout.split(|byte| *byte == b'\n') {
        match serde_json::from_slice::<WorkerReport>(line) {
            Ok(WorkerReport::Ready(limits)) => active = Some(limits),
            Ok(WorkerReport::Step(next)) => step = next,
            Ok(WorkerReport::Done(outcome)) => {
                return WorkerResult::Outcome(outcome, active.unwrap_or_default());
            }
            Ok(WorkerReport::Fault(fault)) => return WorkerResult::Fault(fault),
            Err(_) => garbage |= !line.is_empty(),
        }
    }
    let last_line = finished
        .stderr
        .lines()
        .rfind(|line| !line.trim().is_empty());
    let last_line: String = last_line
        .unwrap_or_default()
        .trim()
        .chars()
        .take(MAX_MESSAGE_CHARACTERS)
        .collect();
    let Some(active) = active else {
        return WorkerResult::Fault(format!(
            "a worker cannot start ({:?}): {last_line}",
            finished.end
        ));
    };
    let outcome = if garbage {
        let stderr = finished.stderr.trim();
        failed_outcome(
            8,
            format!("unknown: the worker's reports were damaged {step}: {stderr}"),
        )
    } else {
        early_exit_outcome(finished.end, &step, &last_line, &finished.stderr, limit)
    };
    WorkerResult::Outcome(outcome, active)
}

/// Outcome of a kernel whose process ended before completing its job.
fn early_exit_outcome(
    end: ExitKind,
    step: &str,
    last_line: &str,
    stderr: &str,
    limit: Duration,
) -> Outcome {
    let suffix = if last_line.is_empty() {
        String::new()
    } else {
        format!(": {last_line}")
    };
    match end {
        ExitKind::TimedOut => {
            let seconds = limit.as_secs_f64();
            failed_outcome(7, format!("timeout: killed after {seconds} s {step}"))
        }
        ExitKind::Signalled(number) => {
            let signal = Signal::try_from(number);
            let name = signal.map_or("unknown", Signal::as_str);
            match signal {
                Ok(Signal::SIGXCPU) => {
                    failed_outcome(7, format!("timeout: out of processor time {step}"))
                }
                // Within its time, only the system kills a worker.
                Ok(Signal::SIGKILL) => {
                    failed_outcome(4, format!("oom: killed by the system {step}"))
                }
                _ if is_out_of_memory(stderr) => {
                    failed_outcome(4, format!("oom: {name} {step}{suffix}"))
                }
                _ => failed_outcome(4, format!("signal:{number}: {name} {step}{suffix}")),
            }
        }
        ExitKind::Exited(FAULT_EXIT_CODE | PANIC_EXIT_CODE) => failed_outcome(
            8,
            format!("unknown: the worker failed {step}: {}", stderr.trim()),
        ),
        ExitKind::Exited(code) => failed_outcome(
            4,
            format!("exit:{code}: the kernel ended its process {step}{suffix}"),
        ),
    }
}

fn is_out_of_memory(stderr: &str) -> bool {
    let signs = [
        "bad_alloc",
        "out of memory",
        "Out of memory",
        "Cannot allocate memory",
    ];
    signs.iter().any(|sign| stderr.contains(sign))
}

#[cfg(test)]
mod tests {
    use super::*;

    const READY: &str = "{\"ready\":[\"rlimits\"]}\n{\"step\":\"in the checked call\"}\n";

    fn parse_output(end: ExitKind, stdout: &str, stderr: &str) -> WorkerResult {
        let finished = FinishedProcess {
            end,
            stdout: stdout.into(),
            stderr: stderr.into(),
        };
        parse_reports(&finished, Duration::from_secs(2))
    }

    fn parse_failure(end: ExitKind, stderr: &str) -> (i16, String) {
        match parse_output(end, READY, stderr) {
            WorkerResult::Outcome(outcome, _) => (outcome.error_no, outcome.error_message.unwrap()),
            WorkerResult::Fault(fault) => panic!("{fault}"),
        }
    }

    #[test]
    fn every_end_has_its_error_number() {
        let expected = [
            (
                ExitKind::Signalled(11),
                "",
                4,
                "signal:11: SIGSEGV in the checked call",
            ),
            (
                ExitKind::Signalled(6),
                "x\nwhat(): std::bad_alloc\n",
                4,
                "oom: SIGABRT in the checked call: what(): std::bad_alloc",
            ),
            (
                ExitKind::Signalled(9),
                "",
                4,
                "oom: killed by the system in the checked call",
            ),
            (
                ExitKind::Signalled(24),
                "",
                7,
                "timeout: out of processor time in the checked call",
            ),
            (
                ExitKind::TimedOut,
                "",
                7,
                "timeout: killed after 2 s in the checked call",
            ),
            (
                ExitKind::Exited(0),
                "",
                4,
                "exit:0: the kernel ended its process in the checked call",
            ),
            (
                ExitKind::Exited(3),
                "oh\n",
                4,
                "exit:3: the kernel ended its process in the checked call: oh",
            ),
            (
                ExitKind::Exited(101),
                "panicked at x",
                8,
                "unknown: the worker failed in the checked call: panicked at x",
            ),
        ];
        for (end, stderr, error_no, message) in expected {
            assert_eq!(parse_failure(end, stderr), (error_no, message.to_owned()));
        }
    }

    #[test]
    fn a_worker_that_never_became_ready_is_a_fault_of_the_machine() {
        let ending = parse_output(ExitKind::Exited(127), "", "libx.so: not found\n");
        assert_eq!(
            ending,
            WorkerResult::Fault("a worker cannot start (Exited(127)): libx.so: not found".into())
        );
    }

    #[test]
    fn garbage_on_the_result_pipe_is_unknown() {
        let WorkerResult::Outcome(outcome, _) =
            parse_output(ExitKind::Exited(0), &format!("{READY}%$&\n"), "e")
        else {
            panic!("not an outcome");
        };
        assert_eq!(outcome.error_no, 8);
    }

    #[test]
    fn a_finished_outcome_counts_however_the_process_ended() {
        let done = serde_json::to_string(&WorkerReport::Done(Outcome::default())).unwrap();
        let ending = parse_output(ExitKind::Signalled(11), &format!("{READY}{done}\n"), "");
        assert_eq!(
            ending,
            WorkerResult::Outcome(Outcome::default(), vec!["rlimits".into()])
        );
    }
}
