//! Hides limits from the rule that places sorts.
//!
//! ```text
//! SortExec: x, fetch=3                       SortExec: x, fetch=3
//!   HashJoinExec                               HashJoinExec
//!     BoundedWindowAggExec: count(*)   not       BoundedWindowAggExec: count(*)
//!       rows                                       SortExec: x, fetch=3
//!     other rows                                     rows
//! ```
//!
//! DataFusion 55's `EnsureRequirements` moves a sort to its cheapest position, together with its limit. An operator
//! with rows in the required order passes the limit to all of its inputs, whatever it does with their rows: windows,
//! joins, filters, unions and final stages of aggregations. If the input needs no sort, the limit is lost. So the rule
//! does not see limits: a [`LimitBarrier`] replaces each of them, and requires the order in which the limit counts
//! rows.
//!
//! Upstream: <https://github.com/apache/datafusion/pull/24932>, <https://github.com/apache/datafusion/pull/25066>; windows not filed, docs/dev/upstream/limit_barrier.md

use std::fmt;
use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{
    Transformed, TransformedResult as _, TreeNode as _, TreeNodeRecursion,
};
use datafusion::common::{Result, Statistics, internal_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{Distribution, LexOrdering, OrderingRequirements, PhysicalExpr};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_optimizer::output_requirements::OutputRequirementExec;
use datafusion::physical_plan::execution_plan::CardinalityEffect;
use datafusion::physical_plan::limit::{GlobalLimitExec, LocalLimitExec};
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::sorts::sort_preserving_merge::SortPreservingMergeExec;
use datafusion::physical_plan::statistics::{ChildStats, StatisticsArgs};
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties as _,
    InputDistributionRequirements, PlanProperties,
};

use super::missing_sorts::add_sort;

/// Name of DataFusion's rule that places sorts.
pub(super) const ENSURE_REQUIREMENTS: &str = "EnsureRequirements";

/// Runs the rule that places sorts on a plan with hidden limits.
#[derive(Debug)]
pub(super) struct HideLimits(pub(super) Arc<dyn PhysicalOptimizerRule + Send + Sync>);

impl PhysicalOptimizerRule for HideLimits {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        config: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let plan = plan.transform_up(hide).data()?;
        let plan = self.0.optimize(plan, config)?;
        plan.transform_up(restore).data()
    }

    fn name(&self) -> &str {
        self.0.name()
    }

    fn schema_check(&self) -> bool {
        self.0.schema_check()
    }
}

/// Replaces a limit by a barrier.
fn hide(node: Arc<dyn ExecutionPlan>) -> Result<Transformed<Arc<dyn ExecutionPlan>>> {
    if let Some(output) = node.downcast_ref::<OutputRequirementExec>()
        && output.fetch().is_some()
    {
        let ordering = output.required_input_ordering().into_iter().next();
        let distribution = output.input_distribution_requirements();
        let distribution = distribution.child_distribution(0).cloned();
        return Ok(Transformed::yes(Arc::new(OutputRequirementExec::new(
            output.input(),
            ordering.flatten(),
            distribution.unwrap_or(Distribution::UnspecifiedDistribution),
            None,
        ))));
    }
    let Some((input, limit)) = Limit::detach(&node) else {
        return Ok(Transformed::no(node));
    };
    Ok(Transformed::yes(Arc::new(LimitBarrier::new(input, limit))))
}

/// Replaces a barrier by its limit.
fn restore(node: Arc<dyn ExecutionPlan>) -> Result<Transformed<Arc<dyn ExecutionPlan>>> {
    let Some(LimitBarrier { input, limit, .. }) = node.downcast_ref::<LimitBarrier>() else {
        return Ok(Transformed::no(node));
    };
    let is_in_order = match &limit.ordering {
        Some(ordering) => input
            .equivalence_properties()
            .ordering_satisfy(ordering.clone())?,
        None => true,
    };
    match &limit.ordering {
        Some(ordering) if !is_in_order => Ok(Transformed::yes(
            limit.attach(&add_sort(input, ordering.clone())),
        )),
        _ => Ok(Transformed::yes(limit.attach(input))),
    }
}

/// A limit of an operator.
#[derive(Clone, Debug)]
struct Limit {
    skip: usize,
    fetch: Option<usize>,
    /// Order in which rows are counted, if any.
    ordering: Option<LexOrdering>,
    /// Whether all rows are counted together, rather than per partition.
    is_global: bool,
}

impl Limit {
    /// Returns the plan without the limit of its root, and the limit.
    fn detach(node: &Arc<dyn ExecutionPlan>) -> Option<(Arc<dyn ExecutionPlan>, Self)> {
        if let Some(sort) = node.downcast_ref::<SortExec>() {
            let limit = Self {
                skip: 0,
                fetch: Some(sort.fetch()?),
                ordering: Some(sort.expr().clone()),
                is_global: !sort.preserve_partitioning(),
            };
            return Some((Arc::new(sort.with_fetch(None)) as _, limit));
        }
        let counted = |input: &Arc<dyn ExecutionPlan>, required: &Option<LexOrdering>| {
            let sorted = || input.output_ordering().filter(|_| is_sorted(input));
            required.as_ref().or_else(sorted).cloned()
        };
        if let Some(limit) = node.downcast_ref::<GlobalLimitExec>() {
            let input = limit.input();
            let limit = Self {
                skip: limit.skip(),
                fetch: limit.fetch(),
                ordering: counted(input, limit.required_ordering()),
                is_global: true,
            };
            return Some((Arc::clone(input), limit));
        }
        let limit = node.downcast_ref::<LocalLimitExec>()?;
        let input = limit.input();
        let limit = Self {
            skip: 0,
            fetch: Some(limit.fetch()),
            ordering: counted(input, limit.required_ordering()),
            is_global: false,
        };
        Some((Arc::clone(input), limit))
    }

