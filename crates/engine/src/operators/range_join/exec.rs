//! The range join operator.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use arrow::array::{RecordBatch, UInt32Array};
use arrow::compute::concat_batches;
use arrow::datatypes::SchemaRef;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::utils::memory::get_record_batch_memory_size;
use datafusion::common::{Result, Statistics, internal_datafusion_err};
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::execution_plan::{CardinalityEffect, replace_children_if_necessary};
use datafusion::physical_plan::joins::NestedLoopJoinExec;
use datafusion::physical_plan::joins::utils::JoinFilter;
use datafusion::physical_plan::metrics::{
    BaselineMetrics, Count, ExecutionPlanMetricsSet, MetricBuilder, MetricsSet,
};
use datafusion::physical_plan::statistics::{ChildStats, StatisticsArgs};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties as _,
    InputDistributionRequirements, PlanProperties,
};
use delegate::delegate;
use futures::{TryStreamExt as _, stream};
use tokio::sync::OnceCell;

use super::index::{RangeIndex, encode_keys};
use super::output::JoinOutput;
use super::terms::{RangeTerm, range_terms};

const NAME: &str = "RangeJoinExec";

/// A join that finds candidate pairs by sorted keys.
#[derive(Debug)]
pub(crate) struct RangeJoinExec {
    /// DataFusion's operator with the same output.
    nested_loop: Arc<dyn ExecutionPlan>,
    left: Arc<dyn ExecutionPlan>,
    right: Arc<dyn ExecutionPlan>,
    terms: Arc<[RangeTerm]>,
    output: JoinOutput,
    held: Arc<OnceCell<Arc<BuildSide>>>,
    metrics: ExecutionPlanMetricsSet,
}

impl RangeJoinExec {
    /// Returns the operator that replaces a nested loop join; `None` if the condition has no range terms.
    pub(super) fn try_new(node: &Arc<dyn ExecutionPlan>) -> Result<Option<Self>> {
        let Some(join) = node.downcast_ref::<NestedLoopJoinExec>() else {
            return Ok(None);
        };
        let (terms, Some(filter)) = (range_terms(join)?, join.filter()) else {
            return Ok(None);
        };
        Ok((!terms.is_empty()).then(|| Self {
            nested_loop: Arc::clone(node),
            left: Arc::clone(join.left()),
            right: Arc::clone(join.right()),
            terms: terms.into(),
            output: JoinOutput {
                schema: node.schema(),
                join_type: *join.join_type(),
                filter: filter.clone(),
                projection: join.projection().as_ref().map(|columns| columns.to_vec()),
            },
            held: Arc::default(),
            metrics: ExecutionPlanMetricsSet::new(),
        }))
    }

    /// Returns the join filter and its inputs.
    #[cfg(any(test, debug_assertions))]
    pub(crate) fn filter(&self) -> (&JoinFilter, [&Arc<dyn ExecutionPlan>; 2]) {
        (&self.output.filter, [&self.left, &self.right])
    }

    /// Returns the operator with another filter, which must be true for the same pairs. The range terms stay those of
    /// the original filter.
    pub(crate) fn with_filter(&self, replace: impl Fn(&JoinFilter) -> JoinFilter) -> Self {
        Self {
            nested_loop: Arc::clone(&self.nested_loop),
            left: Arc::clone(&self.left),
            right: Arc::clone(&self.right),
            terms: Arc::clone(&self.terms),
            output: JoinOutput {
                filter: replace(&self.output.filter),
                ..self.output.clone()
            },
            held: Arc::default(),
            metrics: self.metrics.clone(),
        }
    }
}

impl DisplayAs for RangeJoinExec {
    fn fmt_as(&self, _: DisplayFormatType, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let terms = self.terms.iter().map(ToString::to_string);
        let terms: Vec<String> = terms.collect();
        write!(
            to,
            "{NAME}: join_type={}, by=[{}], filter={}",
            self.output.join_type,
            terms.join(", "),
            self.output.filter.expression()
        )
    }
}

impl ExecutionPlan for RangeJoinExec {
    delegate! {
        to self.nested_loop {
            fn properties(&self) -> &Arc<PlanProperties>;
            fn input_distribution_requirements(&self) -> InputDistributionRequirements;
            fn maintains_input_order(&self) -> Vec<bool>;
            fn benefits_from_input_partitioning(&self) -> Vec<bool>;
            fn child_stats_requests(&self, part: Option<usize>) -> Vec<ChildStats>;
            fn statistics_from_inputs(&self, inputs: &[Arc<Statistics>], args: &StatisticsArgs) -> Result<Arc<Statistics>>;
            fn cardinality_effect(&self) -> CardinalityEffect;
        }
    }

