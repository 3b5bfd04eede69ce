//! Keeps projections with lambda functions where they are.
//!
//! ```text
//! ProjectionExec: array_transform(l, x -> x@2 + 1)      DataSourceExec: array_transform(l, x -> x@2 + 1)
//!   DataSourceExec: k, l                           not    (of the columns of the file: a, b, k, l)
//! ```
//!
//! The parameter of a lambda function is a column after those of the input. DataFusion 55 moves the projection into the
//! scan, which has other columns, and leaves the parameter at its old position. So the rule that moves projections
//! sees a [`FixedProjection`] instead, which it does not move.
//!
//! Upstream: not filed, docs/dev/upstream/lambda_projections.md

use std::fmt;
use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{TreeNode as _, TreeNodeRecursion};
use datafusion::common::{Result, internal_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::expressions::LambdaExpr;
use datafusion::physical_expr::{OrderingRequirements, PhysicalExpr};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::execution_plan::replace_children_if_necessary;
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, InputDistributionRequirements, PlanProperties,
};
use delegate::delegate;

use super::placeholders::optimize_with_placeholders;

/// Runs the projection pushdown on a plan whose projections with lambda functions stay.
#[derive(Debug)]
pub(super) struct FixedLambdas(pub(super) Arc<dyn PhysicalOptimizerRule + Send + Sync>);

impl PhysicalOptimizerRule for FixedLambdas {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        config: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let hide = |node: &Arc<dyn ExecutionPlan>| match node.downcast_ref::<ProjectionExec>() {
            Some(projection) if has_lambda(projection)? => {
                Ok(Some(Arc::new(FixedProjection(Arc::clone(node))) as _))
            }
            _ => Ok(None),
        };
        let restore = |node: &Arc<dyn ExecutionPlan>| {
            let fixed = node.downcast_ref::<FixedProjection>()?;
            Some(Arc::clone(&fixed.0))
        };
        optimize_with_placeholders(self.0.as_ref(), plan, config, hide, restore)
    }

    fn name(&self) -> &str {
        self.0.name()
    }

    fn schema_check(&self) -> bool {
        self.0.schema_check()
    }
}

fn has_lambda(projection: &ProjectionExec) -> Result<bool> {
    for projected in projection.expr() {
        if projected.expr.exists(|part| Ok(part.is::<LambdaExpr>()))? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Placeholder for a projection during projection pushdown. It is never executed.
#[derive(Debug)]
struct FixedProjection(Arc<dyn ExecutionPlan>);

impl DisplayAs for FixedProjection {
    fn fmt_as(&self, format: DisplayFormatType, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt_as(format, to)
    }
}

impl ExecutionPlan for FixedProjection {
    delegate! {
        to self.0 {
            fn properties(&self) -> &Arc<PlanProperties>;
            fn input_distribution_requirements(&self) -> InputDistributionRequirements;
            fn required_input_ordering(&self) -> Vec<Option<OrderingRequirements>>;
            fn maintains_input_order(&self) -> Vec<bool>;
            fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>>;
            fn apply_expressions(
                &self,
                look: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
            ) -> Result<TreeNodeRecursion>;
        }
    }

    fn name(&self) -> &'static str {
        "FixedProjection"
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let projection = replace_children_if_necessary(Arc::clone(&self.0), children)?;
        Ok(Arc::new(Self(projection)))
    }

    fn execute(&self, _: usize, _: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        internal_err!("a fixed projection is replaced before a plan is run")
    }
}
