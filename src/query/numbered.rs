//! `row_number()`, `rank()` and `dense_rank()` over sorted rows are counted where they lie.
//!
//! DataFusion's operator of windows gathers the rows of each partition, which costs more than a microsecond for each: with partitions of two rows it took
//! three quarters of a question. These functions need no more than where partitions and rows of equal rank begin.

use std::fmt;
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, UInt64Array};
use arrow::compute::{concat, partition};
use arrow::datatypes::SchemaRef;
use arrow::error::ArrowError;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{
    Transformed, TransformedResult as _, TreeNode as _, TreeNodeRecursion,
};
use datafusion::common::{Result, Statistics};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::window::{StandardWindowExpr, WindowExpr};
use datafusion::physical_expr::{OrderingRequirements, PhysicalExpr};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::execution_plan::replace_children_if_necessary;
use datafusion::physical_plan::metrics::{BaselineMetrics, ExecutionPlanMetricsSet, MetricsSet};
use datafusion::physical_plan::statistics::StatisticsArgs;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::windows::{BoundedWindowAggExec, WindowUDFExpr};
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, InputDistributionRequirements, InputOrderMode,
    PlanProperties,
};
use futures::StreamExt as _;

/// The rule that does so, after all others.
#[derive(Debug)]
pub(super) struct CountPlaces;

impl PhysicalOptimizerRule for CountPlaces {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        plan.transform_up(|node| match NumberedExec::of(&node) {
            Some(numbered) => Ok(Transformed::yes(Arc::new(numbered) as _)),
            None => Ok(Transformed::no(node)),
        })
        .data()
    }

    fn name(&self) -> &'static str {
        "count_places"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// What is counted.
#[derive(Clone, Copy, Debug)]
enum Place {
    /// Rows of the partition up to this one.
    RowNumber,
    /// Rows that are before all of the same rank, and one.
    Rank,
    /// Ranks up to this one.
    DenseRank,
}

impl Place {
    fn of(expr: &dyn WindowExpr) -> Option<Self> {
        let standard = expr.as_any().downcast_ref::<StandardWindowExpr>()?;
        let function = standard.get_standard_func_expr().as_any();
        match function.downcast_ref::<WindowUDFExpr>()?.fun().name() {
            "row_number" => Some(Self::RowNumber),
            "rank" => Some(Self::Rank),
            "dense_rank" => Some(Self::DenseRank),
            _ => None,
        }
    }
}

/// Adds places to rows that are sorted by partition and order.
#[derive(Debug)]
struct NumberedExec {
    /// What it stands for: its rows are the same.
    window: Arc<dyn ExecutionPlan>,
    input: Arc<dyn ExecutionPlan>,
    places: Arc<[Place]>,
    partition_by: Vec<Arc<dyn PhysicalExpr>>,
    order_by: Vec<Arc<dyn PhysicalExpr>>,
    metrics: ExecutionPlanMetricsSet,
}

impl NumberedExec {
    /// The same for a window of such functions alone; `None` for any other plan.
    fn of(node: &Arc<dyn ExecutionPlan>) -> Option<Self> {
        let window = node.downcast_ref::<BoundedWindowAggExec>()?;
        if window.input_order_mode != InputOrderMode::Sorted {
            return None;
        }
        let exprs = window.window_expr();
        let places: Option<Vec<Place>> =
            exprs.iter().map(|expr| Place::of(expr.as_ref())).collect();
        let first = exprs.first()?;
        let is_like_first = |expr: &Arc<dyn WindowExpr>| {
            expr.partition_by() == first.partition_by() && expr.order_by() == first.order_by()
        };
        if !exprs.iter().all(is_like_first) {
            return None;
        }
        let order_by = first.order_by().iter().map(|by| Arc::clone(&by.expr));
        Some(Self {
            places: places?.into(),
            partition_by: first.partition_by().to_vec(),
            order_by: order_by.collect(),
            input: Arc::clone(window.input()),
            window: Arc::clone(node),
            metrics: ExecutionPlanMetricsSet::new(),
        })
    }
}

impl DisplayAs for NumberedExec {
    fn fmt_as(&self, _: DisplayFormatType, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "NumberedExec: {:?}", self.places)
    }
}

impl ExecutionPlan for NumberedExec {
    fn name(&self) -> &'static str {
        "NumberedExec"
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
            Some(numbered) => Arc::new(numbered),
            None => window,
        })
    }

    fn execute(&self, part: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let mut rows = self.input.execute(part, context)?;
        let metrics = BaselineMetrics::new(&self.metrics, part);
        let mut counted = Counted {
            places: Arc::clone(&self.places),
            partition_by: self.partition_by.clone(),
            order_by: self.order_by.clone(),
            schema: self.schema(),
            last: None,
            counts: Counts::default(),
        };
        let numbered = futures::stream::poll_fn(move |task| {
            let polled = rows.poll_next_unpin(task);
            let timer = metrics.elapsed_compute().timer();
            let polled =
                polled.map(|batch| Some(batch?.and_then(|batch| counted.numbered(&batch))));
            timer.done();
            metrics.record_poll(polled)
        });
        let schema = self.schema();
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, numbered)))
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

