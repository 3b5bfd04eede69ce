//! The workers of a session: who is there, who was lost, and what was decided.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use datafusion::common::{DataFusionError, Result};
use datafusion_distributed::{Stage, WorkerResolver};
use url::Url;

use super::connections::Connections;
use super::status::Status;
use super::workers::Workers;

/// How long what workers said of themselves is believed.
const BELIEVED: Duration = Duration::from_secs(5);

/// How long a worker that was lost is not asked, even where it says that it is there.
const RESTS: Duration = Duration::from_secs(60);

/// Decisions that are kept for whoever wants to hear them.
const KEPT: usize = 1000;

/// The workers of a session.
pub(super) struct Cluster {
    workers: Workers,
    connections: Connections,
    version: String,
    least_rows: f64,
    /// URL of the session's store.
    store: String,
    found: Mutex<Found>,
    /// What was decided, to be told.
    decided: Mutex<VecDeque<String>>,
}

/// Workers that can be asked.
#[derive(Default)]
struct Found {
    at: Option<Instant>,
    ready: Vec<Url>,
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
            least_rows: workers.rows(),
            store: store.to_owned(),
            found: Mutex::default(),
            decided: Mutex::default(),
        }
    }

    pub(super) fn connections(&self) -> &Connections {
        &self.connections
    }

    /// Rows that a question must be expected to read to be sent.
    pub(super) fn least_rows(&self) -> f64 {
        self.least_rows
    }

    /// Asks the workers who they are, unless that was done just now; how many can be asked.
    pub(super) async fn find(&self) -> Result<usize> {
        {
            let found = self.found();
            if found.at.is_some_and(|at| at.elapsed() < BELIEVED) {
                return Ok(found.ready.len());
            }
        }
        let answers = self.workers.ask(&self.connections).await;
        let answers = answers.map_err(|error| DataFusionError::External(error.into()))?;
        let mut ready = Vec::new();
        for (url, answer) in answers {
            match answer {
                Err(reason) => self.told(&format!("{url} is left out: {reason}")),
                Ok(status) => match self.unfit(&status) {
                    Some(reason) => self.told(&format!("{url} is left out: {reason}")),
                    None => ready.push(url),
                },
            }
        }
        let mut found = self.found();
        found.lost.retain(|_, at| at.elapsed() < RESTS);
        ready.retain(|url| !found.lost.contains_key(url));
        found.ready = ready;
        found.at = Some(Instant::now());
        Ok(found.ready.len())
    }

    /// Why a worker is not asked.
    fn unfit(&self, status: &Status) -> Option<String> {
        if status.version != self.version {
            let (its, own) = (&status.version, &self.version);
            return Some(format!("it has version {its}, this is {own}"));
        }
        if status.stopping {
            return Some("it is about to stop".to_owned());
        }
        let serves = status.stores.iter().any(|store| store.id == self.store);
        (!serves).then(|| "it does not serve this store".to_owned())
    }

    /// Does not ask a worker for a while.
    pub(super) fn lose(&self, worker: &Url) {
        let mut found = self.found();
        found.ready.retain(|url| url != worker);
        found.lost.insert(worker.clone(), Instant::now());
        drop(found);
        self.told(&format!("{worker} was lost"));
    }

    fn found(&self) -> std::sync::MutexGuard<'_, Found> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn went(&self, stages: &[Stage]) {
        let tasks: usize = stages.iter().map(Stage::task_count).sum();
        let workers = self.found().ready.len();
        let [workers, tasks, stages] = [
            (workers, "worker"),
            (tasks, "task"),
            (stages.len(), "stage"),
        ]
        .map(|(count, what)| format!("{count} {what}{}", if count == 1 { "" } else { "s" }));
        self.told(&format!("sent to {workers}: {tasks} in {stages}"));
    }

    pub(super) fn stayed(&self, reason: &str) {
        self.told(&format!("ran here: {reason}"));
    }

    pub(super) fn told(&self, what: &str) {
        let mut decided = self.decided.lock().unwrap_or_else(PoisonError::into_inner);
        if decided.len() == KEPT {
            decided.pop_front();
        }
        decided.push_back(what.to_owned());
    }

    pub(super) fn decisions(&self) -> Vec<String> {
        let mut decided = self.decided.lock().unwrap_or_else(PoisonError::into_inner);
        decided.drain(..).collect()
    }
}

/// The workers that can be asked, for the engine.
pub(super) struct Ready(pub(super) Arc<Cluster>);

impl WorkerResolver for Ready {
    fn get_urls(&self) -> Result<Vec<Url>> {
        let mut ready = self.0.found().ready.clone();
        if let [only] = ready.as_slice() {
            // The engine leaves a stage of one task where it is.
            ready.push(only.clone());
        }
        Ok(ready)
    }
}
