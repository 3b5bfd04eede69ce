//! Several machines: a question is cut into stages, of which workers run the ones that read.
//!
//! ```text
//!  SQL ─▶ plan of one machine ─▶ reads much? ─▶ stages ─▶ looked at ─▶ workers ─▶ rows
//!              │ no                 (planner)    (leaves)   (stages)      │ one is lost
//!              └──────────▶ here ◀──────────────────────────────────────── ┘ (asked)
//! ```
//!
//! The engine that cuts, sends and shuffles is `datafusion-distributed`. What is ours: which questions are worth it,
//! how files are divided, that no stage is sent that would be wrong or cannot be, which versions of which store
//! are meant ([`pinned`]), and what happens when a worker is lost.
//!
//! The other side is the module `worker`.

mod addresses;
mod asked;
mod connections;
mod leaves;
mod lost;
mod pinned;
mod planner;
mod security;
mod stages;
mod status;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use datafusion::common::DataFusionError;
use datafusion::execution::SessionStateBuilder;
use datafusion::prelude::{SessionConfig, SessionContext};
use datafusion_distributed::{
    DistributedExt as _, SessionStateBuilderExt as _, Stage, WorkerResolver,
};
use url::Url;

use crate::error::{Error, Result};
use crate::store::Settings;
use addresses::Addresses;
pub(crate) use connections::Connections;
pub(crate) use leaves::scan;
pub(crate) use pinned::Pinned;
pub use security::Security;
pub(crate) use stages::known;
pub(crate) use status::STATUS_PATH;
pub use status::{Served, Status};

/// Rows that are read below which a question stays here: a scan of as many takes about as long as to ask
/// workers.
const LEAST_ROWS: f64 = 2_000_000.0;

/// How long what workers said of themselves is believed.
const BELIEVED: Duration = Duration::from_secs(5);

/// Machines that take part in answering.
///
/// They are found and asked when a question is worth it, not before.
#[derive(Clone, Debug)]
pub struct Workers {
    addresses: Addresses,
    security: Security,
    least_rows: f64,
}

impl Workers {
    /// Those of a list: `host:port,host:port`, `dns:name:port` (all addresses of a name), `slurm` (the machines of
    /// this process's job).
    ///
    /// # Errors
    /// [`Error::Argument`] where it is no such list.
    pub fn parse(list: &str) -> Result<Self> {
        Ok(Self {
            addresses: Addresses::parse(list)?,
            security: Security::none(),
            least_rows: LEAST_ROWS,
        })
    }

    /// What is shown to them; nothing unless it is set.
    #[must_use]
    pub fn security(mut self, security: Security) -> Self {
        self.security = security;
        self
    }

    /// Rows that a question must be expected to read to be sent; two million unless it is set.
    #[must_use]
    pub fn least_rows(mut self, rows: u64) -> Self {
        #[expect(clippy::cast_precision_loss, reason = "a threshold")]
        let rows = rows as f64;
        self.least_rows = rows;
        self
    }

    /// What each of them says of itself, by address; a sentence where it says nothing.
    ///
    /// # Errors
    /// [`Error::Argument`] where a name cannot be resolved.
    pub async fn status(&self) -> Result<Vec<(Url, std::result::Result<Status, String>)>> {
        let connections = Connections::new(self.security.clone());
        self.ask(&connections).await
    }

    async fn ask(
        &self,
        connections: &Connections,
    ) -> Result<Vec<(Url, std::result::Result<Status, String>)>> {
        let urls = self.addresses.resolve(self.security.scheme()).await?;
        let asked = urls.into_iter().map(async |url| {
            let status = connections.ask(&url).await;
            (url, status.map_err(|error| error.message().into_owned()))
        });
        Ok(futures::future::join_all(asked).await)
    }
}

/// The version of this program with a mark of all that a plan refers to by name: `0.1.0-1f00c0de`.
pub(crate) fn version(functions: impl Iterator<Item = String>) -> String {
    let mut names: Vec<String> = functions.collect();
    names.sort();
    let engine = datafusion::DATAFUSION_VERSION;
    let text = format!("{engine} {}", names.join(" "));
    let mark = twox_hash::XxHash3_64::oneshot(text.as_bytes()) & 0xffff_ffff;
    format!("{}-{mark:08x}", env!("CARGO_PKG_VERSION"))
}

