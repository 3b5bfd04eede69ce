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
use datafusion::physical_planner::{DefaultPhysicalPlanner, PhysicalPlanner as _};
use datafusion_distributed::display_plan_ascii;

use super::asked::Asked;
use super::cut::{cut, looked_at};
use super::leaves::expected_rows;
use super::session::Cluster;
use super::windows::WindowCalls;
#[cfg(any(test, debug_assertions))]
use crate::query::validate;
use crate::query::with_changed_rules;
use crate::store::scan_of_store;

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
        #[cfg(any(test, debug_assertions))]
        validate(logical, &local)?;
        if let (LogicalPlan::Explain(explain), Some(told)) =
            (logical, local.downcast_ref::<ExplainExec>())
        {
            let inner = planner.create_physical_plan(&explain.plan, session).await?;
            let calls = WindowCalls::of(&explain.plan)?;
            let explained = match self.sent(&inner, session, &calls).await? {
                None => local,
                Some(sent) => explained(told, sent.as_ref()),
            };
            return with_changed_rules(logical, explained);
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
        let cluster = Arc::clone(&self.0);
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
        let (rows, least_rows) = (rows(local), self.0.least_rows());
        if rows < least_rows {
            self.0.stayed(&format!(
                "about {rows:.0} rows are read, workers begin at {least_rows:.0}"
            ));
            return Ok(None);
        }
        match self.0.find().await {
            Ok(0) => self.0.stayed("no worker answers"),
            Ok(_) => return self.in_stages(local, session, calls).await,
            // A name that nobody knows now, as of a service that has no machine yet.
            Err(error) => self.0.stayed(&error.to_string()),
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
                self.0.stayed(&error.to_string());
                return Ok(None);
            }
        };
        match looked_at(&cut, session, calls) {
            Ok(stages) => {
                self.0.went(&stages);
                Ok(Some(cut))
            }
            Err(reason) => {
                self.0.stayed(&reason);
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
