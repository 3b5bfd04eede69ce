//! Columns that are asked for again stay in memory as they were decoded.
//!
//! A column of 50 million runtimes takes half a second to decode and a tenth to look through. Who asks one question has mostly more
//! of them: from the second time on that all of a column is wanted, its pieces stay, until others need the room.
//!
//! ```text
//! KeptColumnsExec            first: the plan below as it is
//!   ProjectionExec           then: its columns in whole, and what this plan does here
//!     FilterExec
//!       DataSourceExec
//! ```
//!
//! What filters choose pages by (identifiers, times, the best so far) reads few of them mostly, and keeps none, unless that condition was seen
//! to leave out little; what is kept anyway answers it as well: each piece has its bounds. Of what is packed stay the numbers that are asked for: the fastest repeat, a cost. Left to the scan:
//! texts and lists, which are large; sessions within a limit of memory.

mod asked;
mod columns;
mod extent;
mod ranges;
mod reading;
#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::{Arc, OnceLock};

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{
    Transformed, TransformedResult as _, TreeNode as _, TreeNodeRecursion,
};
use datafusion::common::{Result, Statistics, internal_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::execution_plan::CardinalityEffect;
use datafusion::physical_plan::metrics::{ExecutionPlanMetricsSet, MetricsSet};
use datafusion::physical_plan::statistics::{ChildStats, StatisticsArgs};
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};

use asked::{Asked, scan_below};
use columns::Columns;
use extent::Question;
use reading::Reading;

/// The rule that puts such operators above scans, after filters were handed down.
#[derive(Debug)]
pub(super) struct KeepColumns;

impl PhysicalOptimizerRule for KeepColumns {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        plan.transform_down(
            |node| match KeptColumnsExec::above(&node, Columns::of_process())? {
                Some(kept) => Ok(Transformed::new(
                    Arc::new(kept) as _,
                    true,
                    TreeNodeRecursion::Jump,
                )),
                None => Ok(Transformed::no(node)),
            },
        )
        .data()
    }

    fn name(&self) -> &'static str {
        "keep_columns"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// The rows of a scan, from columns that are kept once they are asked for again.
#[derive(Debug)]
pub(super) struct KeptColumnsExec {
    /// The scan, and what follows on it.
    plan: Arc<dyn ExecutionPlan>,
    columns: &'static Columns,
    asked: Arc<Asked>,
    /// The question, and its number if its columns are kept or are to be: the same for all threads.
    question: OnceLock<(Arc<Question>, Option<u64>)>,
    metrics: ExecutionPlanMetricsSet,
}

impl KeptColumnsExec {
    /// The operator above a plan; `None` for plans of which it knows no more than they.
    fn above(plan: &Arc<dyn ExecutionPlan>, columns: &'static Columns) -> Result<Option<Self>> {
        let asked = Asked::of(plan)?;
        Ok(asked.map(|asked| Self {
            plan: Arc::clone(plan),
            columns,
            asked: Arc::new(asked),
            question: OnceLock::new(),
            metrics: ExecutionPlanMetricsSet::new(),
        }))
    }

    /// What the rows come from.
    pub(super) fn plan(&self) -> &Arc<dyn ExecutionPlan> {
        &self.plan
    }
}

impl DisplayAs for KeptColumnsExec {
    fn fmt_as(&self, _: DisplayFormatType, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "KeptColumnsExec: columns=[{}]", self.asked)
    }
}

impl ExecutionPlan for KeptColumnsExec {
    fn name(&self) -> &'static str {
        "KeptColumnsExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.plan.properties()
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![true]
    }

    fn benefits_from_input_partitioning(&self) -> Vec<bool> {
        vec![false]
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.plan]
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let [plan] = <[_; 1]>::try_from(children).or_else(|children| {
            internal_err!("columns of one scan are kept, not of {}", children.len())
        })?;
        Ok(match Self::above(&plan, self.columns)? {
            Some(kept) => Arc::new(kept),
            None => plan,
        })
    }

    fn execute(&self, part: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let piece_rows = context.session_config().batch_size();
        let Some(scan) = scan_below(&self.plan) else {
            return self.plan.execute(part, context);
        };
        let (question, number) = self.question.get_or_init(|| {
            let question = Question::of(scan, self.columns, &self.asked, piece_rows);
            let number = question.ask();
            (Arc::new(question), number)
        });
        let Some(number) = *number else {
            let rows = self.plan.execute(part, context)?;
            return Ok(Arc::clone(question).watched(rows));
        };
        let reading = Reading {
            question: Arc::clone(question),
            number,
            schema: self.schema(),
        };
        reading.rows(part, context, &self.metrics)
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }

    fn child_stats_requests(&self, part: Option<usize>) -> Vec<ChildStats> {
        vec![ChildStats::At(part)]
    }

    fn statistics_from_inputs(
        &self,
        inputs: &[Arc<Statistics>],
        _: &StatisticsArgs,
    ) -> Result<Arc<Statistics>> {
        let unknown = || Arc::new(Statistics::new_unknown(&self.schema()));
        Ok(inputs.first().map_or_else(unknown, Arc::clone))
    }

    fn cardinality_effect(&self) -> CardinalityEffect {
        CardinalityEffect::Equal
    }
}
