//! What the end of a worker process says about the kernel in it.

use std::time::Duration;

use nix::sys::signal::Signal;

use super::job::{Report, failure};
use super::process::{End, Finished};
use super::trial::Outcome;

/// Exit codes of a worker that failed by itself: by a panic, or by an error outside of any kernel.
const PANICKED: i32 = 101;
pub(super) const BROKEN: i32 = 125;

/// Characters of a worker's last line on standard error that become part of a message.
const SAID_CHARACTERS: usize = 300;

/// What a worker came to.
#[derive(Debug, PartialEq)]
pub(super) enum Ending {
    /// What came of the kernel, and which limits held.
    Outcome(Outcome, Vec<String>),
    /// The machine is at fault, or the worker itself.
    Fault(String),
}

/// Reads the reports of a worker that has ended. `limit` is that of its wall time.
pub(super) fn ending(finished: &Finished, limit: Duration) -> Ending {
    let mut active = None;
    let mut step = String::new();
    let mut garbage = false;
    for line in finished.stdout.split(|byte| *byte == b'\n') {
        match serde_json::from_slice::<Report>(line) {
            Ok(Report::Ready(limits)) => active = Some(limits),
            Ok(Report::Step(next)) => step = next,
            Ok(Report::Done(outcome)) => {
                return Ending::Outcome(outcome, active.unwrap_or_default());
            }
            Ok(Report::Fault(fault)) => return Ending::Fault(fault),
            Err(_) => garbage |= !line.is_empty(),
        }
    }
    let said = finished
        .stderr
        .lines()
        .rfind(|line| !line.trim().is_empty());
    let said: String = said
        .unwrap_or_default()
        .trim()
        .chars()
        .take(SAID_CHARACTERS)
        .collect();
    let Some(active) = active else {
        return Ending::Fault(format!(
            "a worker cannot start ({:?}): {said}",
            finished.end
        ));
    };
    let outcome = if garbage {
        let stderr = finished.stderr.trim();
        failure(
            8,
            format!("unknown: the worker's reports were damaged {step}: {stderr}"),
        )
    } else {
        unfinished(finished.end, &step, &said, &finished.stderr, limit)
    };
    Ending::Outcome(outcome, active)
}

/// The outcome of a kernel whose process ended before its work did.
fn unfinished(end: End, step: &str, said: &str, stderr: &str, limit: Duration) -> Outcome {
    let because = if said.is_empty() {
        String::new()
    } else {
        format!(": {said}")
    };
    match end {
        End::TimedOut => {
            let seconds = limit.as_secs_f64();
            failure(7, format!("timeout: killed after {seconds} s {step}"))
        }
        End::Signalled(number) => {
            let signal = Signal::try_from(number);
            let name = signal.map_or("unknown", Signal::as_str);
            match signal {
                Ok(Signal::SIGXCPU) => failure(7, format!("timeout: out of processor time {step}")),
                // Nobody else kills a worker that is within its time.
                Ok(Signal::SIGKILL) => failure(4, format!("oom: killed by the system {step}")),
                _ if is_out_of_memory(stderr) => failure(4, format!("oom: {name} {step}{because}")),
                _ => failure(4, format!("signal:{number}: {name} {step}{because}")),
            }
        }
        End::Exited(BROKEN | PANICKED) => failure(
            8,
            format!("unknown: the worker failed {step}: {}", stderr.trim()),
        ),
        End::Exited(code) => failure(
            4,
            format!("exit:{code}: the kernel ended its process {step}{because}"),
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

    fn ended(end: End, stdout: &str, stderr: &str) -> Ending {
        let finished = Finished {
            end,
            stdout: stdout.into(),
            stderr: stderr.into(),
        };
        ending(&finished, Duration::from_secs(2))
    }

    fn failed(end: End, stderr: &str) -> (i16, String) {
        match ended(end, READY, stderr) {
            Ending::Outcome(outcome, _) => (outcome.error_no, outcome.error_message.unwrap()),
            Ending::Fault(fault) => panic!("{fault}"),
        }
    }

    #[test]
    fn every_end_has_its_error_number() {
        let expected = [
            (
                End::Signalled(11),
                "",
                4,
                "signal:11: SIGSEGV in the checked call",
            ),
            (
                End::Signalled(6),
                "x\nwhat(): std::bad_alloc\n",
                4,
                "oom: SIGABRT in the checked call: what(): std::bad_alloc",
            ),
            (
                End::Signalled(9),
                "",
                4,
                "oom: killed by the system in the checked call",
            ),
            (
                End::Signalled(24),
                "",
                7,
                "timeout: out of processor time in the checked call",
            ),
            (
                End::TimedOut,
                "",
                7,
                "timeout: killed after 2 s in the checked call",
            ),
            (
                End::Exited(0),
                "",
                4,
                "exit:0: the kernel ended its process in the checked call",
            ),
            (
                End::Exited(3),
                "oh\n",
                4,
                "exit:3: the kernel ended its process in the checked call: oh",
            ),
            (
                End::Exited(101),
                "panicked at x",
                8,
                "unknown: the worker failed in the checked call: panicked at x",
            ),
        ];
        for (end, stderr, error_no, message) in expected {
            assert_eq!(failed(end, stderr), (error_no, message.to_owned()));
        }
    }

    #[test]
    fn a_worker_that_never_became_ready_is_a_fault_of_the_machine() {
        let ending = ended(End::Exited(127), "", "libx.so: not found\n");
        assert_eq!(
            ending,
            Ending::Fault("a worker cannot start (Exited(127)): libx.so: not found".into())
        );
    }

    #[test]
    fn garbage_on_the_result_pipe_is_unknown() {
        let Ending::Outcome(outcome, _) = ended(End::Exited(0), &format!("{READY}%$&\n"), "e")
        else {
            panic!("not an outcome");
        };
        assert_eq!(outcome.error_no, 8);
    }

    #[test]
    fn a_finished_outcome_counts_however_the_process_ended() {
        let done = serde_json::to_string(&Report::Done(Outcome::default())).unwrap();
        let ending = ended(End::Signalled(11), &format!("{READY}{done}\n"), "");
        assert_eq!(
            ending,
            Ending::Outcome(Outcome::default(), vec!["rlimits".into()])
        );
    }
}
