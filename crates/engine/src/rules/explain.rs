//! Adds the rules that changed a plan to EXPLAIN.

use std::sync::Arc;

use arrow::array::{RecordBatch, StringArray};
use async_trait::async_trait;
use datafusion::catalog::Session;
use datafusion::common::Result;
use datafusion::datasource::memory::MemorySourceConfig;
use datafusion::execution::context::QueryPlanner;
use datafusion::logical_expr::{ExplainFormat, LogicalPlan, PlanType, StringifiedPlan};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::explain::ExplainExec;
use datafusion::physical_planner::{DefaultPhysicalPlanner, PhysicalPlanner as _};

use super::all_rules;
#[cfg(any(test, debug_assertions))]
use crate::plan_validator::validate;

/// Plan type of the row that lists rules.
const RULES: &str = "rules";

/// DataFusion's planner. Debug builds and tests validate its plans.
#[derive(Debug)]
pub struct LocalPlanner;

#[async_trait]
impl QueryPlanner for LocalPlanner {
    async fn create_physical_plan(
        &self,
        logical: &LogicalPlan,
        session: &dyn Session,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let planner = DefaultPhysicalPlanner::default();
        let plan = planner.create_physical_plan(logical, session).await?;
        #[cfg(any(test, debug_assertions))]
        validate(logical, &plan)?;
        Ok(plan)
    }
}

/// A planner whose EXPLAIN output lists our rules.
#[derive(Debug)]
pub struct ExplainRulesPlanner(pub Arc<dyn QueryPlanner + Send + Sync>);

#[async_trait]
impl QueryPlanner for ExplainRulesPlanner {
    async fn create_physical_plan(
        &self,
        logical: &LogicalPlan,
        session: &dyn Session,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let plan = self.0.create_physical_plan(logical, session).await?;
        with_changed_rules(logical, plan)
    }
}

/// Adds a row with the rules that changed the plan to an EXPLAIN; returns other plans unchanged.
///
/// # Errors
/// If the rows cannot be built.
fn with_changed_rules(
    logical: &LogicalPlan,
    plan: Arc<dyn ExecutionPlan>,
) -> Result<Arc<dyn ExecutionPlan>> {
    let (LogicalPlan::Explain(explain), Some(explained)) =
        (logical, plan.downcast_ref::<ExplainExec>())
    else {
        return Ok(plan);
    };
    let changed = changed_rules(explained.stringified_plans());
    // EXPLAIN VERBOSE shows the plan after each rule.
    let is_short = explain.explain_format == ExplainFormat::Indent && !explain.verbose;
    if !is_short || changed.is_empty() {
        return Ok(plan);
    }
    let shown = explained.stringified_plans().iter();
    let shown = shown.filter(|plan| plan.should_display(false));
    let mut types = Vec::new();
    let mut plans: Vec<Arc<String>> = Vec::new();
    for plan in shown {
        types.push(plan.plan_type.to_string());
        plans.push(Arc::clone(&plan.plan));
    }
    types.push(RULES.to_owned());
    plans.push(Arc::new(changed.join(", ")));
    let rows = RecordBatch::try_new(
        explained.schema(),
        vec![
            Arc::new(StringArray::from(types)),
            Arc::new(StringArray::from_iter_values(
                plans.iter().map(|plan| plan.as_str()),
            )),
        ],
    )?;
    let plan = MemorySourceConfig::try_new_exec(&[vec![rows]], explained.schema(), None)?;
    Ok(plan)
}

/// Returns the names of our rules that changed a plan, in their order.
fn changed_rules(plans: &[StringifiedPlan]) -> Vec<&'static str> {
    let mut found = Vec::new();
    let (mut logical, mut physical) = (None, None);
    for plan in plans {
        let (before, rule) = match &plan.plan_type {
            PlanType::InitialLogicalPlan => (&mut logical, None),
            PlanType::AnalyzedLogicalPlan { analyzer_name } => (&mut logical, Some(analyzer_name)),
            PlanType::OptimizedLogicalPlan { optimizer_name } => {
                (&mut logical, Some(optimizer_name))
            }
            PlanType::InitialPhysicalPlan => (&mut physical, None),
            PlanType::OptimizedPhysicalPlan { optimizer_name } => {
                (&mut physical, Some(optimizer_name))
            }
            _ => continue,
        };
        let before = before.replace(&plan.plan);
        let ours = rule.and_then(|rule| all_rules().find(|ours| ours.name == rule));
        if let (Some(before), Some(ours)) = (before, ours)
            && *before != plan.plan
            && !found.contains(&ours.name)
        {
            found.push(ours.name);
        }
    }
    found
}
