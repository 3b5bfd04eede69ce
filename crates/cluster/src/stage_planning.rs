//! Cuts a plan into stages, and checks that workers can run them unchanged.

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
use super::{plan_comparison, stages};

/// A query planner that returns a given plan.
#[derive(Debug)]
struct FixedPlanner(Arc<dyn ExecutionPlan>);

#[async_trait]
impl QueryPlanner for FixedPlanner {
    async fn create_physical_plan(
        &self,
        _: &LogicalPlan,
        _: &dyn Session,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(Arc::clone(&self.0))
    }
}

/// Cuts the plan into stages.
pub(super) async fn cut_into_stages(
    local: &Arc<dyn ExecutionPlan>,
    session: &dyn Session,
) -> Result<Arc<dyn ExecutionPlan>> {
    let given = SessionStateBuilder::new()
        .with_config(session.config().clone())
        .with_query_planner(Arc::new(FixedPlanner(Arc::clone(local))));
    let mut builder = given.with_distributed_planner();
    let planner = builder.query_planner().take();
    let planner =
        planner.ok_or_else(|| DataFusionError::Internal("no planner of stages".to_owned()))?;
    let nothing = LogicalPlan::default();
    planner.create_physical_plan(&nothing, session).await
}

/// Returns the stages of a plan if workers can run all of them unchanged; `calls` are the window functions of
/// its query.
///
/// # Errors
/// The reason why they cannot.
pub(super) fn check_stages(
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
    let stages = stages::check_plan(&head)?;
    let context = session.task_ctx();
    for stage in &stages {
        if let Some(plan) = stage.local_plan() {
            check_round_trip(plan, &context, calls)
                .map_err(|error| format!("it cannot be serialized: {error}"))?;
        }
    }
    Ok(stages)
}

/// Serializes a stage and deserializes it, as a worker would receive it: without its input stages, and with the
/// files of one task.
fn check_round_trip(
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
    plan_comparison::compare(&written, &read, calls).map_err(DataFusionError::Plan)
}
