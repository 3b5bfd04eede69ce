//! The operator, and the stream over its input.

use std::fmt;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::utils::memory::get_record_batch_memory_size;
use datafusion::common::{DataFusionError, Result, Statistics, internal_err};
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{Distribution, PhysicalExpr};
use datafusion::physical_plan::execution_plan::{
    CardinalityEffect, EmissionType, apply_expression_roots,
};
use datafusion::physical_plan::metrics::{
    BaselineMetrics, Count, ExecutionPlanMetricsSet, MetricBuilder, MetricsSet,
};
use datafusion::physical_plan::statistics::{ChildStats, StatisticsArgs};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties as _,
    InputDistributionRequirements, PlanProperties,
};
use futures::stream::{self, StreamExt as _, TryStreamExt as _};

use super::keys::{EncodedKey, OrderKeys, PartitionNumbers, TopKSpec};
use super::selection::Selection;
use tsql_functions::sort_keys::LongKey;

const NAME: &str = "PartitionTopKExec";

/// Number of rows after which the partial stage checks how many it has dropped.
const PROBE_ROWS: usize = 1 << 17;

/// The partial stage gives up if it retains more than 3 of 4 rows.
const MAX_HELD: (usize, usize) = (3, 4);

/// Stage of the operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// Before the repartition: rows of one input partition.
    Partial,
    /// After the repartition: all rows of a key.
    Final,
}

/// Drops rows that are not among the first k of their partition.
#[derive(Debug)]
pub(super) struct PartitionTopKExec {
    input: Arc<dyn ExecutionPlan>,
    spec: Arc<TopKSpec>,
    stage: Stage,
    metrics: ExecutionPlanMetricsSet,
    properties: Arc<PlanProperties>,
}

impl PartitionTopKExec {
    pub(super) fn new(input: Arc<dyn ExecutionPlan>, spec: Arc<TopKSpec>, stage: Stage) -> Self {
        let mut equivalences = input.equivalence_properties().clone();
        // The order is maintained, but it is not declared: the optimizer would push the sort below, where it sorts all
        // rows.
        equivalences.clear_orderings();
        let properties = PlanProperties::new(
            equivalences,
            input.output_partitioning().clone(),
            EmissionType::Final,
            input.boundedness(),
        );
        Self {
            input,
            spec,
            stage,
            metrics: ExecutionPlanMetricsSet::new(),
            properties: Arc::new(properties),
        }
    }

    /// Returns the partial stage of this operator over `input`.
    pub(super) fn partial(&self, input: Arc<dyn ExecutionPlan>) -> Self {
        Self::new(input, Arc::clone(&self.spec), Stage::Partial)
    }

    pub(super) fn is_partial(&self) -> bool {
        self.stage == Stage::Partial
    }

    pub(super) fn input(&self) -> &Arc<dyn ExecutionPlan> {
        &self.input
    }
}

impl DisplayAs for PartitionTopKExec {
    fn fmt_as(&self, _: DisplayFormatType, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        fn list<T: fmt::Display>(items: &[T]) -> String {
            let items: Vec<String> = items.iter().map(T::to_string).collect();
            items.join(", ")
        }
        let stage = match self.stage {
            Stage::Partial => "partial",
            Stage::Final => "final",
        };
        let TopKSpec {
            function,
            k,
            partition,
            order,
        } = self.spec.as_ref();
        write!(
            to,
            "{NAME}: stage={stage}, function={}, k={k}, partition=[{}], order=[{}]",
            function.name(),
            list(partition),
            list(order)
        )
    }
}

