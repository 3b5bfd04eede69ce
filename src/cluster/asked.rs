//! A question that workers answer; asked again where one of them is lost before rows are given.

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

use super::cut::{cut, looked_at};
use super::lost::lost_worker;
use super::session::Cluster;
use super::windows::WindowCalls;

/// The plan of a question that goes to workers.
///
/// No row is given before the answer is whole, or [`HELD_BYTES`] of it are there; where a worker is lost until then, the
/// others are asked, and at last this machine answers. After the first row a lost worker is an error: what was
/// given cannot be taken back.
pub(super) struct Asked {
    cluster: Arc<Cluster>,
    /// The plan as one machine runs it.
    local: Arc<dyn ExecutionPlan>,
    /// The same in stages.
    sent: Arc<dyn ExecutionPlan>,
    state: SessionState,
    /// Window functions of the query.
    calls: WindowCalls,
}

impl Asked {
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

impl fmt::Debug for Asked {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Asked").finish_non_exhaustive()
    }
}

impl DisplayAs for Asked {
    fn fmt_as(&self, _: DisplayFormatType, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Asked: workers")
    }
}

impl ExecutionPlan for Asked {
    fn name(&self) -> &'static str {
        "Asked"
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
        let asking = Asking {
            cluster: Arc::clone(&self.cluster),
            local: Arc::clone(&self.local),
            state: self.state.clone(),
            calls: self.calls.clone(),
            context,
            attempts: 0,
            here: false,
        };
        let rows = asking.rows(Arc::clone(&self.sent));
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), rows)))
    }
}

/// One run of a question.
struct Asking {
    cluster: Arc<Cluster>,
    local: Arc<dyn ExecutionPlan>,
    state: SessionState,
    calls: WindowCalls,
    context: Arc<TaskContext>,
    /// Times that workers were lost.
    attempts: usize,
    /// This machine answers.
    here: bool,
}

/// Rows that are held back until there are so many, or all.
const HELD_BYTES: usize = 8 << 20;

/// Times that workers are asked; after that this machine answers.
const ATTEMPTS: usize = 2;

impl Asking {
    fn rows(
        self,
        sent: Arc<dyn ExecutionPlan>,
    ) -> impl Stream<Item = Result<RecordBatch>> + Send + 'static {
        futures::stream::once(self.answered(sent)).flatten()
    }

    /// The rows, of which the first ones are there already.
    async fn answered(
        mut self,
        mut plan: Arc<dyn ExecutionPlan>,
    ) -> BoxStream<'static, Result<RecordBatch>> {
        loop {
            let begun = match plan.execute(0, Arc::clone(&self.context)) {
                Ok(stream) => begun(stream).await,
                Err(error) => return futures::stream::iter([Err(error)]).boxed(),
            };
            let error = match begun {
                Ok((first, rest)) => {
                    let first = futures::stream::iter(first.into_iter().map(Ok));
                    return first.chain(rest).boxed();
                }
                Err(error) => error,
            };
            // What fails here is no worker's, whatever its text says.
            let lost = lost_worker(&error).filter(|_| !self.here);
            let Some(worker) = lost else {
                return futures::stream::iter([Err(error)]).boxed();
            };
            self.attempts += 1;
            self.cluster.lose(&worker);
            plan = match self.next().await {
                Ok(plan) => plan,
                Err(error) => return futures::stream::iter([Err(error)]).boxed(),
            };
        }
    }

    /// The plan to go on with: in stages again, for the workers that are left, or here.
    async fn next(&mut self) -> Result<Arc<dyn ExecutionPlan>> {
        let local = reset_plan_states(Arc::clone(&self.local))?;
        if self.attempts < ATTEMPTS && matches!(self.cluster.find().await, Ok(1..)) {
            let sent = cut(&local, &self.state).await?;
            if looked_at(&sent, &self.state, &self.calls).is_ok() {
                self.cluster.told("a worker was lost: the others are asked");
                return Ok(sent);
            }
        }
        self.here = true;
        self.cluster.stayed("workers were lost");
        let several = local.output_partitioning().partition_count() > 1;
        Ok(if several {
            Arc::new(CoalescePartitionsExec::new(local))
        } else {
            local
        })
    }
}

/// The first rows of an answer, and the rest.
async fn begun(
    stream: SendableRecordBatchStream,
) -> Result<(Vec<RecordBatch>, BoxStream<'static, Result<RecordBatch>>)> {
    let mut stream = stream.fuse();
    let (mut first, mut bytes) = (Vec::new(), 0);
    while bytes < HELD_BYTES {
        let Some(batch) = stream.next().await.transpose()? else {
            break;
        };
        bytes += batch.get_array_memory_size();
        first.push(batch);
    }
    Ok((first, stream.boxed()))
}
