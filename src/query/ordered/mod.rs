//! Rows are sorted as they are gathered: all of a thread at once, by numbers that hold their sort keys ([`words`]).
//!
//! DataFusion sorts each batch, then merges hundreds of them row by row with comparisons that look into each column: more than
//! half of a question about ranks. What comes in order of the first keys is sorted portion by portion. Where memory ends,
//! sorted rows go to files, which DataFusion merges.

mod portion;
#[cfg(test)]
mod tests;
mod words;

pub(super) use words::order;

use std::fmt;
use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{
    Transformed, TransformedResult as _, TreeNode as _, TreeNodeRecursion,
};
use datafusion::common::{Result, Statistics};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::execution_plan::{CardinalityEffect, replace_children_if_necessary};
use datafusion::physical_plan::metrics::{
    BaselineMetrics, ExecutionPlanMetricsSet, MetricsSet, SpillMetrics,
};
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::statistics::{ChildStats, StatisticsArgs};
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties as _,
    InputDistributionRequirements, PlanProperties,
};

/// The rule that does so, after all others.
#[derive(Debug)]
pub(super) struct SortAtOnce;

impl PhysicalOptimizerRule for SortAtOnce {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        plan.transform_up(|node| match OrderedExec::of(&node)? {
            Some(ordered) => Ok(Transformed::yes(Arc::new(ordered) as _)),
            None => Ok(Transformed::no(node)),
        })
        .data()
    }

    fn name(&self) -> &'static str {
        "sort_at_once"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// Sorts the rows of each thread.
#[derive(Debug)]
struct OrderedExec {
    /// What it stands for: its rows are the same.
    sort: Arc<dyn ExecutionPlan>,
    by: portion::By,
    input: Arc<dyn ExecutionPlan>,
    metrics: ExecutionPlanMetricsSet,
}

impl OrderedExec {
    /// The same for a sort of all rows by values that are no lists; `None` for any other plan.
    fn of(node: &Arc<dyn ExecutionPlan>) -> Result<Option<Self>> {
        let Some(sort) = node.downcast_ref::<SortExec>() else {
            return Ok(None);
        };
        let input = sort.input();
        let known = input.equivalence_properties();
        let (prefix, is_sorted) = known.extract_common_sort_prefix(sort.expr().clone())?;
        if sort.fetch().is_some() || is_sorted {
            return Ok(None);
        }
        let schema = input.schema();
        for by in sort.expr().iter() {
            if by.expr.data_type(&schema)?.is_nested() {
                return Ok(None);
            }
        }
        let prefix = prefix.into_iter().map(|by| by.expr);
        Ok(Some(Self {
            by: portion::By::new(sort.expr().clone(), prefix.collect()),
            input: Arc::clone(input),
            sort: Arc::clone(node),
            metrics: ExecutionPlanMetricsSet::new(),
        }))
    }
}

impl DisplayAs for OrderedExec {
    fn fmt_as(&self, _: DisplayFormatType, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "OrderedExec: {}", self.by)
    }
}

impl ExecutionPlan for OrderedExec {
    fn name(&self) -> &'static str {
        "OrderedExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.sort.properties()
    }

    fn input_distribution_requirements(&self) -> InputDistributionRequirements {
        self.sort.input_distribution_requirements()
    }

    fn benefits_from_input_partitioning(&self) -> Vec<bool> {
        vec![false]
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn apply_expressions(
        &self,
        look: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        self.sort.apply_expressions(look)
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let sort = replace_children_if_necessary(Arc::clone(&self.sort), children)?;
        Ok(match Self::of(&sort)? {
            Some(ordered) => Arc::new(ordered),
            None => sort,
        })
    }

    fn execute(&self, part: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let rows = self.input.execute(part, Arc::clone(&context))?;
        let metrics = portion::Metrics {
            baseline: BaselineMetrics::new(&self.metrics, part),
            spilled: SpillMetrics::new(&self.metrics, part),
        };
        Ok(portion::sorted(rows, self.by.clone(), metrics, &context))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }

    fn child_stats_requests(&self, part: Option<usize>) -> Vec<ChildStats> {
        self.sort.child_stats_requests(part)
    }

    fn statistics_from_inputs(
        &self,
        inputs: &[Arc<Statistics>],
        args: &StatisticsArgs,
    ) -> Result<Arc<Statistics>> {
        self.sort.statistics_from_inputs(inputs, args)
    }

    fn cardinality_effect(&self) -> CardinalityEffect {
        CardinalityEffect::Equal
    }
}
