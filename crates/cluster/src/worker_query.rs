//! Runs a query on workers, and retries if one is lost before rows are returned.

use std::fmt;
use std::sync::Arc;

use arrow::array::RecordBatch;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{DataFusionError, Result};
use datafusion::execution::{SendableRecordBatchStream, SessionState, TaskContext};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::execution_plan::reset_plan_states;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties as _, PlanProperties,
};
use futures::stream::BoxStream;
use futures::{Stream, StreamExt as _};

use super::session::Cluster;
use super::stage_planning::{check_stages, cut_into_stages};
use super::windows::WindowCalls;
use super::worker_errors::lost_worker;

/// Plan node of a query that workers run.
///
/// No row is returned before the result is complete, or [`BUFFERED_BYTES`] of it have arrived. If a worker is
/// lost before that, the query runs on the other workers, and finally on this machine. After the first row a
/// lost worker is an error, because returned rows cannot be taken back.
pub(super) struct WorkerQueryExec {
    cluster: Arc<Cluster>,
    /// The single-machine plan.
    local: Arc<dyn ExecutionPlan>,
    /// The same plan in stages.
    sent: Arc<dyn ExecutionPlan>,
    state: SessionState,
    /// Window functions of the query.
    calls: WindowCalls,
}

impl WorkerQueryExec {
    pub(super) fn new(
        cluster: Arc<Cluster>,
        local: Arc<dyn ExecutionPlan>,
        sent: Arc<dyn ExecutionPlan>,
        (state, calls): (SessionState, WindowCalls),
    ) -> Self {
        Self {
            cluster,
            local,
            sent,
            state,
            calls,
        }
    }
}

impl fmt::Debug for WorkerQueryExec {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("WorkerQueryExec")
            .finish_non_exhaustive()
    }
}

impl DisplayAs for WorkerQueryExec {
    fn fmt_as(&self, _: DisplayFormatType, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("WorkerQueryExec")
    }
}

impl ExecutionPlan for WorkerQueryExec {
    fn name(&self) -> &'static str {
        "WorkerQueryExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.sent.properties()
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        Vec::new()
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn with_new_children(
        self: Arc<Self>,
        _: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(self)
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        if partition != 0 {
            return Err(DataFusionError::Internal(format!(
                "no partition {partition}"
            )));
        }
        let asking = QueryAttempt {
            cluster: Arc::clone(&self.cluster),
            local: Arc::clone(&self.local),
            state: self.state.clone(),
            calls: self.calls.clone(),
            context,
            attempts: 0,
            here: false,
        };
        let rows = asking.stream(Arc::clone(&self.sent));
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), rows)))
    }
}

/// One execution of a query.
struct QueryAttempt {
    cluster: Arc<Cluster>,
    local: Arc<dyn ExecutionPlan>,
    state: SessionState,
    calls: WindowCalls,
    context: Arc<TaskContext>,
    /// Number of lost workers so far.
    attempts: usize,
    /// The query runs on this machine.
    here: bool,
}

/// Buffer size in bytes: rows are returned once the buffer is full, or all rows have arrived.
const BUFFERED_BYTES: usize = 8 << 20;

/// Attempts on workers; after that the query runs on this machine.
const MAX_ATTEMPTS: usize = 2;

impl QueryAttempt {
    fn stream(
        self,
        sent: Arc<dyn ExecutionPlan>,
    ) -> impl Stream<Item = Result<RecordBatch>> + Send + 'static {
        futures::stream::once(self.run(sent)).flatten()
    }

    /// Returns the rows; the first ones have arrived already.
    async fn run(
        mut self,
        mut plan: Arc<dyn ExecutionPlan>,
    ) -> BoxStream<'static, Result<RecordBatch>> {
        loop {
            let begun = match plan.execute(0, Arc::clone(&self.context)) {
                Ok(stream) => read_first_rows(stream).await,
                Err(error) => return futures::stream::iter([Err(error)]).boxed(),
            };
            let error = match begun {
                Ok((first, rest)) => {
                    let first = futures::stream::iter(first.into_iter().map(Ok));
                    return first.chain(rest).boxed();
                }
                Err(error) => error,
            };
            // A local failure is never a worker's, whatever its text contains.
            let lost = lost_worker(&error).filter(|_| !self.here);
            let Some(worker) = lost else {
                return futures::stream::iter([Err(error)]).boxed();
            };
            self.attempts += 1;
            self.cluster.mark_lost(&worker);
            plan = match self.next_plan().await {
                Ok(plan) => plan,
                Err(error) => return futures::stream::iter([Err(error)]).boxed(),
            };
        }
    }

    /// Returns the plan of the next attempt: in stages for the remaining workers, or the local plan.
    async fn next_plan(&mut self) -> Result<Arc<dyn ExecutionPlan>> {
        let local = reset_plan_states(Arc::clone(&self.local))?;
        if self.attempts < MAX_ATTEMPTS && matches!(self.cluster.refresh_workers().await, Ok(1..)) {
            let sent = cut_into_stages(&local, &self.state).await?;
            if check_stages(&sent, &self.state, &self.calls).is_ok() {
                self.cluster
                    .record_decision("a worker was lost, the others continue");
                return Ok(sent);
            }
        }
        self.here = true;
        self.cluster.record_local_failure("workers were lost");
        let several = local.output_partitioning().partition_count() > 1;
        Ok(if several {
            Arc::new(CoalescePartitionsExec::new(local))
        } else {
            local
        })
    }
}

/// Reads the first rows of a result; returns them and the remaining stream.
async fn read_first_rows(
    stream: SendableRecordBatchStream,
) -> Result<(Vec<RecordBatch>, BoxStream<'static, Result<RecordBatch>>)> {
    let mut stream = stream.fuse();
    let (mut first, mut bytes) = (Vec::new(), 0);
    while bytes < BUFFERED_BYTES {
        let Some(batch) = stream.next().await.transpose()? else {
            break;
        };
        bytes += batch.get_array_memory_size();
        first.push(batch);
    }
    Ok((first, stream.boxed()))
}