/// The workers of a session.
pub(crate) struct Cluster {
    workers: Workers,
    connections: Connections,
    version: String,
    least_rows: f64,
    /// URL of the session's store.
    store: String,
    found: Mutex<Found>,
    /// What was decided, to be told.
    decided: Mutex<Vec<String>>,
}

/// Workers that can be asked.
#[derive(Default)]
struct Found {
    at: Option<Instant>,
    ready: Vec<Url>,
    lost: BTreeSet<Url>,
}

impl fmt::Debug for Cluster {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Cluster")
            .field("workers", &self.workers.addresses.to_string())
            .finish_non_exhaustive()
    }
}

impl Cluster {
    pub(crate) fn new(workers: &Workers, store: &str, version: String) -> Self {
        Self {
            workers: workers.clone(),
            connections: Connections::new(workers.security.clone()),
            version,
            least_rows: workers.least_rows,
            store: store.to_owned(),
            found: Mutex::default(),
            decided: Mutex::default(),
        }
    }

    /// Has questions of a session go to the workers. Comes after all else that sets its planner.
    pub(crate) fn plan(
        self: &Arc<Self>,
        mut builder: SessionStateBuilder,
    ) -> Result<SessionStateBuilder> {
        let config = builder.config().take().unwrap_or_default();
        *builder.config() = Some(self.configured(config)?);
        Ok(builder
            .with_distributed_planner()
            .with_query_planner(Arc::new(planner::Planner(Arc::clone(self)))))
    }

    /// Workers read the tables of a session at these versions, if it has workers.
    pub(crate) fn pin(context: &SessionContext, versions: &BTreeMap<String, u64>) {
        let state = context.state_ref();
        let mut state = state.write();
        let extensions = &mut state.config_mut().options_mut().extensions;
        if let Some(pinned) = extensions.get_mut::<Pinned>() {
            pinned.pin(versions);
        }
    }

    fn configured(self: &Arc<Self>, config: SessionConfig) -> Result<SessionConfig> {
        let verify = config.options().extensions.get::<Settings>().cloned();
        config
            .with_distributed_option_extension(verify.unwrap_or_default())
            .with_extension(Arc::clone(self))
            .with_distributed_worker_resolver(Ready(Arc::clone(self)))
            .with_distributed_channel_resolver(self.connections.clone())
            .with_distributed_option_extension(Pinned::of(&self.store))
            .with_distributed_desired_task_count_handler(leaves::tasks)
            .with_distributed_scale_up_leaf_node_handler(leaves::divided)
            // Parts of a union are divided as all else is: an isolated one would be one task.
            .with_distributed_children_isolator_unions(false)
            .map_err(Error::Query)
    }

    /// Asks the workers who they are, unless that was done just now; how many can be asked.
    async fn find(&self) -> datafusion::common::Result<usize> {
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
        ready.retain(|url| !found.lost.contains(url));
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

    /// Does not ask a worker again.
    fn lose(&self, worker: &Url) {
        let mut found = self.found();
        found.ready.retain(|url| url != worker);
        found.lost.insert(worker.clone());
        drop(found);
        self.told(&format!("{worker} was lost"));
    }

    fn found(&self) -> std::sync::MutexGuard<'_, Found> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn went(&self, stages: &[Stage]) {
        let tasks: usize = stages.iter().map(Stage::task_count).sum();
        let workers = self.found().ready.len();
        let stages = stages.len();
        self.told(&format!(
            "sent to {workers} workers: {tasks} tasks in {stages} stages"
        ));
    }

    fn stayed(&self, reason: &str) {
        self.told(&format!("ran here: {reason}"));
    }

    fn told(&self, what: &str) {
        let mut decided = self.decided.lock().unwrap_or_else(PoisonError::into_inner);
        decided.push(what.to_owned());
    }

    /// What was decided since this was asked last: where questions ran, and why.
    pub(crate) fn decisions(&self) -> Vec<String> {
        let mut decided = self.decided.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *decided)
    }
}

/// The workers that can be asked, for the engine.
struct Ready(Arc<Cluster>);

impl WorkerResolver for Ready {
    fn get_urls(&self) -> datafusion::common::Result<Vec<Url>> {
        let mut ready = self.0.found().ready.clone();
        if let [only] = ready.as_slice() {
            // The engine leaves a stage of one task where it is.
            ready.push(only.clone());
        }
        Ok(ready)
    }
}
