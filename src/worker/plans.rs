//! What a plan may name, and with what it is run.

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
use tsql_folders::Scratch;
use url::Url;

use super::gate::QUESTION;
use super::question::{Question, Questions, WhileWanted};
use super::served::{Readable, ServedStores, refused};
use crate::cluster::{Connections, Pinned, known};
use crate::store::{Settings, scan_of_store};

/// Makes the session of each part of a question.
pub(super) struct Sessions {
    pub(super) stores: Arc<ServedStores>,
    pub(super) questions: Questions,
    pub(super) connections: Connections,
    pub(super) memory_limit_bytes: Option<usize>,
    /// Where what does not fit goes.
    pub(super) spilled: Option<Arc<Scratch>>,
}

#[async_trait]
impl WorkerSessionBuilder for Sessions {
    async fn build_session_state(&self, context: WorkerQueryContext) -> Result<SessionState> {
        let (state, looking) = self.looking(context).await?;
        let builder = SessionStateBuilder::new_from_existing(state);
        let builder = builder.with_distributed_worker_plan_rewrite_handler(looking);
        Ok(builder.build())
    }
}

impl Sessions {
    /// The session of a part of a question, and what looks at its plan.
    pub(super) async fn looking(
        &self,
        context: WorkerQueryContext,
    ) -> Result<(SessionState, Looking)> {
        let WorkerQueryContext { builder, headers } = context;
        let question = self.question(&headers)?;
        let mut builder = builder
            .with_distributed_option_extension_from_headers::<Pinned>(&headers)?
            .with_distributed_option_extension_from_headers::<Settings>(&headers)?;
        let config = builder.config().get_or_insert_default();
        let pinned = config.options().extensions.get::<Pinned>().cloned();
        let readable = self.stores.readable(&pinned.unwrap_or_default()).await?;
        if let Some(spilled) = &self.spilled {
            config.set_extension(Arc::clone(spilled));
        }
        let shared = builder.runtime_env().take();
        let shared = shared.ok_or_else(|| DataFusionError::Internal("no runtime".to_owned()))?;
        let runtime = RuntimeEnvBuilder::from_runtime_env(&shared)
            .with_object_store_registry(Arc::new(Only::of(&readable)))
            .build()?;
        let runtime = Arc::new(runtime);
        let builder = builder
            .with_runtime_env(Arc::clone(&runtime))
            .with_distributed_channel_resolver(self.connections.clone());
        let state = crate::query::of_part(builder, self.memory_limit_bytes);
        let state = state.map_err(|error| DataFusionError::External(error.into()))?;
        let looking = Looking {
            readable,
            question,
            runtime,
        };
        Ok((state, looking))
    }

    fn question(&self, headers: &HeaderMap) -> Result<Arc<Question>> {
        let number = headers
            .get(QUESTION)
            .and_then(|number| number.to_str().ok());
        let number = number.and_then(|number| number.parse().ok());
        let question = number.and_then(|number| self.questions.of(number));
        question.ok_or_else(|| refused("a plan that belongs to no question"))
    }
}

/// The objects of one store, and no others: neither files of this machine nor other buckets.
#[derive(Debug)]
struct Only {
    url: Url,
    objects: Arc<dyn ObjectStore>,
}

impl Only {
    fn of(readable: &Readable) -> Self {
        Self {
            url: readable.url.clone(),
            objects: Arc::clone(&readable.objects),
        }
    }
}

impl ObjectStoreRegistry for Only {
    fn register_store(&self, _: &Url, _: Arc<dyn ObjectStore>) -> Option<Arc<dyn ObjectStore>> {
        None
    }

    fn get_store(&self, url: &Url) -> Result<Arc<dyn ObjectStore>> {
        if url.scheme() == self.url.scheme() && url.host_str() == self.url.host_str() {
            return Ok(Arc::clone(&self.objects));
        }
        Err(refused("a file that is in no store of the question"))
    }
}

/// Looks at a plan before it runs, and has its files read with care.
pub(super) struct Looking {
    readable: Readable,
    question: Arc<Question>,
    runtime: Arc<RuntimeEnv>,
}

impl WorkerPlanRewriteHandler for Looking {
    fn rewrite_worker_plan(
        &self,
        event: WorkerPlanRewriteEvent<'_>,
    ) -> Result<WorkerPlanRewriteEventResponse> {
        let options = event.session_config.options();
        let plan = event.plan.transform_down(|node| {
            known(&node).map_err(|reason| refused(&reason))?;
            match scan_of_store(&node) {
                None => Ok(Transformed::no(node)),
                Some(scan) => self.read(scan, options).map(Transformed::yes),
            }
        });
        plan.data().map(WorkerPlanRewriteEventResponse::new)
    }
}

impl Looking {
    fn read(
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
        let table = table.ok_or_else(|| refused("a table that the question did not name"))?;
        let question = Arc::clone(&self.question);
        let scan = table.reading(scan, &self.runtime, options, |inner| {
            Arc::new(WhileWanted { inner, question })
        })?;
        Ok(DataSourceExec::from_data_source(scan))
    }
}
