//! Sorting of a result: an external sort by the engine, stored in another file.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions, UInt64Array};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::catalog::streaming::StreamingTable;
use datafusion::error::{DataFusionError, Result as CredentialCache};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::streaming::PartitionStream;
use datafusion::prelude::{SessionContext, ident};
use futures::StreamExt as _;
use tsql_error::{Error, Result};

use super::result_file::ResultFile;
use super::results::{QueryResult, ResultStore, SortOrder};

/// Column with the row number in the original result, which makes the sort stable.
const ROW_COLUMN: &str = "place";

/// Stored rows as a table with the columns `c0`, `c1`, ... and the row number.
#[derive(Debug)]
struct ResultTable {
    stored: Arc<ResultFile>,
    schema: SchemaRef,
}

impl ResultTable {
    fn new(stored: &Arc<ResultFile>) -> Self {
        let columns = stored.schema().fields().iter().enumerate();
        let columns = columns
            .map(|(place, field)| Field::new(format!("c{place}"), field.data_type().clone(), true));
        let place = Field::new(ROW_COLUMN, DataType::UInt64, false);
        let columns: Vec<Field> = columns.chain([place]).collect();
        Self {
            stored: Arc::clone(stored),
            schema: Arc::new(Schema::new(columns)),
        }
    }
}

/// Reads a part of the rows, with their row numbers.
fn with_row_numbers(
    stored: &ResultFile,
    schema: &SchemaRef,
    part: usize,
    first: u64,
) -> Result<RecordBatch> {
    let batch = stored.part(part, None)?;
    let places: UInt64Array = (first..first + batch.num_rows() as u64).collect();
    let places: ArrayRef = Arc::new(places);
    let columns = batch.columns().iter().cloned().chain([places]).collect();
    let made = RecordBatch::try_new(Arc::clone(schema), columns);
    made.map_err(|error| Error::Query(error.into()))
}

impl PartitionStream for ResultTable {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn execute(&self, _: Arc<TaskContext>) -> SendableRecordBatchStream {
        let (stored, schema) = (Arc::clone(&self.stored), Arc::clone(&self.schema));
        let mut first = 0;
        let parts = (0..stored.parts()).map(move |part| -> CredentialCache<RecordBatch> {
            let batch = with_row_numbers(&stored, &schema, part, first);
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

/// Rows of a result in an order. The last requested order is cached.
pub(super) async fn sort_result(
    results: &ResultStore,
    result: &QueryResult,
    context: &SessionContext,
    order: SortOrder,
) -> Result<Arc<ResultFile>> {
    // Two requests for the same order share one sort. A later request for another order replaces it.
    let mut known = result.sorted.lock().await;
    if let Some((known, rows, stored)) = known.as_ref()
        && *known == order
        && *rows == result.rows.rows()
    {
        return Ok(Arc::clone(stored));
    }
    *known = None;
    let count = result.rows.rows();
    let rows = ResultTable::new(&result.rows);
    let columns = rows.schema.fields().len().saturating_sub(1);
    if order.column >= columns {
        return Err(Error::Argument {
            name: "by",
            reason: format!(
                "column index {} is out of range: the result has {columns} columns",
                order.column
            ),
        });
    }
    let schema = Arc::clone(&rows.schema);
    let table = StreamingTable::try_new(schema, vec![Arc::new(rows)]).map_err(Error::Query)?;
    let frame = context.read_table(Arc::new(table)).map_err(Error::Query)?;
    let by = ident(format!("c{}", order.column)).sort(!order.is_down, false);
    let frame = frame.sort(vec![by, ident(ROW_COLUMN).sort(true, false)]);
    let frame = frame.map_err(Error::Query)?;
    let mut rows = frame.execute_stream().await.map_err(Error::Query)?;
    let (_, mut writer) = results.create_file(Arc::clone(result.rows.schema()))?;
    while let Some(batch) = rows.next().await {
        let batch = batch.map_err(Error::Query)?;
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        let own = batch.columns().iter().take(columns).cloned().collect();
        let schema = Arc::clone(result.rows.schema());
        let batch = RecordBatch::try_new_with_options(schema, own, &options);
        writer.push(batch.map_err(|error| Error::Query(error.into()))?)?;
    }
    writer.flush()?;
    let stored = writer.reader();
    *known = Some((order, count, Arc::clone(&stored)));
    Ok(stored)
}
