//! Streams the rows of a plan, one partition after the other, as input of a further plan, so that their order
//! is preserved.
//!
//! The engine computes projections before it sorts. It also ignores the order of a query below a window or
//! another sort. Features would be sorted although they are a hundred times as large as their inputs, and row
//! numbers would have no defined order.

use std::fmt;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use datafusion::catalog::streaming::StreamingTable;
use datafusion::common::Result;
use datafusion::dataframe::DataFrame;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::streaming::PartitionStream;
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties as _};
use datafusion::prelude::SessionContext;
use futures::{StreamExt as _, TryStreamExt as _};

/// Transforms each batch of a stream.
pub(super) type BatchMap = Box<dyn FnMut(RecordBatch) -> Result<RecordBatch> + Send>;

/// Returns the transformed rows of a plan. `begin` is called for each stream of rows with the output columns
/// `schema`.
pub(super) fn stream_table(
    context: &SessionContext,
    plan: Arc<dyn ExecutionPlan>,
    schema: SchemaRef,
    begin: fn(SchemaRef) -> BatchMap,
) -> Result<DataFrame> {
    let rows = PlanRows {
        plan,
        schema: Arc::clone(&schema),
        begin,
    };
    let table = StreamingTable::try_new(schema, vec![Arc::new(rows)])?;
    context.read_table(Arc::new(table))
}

/// Plans these columns (SQL and name) over the rows of another plan.
pub(super) async fn project_sql(
    context: &SessionContext,
    plan: Arc<dyn ExecutionPlan>,
    columns: &[(String, String)],
) -> Result<Arc<dyn ExecutionPlan>> {
    let schema = plan.schema();
    let frame = stream_table(context, plan, schema, |_| Box::new(Ok))?;
    let columns = columns.iter().map(|(sql, name)| {
        let expression = frame.parse_sql_expr(sql)?;
        Ok(expression.alias(name.as_str()))
    });
    let columns = columns.collect::<Result<Vec<_>>>()?;
    frame.select(columns)?.create_physical_plan().await
}

/// Rows of all partitions of a plan.
struct PlanRows {
    plan: Arc<dyn ExecutionPlan>,
    schema: SchemaRef,
    begin: fn(SchemaRef) -> BatchMap,
}

impl fmt::Debug for PlanRows {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.debug_struct("Rows")
            .field("plan", &self.plan)
            .finish_non_exhaustive()
    }
}

impl PartitionStream for PlanRows {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn execute(&self, task: Arc<TaskContext>) -> SendableRecordBatchStream {
        let plan = Arc::clone(&self.plan);
        let parts = 0..plan.output_partitioning().partition_count();
        let parts = futures::stream::iter(parts);
        let rows = parts.map(move |part| plan.execute(part, Arc::clone(&task)));
        let schema = Arc::clone(&self.schema);
        let mut each = (self.begin)(Arc::clone(&schema));
        let rows = rows.try_flatten().map(move |batch| each(batch?));
        Box::pin(RecordBatchStreamAdapter::new(schema, rows))
    }
}
