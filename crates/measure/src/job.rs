//! What passes between the runner and a worker process: one job on its standard input,
//! a line for each step on its result pipe.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::compare::Tolerance;
use super::trial::{Argument, Outcome, Settings};

/// All that a worker needs to know.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Job {
    pub(super) task: Task,
    pub(super) bounds: Bounds,
    /// The shared library; empty for a probe.
    pub(super) library: PathBuf,
    pub(super) arguments: Vec<Argument>,
    pub(super) settings: Settings,
    pub(super) seed: u64,
}

/// What a worker does.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Task {
    /// Only sets its limits and says which of them hold.
    Probe,
    /// Calls once and writes all outputs to this file, one after the other.
    Reference { outputs: PathBuf },
    /// Calls once, compares, times, compares again.
    Time { expected: Option<Expected> },
}

/// Outputs of the reference and how close the kernel's must come.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Expected {
    /// The buffers that are written, in the order of the arguments, one after the other.
    pub(crate) outputs: PathBuf,
    pub(crate) tolerance: Tolerance,
}

/// Where and within which limits a worker runs.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Bounds {
    /// Process that started it, whose death ends it.
    pub(super) parent: i32,
    /// Core to run on.
    pub(super) core: Option<usize>,
    /// Take the core from everybody else while timing.
    pub(super) realtime: bool,
    /// Confine the kernel to `folder`, see `sandbox`.
    pub(super) sandbox: bool,
    pub(super) folder: PathBuf,
    /// What may be read besides.
    pub(super) readable: Vec<PathBuf>,
}

/// A line on the result pipe.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Report {
    /// The worker has started; what holds from now on.
    Ready(Vec<String>),
    /// What it does next, for the message if it ends there.
    Step(String),
    Done(Outcome),
    /// The machine is at fault, not the kernel.
    Fault(String),
}

/// The outcome of a kernel that failed: `message` is `<kind>: <what was said>`.
pub(crate) fn failure(error_no: i16, message: impl Into<String>) -> Outcome {
    Outcome {
        error_no,
        error_message: Some(message.into()),
        ..Outcome::default()
    }
}
