//! Answers that end with whoever waits for them.
//!
//! A task ends only where it makes way. Where a few rows become many, what reads them may take all that one batch of files
//! makes before it does; and a join that looks at pairs of rows makes way only where it finds some. While all threads of
//! the runtime are in such joins, nobody hears a signal or a connection: so they leave their threads to others now and then.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use arrow::array::RecordBatch;
use arrow::datatypes::{DataType, FieldRef, Schema};
use datafusion::common::tree_node::{Transformed, TransformedResult as _, TreeNode as _};
use datafusion::dataframe::DataFrame;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::ColumnarValue;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::coop::CooperativeExec;
use datafusion::physical_plan::joins::utils::JoinFilter;
use datafusion::physical_plan::joins::{
    HashJoinExec, NestedLoopJoinExec, NestedLoopJoinExecBuilder,
};
use datafusion::physical_plan::stream::{RecordBatchReceiverStream, RecordBatchStreamAdapter};
use datafusion::physical_plan::{ExecutionPlan, execute_stream};
use futures::StreamExt as _;
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::task::block_in_place;

use super::range_join::RangeJoinExec;

/// Batches that wait to be taken.
const WAITING: usize = 2;

/// How often a join that looks at pairs of rows leaves its thread, and for how long: what waits is taken up by another one meanwhile.
const LEAVES_EVERY: Duration = Duration::from_millis(100);
const LEAVES_FOR: Duration = Duration::from_millis(1);

/// Nodes that make many rows of a few.
const MANY: [&str; 4] = [
    "CrossJoinExec",
    "NestedLoopJoinExec",
    "RangeJoinExec",
    "UnnestExec",
];

/// The rows of an answer, computed by tasks that end soon after the stream is dropped, also in the midst of a join that
/// finds nothing.
///
/// # Errors
///
/// [`Error::Query`](crate::Error::Query) where the question cannot be planned.
pub async fn ending_rows(frame: DataFrame) -> crate::Result<SendableRecordBatchStream> {
    let task = Arc::new(frame.task_ctx());
    let plan = frame.create_physical_plan().await;
    let rows = plan.and_then(|plan| led(plan, task));
    rows.map_err(crate::Error::Query)
}

/// Runs a plan in tasks of their own, which end soon after the stream is dropped.
pub(crate) fn led(
    plan: Arc<dyn ExecutionPlan>,
    task: Arc<TaskContext>,
) -> Result<SendableRecordBatchStream> {
    let waited_for = Arc::new(WaitedFor::default());
    let dropped = Dropped(Arc::clone(&waited_for));
    let mut stream = execute_stream(ending(plan, &waited_for)?, task)?;
    let mut builder = RecordBatchReceiverStream::builder(stream.schema(), WAITING);
    let sender = builder.tx();
    builder.spawn(async move {
        while let Some(batch) = stream.next().await {
            if sender.send(batch).await.is_err() {
                break;
            }
        }
        Ok(())
    });
    let mut rows = builder.build();
    let schema = rows.schema();
    let rows = futures::stream::poll_fn(move |context| {
        let _told = &dropped;
        rows.poll_next_unpin(context)
    });
    Ok(Box::pin(RecordBatchStreamAdapter::new(schema, rows)))
}

/// Says so when it goes.
struct Dropped(Arc<WaitedFor>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.is_dropped.store(true, Ordering::Relaxed);
    }
}

/// Whether somebody waits for the answer.
#[derive(Debug)]
struct WaitedFor {
    is_dropped: AtomicBool,
    since: Instant,
    /// When a join last left its thread, in milliseconds since then.
    left_ms: AtomicU64,
}

impl Default for WaitedFor {
    fn default() -> Self {
        Self {
            is_dropped: AtomicBool::new(false),
            since: Instant::now(),
            left_ms: AtomicU64::new(0),
        }
    }
}

impl WaitedFor {
    /// Looks, and leaves the thread to others where it was not left for long.
    fn look(&self) -> Result<()> {
        if self.is_dropped.load(Ordering::Relaxed) {
            let reason = "nobody waits for the answer".to_owned();
            return Err(DataFusionError::Execution(reason));
        }
        let now = self.since.elapsed();
        let left = Duration::from_millis(self.left_ms.load(Ordering::Relaxed));
        if now >= left + LEAVES_EVERY {
            let now_ms = u64::try_from(now.as_millis()).unwrap_or(u64::MAX);
            self.left_ms.store(now_ms, Ordering::Relaxed);
            let flavor = Handle::try_current().map(|runtime| runtime.runtime_flavor());
            if matches!(flavor, Ok(RuntimeFlavor::MultiThread)) {
                block_in_place(|| thread::sleep(LEAVES_FOR));
            }
        }
        Ok(())
    }
}

