//! What a worker says of itself.

use serde::{Deserialize, Serialize};

/// Where it says so: JSON.
pub(crate) const STATUS_PATH: &str = "/status";

/// A worker, as `tsql workers status` shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Status {
    /// Version of the program, with a mark of all that a plan refers to.
    pub version: String,
    /// The stores that it serves.
    pub stores: Vec<Served>,
    /// Parts of questions that run now.
    pub running: u64,
    /// Parts of questions since it began.
    pub taken: u64,
    /// Those that failed.
    pub failed: u64,
    /// Memory that joins, sorts and groups take now, in bytes.
    pub memory_bytes: u64,
    /// Memory that they may take, in bytes; `None` where there is no limit.
    pub memory_limit_bytes: Option<u64>,
    /// It finishes what runs, and takes nothing new.
    pub stopping: bool,
}

/// A store that a worker serves.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Served {
    /// As it was given to the worker.
    pub location: String,
    /// What tells it from all others, whatever it is called: the URL that plans name it by.
    pub id: String,
}
