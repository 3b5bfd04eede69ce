//! Columns that are computed of the rows of a plan as they come, so that their order stays.
//!
//! The engine computes what a query selects before it sorts, and drops the order of a query in another one: features would be sorted,
//! which are a hundred times as large as what they follow from.

use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use datafusion::catalog::streaming::StreamingTable;
use datafusion::common::Result;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::streaming::PartitionStream;
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties as _};
use datafusion::prelude::SessionContext;
use futures::{StreamExt as _, TryStreamExt as _};

/// A plan of these columns, SQL and name each, over the rows of another one.
pub(super) async fn computed(
    context: &SessionContext,
    plan: Arc<dyn ExecutionPlan>,
    columns: &[(String, String)],
) -> Result<Arc<dyn ExecutionPlan>> {
    let schema = plan.schema();
    let rows = Rows {
        plan,
        schema: Arc::clone(&schema),
    };
    let table = StreamingTable::try_new(schema, vec![Arc::new(rows)])?;
    let frame = context.read_table(Arc::new(table))?;
    let columns = columns.iter().map(|(sql, name)| {
        let expression = frame.parse_sql_expr(sql)?;
        Ok(expression.alias(name.as_str()))
    });
    let columns = columns.collect::<Result<Vec<_>>>()?;
    frame.select(columns)?.create_physical_plan().await
}

/// The rows of all parts of a plan, one part after the other.
#[derive(Debug)]
struct Rows {
    plan: Arc<dyn ExecutionPlan>,
    schema: SchemaRef,
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
        Box::pin(RecordBatchStreamAdapter::new(schema, rows.try_flatten()))
    }
}
