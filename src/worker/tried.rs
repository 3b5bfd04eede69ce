//! Plans as somebody else might write them: what a worker makes of any bytes.

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

use super::plans::Sessions;
use super::question::Questions;
use super::served::ServedStores;
use super::{Connections, Security, Store, gate};
use crate::cluster::{Pinned, Workers};
use crate::query::SessionOptions;
use crate::store::scan_of_store;

/// A worker that is given plans without a connection.
pub(crate) struct Tried {
    sessions: Sessions,
    /// The versions that the plans are about.
    pinned: Pinned,
    /// Where plans are made.
    context: SessionContext,
    /// All files of those versions.
    served: BTreeSet<String>,
}

impl Tried {
    pub(crate) async fn new(store: &Store) -> crate::Result<Self> {
        let sessions = Sessions {
            stores: Arc::new(ServedStores::new(vec![store.clone()])?),
            questions: Questions::new(Duration::from_secs(60)),
            connections: Connections::new(Security::none()),
            memory_limit_bytes: None,
            spilled: None,
        };
        // Nobody is asked: plans are written, and that is all.
        let workers = Workers::parse("127.0.0.1:1")?;
        let options = SessionOptions::default().workers(workers);
        let context = store.session_with(&options).await?;
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
                .map_err(crate::Error::Query)?
                .create_physical_plan()
                .await;
            tried
                .served
                .extend(files(&all.map_err(crate::Error::Query)?));
        }
        Ok(tried)
    }

    /// The plan of a question, as it would be sent.
    pub(crate) async fn written(&self, sql: &str) -> Result<Vec<u8>> {
        let plan = self.context.sql(sql).await?.create_physical_plan().await?;
        self.bytes(plan)
    }

    pub(crate) fn bytes(&self, plan: Arc<dyn ExecutionPlan>) -> Result<Vec<u8>> {
        let codec = codec(&self.context.task_ctx());
        let converter = DeduplicatingProtoConverter::default();
        let bytes = physical_plan_to_bytes_with_proto_converter(plan, &codec, &converter)?;
        Ok(bytes.to_vec())
    }

    /// What the worker would run, and with what.
    ///
    /// # Errors
    /// Where it refuses.
    pub(crate) async fn read(
        &self,
        bytes: &[u8],
    ) -> Result<(Arc<dyn ExecutionPlan>, Arc<TaskContext>)> {
        let (runtime, _) = crate::query::runtime(None)
            .map_err(|error| datafusion::common::DataFusionError::External(error.into()))?;
        let running = self.sessions.questions.begin();
        let mut headers = http::HeaderMap::new();
        headers.insert(gate::QUESTION, running.number().into());
        let config = SessionConfig::new().with_distributed_option_extension(self.pinned.clone());
        let context = WorkerQueryContext {
            builder: SessionStateBuilder::new()
                .with_default_features()
                .with_config(config)
                .with_runtime_env(runtime),
            headers,
        };
        let (state, looking) = self.sessions.looking(context).await?;
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

    /// A file that a plan reads and that is none of those that are served.
    pub(crate) fn strange_file(&self, plan: &Arc<dyn ExecutionPlan>) -> Option<String> {
        files(plan)
            .into_iter()
            .find(|file| !self.served.contains(file))
    }
}

fn codec(task: &TaskContext) -> impl PhysicalExtensionCodec {
    DistributedCodec::new_combined_with_user(task.session_config())
}

/// The files that a plan reads.
fn files(plan: &Arc<dyn ExecutionPlan>) -> Vec<String> {
    let mut files = Vec::new();
    let groups = scan_of_store(plan).map(|scan| scan.file_groups.iter());
    for file in groups.into_iter().flatten().flat_map(FileGroup::files) {
        files.push(file.object_meta.location.to_string());
    }
    let below = plan.children().into_iter().flat_map(self::files);
    files.into_iter().chain(below).collect()
}

/// Bytes that were changed in places: each four bytes of `changes` are a place, what is done there, and a byte.
pub(crate) fn changed(bytes: &[u8], changes: &[u8]) -> Vec<u8> {
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
