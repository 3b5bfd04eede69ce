//! Messages between the processes: one JSON object per line.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::library::Toolkit;
pub(super) use crate::job::failed_outcome;
use crate::trial::{Outcome, Trial};

/// Request to the compiling process.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct CompileRequest {
    pub(super) trial: Trial,
    pub(super) toolkit: Toolkit,
    /// `sm_90`.
    pub(super) architecture: String,
    /// Output path of the CUBIN.
    pub(super) cubin: PathBuf,
    /// Whether to sandbox the process.
    pub(super) sandbox: bool,
}

/// Request to the worker.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct CudaJob {
    pub(super) trial: Trial,
    pub(super) cubin: PathBuf,
    /// File with the expected outputs, concatenated.
    pub(super) reference: Option<PathBuf>,
}

/// Reply of either process.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Reply {
    /// The worker has a context.
    Ready,
    /// The CUBIN was written.
    Compiled,
    /// Outcome of the trial.
    Done {
        outcome: Outcome,
        /// The context is corrupted, so the worker cannot run another job.
        last: bool,
    },
    /// A fault of the machine.
    Fault(String),
}
