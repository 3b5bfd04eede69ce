//! Workers of a session: available workers, lost workers, and decisions.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use datafusion::common::{DataFusionError, Result};
use datafusion_distributed::{Stage, WorkerResolver};
use url::Url;

use super::connections::Connections;
use super::status::Status;
use super::worker_errors::lost_worker;
use super::workers::Workers;

/// Validity of a worker's status.
const STATUS_TTL: Duration = Duration::from_secs(5);

/// Pause before a lost worker is used again, even if it reports that it is running.
const LOST_WORKER_PAUSE: Duration = Duration::from_secs(60);

/// Maximum number of stored decisions.
const MAX_DECISIONS: usize = 1000;

/// The workers of a session.
pub(super) struct Cluster {
    workers: Workers,
    connections: Connections,
    version: String,
    least_rows: f64,
    /// URL of the session's store.
    store: String,
    found: Mutex<AvailableWorkers>,
    /// Decisions that were not reported yet.
    decided: Mutex<VecDeque<Decision>>,
}

/// A decision about a query or a worker.
#[derive(Clone, Debug)]
pub struct Decision {
    /// The place at which the query ran and the reason, or the reason for which a worker is not used.
    pub text: String,
    /// Whether a worker that was asked for is not used.
    pub is_failure: bool,
}

/// Workers that can run queries.
#[derive(Default)]
struct AvailableWorkers {
    at: Option<Instant>,
    ready: Vec<Url>,
    /// Reason for which the first responding worker cannot be used, with its URL.
    unusable: Option<String>,
    lost: BTreeMap<Url, Instant>,
}

impl fmt::Debug for Cluster {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Cluster")
            .field("workers", &self.workers)
            .finish_non_exhaustive()
    }
}

impl Cluster {
    pub(super) fn new(workers: &Workers, store: &str, version: String) -> Self {
        Self {
            workers: workers.clone(),
            connections: workers.connections(),
            version,
            least_rows: workers.min_rows(),
            store: store.to_owned(),
            found: Mutex::default(),
            decided: Mutex::default(),
        }
    }

    pub(super) fn connections(&self) -> &Connections {
        &self.connections
    }

    /// Estimated number of scanned rows from which a query is distributed.
    pub(super) fn least_rows(&self) -> f64 {
        self.least_rows
    }

    /// Refreshes the status of all workers unless it is recent; returns the number of usable workers.
    pub(super) async fn refresh_workers(&self) -> Result<usize> {
        {
            let found = self.lock_workers();
            if found.at.is_some_and(|at| at.elapsed() < STATUS_TTL) {
                return Ok(found.ready.len());
            }
        }
        let answers = self.workers.query_status(&self.connections).await;
        let answers = answers.map_err(|error| DataFusionError::External(error.into()))?;
        let (mut ready, mut unusable) = (Vec::new(), None);
        for (url, answer) in answers {
            let (reason, is_lost) = match answer {
                Err(error) => (error.message().into_owned(), lost_worker(&error).is_some()),
                Ok(status) => match self.rejection_reason(&status) {
                    Some(reason) => (format!("{url}: {reason}"), false),
                    None => {
                        ready.push(url);
                        continue;
                    }
                },
            };
            self.record_failure(&format!("{url} is not used: {reason}"));
            if !is_lost && unusable.is_none() {
                // The hint is in the first decision.
                unusable = reason.lines().next().map(str::to_owned);
            }
        }
        let mut found = self.lock_workers();
        found.lost.retain(|_, at| at.elapsed() < LOST_WORKER_PAUSE);
        ready.retain(|url| !found.lost.contains_key(url));
        found.ready = ready;
        found.unusable = unusable;
        found.at = Some(Instant::now());
        Ok(found.ready.len())
    }

    /// Returns why no worker can be used, as of the last refresh.
    pub(super) fn unusable_reason(&self) -> String {
        let found = self.lock_workers();
        let reason = found.unusable.as_deref();
        reason.map_or_else(
            || "no worker responds".to_owned(),
            |reason| format!("no worker can be used: {reason}"),
        )
    }

    /// Returns why a worker cannot be used.
    fn rejection_reason(&self, status: &Status) -> Option<String> {
        if status.version != self.version {
            let (its, own) = (&status.version, &self.version);
            return Some(format!("it has version {its}, expected {own}"));
        }
        if status.stopping {
            return Some("it is stopping".to_owned());
        }
        let serves = status.stores.iter().any(|store| store.id == self.store);
        (!serves).then(|| "it does not serve this store".to_owned())
    }

    /// Excludes a worker for a while.
    pub(super) fn mark_lost(&self, worker: &Url) {
        let mut found = self.lock_workers();
        found.ready.retain(|url| url != worker);
        found.lost.insert(worker.clone(), Instant::now());
        drop(found);
        self.record_failure(&format!("{worker} was lost"));
    }

    fn lock_workers(&self) -> std::sync::MutexGuard<'_, AvailableWorkers> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn record_sent(&self, stages: &[Stage]) {
        let tasks: usize = stages.iter().map(Stage::task_count).sum();
        let workers = self.lock_workers().ready.len();
        let [workers, tasks, stages] = [
            (workers, "worker"),
            (tasks, "task"),
            (stages.len(), "stage"),
        ]
        .map(|(count, what)| format!("{count} {what}{}", if count == 1 { "" } else { "s" }));
        self.record_decision(&format!("sent to {workers}: {tasks} in {stages}"));
    }

    pub(super) fn record_local(&self, reason: &str) {
        self.record_decision(&format!("ran here: {reason}"));
    }

    /// Records that a query ran here because workers cannot be used.
    pub(super) fn record_local_failure(&self, reason: &str) {
        self.record_failure(&format!("ran here: {reason}"));
    }

    pub(super) fn record_decision(&self, what: &str) {
        self.record(what, false);
    }

    fn record_failure(&self, what: &str) {
        self.record(what, true);
    }

    fn record(&self, what: &str, is_failure: bool) {
        let mut decided = self.decided.lock().unwrap_or_else(PoisonError::into_inner);
        if decided.len() == MAX_DECISIONS {
            decided.pop_front();
        }
        decided.push_back(Decision {
            text: what.to_owned(),
            is_failure,
        });
    }

    pub(super) fn decisions(&self) -> Vec<Decision> {
        let mut decided = self.decided.lock().unwrap_or_else(PoisonError::into_inner);
        decided.drain(..).collect()
    }
}

/// Resolver of the usable workers, for the engine.
pub(super) struct ReadyWorkers(pub(super) Arc<Cluster>);

impl WorkerResolver for ReadyWorkers {
    fn get_urls(&self) -> Result<Vec<Url>> {
        let mut ready = self.0.lock_workers().ready.clone();
        if let [only] = ready.as_slice() {
            // The engine does not move a stage of one task.
            ready.push(only.clone());
        }
        Ok(ready)
    }
}
