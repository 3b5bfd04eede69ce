//! Rows of an answer in another order: sorted by the engine within its memory, and written down once more.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions, UInt64Array};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::catalog::streaming::StreamingTable;
use datafusion::error::{DataFusionError, Result as Answered};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::streaming::PartitionStream;
use datafusion::prelude::{SessionContext, ident};
use futures::StreamExt as _;

use super::answers::{Answer, Answers, Order};
use super::kept::Kept;
use crate::error::{Error, Result};

/// Column with the place of a row in the answer: equal rows stay in its order.
const PLACE: &str = "place";

/// Rows that were written down, as a table of columns `c0`, `c1`, ... and their place.
#[derive(Debug)]
struct Rows {
    kept: Arc<Kept>,
    schema: SchemaRef,
}

impl Rows {
    fn of(kept: &Arc<Kept>) -> Self {
        let columns = kept.schema().fields().iter().enumerate();
        let columns = columns
            .map(|(place, field)| Field::new(format!("c{place}"), field.data_type().clone(), true));
        let place = Field::new(PLACE, DataType::UInt64, false);
        let columns: Vec<Field> = columns.chain([place]).collect();
        Self {
            kept: Arc::clone(kept),
            schema: Arc::new(Schema::new(columns)),
        }
    }
}

/// A part of the rows, with their places.
fn placed(kept: &Kept, schema: &SchemaRef, part: usize, first: u64) -> Result<RecordBatch> {
    let batch = kept.part(part, None)?;
    let places: UInt64Array = (first..first + batch.num_rows() as u64).collect();
    let places: ArrayRef = Arc::new(places);
    let columns = batch.columns().iter().cloned().chain([places]).collect();
    let made = RecordBatch::try_new(Arc::clone(schema), columns);
    made.map_err(|error| Error::Query(error.into()))
}

impl PartitionStream for Rows {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn execute(&self, _: Arc<TaskContext>) -> SendableRecordBatchStream {
        let (kept, schema) = (Arc::clone(&self.kept), Arc::clone(&self.schema));
        let mut first = 0;
        let parts = (0..kept.parts()).map(move |part| -> Answered<RecordBatch> {
            let batch = placed(&kept, &schema, part, first);
            let batch = batch.map_err(|error| DataFusionError::External(error.into()))?;
            first += batch.num_rows() as u64;
            Ok(batch)
        });
        let parts = futures::stream::iter(parts);
        Box::pin(RecordBatchStreamAdapter::new(
            Arc::clone(&self.schema),
            parts,
        ))
    }
}

/// The rows of an answer by an order. The last one that was asked for is kept.
pub(super) async fn sorted(
    answers: &Answers,
    answer: &Answer,
    context: &SessionContext,
    order: Order,
) -> Result<Arc<Kept>> {
    // Two who want the same wait for one sort; who wants another order after it takes its place.
    let mut known = answer.sorted.lock().await;
    if let Some((known, rows, kept)) = known.as_ref()
        && *known == order
        && *rows == answer.rows.rows()
    {
        return Ok(Arc::clone(kept));
    }
    *known = None;
    let count = answer.rows.rows();
    let rows = Rows::of(&answer.rows);
    let columns = rows.schema.fields().len().saturating_sub(1);
    if order.column >= columns {
        return Err(Error::Argument {
            name: "by",
            reason: format!("the answer has {columns} columns"),
        });
    }
    let schema = Arc::clone(&rows.schema);
    let table = StreamingTable::try_new(schema, vec![Arc::new(rows)]).map_err(Error::Query)?;
    let frame = context.read_table(Arc::new(table)).map_err(Error::Query)?;
    let by = ident(format!("c{}", order.column)).sort(!order.is_down, false);
    let frame = frame.sort(vec![by, ident(PLACE).sort(true, false)]);
    let frame = frame.map_err(Error::Query)?;
    let mut rows = frame.execute_stream().await.map_err(Error::Query)?;
    let (_, mut keeping) = answers.keeping(Arc::clone(answer.rows.schema()))?;
    while let Some(batch) = rows.next().await {
        let batch = batch.map_err(Error::Query)?;
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        let own = batch.columns().iter().take(columns).cloned().collect();
        let schema = Arc::clone(answer.rows.schema());
        let batch = RecordBatch::try_new_with_options(schema, own, &options);
        keeping.push(batch.map_err(|error| Error::Query(error.into()))?)?;
    }
    keeping.flush()?;
    let kept = keeping.kept();
    *known = Some((order, count, Arc::clone(&kept)));
    Ok(kept)
}
