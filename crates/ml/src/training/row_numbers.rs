//! Numbers the rows of a plan and sorts them by columns; rows with equal values keep the order of the plan.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::common::Result;
use datafusion::logical_expr::ident;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::prelude::SessionContext;

use super::plan_stream::{BatchMap, stream_table};

/// Name of the added column, the last one.
const NUMBER: &str = "tsql_row_number";

/// Sorts the rows of a plan by columns, and adds the row number as the last column.
pub(super) async fn sort_with_row_numbers(
    context: &SessionContext,
    plan: Arc<dyn ExecutionPlan>,
    by: &[&str],
) -> Result<Arc<dyn ExecutionPlan>> {
    let fields = plan.schema().fields().clone();
    let number = Field::new(NUMBER, DataType::Int64, false);
    let fields = fields.iter().cloned().chain([Arc::new(number)]);
    let schema: SchemaRef = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
    let frame = stream_table(context, plan, schema, append_row_numbers)?;
    let by = by.iter().chain([&NUMBER]);
    let sorted = frame.sort(by.map(|column| ident(*column).sort(true, true)).collect())?;
    sorted.create_physical_plan().await
}

/// Appends row numbers to batches.
fn append_row_numbers(schema: SchemaRef) -> BatchMap {
    let mut next = 0_i64;
    Box::new(move |batch| {
        let end = next.saturating_add(i64::try_from(batch.num_rows()).unwrap_or(i64::MAX));
        let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(next..end));
        next = end;
        let columns = batch.columns().iter().cloned().chain([numbers]);
        Ok(RecordBatch::try_new(
            Arc::clone(&schema),
            columns.collect(),
        )?)
    })
}