/// The places of one row.
#[derive(Clone, Copy, Default)]
struct Counts {
    row: u64,
    rank: u64,
    dense_rank: u64,
}

/// Counts batch by batch.
struct Counted {
    places: Arc<[Place]>,
    partition_by: Vec<Arc<dyn PhysicalExpr>>,
    order_by: Vec<Arc<dyn PhysicalExpr>>,
    schema: SchemaRef,
    /// The last row of the batch before.
    last: Option<Keys>,
    counts: Counts,
}

impl Counted {
    fn numbered(&mut self, batch: &RecordBatch) -> Result<RecordBatch> {
        let rows = batch.num_rows();
        let keys = Keys::of(&self.partition_by, &self.order_by, batch)?;
        let numbers = self.places.iter().map(|_| Vec::with_capacity(rows));
        let mut numbers: Vec<Vec<u64>> = numbers.collect();
        let (partition, rank) = keys.begins(self.last.as_ref(), rows)?;
        for (is_first, begins_rank) in partition.into_iter().zip(rank) {
            if is_first {
                self.counts = Counts::default();
            }
            self.counts.row += 1;
            if begins_rank {
                self.counts.rank = self.counts.row;
                self.counts.dense_rank += 1;
            }
            for (place, numbers) in self.places.iter().zip(&mut numbers) {
                numbers.push(match place {
                    Place::RowNumber => self.counts.row,
                    Place::Rank => self.counts.rank,
                    Place::DenseRank => self.counts.dense_rank,
                });
            }
        }
        if let Some(last) = rows.checked_sub(1) {
            self.last = Some(keys.row(last));
        }
        let numbers = numbers.into_iter().map(UInt64Array::from);
        let numbers = numbers.map(|numbers| Arc::new(numbers) as ArrayRef);
        let columns = batch.columns().iter().cloned().chain(numbers);
        let schema = Arc::clone(&self.schema);
        Ok(RecordBatch::try_new(schema, columns.collect())?)
    }
}

/// What rows are parted and ordered by.
struct Keys {
    partition: Vec<ArrayRef>,
    order: Vec<ArrayRef>,
}

impl Keys {
    fn of(
        partition_by: &[Arc<dyn PhysicalExpr>],
        order_by: &[Arc<dyn PhysicalExpr>],
        batch: &RecordBatch,
    ) -> Result<Self> {
        let values = |exprs: &[Arc<dyn PhysicalExpr>]| {
            let rows = batch.num_rows();
            let values = exprs.iter();
            let values = values.map(|expr| expr.evaluate(batch)?.into_array(rows));
            values.collect::<Result<Vec<ArrayRef>>>()
        };
        let (partition, order) = (values(partition_by)?, values(order_by)?);
        Ok(Self { partition, order })
    }

    /// One row of them.
    fn row(&self, row: usize) -> Self {
        let one = |keys: &[ArrayRef]| keys.iter().map(|key| key.slice(row, 1)).collect();
        Self {
            partition: one(&self.partition),
            order: one(&self.order),
        }
    }

    /// Of which rows do partitions begin, and of which ranks? `before` is the row before the first.
    fn begins(&self, before: Option<&Self>, rows: usize) -> Result<(Vec<bool>, Vec<bool>)> {
        let (is_first, begins_rank) = match before.filter(|_| rows > 0) {
            None => (true, true),
            Some(before) => {
                let is_first = differ(&before.partition, &self.partition)?;
                (is_first, is_first || differ(&before.order, &self.order)?)
            }
        };
        let both = self.partition.iter().chain(&self.order);
        let ranks = starts(both, rows, begins_rank)?;
        Ok((starts(self.partition.iter(), rows, is_first)?, ranks))
    }
}

/// Where other values begin than those of the row before; `first` of the first row.
fn starts<'a>(
    keys: impl Iterator<Item = &'a ArrayRef>,
    rows: usize,
    first: bool,
) -> Result<Vec<bool>> {
    let keys: Vec<ArrayRef> = keys.cloned().collect();
    let mut starts = vec![false; rows];
    let ranges = match keys.is_empty() {
        true => Vec::new(),
        false => partition(&keys)?.ranges(),
    };
    for range in ranges {
        if let Some(start) = starts.get_mut(range.start) {
            *start = true;
        }
    }
    if let Some(start) = starts.first_mut() {
        *start = first;
    }
    Ok(starts)
}

