//! Which questions go to workers.
//!
//! A question is planned as on one machine first. Where that plan reads much, workers are asked who they are, the
//! plan is cut into stages, and each stage is looked at and written down as it would be sent. Whatever does not
//! pass runs here.

use std::sync::Arc;

use async_trait::async_trait;
use datafusion::catalog::Session;
use datafusion::common::Result;
use datafusion::common::tree_node::{TreeNode as _, TreeNodeRecursion};
use datafusion::datasource::sink::DataSinkExec;
use datafusion::execution::SessionState;
use datafusion::execution::context::QueryPlanner;
use datafusion::logical_expr::{LogicalPlan, PlanType, StringifiedPlan};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::analyze::AnalyzeExec;
use datafusion::physical_plan::execution_plan::replace_children_if_necessary;
use datafusion::physical_plan::explain::ExplainExec;
use datafusion_distributed::display_plan_ascii;

use super::asked::Asked;
use super::cut::{cut, looked_at};
use super::leaves::expected_rows;
use super::session::Cluster;
use super::windows::WindowCalls;
use crate::store::scan_of_store;

/// Plans questions of a session that has workers.
#[derive(Debug)]
pub(super) struct Planner {
    pub(super) cluster: Arc<Cluster>,
    /// Plans for one machine.
    pub(super) local: Arc<dyn QueryPlanner + Send + Sync>,
}

#[async_trait]
impl QueryPlanner for Planner {
    async fn create_physical_plan(
        &self,
        logical: &LogicalPlan,
        session: &dyn Session,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let local = self.local.create_physical_plan(logical, session).await?;
        if let (LogicalPlan::Explain(explain), Some(told)) =
            (logical, local.downcast_ref::<ExplainExec>())
        {
            let inner = self.local.create_physical_plan(&explain.plan, session);
            let inner = inner.await?;
            let calls = WindowCalls::of(&explain.plan)?;
            return Ok(match self.sent(&inner, session, &calls).await? {
                None => local,
                Some(sent) => explained(told, sent.as_ref()),
            });
        }
        self.shared(local, session, &WindowCalls::of(logical)?)
            .await
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

impl Planner {
    /// The plan, of which workers run what they can.
    async fn shared(
        &self,
        local: Arc<dyn ExecutionPlan>,
        session: &dyn Session,
        calls: &WindowCalls,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        // What writes or counts the rows stays here: it must not be run again where a worker is lost.
        let stays = local.downcast_ref::<DataSinkExec>().is_some();
        if let ([input], true) = (local.children().as_slice(), stays) {
            let input = Box::pin(self.shared(Arc::clone(input), session, calls)).await?;
            return replace_children_if_necessary(local, vec![input]);
        }
        let Some(sent) = self.sent(&local, session, calls).await? else {
            return Ok(local);
        };
        if local.downcast_ref::<AnalyzeExec>().is_some() {
            return Ok(sent);
        }
        let Some(state) = session.as_any().downcast_ref::<SessionState>() else {
            return Ok(local);
        };
        let cluster = Arc::clone(&self.cluster);
        Ok(Arc::new(Asked::new(
            cluster,
            local,
            sent,
            (state.clone(), calls.clone()),
        )))
    }

    /// The plan cut into stages, with workers to run them; `None` where it is to run here.
    async fn sent(
        &self,
        local: &Arc<dyn ExecutionPlan>,
        session: &dyn Session,
        calls: &WindowCalls,
    ) -> Result<Option<Arc<dyn ExecutionPlan>>> {
        let (rows, least_rows) = (rows(local), self.cluster.least_rows());
        if rows < least_rows {
            self.cluster.stayed(&format!(
                "about {rows:.0} rows are read, workers begin at {least_rows:.0}"
            ));
            return Ok(None);
        }
        match self.cluster.find().await {
            Ok(0) => self.cluster.stayed("no worker answers"),
            Ok(_) => return self.in_stages(local, session, calls).await,
            // A name that nobody knows now, as of a service that has no machine yet.
            Err(error) => self.cluster.stayed(&error.to_string()),
        }
        Ok(None)
    }

    /// The plan in stages that workers run as they are; `None` where they cannot.
    async fn in_stages(
        &self,
        local: &Arc<dyn ExecutionPlan>,
        session: &dyn Session,
        calls: &WindowCalls,
    ) -> Result<Option<Arc<dyn ExecutionPlan>>> {
        let cut = match cut(local, session).await {
            Ok(cut) => cut,
            Err(error) => {
                self.cluster.stayed(&error.to_string());
                return Ok(None);
            }
        };
        match looked_at(&cut, session, calls) {
            Ok(stages) => {
                self.cluster.went(&stages);
                Ok(Some(cut))
            }
            Err(reason) => {
                self.cluster.stayed(&reason);
                Ok(None)
            }
        }
    }
}

/// Rows that the scans of a plan are expected to give.
fn rows(plan: &Arc<dyn ExecutionPlan>) -> f64 {
    let mut rows = 0.0;
    let counted = plan.apply(|node| {
        rows += scan_of_store(node).map_or(0.0, expected_rows);
        Ok(TreeNodeRecursion::Continue)
    });
    // Whoever looks cannot fail.
    let _ = counted;
    rows
}
