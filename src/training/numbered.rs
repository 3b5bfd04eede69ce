//! The rows of a plan with their numbers, and sorted by a group: rows of one stay in the order in which the plan gives
//! them.
//!
//! The engine drops the order of a query below a window or another sort, so it is the stream that is numbered.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::catalog::streaming::StreamingTable;
use datafusion::common::Result;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::ident;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::streaming::PartitionStream;
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties as _};
use datafusion::prelude::SessionContext;
use futures::{StreamExt as _, TryStreamExt as _};

/// The column behind those of the plan.
const NUMBER: &str = "tsql_row_number";

/// The rows of a plan sorted by a column, with one column more, the last.
pub(super) async fn together(
    context: &SessionContext,
    plan: Arc<dyn ExecutionPlan>,
    group: &str,
) -> Result<Arc<dyn ExecutionPlan>> {
    let fields = plan.schema().fields().clone();
    let number = Field::new(NUMBER, DataType::Int64, false);
    let fields = fields.iter().cloned().chain([Arc::new(number)]);
    let schema: SchemaRef = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
    let numbered = Numbered {
        plan,
        schema: Arc::clone(&schema),
    };
    let table = StreamingTable::try_new(schema, vec![Arc::new(numbered)])?;
    let frame = context.read_table(Arc::new(table))?;
    let by = [ident(group), ident(NUMBER)];
    let sorted = frame.sort(by.map(|column| column.sort(true, true)).into())?;
    sorted.create_physical_plan().await
}

/// The rows of all parts of a plan, one part after the other, and their numbers.
#[derive(Debug)]
struct Numbered {
    plan: Arc<dyn ExecutionPlan>,
    schema: SchemaRef,
}

impl PartitionStream for Numbered {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn execute(&self, task: Arc<TaskContext>) -> SendableRecordBatchStream {
        let plan = Arc::clone(&self.plan);
        let parts = 0..plan.output_partitioning().partition_count();
        let parts = futures::stream::iter(parts);
        let rows = parts.map(move |part| plan.execute(part, Arc::clone(&task)));
        let schema = Arc::clone(&self.schema);
        let mut next = 0_i64;
        let numbered = rows.try_flatten().map(move |batch| {
            let batch = batch?;
            let end = next.saturating_add(i64::try_from(batch.num_rows()).unwrap_or(i64::MAX));
            let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(next..end));
            next = end;
            let columns = batch.columns().iter().cloned().chain([numbers]);
            Ok(RecordBatch::try_new(
                Arc::clone(&schema),
                columns.collect(),
            )?)
        });
        let schema = Arc::clone(&self.schema);
        Box::pin(RecordBatchStreamAdapter::new(schema, numbered))
    }
}
