//! A plan in stages, and whether workers can run these as they are.

use std::sync::Arc;

use async_trait::async_trait;
use datafusion::catalog::Session;
use datafusion::common::tree_node::{
    Transformed, TransformedResult as _, TreeNode as _, TreeNodeRecursion,
};
use datafusion::common::{DataFusionError, Result};
use datafusion::execution::context::QueryPlanner;
use datafusion::execution::{SessionStateBuilder, TaskContext};
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::empty::EmptyExec;
use datafusion_distributed::{
    DistributedCodec, DistributedExec, DistributedLeafExec, NetworkBoundaryExt as _,
    SessionStateBuilderExt as _, Stage,
};
use datafusion_proto::bytes::{
    physical_plan_from_bytes_with_proto_converter, physical_plan_to_bytes_with_proto_converter,
};
use datafusion_proto::physical_plan::DeduplicatingProtoConverter;

use super::windows::WindowCalls;
use super::{compared, stages};

/// A planner that has a plan already.
#[derive(Debug)]
struct Given(Arc<dyn ExecutionPlan>);

#[async_trait]
impl QueryPlanner for Given {
    async fn create_physical_plan(
        &self,
        _: &LogicalPlan,
        _: &dyn Session,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(Arc::clone(&self.0))
    }
}

/// The plan cut into stages.
pub(super) async fn cut(
    local: &Arc<dyn ExecutionPlan>,
    session: &dyn Session,
) -> Result<Arc<dyn ExecutionPlan>> {
    let given = SessionStateBuilder::new()
        .with_config(session.config().clone())
        .with_query_planner(Arc::new(Given(Arc::clone(local))));
    let mut builder = given.with_distributed_planner();
    let planner = builder.query_planner().take();
    let planner =
        planner.ok_or_else(|| DataFusionError::Internal("no planner of stages".to_owned()))?;
    let nothing = LogicalPlan::default();
    planner.create_physical_plan(&nothing, session).await
}

/// The stages of a plan, if workers can run all of them as they are; `calls` are the window functions of its query.
///
/// # Errors
/// Why they cannot.
pub(super) fn looked_at(
    plan: &Arc<dyn ExecutionPlan>,
    session: &dyn Session,
    calls: &WindowCalls,
) -> std::result::Result<Vec<Stage>, String> {
    let mut cut = None;
    let found = plan.apply(|node| {
        if node.downcast_ref::<DistributedExec>().is_none() {
            return Ok(TreeNodeRecursion::Continue);
        }
        cut = node.children().first().map(|head| Arc::clone(head));
        Ok(TreeNodeRecursion::Stop)
    });
    found.map_err(|error| error.to_string())?;
    let head = cut.ok_or("it has one stage")?;
    let stages = stages::checked(&head)?;
    let context = session.task_ctx();
    for stage in &stages {
        if let Some(plan) = stage.local_plan() {
            written(plan, &context, calls)
                .map_err(|error| format!("it cannot be written down: {error}"))?;
        }
    }
    Ok(stages)
}

/// Writes a stage down and reads it back, as it would go to a worker: without the stages that feed it, and with the
/// files of one task.
fn written(
    plan: &Arc<dyn ExecutionPlan>,
    context: &TaskContext,
    calls: &WindowCalls,
) -> Result<()> {
    let of_task = Arc::clone(plan).transform_down(|node| {
        if node.is_network_boundary() {
            let rows = EmptyExec::new(node.schema());
            return Ok(Transformed::new(
                Arc::new(rows),
                true,
                TreeNodeRecursion::Jump,
            ));
        }
        match node.downcast_ref::<DistributedLeafExec>() {
            None => Ok(Transformed::no(node)),
            Some(leaf) => {
                let first = leaf.variants().first().unwrap_or_else(|| leaf.original());
                let first = Arc::clone(first);
                Ok(Transformed::new(first, true, TreeNodeRecursion::Jump))
            }
        }
    });
    let written = of_task.data()?;
    let codec = DistributedCodec::new_combined_with_user(context.session_config());
    let converter = DeduplicatingProtoConverter::default();
    let bytes =
        physical_plan_to_bytes_with_proto_converter(Arc::clone(&written), &codec, &converter)?;
    let converter = DeduplicatingProtoConverter::default();
    let read = physical_plan_from_bytes_with_proto_converter(&bytes, context, &codec, &converter)?;
    compared::compare(&written, &read, calls).map_err(DataFusionError::Plan)
}
