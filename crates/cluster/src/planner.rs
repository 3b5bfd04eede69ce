//! Decides which queries run on workers.
//!
//! A query is planned for one machine first. If that plan reads enough rows, the workers report their status,
//! the plan is cut into stages, and each stage is checked and serialized. A plan that fails a check runs on
//! this machine.

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
use tsql_store::scan_of_store;

use super::scan_division::expected_rows;
use super::session::Cluster;
use super::stage_planning::{check_stages, cut_into_stages};
use super::windows::WindowCalls;
use super::worker_query::WorkerQueryExec;

/// Query planner of a session that has workers.
#[derive(Debug)]
pub(super) struct ClusterPlanner {
    pub(super) cluster: Arc<Cluster>,
    /// Planner for one machine.
    pub(super) local: Arc<dyn QueryPlanner + Send + Sync>,
}

#[async_trait]
impl QueryPlanner for ClusterPlanner {
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
            let calls = WindowCalls::from_plan(&explain.plan)?;
            return Ok(match self.plan_stages(&inner, session, &calls).await? {
                None => local,
                Some(sent) => explain_stages(told, sent.as_ref()),
            });
        }
        self.distribute(local, session, &WindowCalls::from_plan(logical)?)
            .await
    }
}

/// Replaces the physical plan of an explanation by the distributed plan.
fn explain_stages(told: &ExplainExec, sent: &dyn ExecutionPlan) -> Arc<dyn ExecutionPlan> {
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

impl ClusterPlanner {
    /// Returns a plan that runs on workers as far as possible.
    async fn distribute(
        &self,
        local: Arc<dyn ExecutionPlan>,
        session: &dyn Session,
        calls: &WindowCalls,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        // Nodes that write or count rows stay on this machine: they must not run again if a worker is lost.
        let stays = local.downcast_ref::<DataSinkExec>().is_some();
        if let ([input], true) = (local.children().as_slice(), stays) {
            let input = Box::pin(self.distribute(Arc::clone(input), session, calls)).await?;
            return replace_children_if_necessary(local, vec![input]);
        }
        let Some(sent) = self.plan_stages(&local, session, calls).await? else {
            return Ok(local);
        };
        if local.downcast_ref::<AnalyzeExec>().is_some() {
            return Ok(sent);
        }
        let Some(state) = session.as_any().downcast_ref::<SessionState>() else {
            return Ok(local);
        };
        let cluster = Arc::clone(&self.cluster);
        Ok(Arc::new(WorkerQueryExec::new(
            cluster,
            local,
            sent,
            (state.clone(), calls.clone()),
        )))
    }

    /// Returns the plan in stages if it is large enough and workers are available; `None` if it runs on this
    /// machine.
    async fn plan_stages(
        &self,
        local: &Arc<dyn ExecutionPlan>,
        session: &dyn Session,
        calls: &WindowCalls,
    ) -> Result<Option<Arc<dyn ExecutionPlan>>> {
        let (rows, least_rows) = (scanned_rows(local), self.cluster.least_rows());
        if rows < least_rows {
            self.cluster.record_local(&format!(
                "it reads about {rows:.0} rows, and workers run queries of at least {least_rows:.0}"
            ));
            return Ok(None);
        }
        match self.cluster.refresh_workers().await {
            Ok(0) => (self.cluster).record_local_failure(&self.cluster.unusable_reason()),
            Ok(_) => return self.cut_and_check(local, session, calls).await,
            // A DNS name that does not resolve yet, such as a service that has no machine.
            Err(error) => self.cluster.record_local_failure(&error.to_string()),
        }
        Ok(None)
    }

    /// Cuts the plan into stages that workers can run unchanged; `None` if that is not possible.
    async fn cut_and_check(
        &self,
        local: &Arc<dyn ExecutionPlan>,
        session: &dyn Session,
        calls: &WindowCalls,
    ) -> Result<Option<Arc<dyn ExecutionPlan>>> {
        let cut = match cut_into_stages(local, session).await {
            Ok(cut) => cut,
            Err(error) => {
                self.cluster.record_local(&error.to_string());
                return Ok(None);
            }
        };
        match check_stages(&cut, session, calls) {
            Ok(stages) => {
                self.cluster.record_sent(&stages);
                Ok(Some(cut))
            }
            Err(error_text) => {
                self.cluster.record_local(&error_text);
                Ok(None)
            }
        }
    }
}

/// Estimates the rows that the scans of a plan output.
fn scanned_rows(plan: &Arc<dyn ExecutionPlan>) -> f64 {
    let mut rows = 0.0;
    let counted = plan.apply(|node| {
        rows += scan_of_store(node).map_or(0.0, expected_rows);
        Ok(TreeNodeRecursion::Continue)
    });
    // The closure cannot fail.
    let _ = counted;
    rows
}
