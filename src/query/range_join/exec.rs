//! The operator.

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
use futures::TryStreamExt as _;
use futures::stream;
use tokio::sync::OnceCell;

use super::index::{Index, keys};
use super::output::Output;
use super::terms::{Term, terms};

const NAME: &str = "RangeJoinExec";

/// A join whose pairs are searched by sorted keys.
#[derive(Debug)]
pub(in crate::query) struct RangeJoinExec {
    /// DataFusion's operator, which has the same rows.
    nested_loop: Arc<dyn ExecutionPlan>,
    left: Arc<dyn ExecutionPlan>,
    right: Arc<dyn ExecutionPlan>,
    terms: Arc<[Term]>,
    output: Output,
    held: Arc<OnceCell<Arc<Held>>>,
    metrics: ExecutionPlanMetricsSet,
}

impl RangeJoinExec {
    /// The operator in the place of a nested loop; `None` where there is nothing to search by.
    pub(super) fn try_new(node: &Arc<dyn ExecutionPlan>) -> Result<Option<Self>> {
        let Some(join) = node.downcast_ref::<NestedLoopJoinExec>() else {
            return Ok(None);
        };
        let (terms, Some(filter)) = (terms(join)?, join.filter()) else {
            return Ok(None);
        };
        Ok((!terms.is_empty()).then(|| Self {
            nested_loop: Arc::clone(node),
            left: Arc::clone(join.left()),
            right: Arc::clone(join.right()),
            terms: terms.into(),
            output: Output {
                schema: node.schema(),
                join_type: *join.join_type(),
                filter: filter.clone(),
                projection: join.projection().as_ref().map(|columns| columns.to_vec()),
            },
            held: Arc::default(),
            metrics: ExecutionPlanMetricsSet::new(),
        }))
    }

    /// The filter and the inputs of its columns.
    #[cfg(any(test, debug_assertions))]
    pub(in crate::query) fn filter(&self) -> (&JoinFilter, [&Arc<dyn ExecutionPlan>; 2]) {
        (&self.output.filter, [&self.left, &self.right])
    }

