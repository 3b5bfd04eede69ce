//! Counters and status of a worker, as JSON and for Prometheus.

use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use datafusion::execution::runtime_env::RuntimeEnv;
use tsql_cluster::{Status, StoreStatus};

/// Counters of a worker.
#[derive(Debug)]
pub(super) struct Counters {
    version: String,
    stores: Vec<StoreStatus>,
    runtime: Arc<RuntimeEnv>,
    memory_limit_bytes: Option<usize>,
    pub(super) started: AtomicU64,
    pub(super) failed: AtomicU64,
    pub(super) rejected: AtomicU64,
    pub(super) stopping: AtomicBool,
}

impl Counters {
    pub(super) fn new(
        version: String,
        stores: Vec<StoreStatus>,
        runtime: Arc<RuntimeEnv>,
        memory_limit_bytes: Option<usize>,
    ) -> Self {
        Self {
            version,
            stores,
            runtime,
            memory_limit_bytes,
            started: AtomicU64::new(0),
            failed: AtomicU64::new(0),
            rejected: AtomicU64::new(0),
            stopping: AtomicBool::new(false),
        }
    }

    pub(super) fn status(&self, running: usize) -> Status {
        Status {
            version: self.version.clone(),
            stores: self.stores.clone(),
            running: running as u64,
            started: self.started.load(Ordering::Relaxed),
            failed: self.failed.load(Ordering::Relaxed),
            memory_bytes: self.runtime.memory_pool.reserved() as u64,
            memory_limit_bytes: self.memory_limit_bytes.map(|bytes| bytes as u64),
            stopping: self.stopping.load(Ordering::Relaxed),
        }
    }

    /// Returns the metrics in the Prometheus text format.
    pub(super) fn prometheus_text(&self, running: usize) -> String {
        let status = self.status(running);
        let requests = tsql_store::traffic();
        let mut text = String::new();
        let mut say = |name: &str, kind: &str, help: &str, value: u64| {
            // Writing to a string cannot fail.
            let _ = write!(
                text,
                "# HELP tsql_worker_{name} {help}\n# TYPE tsql_worker_{name} {kind}\ntsql_worker_{name} {value}\n"
            );
        };
        say(
            "tasks_running",
            "gauge",
            "Running stage tasks.",
            status.running,
        );
        say(
            "tasks_total",
            "counter",
            "Accepted stage tasks.",
            status.started,
        );
        say(
            "tasks_failed_total",
            "counter",
            "Failed stage tasks.",
            status.failed,
        );
        let rejected = self.rejected.load(Ordering::Relaxed);
        say(
            "rejected_total",
            "counter",
            "Requests without a valid token.",
            rejected,
        );
        say(
            "memory_bytes",
            "gauge",
            "Memory of joins, sorts and groups.",
            status.memory_bytes,
        );
        if let Some(limit) = status.memory_limit_bytes {
            say(
                "memory_limit_bytes",
                "gauge",
                "Memory limit of joins, sorts and groups.",
                limit,
            );
        }
        say(
            "stopping",
            "gauge",
            "1 while no new stage tasks are accepted.",
            u64::from(status.stopping),
        );
        say(
            "store_requests_total",
            "counter",
            "Requests to object stores.",
            requests.get + requests.head + requests.list,
        );
        say(
            "store_read_bytes_total",
            "counter",
            "Bytes read from object stores.",
            requests.bytes_in,
        );
        text
    }
}