    /// Applies the limit to a plan: to its sort or merge if possible, else by a limit operator.
    fn attach(&self, input: &Arc<dyn ExecutionPlan>) -> Arc<dyn ExecutionPlan> {
        if self.skip == 0
            && let Some(fetch) = self.fetch
            && let Some(limited) = self.attach_to_sort(input, fetch)
        {
            return limited;
        }
        match self.fetch {
            Some(fetch) if !self.is_global => {
                let mut limit = LocalLimitExec::new(Arc::clone(input), fetch);
                limit.set_required_ordering(self.ordering.clone());
                Arc::new(limit)
            }
            fetch => {
                let mut limit = GlobalLimitExec::new(Arc::clone(input), self.skip, fetch);
                limit.set_required_ordering(self.ordering.clone());
                Arc::new(limit)
            }
        }
    }

    /// Applies a limit to a sort, or to a merge of sorted partitions; `None` for other operators.
    fn attach_to_sort(
        &self,
        input: &Arc<dyn ExecutionPlan>,
        fetch: usize,
    ) -> Option<Arc<dyn ExecutionPlan>> {
        if let Some(sort) = input.downcast_ref::<SortExec>() {
            // A sort of each partition establishes no global order.
            let is_global = sort.properties().output_partitioning().partition_count() == 1;
            return (is_global || !self.is_global)
                .then(|| Arc::new(sort.with_fetch(Some(fetch))) as _);
        }
        let merge = input.downcast_ref::<SortPreservingMergeExec>()?;
        let rows: Arc<dyn ExecutionPlan> = match merge.input().downcast_ref::<SortExec>() {
            Some(sort) => Arc::new(sort.with_fetch(Some(fetch))),
            None => Arc::clone(merge.input()),
        };
        let merge = SortPreservingMergeExec::new(merge.expr().clone(), rows);
        Some(Arc::new(merge.with_fetch(Some(fetch))))
    }
}

/// Returns whether a sort determines the order of rows. A limit over a scan may take any rows.
fn is_sorted(node: &Arc<dyn ExecutionPlan>) -> bool {
    node.is::<SortExec>()
        || match node.children().as_slice() {
            [input] => {
                let is_kept = node.is::<LimitBarrier>() || node.maintains_input_order() == [true];
                is_kept && is_sorted(input)
            }
            _ => false,
        }
}

/// Placeholder for a limit while sorts are placed. It is never executed.
#[derive(Debug)]
struct LimitBarrier {
    input: Arc<dyn ExecutionPlan>,
    limit: Limit,
    properties: Arc<PlanProperties>,
}

impl LimitBarrier {
    fn new(input: Arc<dyn ExecutionPlan>, limit: Limit) -> Self {
        let of_input = input.properties();
        let properties = PlanProperties::new(
            of_input.equivalence_properties().clone(),
            of_input.output_partitioning().clone(),
            input.pipeline_behavior(),
            input.boundedness(),
        );
        Self {
            input,
            limit,
            properties: Arc::new(properties),
        }
    }
}

impl DisplayAs for LimitBarrier {
    fn fmt_as(&self, _: DisplayFormatType, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "LimitBarrier: skip={}, fetch=", self.limit.skip)?;
        match self.limit.fetch {
            Some(fetch) => write!(to, "{fetch}"),
            None => write!(to, "None"),
        }
    }
}

impl ExecutionPlan for LimitBarrier {
    fn name(&self) -> &'static str {
        "LimitBarrier"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn input_distribution_requirements(&self) -> InputDistributionRequirements {
        InputDistributionRequirements::new(vec![match self.limit.is_global {
            true => Distribution::SinglePartition,
            false => Distribution::UnspecifiedDistribution,
        }])
    }

    fn required_input_ordering(&self) -> Vec<Option<OrderingRequirements>> {
        let ordering = self.limit.ordering.clone();
        vec![ordering.map(OrderingRequirements::from)]
    }

    /// Returns false although the order is maintained: another order would select other rows.
    fn maintains_input_order(&self) -> Vec<bool> {
        vec![false]
    }

    fn benefits_from_input_partitioning(&self) -> Vec<bool> {
        vec![false]
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
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
        let [input] = <[_; 1]>::try_from(children)
            .or_else(|children| internal_err!("a limit has one input, not {}", children.len()))?;
        Ok(Arc::new(Self::new(input, self.limit.clone())))
    }

    fn execute(&self, _: usize, _: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        internal_err!("a limit barrier is replaced before a plan is run")
    }

    fn child_stats_requests(&self, part: Option<usize>) -> Vec<ChildStats> {
        vec![ChildStats::At(part)]
    }

    fn statistics_from_inputs(
        &self,
        inputs: &[Arc<Statistics>],
        _: &StatisticsArgs,
    ) -> Result<Arc<Statistics>> {
        let [input] = inputs else {
            return internal_err!("a limit has one input, not {}", inputs.len());
        };
        let limited = Statistics::clone(input);
        limited
            .with_fetch(self.limit.fetch, self.limit.skip, 1)
            .map(Arc::new)
    }

    fn cardinality_effect(&self) -> CardinalityEffect {
        CardinalityEffect::LowerEqual
    }
}
