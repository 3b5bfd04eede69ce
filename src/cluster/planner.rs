//! Which questions go to workers.
//!
//! A question is planned as on one machine first. Where that plan reads much, workers are asked who they are, the
//! plan is cut into stages, and each stage is looked at and written down as it would be sent. Whatever does not
//! pass runs here.

use std::sync::Arc;

use async_trait::async_trait;
use datafusion::catalog::Session;
use datafusion::common::tree_node::{
    Transformed, TransformedResult as _, TreeNode as _, TreeNodeRecursion,
};
use datafusion::common::{DataFusionError, Result};
use datafusion::datasource::sink::DataSinkExec;
use datafusion::execution::context::QueryPlanner;
use datafusion::execution::{SessionState, SessionStateBuilder, TaskContext};
use datafusion::logical_expr::{LogicalPlan, PlanType, StringifiedPlan};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::analyze::AnalyzeExec;
use datafusion::physical_plan::empty::EmptyExec;
use datafusion::physical_plan::execution_plan::replace_children_if_necessary;
use datafusion::physical_plan::explain::ExplainExec;
use datafusion::physical_planner::{DefaultPhysicalPlanner, PhysicalPlanner as _};
use datafusion_distributed::{
    DistributedCodec, DistributedExec, DistributedLeafExec, NetworkBoundaryExt as _,
    SessionStateBuilderExt as _, Stage, display_plan_ascii,
};
use datafusion_proto::bytes::{
    physical_plan_from_bytes_with_proto_converter, physical_plan_to_bytes_with_proto_converter,
};
use datafusion_proto::physical_plan::DeduplicatingProtoConverter;

use super::asked::Asked;
use super::leaves::{expected_rows, scan};
use super::{Cluster, stages};

/// Plans questions of a session that has workers.
#[derive(Debug)]
pub(super) struct Planner(pub(super) Arc<Cluster>);

#[async_trait]
impl QueryPlanner for Planner {
    async fn create_physical_plan(
        &self,
        logical: &LogicalPlan,
        session: &dyn Session,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let planner = DefaultPhysicalPlanner::default();
        let local = planner.create_physical_plan(logical, session).await?;
        if let (LogicalPlan::Explain(explain), Some(told)) =
            (logical, local.downcast_ref::<ExplainExec>())
        {
            let inner = planner.create_physical_plan(&explain.plan, session).await?;
            return Ok(match self.0.sent(&inner, session).await? {
                None => local,
                Some(sent) => explained(told, sent.as_ref()),
            });
        }
        self.0.shared(local, session).await
    }
}

/// The explanation with the stages in the place of the plan.
fn explained(told: &ExplainExec, sent: &dyn ExecutionPlan) -> Arc<dyn ExecutionPlan> {
    let plans = told.stringified_plans().iter().map(|plan| {
        if plan.plan_type == PlanType::FinalPhysicalPlan {
            StringifiedPlan::new(plan.plan_type.clone(), display_plan_ascii(sent, false))
        } else {
            plan.clone()
        }
    });
    Arc::new(ExplainExec::new(
        told.schema(),
        plans.collect(),
        told.verbose(),
    ))
}

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

impl Cluster {
    /// The plan, of which workers run what they can.
    async fn shared(
        self: &Arc<Self>,
        local: Arc<dyn ExecutionPlan>,
        session: &dyn Session,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        // What writes or counts the rows stays here: it must not be run again where a worker is lost.
        let stays = local.downcast_ref::<DataSinkExec>().is_some();
        if let ([input], true) = (local.children().as_slice(), stays) {
            let input = Box::pin(self.shared(Arc::clone(input), session)).await?;
            return replace_children_if_necessary(local, vec![input]);
        }
        let Some(sent) = self.sent(&local, session).await? else {
            return Ok(local);
        };
        if local.downcast_ref::<AnalyzeExec>().is_some() {
            return Ok(sent);
        }
        let Some(state) = session.as_any().downcast_ref::<SessionState>() else {
            return Ok(local);
        };
        let cluster = Arc::clone(self);
        Ok(Arc::new(Asked::new(cluster, local, sent, state.clone())))
    }

    /// The plan cut into stages, with workers to run them; `None` where it is to run here.
    async fn sent(
        &self,
        local: &Arc<dyn ExecutionPlan>,
        session: &dyn Session,
    ) -> Result<Option<Arc<dyn ExecutionPlan>>> {
        let rows = rows(local);
        if rows < self.least_rows {
            self.stayed(&format!(
                "about {rows:.0} rows are read, workers begin at {:.0}",
                self.least_rows
            ));
            return Ok(None);
        }
        if self.find().await? == 0 {
            self.stayed("no worker answers");
            return Ok(None);
        }
        let cut = match self.cut(local, session).await {
            Ok(cut) => cut,
            Err(error) => {
                self.stayed(&error.to_string());
                return Ok(None);
            }
        };
        let looked_at = looked_at(&cut, session);
        match looked_at {
            Ok(stages) => {
                self.went(&stages);
                Ok(Some(cut))
            }
            Err(reason) => {
                self.stayed(&reason);
                Ok(None)
            }
        }
    }

    /// The plan cut into stages.
    pub(super) async fn cut(
        &self,
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
}

/// Rows that the scans of a plan are expected to give.
fn rows(plan: &Arc<dyn ExecutionPlan>) -> f64 {
    let mut rows = 0.0;
    let counted = plan.apply(|node| {
        rows += scan(node).map_or(0.0, expected_rows);
        Ok(TreeNodeRecursion::Continue)
    });
    // Whoever looks cannot fail.
    let _ = counted;
    rows
}

/// The stages of a plan, if workers can run all of them as they are.
///
/// # Errors
/// Why they cannot.
pub(super) fn looked_at(
    plan: &Arc<dyn ExecutionPlan>,
    session: &dyn Session,
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
            written(plan, &context)
                .map_err(|error| format!("it cannot be written down: {error}"))?;
        }
    }
    Ok(stages)
}

/// Writes a stage down and reads it back, as it would go to a worker: without the stages that feed it, and with the
/// files of one task.
fn written(plan: &Arc<dyn ExecutionPlan>, context: &TaskContext) -> Result<()> {
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
    let codec = DistributedCodec::new_combined_with_user(context.session_config());
    let converter = DeduplicatingProtoConverter::default();
    let bytes = physical_plan_to_bytes_with_proto_converter(of_task.data()?, &codec, &converter)?;
    let converter = DeduplicatingProtoConverter::default();
    physical_plan_from_bytes_with_proto_converter(&bytes, context, &codec, &converter).map(|_| ())
}
