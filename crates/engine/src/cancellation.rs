//! Cancellation of running queries: execution stops soon after the consumer drops the result stream.
//!
//! A tokio task can be cancelled only where it yields. Two kinds of operators yield too rarely:
//! - Operators that expand a few rows into many, because a consumer may process a whole file batch before it yields.
//! - Joins that compare pairs of rows, because they yield only when a pair matches.
//!
//! If all runtime threads run such joins, no task can handle a signal or a connection. These joins therefore release
//! their threads at intervals.

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

use crate::operators::range_join::RangeJoinExec;

/// Capacity of the channel between the executing task and the consumer, in batches.
const CHANNEL_BATCHES: usize = 2;

/// How often a join that compares pairs of rows releases its thread, and for how long. Another thread takes over the
/// waiting tasks meanwhile.
const YIELD_INTERVAL: Duration = Duration::from_millis(100);
const YIELD_DURATION: Duration = Duration::from_millis(1);

/// Operators that expand a few rows into many.
const EXPANDING_NODES: [&str; 4] = [
    "CrossJoinExec",
    "NestedLoopJoinExec",
    "RangeJoinExec",
    "UnnestExec",
];

/// Executes a query as a stream. Its tasks end soon after the stream is dropped, even inside a join that finds no
/// match.
///
/// # Errors
///
/// [`Error::Query`](tsql_error::Error) if the query cannot be planned.
pub async fn execute_stream_cancellable(
    frame: DataFrame,
) -> tsql_error::Result<SendableRecordBatchStream> {
    let task = Arc::new(frame.task_ctx());
    let plan = frame.create_physical_plan().await;
    let rows = plan.and_then(|plan| execute_cancellable(plan, task));
    rows.map_err(tsql_error::Error::Query)
}

/// Executes a plan in separate tasks, which end soon after the returned stream is dropped.
pub fn execute_cancellable(
    plan: Arc<dyn ExecutionPlan>,
    task: Arc<TaskContext>,
) -> Result<SendableRecordBatchStream> {
    let waited_for = Arc::new(CancellationToken::default());
    let dropped = CancelOnDrop(Arc::clone(&waited_for));
    let mut stream = execute_stream(add_cancel_checks(plan, &waited_for)?, task)?;
    let mut builder = RecordBatchReceiverStream::builder(stream.schema(), CHANNEL_BATCHES);
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

/// Cancels the token when it is dropped.
struct CancelOnDrop(Arc<CancellationToken>);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.is_dropped.store(true, Ordering::Relaxed);
    }
}

/// State that tells the operators of a query whether its consumer still exists.
#[derive(Debug)]
struct CancellationToken {
    is_dropped: AtomicBool,
    since: Instant,
    /// When a join last released its thread, in milliseconds after `since`.
    left_ms: AtomicU64,
}

impl Default for CancellationToken {
    fn default() -> Self {
        Self {
            is_dropped: AtomicBool::new(false),
            since: Instant::now(),
            left_ms: AtomicU64::new(0),
        }
    }
}

impl CancellationToken {
    /// Returns an error if the query was cancelled. Releases the thread if the last release is long ago.
    fn check(&self) -> Result<()> {
        if self.is_dropped.load(Ordering::Relaxed) {
            let reason = "the query was cancelled".to_owned();
            return Err(DataFusionError::Execution(reason));
        }
        let now = self.since.elapsed();
        let left = Duration::from_millis(self.left_ms.load(Ordering::Relaxed));
        if now >= left + YIELD_INTERVAL {
            let now_ms = u64::try_from(now.as_millis()).unwrap_or(u64::MAX);
            self.left_ms.store(now_ms, Ordering::Relaxed);
            let flavor = Handle::try_current().map(|runtime| runtime.runtime_flavor());
            if matches!(flavor, Ok(RuntimeFlavor::MultiThread)) {
                block_in_place(|| thread::sleep(YIELD_DURATION));
            }
        }
        Ok(())
    }
}

/// Adds cooperative yielding to expanding operators, and cancellation checks to the filters of joins.
fn add_cancel_checks(
    plan: Arc<dyn ExecutionPlan>,
    waited_for: &Arc<CancellationToken>,
) -> Result<Arc<dyn ExecutionPlan>> {
    let made = plan.transform_up(|node| {
        if let Some(join) = node.downcast_ref::<HashJoinExec>() {
            let Some(filter) = join.filter() else {
                return Ok(Transformed::no(node));
            };
            let join = join
                .builder()
                .with_filter(Some(with_cancel_check(filter, waited_for)));
            return Ok(Transformed::yes(join.build_exec()?));
        }
        if !EXPANDING_NODES.contains(&node.name()) {
            return Ok(Transformed::no(node));
        }
        let node = match node.downcast_ref::<NestedLoopJoinExec>() {
            Some(join) => {
                let filter = join
                    .filter()
                    .map(|filter| with_cancel_check(filter, waited_for));
                let join = NestedLoopJoinExecBuilder::from(join).with_filter(filter);
                Arc::new(join.build()?)
            }
            None => node,
        };
        let node = match node.downcast_ref::<RangeJoinExec>() {
            Some(join) => {
                Arc::new(join.with_filter(|filter| with_cancel_check(filter, waited_for)))
            }
            None => node,
        };
        let makes_way: Arc<dyn ExecutionPlan> = Arc::new(CooperativeExec::new(node));
        Ok(Transformed::yes(makes_way))
    });
    made.data()
}

/// Wraps a join filter in a cancellation check.
fn with_cancel_check(filter: &JoinFilter, waited_for: &Arc<CancellationToken>) -> JoinFilter {
    let watched = CancelCheckExpr {
        expression: Arc::clone(filter.expression()),
        waited_for: Arc::clone(waited_for),
    };
    let columns = filter.column_indices().to_vec();
    JoinFilter::new(Arc::new(watched), columns, Arc::clone(filter.schema()))
}

/// An expression that fails once the query is cancelled. Nobody sees the error, because the consumer is gone.
#[derive(Debug)]
struct CancelCheckExpr {
    expression: Arc<dyn PhysicalExpr>,
    waited_for: Arc<CancellationToken>,
}

impl PartialEq for CancelCheckExpr {
    fn eq(&self, other: &Self) -> bool {
        self.expression.eq(&other.expression)
    }
}

impl Eq for CancelCheckExpr {}

impl Hash for CancelCheckExpr {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.expression.hash(state);
    }
}

impl fmt::Display for CancelCheckExpr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.expression.fmt(f)
    }
}

impl PhysicalExpr for CancelCheckExpr {
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
        self.waited_for.check()?;
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
    use crate::context::new_context;

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn joins_of_no_pair_or_of_very_many_end_with_who_waits_for_them() {
        let context = new_context(None).unwrap();
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
            let mut rows = execute_cancellable(plan, task).unwrap();
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