    /// The operator with another filter, which is true for the same pairs. The keys stay those of the first one.
    pub(in crate::query) fn with_filter(
        &self,
        replace: impl Fn(&JoinFilter) -> JoinFilter,
    ) -> Self {
        Self {
            nested_loop: Arc::clone(&self.nested_loop),
            left: Arc::clone(&self.left),
            right: Arc::clone(&self.right),
            terms: Arc::clone(&self.terms),
            output: Output {
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
    fn name(&self) -> &'static str {
        NAME
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.nested_loop.properties()
    }

    fn input_distribution_requirements(&self) -> InputDistributionRequirements {
        self.nested_loop.input_distribution_requirements()
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        self.nested_loop.maintains_input_order()
    }

    fn benefits_from_input_partitioning(&self) -> Vec<bool> {
        self.nested_loop.benefits_from_input_partitioning()
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
        let reading = Reading {
            left: Arc::clone(&self.left),
            terms: Arc::clone(&self.terms),
            parts: self.right.output_partitioning().partition_count(),
            held: Arc::clone(&self.held),
            needs_matches: self.output.held_rows().is_some(),
        };
        let probing = Probing {
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
            let held = reading.held(context).await?;
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

    fn child_stats_requests(&self, part: Option<usize>) -> Vec<ChildStats> {
        self.nested_loop.child_stats_requests(part)
    }

    fn statistics_from_inputs(
        &self,
        inputs: &[Arc<Statistics>],
        args: &StatisticsArgs,
    ) -> Result<Arc<Statistics>> {
        self.nested_loop.statistics_from_inputs(inputs, args)
    }

    fn cardinality_effect(&self) -> CardinalityEffect {
        self.nested_loop.cardinality_effect()
    }
}

/// The held side, which all threads read.
#[derive(Debug)]
struct Held {
    rows: RecordBatch,
    index: Index,
    /// Whether a row has a match; empty where nobody needs it.
    has_match: Vec<AtomicBool>,
    /// Threads that are not at their end.
    unfinished: AtomicUsize,
    _memory: MemoryReservation,
}

impl Held {
    /// The rows that are returned at the end of the last thread.
    fn rows_at_end(&self, output: &Output) -> Option<Vec<u32>> {
        let wanted = output.held_rows()?;
        if self.unfinished.fetch_sub(1, Ordering::AcqRel) != 1 {
            return None;
        }
        let rows = (0_u32..).zip(&self.has_match);
        let rows = rows.filter(|(_, has_match)| has_match.load(Ordering::Relaxed) == wanted);
        Some(rows.map(|(row, _)| row).collect())
    }
}

/// How the held side is read, once.
struct Reading {
    left: Arc<dyn ExecutionPlan>,
    terms: Arc<[Term]>,
    parts: usize,
    held: Arc<OnceCell<Arc<Held>>>,
    needs_matches: bool,
}

impl Reading {
    async fn held(self, context: Arc<TaskContext>) -> Result<Arc<Held>> {
        let cell = Arc::clone(&self.held);
        let held = cell.get_or_try_init(|| self.read(context)).await?;
        Ok(Arc::clone(held))
    }

    async fn read(self, context: Arc<TaskContext>) -> Result<Arc<Held>> {
        let memory = MemoryConsumer::new(NAME).register(context.memory_pool());
        let mut rows = self.left.execute(0, context)?;
        let mut batches = Vec::new();
        while let Some(batch) = rows.try_next().await? {
            // Rows are put together once.
            memory.try_grow(2 * get_record_batch_memory_size(&batch))?;
            batches.push(batch);
        }
        let rows = concat_batches(&rows.schema(), &batches)?;
        drop(batches);
        let index = Index::try_new(&self.terms, &rows)?;
        let matches = if self.needs_matches {
            rows.num_rows()
        } else {
            0
        };
        memory.try_resize(get_record_batch_memory_size(&rows) + index.memory_bytes() + matches)?;
        Ok(Arc::new(Held {
            index,
            has_match: (0..matches).map(|_| AtomicBool::new(false)).collect(),
            unfinished: AtomicUsize::new(self.parts),
            rows,
            _memory: memory,
        }))
    }
}

/// A thread's part of the other side.
struct Probing {
    output: Output,
    terms: Arc<[Term]>,
    probe_schema: SchemaRef,
    batch_rows: usize,
    metrics: BaselineMetrics,
    compared: Count,
    probe: SendableRecordBatchStream,
    portion: Option<Portion>,
    /// Held rows that are returned at the end.
    rest: Option<std::vec::IntoIter<u32>>,
}

/// A batch of the other side.
struct Portion {
    rows: RecordBatch,
    first: Vec<Option<u128>>,
    second: Vec<Option<u128>>,
    /// The row that is searched next.
    next: usize,
    /// Pairs that are found, from `start` on not compared yet.
    held_rows: Vec<u32>,
    probe_rows: Vec<u32>,
    start: usize,
    has_match: Vec<bool>,
}

impl Probing {
    /// The next rows, at least one.
    async fn next(&mut self, held: &Held) -> Result<Option<RecordBatch>> {
        loop {
            let batch = if self.portion.is_some() {
                self.compare(held)?
            } else if let Some(rest) = &mut self.rest {
                let rows: Vec<u32> = rest.take(self.batch_rows).collect();
                if rows.is_empty() {
                    return Ok(None);
                }
                let rows = UInt32Array::from(rows);
                Some(self.output.of_held(&held.rows, &self.probe_schema, &rows)?)
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

    fn portion(&self, rows: RecordBatch) -> Result<Portion> {
        let _timer = self.metrics.elapsed_compute().timer();
        let [first, others @ ..] = self.terms.as_ref() else {
            return Err(internal_datafusion_err!("{NAME} has a term"));
        };
        let second = match others.first() {
            Some(second) => keys(&second.probe, &rows)?,
            None => vec![Some(0); rows.num_rows()],
        };
        let needs_matches = self.output.probe_rows().is_some();
        Ok(Portion {
            first: keys(&first.probe, &rows)?,
            second,
            next: 0,
            held_rows: Vec::new(),
            probe_rows: Vec::new(),
            start: 0,
            has_match: vec![false; if needs_matches { rows.num_rows() } else { 0 }],
            rows,
        })
    }

    /// Searches and compares the next pairs of the portion, or ends it.
    fn compare(&mut self, held: &Held) -> Result<Option<RecordBatch>> {
        let _timer = self.metrics.elapsed_compute().timer();
        let Some(portion) = &mut self.portion else {
            return Ok(None);
        };
        portion.search(held, self.batch_rows);
        let end = portion.held_rows.len().min(portion.start + self.batch_rows);
        if portion.start == end {
            let portion = self.portion.take();
            return portion.map_or(Ok(None), |portion| self.unmatched(&portion, held));
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

    /// Rows of the portion that are returned at its end.
    fn unmatched(&self, portion: &Portion, held: &Held) -> Result<Option<RecordBatch>> {
        let Some(wanted) = self.output.probe_rows() else {
            return Ok(None);
        };
        let rows = (0_u32..).zip(&portion.has_match);
        let rows = rows.filter(|(_, has_match)| **has_match == wanted);
        let rows = UInt32Array::from_iter_values(rows.map(|(row, _)| row));
        let schema = held.rows.schema();
        self.output
            .of_probe(&schema, &portion.rows, &rows)
            .map(Some)
    }
}

impl Portion {
    /// Searches rows until there are pairs for a batch, if there are any left to be compared.
    fn search(&mut self, held: &Held, batch_rows: usize) {
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
                held.index.each(first, second, &mut |held_row| {
                    self.held_rows.push(held_row);
                    self.probe_rows.push(row);
                });
            }
        }
    }
}
