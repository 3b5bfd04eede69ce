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
//! are meant (`pinned`), and what happens when a worker is lost.
//!
//! The other side is the module `worker`.

mod addresses;
mod asked;
mod compared;
mod connections;
mod cut;
mod leaves;
mod lost;
mod order;
mod pinned;
mod planner;
mod security;
mod session;
mod speaking;
mod stages;
mod status;
mod windows;
mod workers;

#[cfg(test)]
pub(crate) use {compared::compare, windows::WindowCalls};

use std::collections::BTreeMap;
use std::sync::Arc;

use datafusion::execution::SessionStateBuilder;
use datafusion::execution::context::QueryPlanner;
use datafusion::prelude::{SessionConfig, SessionContext};
use datafusion_distributed::{DistributedExt as _, SessionStateBuilderExt as _};

use crate::error::{Error, Result};
use crate::store::Settings;
pub(crate) use connections::Connections;
pub(crate) use pinned::Pinned;
use planner::Planner;
pub use security::Security;
use session::{Cluster, Ready};
pub(crate) use speaking::{GONE, QUIET, speaking};
pub(crate) use stages::known;
pub(crate) use status::STATUS_PATH;
pub use status::{Served, Status};
pub use workers::Workers;

/// The version of this program with a mark of all that a plan refers to by name: `0.1.0-1f00c0de`.
pub(crate) fn version(functions: impl Iterator<Item = String>) -> String {
    let mut names: Vec<String> = functions.collect();
    names.sort();
    let engine = datafusion::DATAFUSION_VERSION;
    let text = format!("{engine} {}", names.join(" "));
    let mark = twox_hash::XxHash3_64::oneshot(text.as_bytes()) & 0xffff_ffff;
    format!("{}-{mark:08x}", env!("CARGO_PKG_VERSION"))
}

/// Has questions of a session go to these workers, which read the store that has this URL. Comes after all else that sets
/// the session's planner. Plans of one machine are those of `local`.
///
/// # Errors
/// [`Error::Query`] where the engine refuses a setting.
pub(crate) fn with_workers(
    mut builder: SessionStateBuilder,
    workers: &Workers,
    store: &str,
    version: String,
    local: Arc<dyn QueryPlanner + Send + Sync>,
) -> Result<SessionStateBuilder> {
    let cluster = Arc::new(Cluster::new(workers, store, version));
    let config = builder.config().take().unwrap_or_default();
    *builder.config() = Some(configured(config, &cluster, store)?);
    Ok(builder
        .with_distributed_planner()
        .with_query_planner(Arc::new(Planner { cluster, local })))
}

fn configured(config: SessionConfig, cluster: &Arc<Cluster>, store: &str) -> Result<SessionConfig> {
    let settings = config.options().extensions.get::<Settings>().cloned();
    config
        .with_distributed_option_extension(settings.unwrap_or_default())
        .with_distributed_option_extension(Pinned::of(store))
        .with_extension(Arc::clone(cluster))
        .with_extension(Arc::new(leaves::Share::of(cluster.least_rows())))
        .with_distributed_worker_resolver(Ready(Arc::clone(cluster)))
        .with_distributed_channel_resolver(cluster.connections().clone())
        .with_distributed_desired_task_count_handler(leaves::tasks)
        .with_distributed_scale_up_leaf_node_handler(leaves::divided)
        // Parts of a union are divided as all else is: an isolated one would be one task.
        .with_distributed_children_isolator_unions(false)
        .map_err(Error::Query)
}

/// What was decided about the questions of a session since this was asked last: where each ran, and why. The last
/// thousand decisions are kept.
#[must_use]
pub fn decisions(context: &SessionContext) -> Vec<String> {
    let cluster = context.copied_config().get_extension::<Cluster>();
    cluster.map_or_else(Vec::new, |cluster| cluster.decisions())
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
