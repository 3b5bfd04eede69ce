//! Test harness that sends arbitrary bytes as plans to a worker. Only tests and fuzz targets compile it.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use datafusion::common::Result;
use datafusion::datasource::physical_plan::FileGroup;
use datafusion::execution::{SessionStateBuilder, TaskContext};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::prelude::{SessionConfig, SessionContext};
use datafusion_distributed::{
    DistributedCodec, DistributedExt as _, WorkerPlanRewriteEvent, WorkerPlanRewriteHandler as _,
    WorkerQueryContext,
};
use datafusion_proto::bytes::{
    physical_plan_from_bytes_with_proto_converter, physical_plan_to_bytes_with_proto_converter,
};
use datafusion_proto::physical_plan::{DeduplicatingProtoConverter, PhysicalExtensionCodec};
use tsql_cluster::{Pinned, Workers};
use tsql_session::{SessionOptions, open_session_with};
use tsql_store::scan_of_store;

use super::plans::WorkerSessions;
use super::running_queries::RunningQueries;
use super::served_stores::ServedStores;
use super::{Connections, Security, Store, gate};

/// Queries whose plans contain most kinds of nodes and expressions.
pub const QUERIES: [&str; 6] = [
    "SELECT sketch, count(*) FROM records JOIN configurations USING (config_id) WHERE runtime_ns > 5 GROUP BY 1",
    "SELECT platform, median(runtime_ns), count(DISTINCT config_id) FROM records GROUP BY ROLLUP (platform)",
    "SELECT source_id, sum(runtime_ns) OVER (PARTITION BY platform ORDER BY line) FROM records ORDER BY 2 LIMIT 3",
    "SELECT platform, avg(x) FROM (SELECT platform, unnest(repeats_ns) AS x FROM records) GROUP BY 1",
    "SELECT count(*) FROM graphs a LEFT JOIN graphs b ON a.graph_id < b.graph_id WHERE a.dataset LIKE 't%'",
    "SELECT CASE WHEN platform IN ('a', 'b') THEN 1 END, 'x' FROM records UNION ALL SELECT graph_id, upper(dataset) FROM graphs",
];

/// A worker that receives plans without a connection.
pub struct PlanHarness {
    sessions: WorkerSessions,
    /// Pinned versions of the plans.
    pinned: Pinned,
    /// Session that creates plans.
    context: SessionContext,
    /// All files of the pinned versions.
    served: BTreeSet<String>,
}

impl PlanHarness {
    /// Creates a worker of this store.
    ///
    /// # Errors
    /// The store cannot be read.
    pub async fn new(store: &Store) -> tsql_error::Result<Self> {
        let sessions = WorkerSessions {
            stores: Arc::new(ServedStores::new(vec![store.clone()])?),
            questions: RunningQueries::new(Duration::from_secs(60)),
            connections: Connections::new(Security::none()),
            memory_limit_bytes: None,
            spilled: None,
        };
        // No worker is contacted; plans are only serialized.
        let workers = Workers::parse("127.0.0.1:1")?;
        let options = SessionOptions::default().workers(workers);
        let context = open_session_with(store, &options).await?;
        let config = context.copied_config();
        let pinned = config.options().extensions.get::<Pinned>().cloned();
        let mut tried = Self {
            sessions,
            pinned: pinned.unwrap_or_default(),
            context,
            served: BTreeSet::new(),
        };
        for table in ["records", "configurations", "graphs"] {
            let all = tried.context.sql(&format!("SELECT * FROM {table}")).await;
            let all = all
                .map_err(tsql_error::Error::Query)?
                .create_physical_plan()
                .await;
            tried
                .served
                .extend(scanned_files(&all.map_err(tsql_error::Error::Query)?));
        }
        Ok(tried)
    }

    /// Returns the serialized plan of a query.
    ///
    /// # Errors
    /// The query cannot be planned or serialized.
    pub async fn encode_query(&self, sql: &str) -> Result<Vec<u8>> {
        let plan = self.context.sql(sql).await?.create_physical_plan().await?;
        self.encode_plan(plan)
    }

