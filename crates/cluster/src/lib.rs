//! Distributed queries: a plan is cut into stages, and workers run the stages that read files.
//!
//! ```text
//!  SQL ─▶ local plan ─▶ large scan? ─▶ stages ─────────▶ checks ─▶ workers ─▶ rows
//!                            │ no    (scan_division)   (stages)     │ a worker is lost
//!                            └────────▶ runs locally ◀─────────────┘ (worker_query)
//! ```
//!
//! `datafusion-distributed` cuts, sends and shuffles. This module decides which queries are distributed and how
//! files are divided. It rejects stages that would be wrong or cannot be serialized, pins the table versions
//! that workers read (`pinned_versions`), and handles lost workers.
//!
//! The module `worker` is the other side.

#![cfg_attr(
    test,
    allow(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::indexing_slicing,
        clippy::string_slice,
        clippy::print_stdout,
        reason = "a test fails by panicking, and may print counts"
    )
)]

mod addresses;
mod connections;
mod grpc_server;
mod io_runtime;
mod order;
mod pinned_versions;
mod plan_comparison;
mod planner;
mod scan_division;
mod security;
mod session;
mod stage_planning;
mod stages;
mod status;
mod windows;
mod worker_errors;
mod worker_query;
mod workers;

use std::collections::BTreeMap;
use std::sync::Arc;

use datafusion::execution::SessionStateBuilder;
use datafusion::execution::context::QueryPlanner;
use datafusion::prelude::{SessionConfig, SessionContext};
use datafusion_distributed::{DistributedExt as _, SessionStateBuilderExt as _};
use tsql_error::{Error, Result};
use tsql_store::Settings;

use planner::ClusterPlanner;
use session::{Cluster, ReadyWorkers};

pub use connections::Connections;
pub use grpc_server::grpc_server;
pub use io_runtime::io_runtime;
pub use pinned_versions::Pinned;
pub use security::Security;
pub use session::Decision;
pub use stages::check_node;
pub use status::STATUS_PATH;
pub use status::{Status, StoreStatus};
pub use workers::Workers;

/// Returns the program version with a hash of all functions that a plan refers to by name: `0.1.0-1f00c0de`.
pub fn plan_version(functions: impl Iterator<Item = String>) -> String {
    let mut names: Vec<String> = functions.collect();
    names.sort();
    let engine = datafusion::DATAFUSION_VERSION;
    let text = format!("{engine} {}", names.join(" "));
    let mark = twox_hash::XxHash3_64::oneshot(text.as_bytes()) & 0xffff_ffff;
    format!("{}-{mark:08x}", env!("CARGO_PKG_VERSION"))
}

/// Makes a session run queries on these workers, which read the store with this URL. Call this after everything
/// else that sets the query planner. `local` plans for one machine.
///
/// # Errors
/// [`Error::Query`] if the engine rejects a setting.
pub fn with_workers(
    mut builder: SessionStateBuilder,
    workers: &Workers,
    store: &str,
    version: String,
    local: Arc<dyn QueryPlanner + Send + Sync>,
) -> Result<SessionStateBuilder> {
    let cluster = Arc::new(Cluster::new(workers, store, version));
    let config = builder.config().take().unwrap_or_default();
    *builder.config() = Some(configure(config, &cluster, store)?);
    Ok(builder
        .with_distributed_planner()
        .with_query_planner(Arc::new(ClusterPlanner { cluster, local })))
}

fn configure(config: SessionConfig, cluster: &Arc<Cluster>, store: &str) -> Result<SessionConfig> {
    let settings = config.options().extensions.get::<Settings>().cloned();
    config
        .with_distributed_option_extension(settings.unwrap_or_default())
        .with_distributed_option_extension(Pinned::for_store(store))
        .with_extension(Arc::clone(cluster))
        .with_extension(Arc::new(scan_division::RowsPerTask::new(
            cluster.least_rows(),
        )))
        .with_distributed_worker_resolver(ReadyWorkers(Arc::clone(cluster)))
        .with_distributed_channel_resolver(cluster.connections().clone())
        .with_distributed_desired_task_count_handler(scan_division::desired_tasks)
        .with_distributed_scale_up_leaf_node_handler(scan_division::divide_scan)
        // Inputs of a union are divided like other scans: an isolated input would be one task.
        .with_distributed_children_isolator_unions(false)
        .map_err(Error::Query)
}

/// Returns the decisions about queries of a session since the last call: where each query ran, and why. The
/// last thousand decisions are stored.
#[must_use]
pub fn decisions(context: &SessionContext) -> Vec<Decision> {
    let cluster = context.copied_config().get_extension::<Cluster>();
    cluster.map_or_else(Vec::new, |cluster| cluster.decisions())
}

/// Pins the table versions that workers read, if the session has workers.
pub fn pin_versions(context: &SessionContext, versions: &BTreeMap<String, u64>) {
    let state = context.state_ref();
    let mut state = state.write();
    let extensions = &mut state.config_mut().options_mut().extensions;
    if let Some(pinned) = extensions.get_mut::<Pinned>() {
        pinned.pin(versions);
    }
}
