//! Checks what plans of clients may read, and builds their sessions.

use std::sync::Arc;

use async_trait::async_trait;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult as _, TreeNode as _};
use datafusion::common::{DataFusionError, Result};
use datafusion::datasource::physical_plan::{FileGroup, FileScanConfig};
use datafusion::datasource::source::DataSourceExec;
use datafusion::execution::object_store::ObjectStoreRegistry;
use datafusion::execution::runtime_env::{RuntimeEnv, RuntimeEnvBuilder};
use datafusion::execution::{SessionState, SessionStateBuilder};
use datafusion::physical_plan::ExecutionPlan;
use datafusion_distributed::{
    DistributedExt as _, WorkerPlanRewriteEvent, WorkerPlanRewriteEventResponse,
    WorkerPlanRewriteHandler, WorkerQueryContext, WorkerSessionBuilder,
};
use http::HeaderMap;
use object_store::ObjectStore;
use tsql_cluster::{Connections, Pinned, check_node};
use tsql_folders::Scratch;
use tsql_store::{Settings, scan_of_store};
use url::Url;

use super::gate::QUERY_HEADER;
use super::running_queries::{CancellableReaderFactory, RunningQueries, RunningQuery};
use super::served_stores::{QueryTables, ServedStores, refusal};

/// Builds the session of each stage task.
pub(super) struct WorkerSessions {
    pub(super) stores: Arc<ServedStores>,
    pub(super) questions: RunningQueries,
    pub(super) connections: Connections,
    pub(super) memory_limit_bytes: Option<usize>,
    /// Folder for spilled data.
    pub(super) spilled: Option<Arc<Scratch>>,
}

#[async_trait]
impl WorkerSessionBuilder for WorkerSessions {
    async fn build_session_state(&self, context: WorkerQueryContext) -> Result<SessionState> {
        let (state, looking) = self.session_and_checker(context).await?;
        let builder = SessionStateBuilder::new_from_existing(state);
        let builder = builder.with_distributed_worker_plan_rewrite_handler(looking);
        Ok(builder.build())
    }
}

impl WorkerSessions {
    /// Returns the session of a stage task, and the checker of its plan.
    pub(super) async fn session_and_checker(
        &self,
        context: WorkerQueryContext,
    ) -> Result<(SessionState, PlanChecker)> {
        let WorkerQueryContext { builder, headers } = context;
        let question = self.find_query(&headers)?;
        let mut builder = builder
            .with_distributed_option_extension_from_headers::<Pinned>(&headers)?
            .with_distributed_option_extension_from_headers::<Settings>(&headers)?;
        let config = builder.config().get_or_insert_default();
        let pinned = config.options().extensions.get::<Pinned>().cloned();
        let readable = self.stores.open_tables(&pinned.unwrap_or_default()).await?;
        if let Some(spilled) = &self.spilled {
            config.set_extension(Arc::clone(spilled));
        }
        let shared = builder.runtime_env().take();
        let shared = shared.ok_or_else(|| DataFusionError::Internal("no runtime".to_owned()))?;
        let runtime = RuntimeEnvBuilder::from_runtime_env(&shared)
            .with_object_store_registry(Arc::new(SingleStoreRegistry::new(&readable)))
            .build()?;
        let runtime = Arc::new(runtime);
        let builder = builder
            .with_runtime_env(Arc::clone(&runtime))
            .with_distributed_channel_resolver(self.connections.clone());
        let state = tsql_engine::worker_state(builder, self.memory_limit_bytes);
        let state = state.map_err(|error| DataFusionError::External(error.into()))?;
        let looking = PlanChecker {
            readable,
            question,
            runtime,
        };
        Ok((state, looking))
    }

    fn find_query(&self, headers: &HeaderMap) -> Result<Arc<RunningQuery>> {
        let number = headers
            .get(QUERY_HEADER)
            .and_then(|number| number.to_str().ok());
        let number = number.and_then(|number| number.parse().ok());
        let question = number.and_then(|number| self.questions.find(number));
        question.ok_or_else(|| refusal("a plan that belongs to no query"))
    }
}

/// Object store registry with one store only: neither local files nor other buckets.
#[derive(Debug)]
struct SingleStoreRegistry {
    url: Url,
    objects: Arc<dyn ObjectStore>,
}

impl SingleStoreRegistry {
    fn new(readable: &QueryTables) -> Self {
        Self {
            url: readable.url.clone(),
            objects: Arc::clone(&readable.objects),
        }
    }
}

impl ObjectStoreRegistry for SingleStoreRegistry {
    fn register_store(&self, _: &Url, _: Arc<dyn ObjectStore>) -> Option<Arc<dyn ObjectStore>> {
        None
    }

    fn get_store(&self, url: &Url) -> Result<Arc<dyn ObjectStore>> {
        if url.scheme() == self.url.scheme() && url.host_str() == self.url.host_str() {
            return Ok(Arc::clone(&self.objects));
        }
        Err(refusal("a file outside of the store of the query"))
    }
}

/// Checks a plan before it runs, and replaces its file readers by cancellable ones.
pub(super) struct PlanChecker {
    readable: QueryTables,
    question: Arc<RunningQuery>,
    runtime: Arc<RuntimeEnv>,
}

impl WorkerPlanRewriteHandler for PlanChecker {
    fn rewrite_worker_plan(
        &self,
        event: WorkerPlanRewriteEvent<'_>,
    ) -> Result<WorkerPlanRewriteEventResponse> {
        let options = event.session_config.options();
        let plan = event.plan.transform_down(|node| {
            check_node(&node).map_err(|reason| refusal(&reason))?;
            match scan_of_store(&node) {
                None => Ok(Transformed::no(node)),
                Some(scan) => self.rewrite_scan(scan, options).map(Transformed::yes),
            }
        });
        plan.data().map(WorkerPlanRewriteEventResponse::new)
    }
}

impl PlanChecker {
    fn rewrite_scan(
        &self,
        scan: &FileScanConfig,
        options: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let mut files = scan.file_groups.iter().flat_map(FileGroup::files);
        let Some(first) = files.next() else {
            return Ok(DataSourceExec::from_data_source(scan.clone()));
        };
        let folder = first.object_meta.location.parts().next();
        let table = folder.and_then(|folder| self.readable.tables.get(folder.as_ref()));
        let table = table.ok_or_else(|| refusal("a table that the query did not declare"))?;
        let question = Arc::clone(&self.question);
        let scan = table.restore_scan(scan, &self.runtime, options, |inner| {
            Arc::new(CancellableReaderFactory { inner, question })
        })?;
        Ok(DataSourceExec::from_data_source(scan))
    }
}