    fn name(&self) -> &'static str {
        NAME
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.left, &self.right]
    }

    fn apply_expressions(
        &self,
        visit: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        self.nested_loop.apply_expressions(visit)
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let nested_loop = replace_children_if_necessary(Arc::clone(&self.nested_loop), children)?;
        Ok(match Self::try_new(&nested_loop)? {
            Some(ours) => Arc::new(ours),
            None => nested_loop,
        })
    }

    fn execute(&self, part: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let schema = self.schema();
        let probe = self.right.execute(part, Arc::clone(&context))?;
        let metrics = BaselineMetrics::new(&self.metrics, part);
        let reading = BuildSideLoader {
            left: Arc::clone(&self.left),
            terms: Arc::clone(&self.terms),
            parts: self.right.output_partitioning().partition_count(),
            held: Arc::clone(&self.held),
            needs_matches: self.output.held_rows().is_some(),
        };
        let probing = ProbeStream {
            output: self.output.clone(),
            terms: Arc::clone(&self.terms),
            probe_schema: probe.schema(),
            batch_rows: context.session_config().batch_size(),
            compared: MetricBuilder::new(&self.metrics).counter("compared_pairs", part),
            metrics,
            probe,
            portion: None,
            rest: None,
        };
        let rows = stream::once(async move {
            let held = reading.load_once(context).await?;
            let rows = stream::try_unfold((probing, held), |(mut probing, held)| async move {
                let batch = probing.next(&held).await?;
                Ok(batch.map(|batch| (batch, (probing, held))))
            });
            Ok::<_, datafusion::common::DataFusionError>(rows)
        });
        let rows = rows.try_flatten();
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, rows)))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }
}

/// The indexed build side, which all partitions share.
#[derive(Debug)]
struct BuildSide {
    rows: RecordBatch,
    index: RangeIndex,
    /// Whether each row has a match; empty if the join type does not need it.
    has_match: Vec<AtomicBool>,
    /// Number of partitions that have not finished.
    unfinished: AtomicUsize,
    _memory: MemoryReservation,
}

impl BuildSide {
    /// Returns the build rows to emit after the last partition has finished; `None` before that.
    fn rows_at_end(&self, output: &JoinOutput) -> Option<Vec<u32>> {
        let wanted = output.held_rows()?;
        if self.unfinished.fetch_sub(1, Ordering::AcqRel) != 1 {
            return None;
        }
        let rows = (0_u32..).zip(&self.has_match);
        let rows = rows.filter(|(_, has_match)| has_match.load(Ordering::Relaxed) == wanted);
        Some(rows.map(|(row, _)| row).collect())
    }
}

/// Reads the build side once.
struct BuildSideLoader {
    left: Arc<dyn ExecutionPlan>,
    terms: Arc<[RangeTerm]>,
    parts: usize,
    held: Arc<OnceCell<Arc<BuildSide>>>,
    needs_matches: bool,
}

impl BuildSideLoader {
    async fn load_once(self, context: Arc<TaskContext>) -> Result<Arc<BuildSide>> {
        let cell = Arc::clone(&self.held);
        let held = cell.get_or_try_init(|| self.read(context)).await?;
        Ok(Arc::clone(held))
    }

    async fn read(self, context: Arc<TaskContext>) -> Result<Arc<BuildSide>> {
        let memory = MemoryConsumer::new(NAME).register(context.memory_pool());
        let mut rows = self.left.execute(0, context)?;
        let mut batches = Vec::new();
        while let Some(batch) = rows.try_next().await? {
            // Batches are concatenated once, so their memory counts twice.
            memory.try_grow(2 * get_record_batch_memory_size(&batch))?;
            batches.push(batch);
        }
        let rows = concat_batches(&rows.schema(), &batches)?;
        drop(batches);
        let index = RangeIndex::try_new(&self.terms, &rows)?;
        let matches = if self.needs_matches {
            rows.num_rows()
        } else {
            0
        };
        memory.try_resize(get_record_batch_memory_size(&rows) + index.memory_bytes() + matches)?;
        Ok(Arc::new(BuildSide {
            index,
            has_match: (0..matches).map(|_| AtomicBool::new(false)).collect(),
            unfinished: AtomicUsize::new(self.parts),
            rows,
            _memory: memory,
        }))
    }
}

/// The probe side of one partition.
struct ProbeStream {
    output: JoinOutput,
    terms: Arc<[RangeTerm]>,
    probe_schema: SchemaRef,
    batch_rows: usize,
    metrics: BaselineMetrics,
    compared: Count,
    probe: SendableRecordBatchStream,
    portion: Option<ProbeBatch>,
    /// Build rows to emit at the end.
    rest: Option<std::vec::IntoIter<u32>>,
}

/// A probe batch and its search state.
struct ProbeBatch {
    rows: RecordBatch,
    first: Vec<Option<u128>>,
    second: Vec<Option<u128>>,
    /// Next row to search.
    next: usize,
    /// Candidate pairs; those from `start` on are not compared yet.
    held_rows: Vec<u32>,
    probe_rows: Vec<u32>,
    start: usize,
    has_match: Vec<bool>,
}

