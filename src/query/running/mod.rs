//! Windows that go on from row to row are computed where the sorted rows lie: `row_number()`, `rank()`, and what the best was so far.
//!
//! DataFusion's operator of windows gathers the rows of each partition, and asks an accumulator for each row. These functions need no
//! more than where partitions and rows of equal rank begin, and what there was of the row before.

mod along;
mod keys;
mod place;
#[cfg(test)]
mod tests;
mod total;

use std::fmt;
use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{
    Transformed, TransformedResult as _, TreeNode as _, TreeNodeRecursion,
};
use datafusion::common::{Result, Statistics};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::window::WindowExpr;
use datafusion::physical_expr::{OrderingRequirements, PhysicalExpr};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::execution_plan::replace_children_if_necessary;
use datafusion::physical_plan::metrics::{BaselineMetrics, ExecutionPlanMetricsSet, MetricsSet};
use datafusion::physical_plan::statistics::StatisticsArgs;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::windows::BoundedWindowAggExec;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, InputDistributionRequirements, InputOrderMode,
    PlanProperties,
};
use futures::StreamExt as _;

use along::{Along, Function};
use keys::By;
pub(super) use keys::differ;

/// The rule that does so, after all others.
#[derive(Debug)]
pub(super) struct RunAlong;

impl PhysicalOptimizerRule for RunAlong {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        plan.transform_up(|node| match RunningExec::of(&node) {
            Some(running) => Ok(Transformed::yes(Arc::new(running) as _)),
            None => Ok(Transformed::no(node)),
        })
        .data()
    }

    fn name(&self) -> &'static str {
        "run_along"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// Adds a column for each function to rows that are sorted by partition and order.
#[derive(Debug)]
struct RunningExec {
    /// What it stands for: its rows are the same.
    window: Arc<dyn ExecutionPlan>,
    input: Arc<dyn ExecutionPlan>,
    functions: Arc<[Function]>,
    by: By,
    metrics: ExecutionPlanMetricsSet,
}

impl RunningExec {
    /// The same for a window of such functions alone; `None` for any other plan.
    fn of(node: &Arc<dyn ExecutionPlan>) -> Option<Self> {
        let window = node.downcast_ref::<BoundedWindowAggExec>()?;
        if window.input_order_mode != InputOrderMode::Sorted {
            return None;
        }
        let exprs = window.window_expr();
        let schema = window.input().schema();
        let functions = exprs
            .iter()
            .map(|expr| Function::of(expr.as_ref(), &schema));
        let functions: Option<Vec<Function>> = functions.collect();
        let first = exprs.first()?;
        let is_like_first = |expr: &Arc<dyn WindowExpr>| {
            expr.partition_by() == first.partition_by() && expr.order_by() == first.order_by()
        };
        if !exprs.iter().all(is_like_first) {
            return None;
        }
        let order_by = first.order_by().iter().map(|by| Arc::clone(&by.expr));
        Some(Self {
            functions: functions?.into(),
            by: By {
                partition: first.partition_by().to_vec(),
                order: order_by.collect(),
            },
            input: Arc::clone(window.input()),
            window: Arc::clone(node),
            metrics: ExecutionPlanMetricsSet::new(),
        })
    }
}

impl DisplayAs for RunningExec {
    fn fmt_as(&self, format: DisplayFormatType, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "RunningExec: ")?;
        self.window.fmt_as(format, to)
    }
}

impl ExecutionPlan for RunningExec {
    fn name(&self) -> &'static str {
        "RunningExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.window.properties()
    }

    fn required_input_ordering(&self) -> Vec<Option<OrderingRequirements>> {
        self.window.required_input_ordering()
    }

    fn input_distribution_requirements(&self) -> InputDistributionRequirements {
        self.window.input_distribution_requirements()
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![true]
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn apply_expressions(
        &self,
        look: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        self.window.apply_expressions(look)
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let window = replace_children_if_necessary(Arc::clone(&self.window), children)?;
        Ok(match Self::of(&window) {
            Some(running) => Arc::new(running),
            None => window,
        })
    }

    fn execute(&self, part: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let rows = self.input.execute(part, context)?;
        let metrics = BaselineMetrics::new(&self.metrics, part);
        let along = Along::new(&self.functions, self.by.clone(), self.schema());
        let computed = futures::stream::try_unfold(Some((rows, along)), move |state| {
            let metrics = metrics.clone();
            async move {
                let Some((mut rows, mut along)) = state else {
                    return Ok(None);
                };
                while let Some(batch) = rows.next().await {
                    let batch = batch?;
                    let timer = metrics.elapsed_compute().timer();
                    let done = along.add(batch)?;
                    timer.done();
                    if let Some(done) = done {
                        metrics.record_output(done.num_rows());
                        return Ok(Some((done, Some((rows, along)))));
                    }
                }
                let last = along.finish()?;
                metrics.done();
                Ok(last.map(|last| (last, None)))
            }
        });
        let schema = self.schema();
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, computed)))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }

    fn statistics_from_inputs(
        &self,
        inputs: &[Arc<Statistics>],
        args: &StatisticsArgs,
    ) -> Result<Arc<Statistics>> {
        self.window.statistics_from_inputs(inputs, args)
    }
}
