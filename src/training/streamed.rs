//! The rows of a plan as they come, one part after the other, as rows of a further plan, so that their order stays.
//!
//! The engine computes what a query selects before it sorts, and drops the order of a query below a window or another sort: features would
//! be sorted, which are a hundred times as large as what they follow from, and numbers of rows would be those of no order.

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

/// What becomes of each batch of a stream.
pub(super) type Each = Box<dyn FnMut(RecordBatch) -> Result<RecordBatch> + Send>;

/// The rows of a plan, with what becomes of them: `begin` is called for each stream of them, which has the columns of `schema`.
pub(super) fn streamed(
    context: &SessionContext,
    plan: Arc<dyn ExecutionPlan>,
    schema: SchemaRef,
    begin: fn(SchemaRef) -> Each,
) -> Result<DataFrame> {
    let rows = Rows {
        plan,
        schema: Arc::clone(&schema),
        begin,
    };
    let table = StreamingTable::try_new(schema, vec![Arc::new(rows)])?;
    context.read_table(Arc::new(table))
}

/// A plan of these columns, SQL and name each, over the rows of another one.
pub(super) async fn computed(
    context: &SessionContext,
    plan: Arc<dyn ExecutionPlan>,
    columns: &[(String, String)],
) -> Result<Arc<dyn ExecutionPlan>> {
    let schema = plan.schema();
    let frame = streamed(context, plan, schema, |_| Box::new(Ok))?;
    let columns = columns.iter().map(|(sql, name)| {
        let expression = frame.parse_sql_expr(sql)?;
        Ok(expression.alias(name.as_str()))
    });
    let columns = columns.collect::<Result<Vec<_>>>()?;
    frame.select(columns)?.create_physical_plan().await
}

/// The rows of all parts of a plan.
struct Rows {
    plan: Arc<dyn ExecutionPlan>,
    schema: SchemaRef,
    begin: fn(SchemaRef) -> Each,
}

impl fmt::Debug for Rows {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.debug_struct("Rows")
            .field("plan", &self.plan)
            .finish_non_exhaustive()
    }
}

impl PartitionStream for Rows {
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
