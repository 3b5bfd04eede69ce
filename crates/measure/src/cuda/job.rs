//! What the processes say to each other: one JSON object a line.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::library::Toolkit;
pub(super) use crate::job::failure;
use crate::trial::{Outcome, Trial};

/// To the compiling process.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Order {
    pub(super) trial: Trial,
    pub(super) toolkit: Toolkit,
    /// `sm_90`.
    pub(super) architecture: String,
    /// Where the CUBIN goes.
    pub(super) cubin: PathBuf,
    /// Confine the process.
    pub(super) sandbox: bool,
}

/// To the worker.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Job {
    pub(super) trial: Trial,
    pub(super) cubin: PathBuf,
    /// A file with the right outputs, one after the other.
    pub(super) reference: Option<PathBuf>,
}

/// From both.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Reply {
    /// The worker has a context.
    Ready,
    /// The CUBIN is where it was ordered.
    Compiled,
    /// What came of the trial.
    Done {
        outcome: Outcome,
        /// The context is spoilt: no job after this one can be done.
        last: bool,
    },
    /// The machine failed, not the kernel.
    Fault(String),
}