impl ExecutionPlan for PartitionTopKExec {
    fn name(&self) -> &'static str {
        NAME
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn input_distribution_requirements(&self) -> InputDistributionRequirements {
        InputDistributionRequirements::new(vec![match self.stage {
            Stage::Partial => Distribution::UnspecifiedDistribution,
            Stage::Final => Distribution::KeyPartitioned(self.spec.partition.clone()),
        }])
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![false]
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn apply_expressions(
        &self,
        visit: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        let order = self.spec.order.iter().map(|key| &key.expr);
        apply_expression_roots(self.spec.partition.iter().chain(order), visit)
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let [input] = children.as_slice() else {
            return internal_err!("{NAME} has one input");
        };
        let spec = Arc::clone(&self.spec);
        Ok(Arc::new(Self::new(Arc::clone(input), spec, self.stage)))
    }

    fn execute(&self, part: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let rows = self.input.execute(part, Arc::clone(&context))?;
        let schema = self.schema();
        let order = OrderKeys::try_new(&self.spec, &schema)?;
        let reader = TopKReader {
            partitions: PartitionNumbers::try_new(&self.spec, &schema)?,
            memory: MemoryConsumer::new(NAME)
                .with_can_spill(true)
                .register(context.memory_pool()),
            metrics: BaselineMetrics::new(&self.metrics, part),
            gave_up: MetricBuilder::new(&self.metrics).counter("gave_up", part),
            batch_rows: context.session_config().batch_size(),
            is_partial: self.is_partial(),
            spec: Arc::clone(&self.spec),
            schema,
            order,
        };
        if reader.order.are_short() {
            Ok(reader.select::<u128>(rows))
        } else {
            Ok(reader.select::<LongKey>(rows))
        }
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
        let [input] = inputs else {
            return internal_err!("{NAME} has one input");
        };
        Ok(Arc::new(input.as_ref().clone().to_inexact()))
    }

    fn cardinality_effect(&self) -> CardinalityEffect {
        CardinalityEffect::LowerEqual
    }
}

/// Reads one input partition and selects its first rows.
struct TopKReader {
    spec: Arc<TopKSpec>,
    schema: SchemaRef,
    partitions: PartitionNumbers,
    order: OrderKeys,
    memory: MemoryReservation,
    metrics: BaselineMetrics,
    gave_up: Count,
    batch_rows: usize,
    is_partial: bool,
}

impl TopKReader {
    fn select<K: EncodedKey>(self, rows: SendableRecordBatchStream) -> SendableRecordBatchStream {
        let schema = Arc::clone(&self.schema);
        let selected = stream::once(self.read::<K>(rows)).try_flatten();
        Box::pin(RecordBatchStreamAdapter::new(schema, selected))
    }

    async fn read<K: EncodedKey>(
        mut self,
        mut rows: SendableRecordBatchStream,
    ) -> Result<SendableRecordBatchStream> {
        let mut selection = Selection::<K>::new(self.spec.function, self.spec.k, self.batch_rows);
        let (mut seen, mut probe) = (0, PROBE_ROWS);
        let mut rest = None;
        let mut numbers = Vec::new();
        while let Some(batch) = rows.try_next().await? {
            let _timer = self.metrics.elapsed_compute().timer();
            let keys = self.order.compute(&batch)?;
            self.partitions.find(&batch, &mut numbers)?;
            let count = self.partitions.len();
            selection.add(&batch, &numbers, count, keys.as_ref())?;
            seen += batch.num_rows();
            let has_memory = self.reserve(&selection)?;
            let is_useful = !self.is_partial || seen < probe || {
                probe = 2 * seen;
                selection.compact()?;
                selection.len() <= seen / MAX_HELD.1 * MAX_HELD.0
            };
            if !has_memory || !is_useful {
                self.gave_up.add(1);
                rest = Some(rows);
                break;
            }
        }
        if rest.is_none() {
            let _timer = self.metrics.elapsed_compute().timer();
            selection.compact()?;
        }
        Ok(self.output(selection.into_batches(), rest))
    }

    /// Reserves the memory of the retained rows; returns false if there is not enough.
    fn reserve<K: EncodedKey>(&self, selection: &Selection<K>) -> Result<bool> {
        let keys = self.partitions.memory_bytes() + self.order.memory_bytes();
        match self.memory.try_resize(keys + selection.memory_bytes()) {
            Ok(()) => Ok(true),
            Err(error) if matches!(error.find_root(), DataFusionError::ResourcesExhausted(_)) => {
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }

    /// Returns the retained rows, then the rest of the input. Memory is released batch by batch.
    fn output(
        self,
        held: Vec<RecordBatch>,
        rest: Option<SendableRecordBatchStream>,
    ) -> SendableRecordBatchStream {
        let Self {
            memory,
            metrics,
            schema,
            ..
        } = self;
        let mut bytes: usize = held.iter().map(get_record_batch_memory_size).sum();
        memory.shrink(memory.size().saturating_sub(bytes));
        let held = held.into_iter().map(move |batch| {
            bytes = bytes.saturating_sub(get_record_batch_memory_size(&batch));
            memory.shrink(memory.size().saturating_sub(bytes));
            Ok(batch)
        });
        let rest = stream::iter(rest).flatten();
        let rows = stream::iter(held).chain(rest).inspect_ok(move |batch| {
            metrics.record_output(batch.num_rows());
        });
        Box::pin(RecordBatchStreamAdapter::new(schema, rows))
    }
}