/// The plan with nodes that make way, and with joins that look whether somebody still waits.
fn ending(
    plan: Arc<dyn ExecutionPlan>,
    waited_for: &Arc<WaitedFor>,
) -> Result<Arc<dyn ExecutionPlan>> {
    let made = plan.transform_up(|node| {
        if let Some(join) = node.downcast_ref::<HashJoinExec>() {
            let Some(filter) = join.filter() else {
                return Ok(Transformed::no(node));
            };
            let join = join
                .builder()
                .with_filter(Some(watched(filter, waited_for)));
            return Ok(Transformed::yes(join.build_exec()?));
        }
        if !MANY.contains(&node.name()) {
            return Ok(Transformed::no(node));
        }
        let node = match node.downcast_ref::<NestedLoopJoinExec>() {
            Some(join) => {
                let filter = join.filter().map(|filter| watched(filter, waited_for));
                let join = NestedLoopJoinExecBuilder::from(join).with_filter(filter);
                Arc::new(join.build()?)
            }
            None => node,
        };
        let node = match node.downcast_ref::<RangeJoinExec>() {
            Some(join) => Arc::new(join.with_filter(|filter| watched(filter, waited_for))),
            None => node,
        };
        let makes_way: Arc<dyn ExecutionPlan> = Arc::new(CooperativeExec::new(node));
        Ok(Transformed::yes(makes_way))
    });
    made.data()
}

/// The condition of a join, as long as somebody waits.
fn watched(filter: &JoinFilter, waited_for: &Arc<WaitedFor>) -> JoinFilter {
    let watched = Watched {
        expression: Arc::clone(filter.expression()),
        waited_for: Arc::clone(waited_for),
    };
    let columns = filter.column_indices().to_vec();
    JoinFilter::new(Arc::new(watched), columns, Arc::clone(filter.schema()))
}

/// An expression, as long as somebody waits for its answer: then an error, which nobody sees.
#[derive(Debug)]
struct Watched {
    expression: Arc<dyn PhysicalExpr>,
    waited_for: Arc<WaitedFor>,
}

impl PartialEq for Watched {
    fn eq(&self, other: &Self) -> bool {
        self.expression.eq(&other.expression)
    }
}

impl Eq for Watched {}

impl Hash for Watched {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.expression.hash(state);
    }
}

impl fmt::Display for Watched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.expression.fmt(f)
    }
}

impl PhysicalExpr for Watched {
    fn data_type(&self, schema: &Schema) -> Result<DataType> {
        self.expression.data_type(schema)
    }

    fn nullable(&self, schema: &Schema) -> Result<bool> {
        self.expression.nullable(schema)
    }

    fn return_field(&self, schema: &Schema) -> Result<FieldRef> {
        self.expression.return_field(schema)
    }

    fn evaluate(&self, batch: &RecordBatch) -> Result<ColumnarValue> {
        self.waited_for.look()?;
        self.expression.evaluate(batch)
    }

    fn children(&self) -> Vec<&Arc<dyn PhysicalExpr>> {
        vec![&self.expression]
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn PhysicalExpr>>,
    ) -> Result<Arc<dyn PhysicalExpr>> {
        let mut children = children.into_iter();
        Ok(Arc::new(Self {
            expression: children
                .next()
                .unwrap_or_else(|| Arc::clone(&self.expression)),
            waited_for: Arc::clone(&self.waited_for),
        }))
    }

    fn fmt_sql(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.expression.fmt_sql(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::engine::engine;

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn joins_of_no_pair_or_of_very_many_end_with_who_waits_for_them() {
        let context = engine(None).unwrap();
        for condition in [
            "a.value > b.value * 1000000",
            "a.value < b.value * 2",
            "a.value < b.value * 2 AND a.value + b.value < 0",
            "a.value % 2 = b.value % 2 AND a.value + b.value < 0",
        ] {
            let sql = format!(
                "SELECT count(*) FROM generate_series(1, 100000) AS a JOIN generate_series(1, 1000000000) AS b ON {condition}"
            );
            let frame = context.sql(&sql).await.unwrap();
            let task = Arc::new(frame.task_ctx());
            let plan = frame.create_physical_plan().await.unwrap();
            let still = Arc::downgrade(&task);
            let mut rows = led(plan, task).unwrap();
            let first = tokio::time::timeout(Duration::from_secs(1), rows.next()).await;
            assert!(first.is_err(), "{sql}");
            drop(rows);
            let dropped = Instant::now();
            while still.strong_count() > 0 && dropped.elapsed() < Duration::from_secs(20) {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            assert_eq!(still.strong_count(), 0, "{sql}");
        }
    }
}