/// Is one of the single values of `last` another than the first of `next`? NULL is NULL.
pub(super) fn differ(last: &[ArrayRef], next: &[ArrayRef]) -> Result<bool> {
    if last.is_empty() {
        return Ok(false);
    }
    let two = last.iter().zip(next);
    let two = two.map(|(last, next)| concat(&[last.as_ref(), next.slice(0, 1).as_ref()]));
    let two = two.collect::<Result<Vec<ArrayRef>, ArrowError>>()?;
    Ok(partition(&two)?.len() > 1)
}

#[cfg(test)]
mod tests {
    use arrow::util::pretty::pretty_format_batches;
    use datafusion::prelude::{SessionConfig, SessionContext};

    use crate::query::collect;
    use crate::query::engine::engine;

    /// Rows, with whether places were counted here; sorted.
    async fn asked(context: &SessionContext, sql: &str) -> (bool, Vec<String>) {
        let plan = context
            .sql(sql)
            .await
            .unwrap()
            .create_physical_plan()
            .await
            .unwrap();
        let is_here = datafusion::physical_plan::displayable(plan.as_ref())
            .indent(false)
            .to_string();
        let rows = collect(context, sql).await.unwrap();
        let rows = pretty_format_batches(&rows).unwrap().to_string();
        let mut rows: Vec<String> = rows.lines().map(str::to_owned).collect();
        rows.sort();
        (is_here.contains("NumberedExec"), rows)
    }

    #[tokio::test]
    async fn places_are_those_of_the_engine() {
        let rows = "SELECT x, CASE WHEN x % 5 > 0 THEN x % 37 END AS p, CASE WHEN x % 7 > 0 THEN x * 7919 % 11 END AS o,
            CASE x % 6 WHEN 0 THEN CAST('NaN' AS DOUBLE) WHEN 1 THEN NULL ELSE x % 4 / 2.0 END AS f,
            CASE WHEN x % 9 > 0 THEN 'text ' || x % 3 END AS t FROM (SELECT unnest(range(0, 5000)) AS x)";
        let own = engine(None).unwrap();
        let plain = SessionContext::new_with_config(SessionConfig::new().with_batch_size(64));
        let batches = collect(&own, rows).await.unwrap();
        let batch = arrow::compute::concat_batches(&batches[0].schema(), &batches).unwrap();
        own.sql("SET datafusion.execution.batch_size = 64")
            .await
            .unwrap();
        for context in [&own, &plain] {
            context.register_batch("t", batch.clone()).unwrap();
        }
        for (windows, is_here) in [
            (
                "row_number() OVER (PARTITION BY p ORDER BY o NULLS LAST, x)",
                true,
            ),
            ("rank() OVER (PARTITION BY p ORDER BY o NULLS LAST)", true),
            (
                "dense_rank() OVER (PARTITION BY t, p ORDER BY f DESC NULLS LAST, o NULLS FIRST)",
                true,
            ),
            ("rank() OVER w AS a, dense_rank() OVER w AS b", true),
            ("rank() OVER (ORDER BY f NULLS LAST)", true),
            (
                "dense_rank() OVER (PARTITION BY x ORDER BY f NULLS LAST)",
                true,
            ),
            (
                "rank() OVER (PARTITION BY p ORDER BY o NULLS LAST), row_number() OVER (PARTITION BY t ORDER BY x)",
                true,
            ),
            (
                "rank() OVER (PARTITION BY make_array(p, 1) ORDER BY o NULLS LAST)",
                true,
            ),
            // One that needs the rows of the partition.
            ("rank() OVER w AS a, sum(x) OVER w AS b", false),
            (
                "ntile(3) OVER (PARTITION BY t ORDER BY o NULLS LAST, x)",
                false,
            ),
        ] {
            let sql = format!(
                "SELECT x, {windows} FROM t WINDOW w AS (PARTITION BY t ORDER BY o NULLS LAST)"
            );
            let sql = match windows.contains(" w ") || windows.contains("OVER w") {
                true => sql,
                false => format!("SELECT x, {windows} FROM t"),
            };
            let (found, numbered) = asked(&own, &sql).await;
            assert_eq!(found, is_here, "{sql}");
            let (_, wanted) = asked(&plain, &sql).await;
            assert_eq!(numbered, wanted, "{sql}");
        }
        let few = "SELECT x FROM (SELECT x, row_number() OVER (PARTITION BY p ORDER BY x) AS place FROM t) WHERE place = 2";
        assert_eq!(asked(&own, few).await, (true, asked(&plain, few).await.1));
        let none = "SELECT rank() OVER (PARTITION BY p ORDER BY o) FROM t WHERE x < 0";
        assert_eq!(asked(&own, none).await.1, asked(&plain, none).await.1);
    }
}
