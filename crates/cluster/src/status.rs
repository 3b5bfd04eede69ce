//! Status of a worker.

use serde::{Deserialize, Serialize};

/// HTTP path of the status, in JSON.
pub const STATUS_PATH: &str = "/status";

/// Status of a worker, as shown by `tsql worker status`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Status {
    /// Version of the program, with a hash of everything that a plan refers to.
    pub version: String,
    /// Served stores.
    pub stores: Vec<StoreStatus>,
    /// Number of running stage tasks.
    pub running: u64,
    /// Number of stage tasks since the worker started.
    #[serde(alias = "taken")]
    pub started: u64,
    /// Number of failed stage tasks.
    pub failed: u64,
    /// Memory that joins, sorts and aggregates currently use, in bytes.
    pub memory_bytes: u64,
    /// Memory limit in bytes; `None` if there is no limit.
    pub memory_limit_bytes: Option<u64>,
    /// True if the worker finishes running tasks and accepts no new ones.
    pub stopping: bool,
}

/// A store that a worker serves.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoreStatus {
    /// Location as passed to the worker.
    pub location: String,
    /// Identity of the store, independent of its location: the URL of the store in plans.
    pub id: String,
}