    pub(crate) fn encode_plan(&self, plan: Arc<dyn ExecutionPlan>) -> Result<Vec<u8>> {
        let codec = codec(&self.context.task_ctx());
        let converter = DeduplicatingProtoConverter::default();
        let bytes = physical_plan_to_bytes_with_proto_converter(plan, &codec, &converter)?;
        Ok(bytes.to_vec())
    }

    /// Decodes and checks a plan as a worker does; returns it with its task context.
    ///
    /// # Errors
    /// The worker rejects the plan.
    pub async fn decode_plan(
        &self,
        bytes: &[u8],
    ) -> Result<(Arc<dyn ExecutionPlan>, Arc<TaskContext>)> {
        let (runtime, _) = tsql_engine::build_runtime(None)
            .map_err(|error| datafusion::common::DataFusionError::External(error.into()))?;
        let running = self.sessions.questions.begin();
        let mut headers = http::HeaderMap::new();
        headers.insert(gate::QUERY_HEADER, running.number().into());
        let config = SessionConfig::new().with_distributed_option_extension(self.pinned.clone());
        let context = WorkerQueryContext {
            builder: SessionStateBuilder::new()
                .with_default_features()
                .with_config(config)
                .with_runtime_env(runtime),
            headers,
        };
        let (state, looking) = self.sessions.session_and_checker(context).await?;
        let task = state.task_ctx();
        let converter = DeduplicatingProtoConverter::default();
        let plan =
            physical_plan_from_bytes_with_proto_converter(bytes, &task, &codec(&task), &converter)?;
        let event = WorkerPlanRewriteEvent {
            plan,
            session_config: state.config(),
        };
        Ok((looking.rewrite_worker_plan(event)?.plan, task))
    }

    /// Returns a file that a plan reads although it is not served.
    pub fn unserved_file(&self, plan: &Arc<dyn ExecutionPlan>) -> Option<String> {
        scanned_files(plan)
            .into_iter()
            .find(|file| !self.served.contains(file))
    }
}

fn codec(task: &TaskContext) -> impl PhysicalExtensionCodec {
    DistributedCodec::new_combined_with_user(task.session_config())
}

/// Returns the files that a plan reads.
fn scanned_files(plan: &Arc<dyn ExecutionPlan>) -> Vec<String> {
    let mut files = Vec::new();
    let groups = scan_of_store(plan).map(|scan| scan.file_groups.iter());
    for file in groups.into_iter().flatten().flat_map(FileGroup::files) {
        files.push(file.object_meta.location.to_string());
    }
    let below = plan.children().into_iter().flat_map(self::scanned_files);
    files.into_iter().chain(below).collect()
}

/// Returns one of the plans with changes: the first byte selects the plan, the others are for `mutate_bytes`.
pub fn mutate_plan(plans: &[Vec<u8>], input: &[u8]) -> Option<Vec<u8>> {
    let (&which, changes) = input.split_first()?;
    let index = usize::from(which).checked_rem(plans.len())?;
    Some(mutate_bytes(plans.get(index)?, changes))
}

/// Mutates bytes: each four bytes of `changes` are a position (two bytes), an operation, and a byte.
fn mutate_bytes(bytes: &[u8], changes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for change in changes.chunks_exact(4) {
        let [low, high, what, byte] = *change else {
            continue;
        };
        let place = usize::from(u16::from_le_bytes([low, high])) % bytes.len().max(1);
        match what % 4 {
            0 => {
                if let Some(there) = bytes.get_mut(place) {
                    *there = byte;
                }
            }
            1 => {
                if let Some(there) = bytes.get_mut(place) {
                    *there ^= 1 << (byte % 8);
                }
            }
            2 => {
                let end = (place + usize::from(byte % 9)).min(bytes.len());
                drop(bytes.drain(place..end));
            }
            _ => bytes.insert(place, byte),
        }
    }
    bytes
}
