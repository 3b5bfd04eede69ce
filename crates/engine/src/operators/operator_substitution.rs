//! Substitution of DataFusion's operators by faster ones with the same rows, schema and properties.

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
use delegate::delegate;

/// Another implementation of an operator with one input.
pub(crate) trait OperatorSubstitute: Debug + Send + Sync + Sized + 'static {
    /// Name in plans.
    const NAME: &'static str;

    /// Creates the substitute for `node`; `None` for unsupported plans.
    fn try_from_plan(node: &Arc<dyn ExecutionPlan>) -> Result<Option<Self>>;

    /// Description in plans; `theirs` is the description of the original operator.
    fn describe(&self, theirs: &str) -> String {
        theirs.to_owned()
    }

    /// Computes the rows of a partition from those of its input.
    fn execute(
        &self,
        rows: SendableRecordBatchStream,
        made: OutputContext,
        context: &Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream>;
}

/// Context of the output of an operator.
pub(crate) struct OutputContext {
    pub(crate) schema: SchemaRef,
    pub(crate) metrics: ExecutionPlanMetricsSet,
    /// Index of the partition.
    pub(crate) part: usize,
}

/// The physical optimizer rule that inserts the substitutes, after all other rules.
pub(crate) struct Substitute<T>(PhantomData<fn() -> T>);

impl<T> Substitute<T> {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self(PhantomData))
    }
}

impl<T: OperatorSubstitute> Debug for Substitute<T> {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "Substitute({})", T::NAME)
    }
}

impl<T: OperatorSubstitute> PhysicalOptimizerRule for Substitute<T> {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        plan.transform_up(|node| match SubstituteExec::<T>::try_from_plan(&node)? {
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

/// The original operator of a substitute; `None` for other plans.
#[cfg(any(test, debug_assertions))]
pub(crate) fn original<T: OperatorSubstitute>(
    node: &Arc<dyn ExecutionPlan>,
) -> Option<&Arc<dyn ExecutionPlan>> {
    let ours = node.downcast_ref::<SubstituteExec<T>>();
    ours.map(|ours| &ours.theirs)
}

/// An operator that replaces another one.
#[derive(Debug)]
struct SubstituteExec<T> {
    theirs: Arc<dyn ExecutionPlan>,
    ours: T,
    metrics: ExecutionPlanMetricsSet,
}

impl<T: OperatorSubstitute> SubstituteExec<T> {
    fn try_from_plan(node: &Arc<dyn ExecutionPlan>) -> Result<Option<Self>> {
        let ours = T::try_from_plan(node)?;
        Ok(ours.map(|ours| Self {
            theirs: Arc::clone(node),
            ours,
            metrics: ExecutionPlanMetricsSet::new(),
        }))
    }
}

impl<T: OperatorSubstitute> DisplayAs for SubstituteExec<T> {
    fn fmt_as(&self, format: DisplayFormatType, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let theirs = DisplayNode(self.theirs.as_ref(), format).to_string();
        let theirs = theirs.split_once(": ").map_or("", |(_, said)| said);
        write!(to, "{}: {}", T::NAME, self.ours.describe(theirs))
    }
}

/// Display of an operator in plans: its name, then its description.
struct DisplayNode<'a>(&'a dyn ExecutionPlan, DisplayFormatType);

impl fmt::Display for DisplayNode<'_> {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt_as(self.1, to)
    }
}

impl<T: OperatorSubstitute> ExecutionPlan for SubstituteExec<T> {
    delegate! {
        to self.theirs {
            fn properties(&self) -> &Arc<PlanProperties>;
            fn required_input_ordering(&self) -> Vec<Option<OrderingRequirements>>;
            fn input_distribution_requirements(&self) -> InputDistributionRequirements;
            fn maintains_input_order(&self) -> Vec<bool>;
            fn benefits_from_input_partitioning(&self) -> Vec<bool>;
            fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>>;
            fn child_stats_requests(&self, part: Option<usize>) -> Vec<ChildStats>;
            fn statistics_from_inputs(&self, inputs: &[Arc<Statistics>], args: &StatisticsArgs) -> Result<Arc<Statistics>>;
            fn cardinality_effect(&self) -> CardinalityEffect;
        }
    }

    fn name(&self) -> &'static str {
        T::NAME
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
        Ok(match Self::try_from_plan(&theirs)? {
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
        let made = OutputContext {
            schema: self.schema(),
            metrics: self.metrics.clone(),
            part,
        };
        self.ours.execute(rows, made, &context)
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }
}
