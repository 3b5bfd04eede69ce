//! Operators of ours in the place of DataFusion's: their rows are the same, and all but how they are computed is the other's.

use std::fmt::{self, Debug};
use std::marker::PhantomData;
use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{
    Transformed, TransformedResult as _, TreeNode as _, TreeNodeRecursion,
};
use datafusion::common::{Result, Statistics, internal_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{OrderingRequirements, PhysicalExpr};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::execution_plan::{CardinalityEffect, replace_children_if_necessary};
use datafusion::physical_plan::metrics::{ExecutionPlanMetricsSet, MetricsSet};
use datafusion::physical_plan::statistics::{ChildStats, StatisticsArgs};
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, InputDistributionRequirements, PlanProperties,
};

/// How the rows of an operator with one input are computed instead.
pub(super) trait Operator: Debug + Send + Sync + Sized + 'static {
    /// Its name in plans.
    const NAME: &'static str;

    /// The operator in the place of `node`; `None` for plans that it cannot stand for.
    fn of(node: &Arc<dyn ExecutionPlan>) -> Result<Option<Self>>;

    /// What it does, as plans show it; `theirs` is what they show of the other.
    fn shown(&self, theirs: &str) -> String {
        theirs.to_owned()
    }

    /// The rows of a thread, made of those of its input.
    fn execute(
        &self,
        rows: SendableRecordBatchStream,
        made: Made,
        context: &Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream>;
}

/// What is known of the rows that an operator makes.
pub(super) struct Made {
    pub(super) schema: SchemaRef,
    pub(super) metrics: ExecutionPlanMetricsSet,
    /// The thread.
    pub(super) part: usize,
}

/// The rule that puts such operators into plans, after all others.
pub(super) struct Substitute<T>(PhantomData<fn() -> T>);

impl<T> Substitute<T> {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self(PhantomData))
    }
}

impl<T: Operator> Debug for Substitute<T> {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "Substitute({})", T::NAME)
    }
}

impl<T: Operator> PhysicalOptimizerRule for Substitute<T> {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        plan.transform_up(|node| match SubstituteExec::<T>::of(&node)? {
            Some(ours) => Ok(Transformed::yes(Arc::new(ours) as _)),
            None => Ok(Transformed::no(node)),
        })
        .data()
    }

    fn name(&self) -> &'static str {
        T::NAME
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// The operator that one of ours stands for; `None` for all others.
#[cfg(any(test, debug_assertions))]
pub(super) fn original<T: Operator>(
    node: &Arc<dyn ExecutionPlan>,
) -> Option<&Arc<dyn ExecutionPlan>> {
    let ours = node.downcast_ref::<SubstituteExec<T>>();
    ours.map(|ours| &ours.theirs)
}

/// An operator in the place of another.
#[derive(Debug)]
struct SubstituteExec<T> {
    theirs: Arc<dyn ExecutionPlan>,
    ours: T,
    metrics: ExecutionPlanMetricsSet,
}

impl<T: Operator> SubstituteExec<T> {
    fn of(node: &Arc<dyn ExecutionPlan>) -> Result<Option<Self>> {
        let ours = T::of(node)?;
        Ok(ours.map(|ours| Self {
            theirs: Arc::clone(node),
            ours,
            metrics: ExecutionPlanMetricsSet::new(),
        }))
    }
}

impl<T: Operator> DisplayAs for SubstituteExec<T> {
    fn fmt_as(&self, format: DisplayFormatType, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let theirs = Shown(self.theirs.as_ref(), format).to_string();
        let theirs = theirs.split_once(": ").map_or("", |(_, said)| said);
        write!(to, "{}: {}", T::NAME, self.ours.shown(theirs))
    }
}

/// An operator as plans show it: its name, then what it does.
struct Shown<'a>(&'a dyn ExecutionPlan, DisplayFormatType);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt_as(self.1, to)
    }
}

impl<T: Operator> ExecutionPlan for SubstituteExec<T> {
    fn name(&self) -> &'static str {
        T::NAME
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.theirs.properties()
    }

    fn required_input_ordering(&self) -> Vec<Option<OrderingRequirements>> {
        self.theirs.required_input_ordering()
    }

    fn input_distribution_requirements(&self) -> InputDistributionRequirements {
        self.theirs.input_distribution_requirements()
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        self.theirs.maintains_input_order()
    }

    fn benefits_from_input_partitioning(&self) -> Vec<bool> {
        self.theirs.benefits_from_input_partitioning()
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        self.theirs.children()
    }

    fn apply_expressions(
        &self,
        look: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        self.theirs.apply_expressions(look)
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let theirs = replace_children_if_necessary(Arc::clone(&self.theirs), children)?;
        Ok(match Self::of(&theirs)? {
            Some(ours) => Arc::new(ours),
            None => theirs,
        })
    }

    fn execute(&self, part: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let children = self.theirs.children();
        let [input] = children.as_slice() else {
            return internal_err!("{} has one input", T::NAME);
        };
        let rows = input.execute(part, Arc::clone(&context))?;
        let made = Made {
            schema: self.schema(),
            metrics: self.metrics.clone(),
            part,
        };
        self.ours.execute(rows, made, &context)
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }

    fn child_stats_requests(&self, part: Option<usize>) -> Vec<ChildStats> {
        self.theirs.child_stats_requests(part)
    }

    fn statistics_from_inputs(
        &self,
        inputs: &[Arc<Statistics>],
        args: &StatisticsArgs,
    ) -> Result<Arc<Statistics>> {
        self.theirs.statistics_from_inputs(inputs, args)
    }

    fn cardinality_effect(&self) -> CardinalityEffect {
        self.theirs.cardinality_effect()
    }
}
