//! The rows of a plan with their numbers, and sorted by columns: rows with the same values stay in the order in which the plan gives
//! them.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::common::Result;
use datafusion::logical_expr::ident;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::prelude::SessionContext;

use super::streamed::{Each, streamed};

/// The column behind those of the plan.
const NUMBER: &str = "tsql_row_number";

/// The rows of a plan sorted by columns, with one column more, the last.
pub(super) async fn together(
    context: &SessionContext,
    plan: Arc<dyn ExecutionPlan>,
    by: &[&str],
) -> Result<Arc<dyn ExecutionPlan>> {
    let fields = plan.schema().fields().clone();
    let number = Field::new(NUMBER, DataType::Int64, false);
    let fields = fields.iter().cloned().chain([Arc::new(number)]);
    let schema: SchemaRef = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
    let frame = streamed(context, plan, schema, numbered)?;
    let by = by.iter().chain([&NUMBER]);
    let sorted = frame.sort(by.map(|column| ident(*column).sort(true, true)).collect())?;
    sorted.create_physical_plan().await
}

/// Batches with the numbers of their rows.
fn numbered(schema: SchemaRef) -> Each {
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