impl ProbeStream {
    /// Returns the next non-empty batch.
    async fn next(&mut self, held: &BuildSide) -> Result<Option<RecordBatch>> {
        loop {
            let batch = if self.portion.is_some() {
                self.compare(held)?
            } else if let Some(rest) = &mut self.rest {
                let rows: Vec<u32> = rest.take(self.batch_rows).collect();
                if rows.is_empty() {
                    return Ok(None);
                }
                let rows = UInt32Array::from(rows);
                Some(
                    self.output
                        .build_only_rows(&held.rows, &self.probe_schema, &rows)?,
                )
            } else if let Some(rows) = self.probe.try_next().await? {
                self.portion = Some(self.portion(rows)?);
                None
            } else {
                let rest = held.rows_at_end(&self.output).unwrap_or_default();
                self.rest = Some(rest.into_iter());
                None
            };
            if let Some(batch) = batch.filter(|batch| batch.num_rows() > 0) {
                self.metrics.record_output(batch.num_rows());
                return Ok(Some(batch));
            }
            tokio::task::consume_budget().await;
        }
    }

    fn portion(&self, rows: RecordBatch) -> Result<ProbeBatch> {
        let _timer = self.metrics.elapsed_compute().timer();
        let [first, others @ ..] = self.terms.as_ref() else {
            return Err(internal_datafusion_err!("{NAME} has a term"));
        };
        let second = match others.first() {
            Some(second) => encode_keys(&second.probe, &rows)?,
            None => vec![Some(0); rows.num_rows()],
        };
        let needs_matches = self.output.probe_rows().is_some();
        Ok(ProbeBatch {
            first: encode_keys(&first.probe, &rows)?,
            second,
            next: 0,
            held_rows: Vec::new(),
            probe_rows: Vec::new(),
            start: 0,
            has_match: vec![false; if needs_matches { rows.num_rows() } else { 0 }],
            rows,
        })
    }

    /// Searches and compares the next candidate pairs of the probe batch, or finishes the batch.
    fn compare(&mut self, held: &BuildSide) -> Result<Option<RecordBatch>> {
        let _timer = self.metrics.elapsed_compute().timer();
        let Some(portion) = &mut self.portion else {
            return Ok(None);
        };
        portion.search(held, self.batch_rows);
        let end = portion.held_rows.len().min(portion.start + self.batch_rows);
        if portion.start == end {
            let portion = self.portion.take();
            return portion.map_or(Ok(None), |portion| {
                self.rows_at_end_of_batch(&portion, held)
            });
        }
        let part = portion.start..end;
        let pairs = |rows: &[u32]| UInt32Array::from_iter_values(rows.iter().copied());
        let pairs = (
            pairs(portion.held_rows.get(part.clone()).unwrap_or_default()),
            pairs(portion.probe_rows.get(part).unwrap_or_default()),
        );
        self.compared.add(end - portion.start);
        portion.start = end;
        let pairs = self.output.matches(&held.rows, &portion.rows, pairs)?;
        if !held.has_match.is_empty() {
            for row in pairs.0.values() {
                if let Some(has_match) = held.has_match.get(*row as usize) {
                    has_match.store(true, Ordering::Relaxed);
                }
            }
        }
        if !portion.has_match.is_empty() {
            for row in pairs.1.values() {
                if let Some(has_match) = portion.has_match.get_mut(*row as usize) {
                    *has_match = true;
                }
            }
        }
        if !self.output.has_pairs() {
            return Ok(None);
        }
        self.output
            .pairs(&held.rows, &portion.rows, &pairs)
            .map(Some)
    }

    /// Returns the probe rows to emit at the end of the batch, with or without a match by join type.
    fn rows_at_end_of_batch(
        &self,
        portion: &ProbeBatch,
        held: &BuildSide,
    ) -> Result<Option<RecordBatch>> {
        let Some(wanted) = self.output.probe_rows() else {
            return Ok(None);
        };
        let rows = (0_u32..).zip(&portion.has_match);
        let rows = rows.filter(|(_, has_match)| **has_match == wanted);
        let rows = UInt32Array::from_iter_values(rows.map(|(row, _)| row));
        let schema = held.rows.schema();
        self.output
            .probe_only_rows(&schema, &portion.rows, &rows)
            .map(Some)
    }
}

impl ProbeBatch {
    /// Searches rows until there are enough candidate pairs for a batch, unless some are still to be compared.
    fn search(&mut self, held: &BuildSide, batch_rows: usize) {
        if self.start < self.held_rows.len() {
            return;
        }
        self.held_rows.clear();
        self.probe_rows.clear();
        self.start = 0;
        while self.held_rows.len() < batch_rows {
            let row = self.next;
            let (Some(first), Some(second)) = (self.first.get(row), self.second.get(row)) else {
                return;
            };
            self.next += 1;
            if let (Some(first), Some(second), Ok(row)) = (*first, *second, u32::try_from(row)) {
                held.index.for_each_match(first, second, &mut |held_row| {
                    self.held_rows.push(held_row);
                    self.probe_rows.push(row);
                });
            }
        }
    }
}
