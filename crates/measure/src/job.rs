//! Messages between the runner and a worker process: one job on standard input, one report per line on its
//! result pipe.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::compare::Tolerance;
use super::trial::{Argument, Outcome, Settings};

/// Input of a worker.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Job {
    pub(super) task: Task,
    pub(super) bounds: WorkerLimits,
    /// Path of the shared library; empty for a probe.
    pub(super) library: PathBuf,
    pub(super) arguments: Vec<Argument>,
    pub(super) settings: Settings,
    pub(super) seed: u64,
}

/// Task of a worker.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Task {
    /// Sets the limits and reports which of them are active.
    Probe,
    /// Calls the reference once and writes its outputs to this file, concatenated.
    Reference { outputs: PathBuf },
    /// Calls once, compares, times, compares again.
    Time { expected: Option<ExpectedOutputs> },
}

/// Outputs of the reference, and the tolerance.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct ExpectedOutputs {
    /// File with all written buffers, concatenated in the order of the arguments.
    pub(crate) outputs: PathBuf,
    pub(crate) tolerance: Tolerance,
}

/// Placement and limits of a worker.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct WorkerLimits {
    /// Process number of the parent; the worker ends with it.
    pub(super) parent: i32,
    /// Core to run on.
    pub(super) core: Option<usize>,
    /// Whether to reserve the core while timing.
    pub(super) realtime: bool,
    /// Whether to confine the kernel to `folder`, see `sandbox`.
    pub(super) sandbox: bool,
    pub(super) folder: PathBuf,
    /// Further readable paths.
    pub(super) readable: Vec<PathBuf>,
}

/// A message on the result pipe.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum WorkerReport {
    /// The worker has started; its active limits.
    Ready(Vec<String>),
    /// The next step, for the error message if the worker ends in it.
    Step(String),
    Done(Outcome),
    /// A fault of the machine.
    Fault(String),
}

/// Outcome of a failed kernel. `message` is `<kind>: <text>`.
pub(crate) fn failed_outcome(error_no: i16, message: impl Into<String>) -> Outcome {
    Outcome {
        error_no,
        error_message: Some(message.into()),
        ..Outcome::default()
    }
}
