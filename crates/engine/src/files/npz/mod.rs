//! npz files as tables: arrays of equal length become columns, and their first dimension is the row.
//!
//! | array | column |
//! |---|---|
//! | `(n,)` | its elements |
//! | `(n, m)`, `(n, m, k)` | nested fixed-size lists |
//! | `()` | the same value in each row, as in `pandas.DataFrame` |
//!
//! Arrays of different lengths form several tables: `read_npz('x.npz', arrays => 'a, b')` selects one. Only the columns
//! that a query references are decompressed, a few megabytes at a time.

mod column_selection;
mod element;
mod npz_source;
mod rows;

use std::sync::Arc;

use arrow::datatypes::{Schema, SchemaRef};
use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider};
use datafusion::error::DataFusionError;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::{Expr, TableType};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::stream::RecordBatchReceiverStreamBuilder;
use datafusion::physical_plan::streaming::{PartitionStream, StreamingTableExec};

use super::file_listing::{FileListing, invalid_path};
use super::options::ReadRequest;
use super::union_by_name::union_by_name;
use column_selection::{ColumnSelection, select_columns};
use npz_source::NpzSource;

/// Capacity of the channel to the consumer, in batches.
const CHANNEL_BATCHES: usize = 2;

/// Opens the files as a table.
pub(super) async fn npz_table(
    found: &FileListing,
    wanted: &ReadRequest,
) -> Result<Arc<dyn TableProvider>, DataFusionError> {
    let mut tables: Vec<NpzTable> = Vec::new();
    for file in found.files.iter().filter(|file| file.size > 0) {
        let source = NpzSource::locate(found, file)?;
        let of_file = |reason: String| invalid_path(&source.path(), reason);
        let arrays = source.open().await?.arrays().map_err(of_file)?;
        let chosen = select_columns(&arrays, wanted.arrays.as_deref()).map_err(of_file)?;
        let schema = Arc::new(Schema::new(chosen.fields()));
        let file = (source, Arc::new(chosen));
        match tables.iter_mut().find(|table| table.schema == schema) {
            Some(table) => table.files.push(file),
            None => tables.push(NpzTable {
                schema,
                files: vec![file],
            }),
        }
    }
    let tables = tables
        .into_iter()
        .map(|table| Arc::new(table) as Arc<dyn TableProvider>);
    let tables: Vec<_> = tables.collect();
    match <[_; 1]>::try_from(tables) {
        Ok([only]) => Ok(only),
        Err(tables) => union_by_name(&wanted.path, tables),
    }
}

/// Table of npz files with the same columns.
#[derive(Debug)]
struct NpzTable {
    schema: SchemaRef,
    files: Vec<(NpzSource, Arc<ColumnSelection>)>,
}

#[async_trait]
impl TableProvider for NpzTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    async fn scan(
        &self,
        _: &dyn Session,
        projection: Option<&Vec<usize>>,
        _: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>, DataFusionError> {
        let columns: Vec<usize> = match projection {
            Some(columns) => columns.clone(),
            None => (0..self.schema.fields().len()).collect(),
        };
        let schema = Arc::new(self.schema.project(&columns)?);
        let files = self.files.iter().map(|(source, chosen)| {
            Arc::new(NpzPartition {
                source: source.clone(),
                chosen: Arc::new(chosen.project(&columns)),
                schema: Arc::clone(&schema),
            }) as Arc<dyn PartitionStream>
        });
        let files = files.collect();
        let read = StreamingTableExec::try_new(schema, files, None, [], false, limit)?;
        Ok(Arc::new(read))
    }
}

/// Partition of the scan: the selected columns of one file.
#[derive(Debug)]
struct NpzPartition {
    source: NpzSource,
    chosen: Arc<ColumnSelection>,
    schema: SchemaRef,
}

impl PartitionStream for NpzPartition {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn execute(&self, _: Arc<TaskContext>) -> SendableRecordBatchStream {
        let mut stream =
            RecordBatchReceiverStreamBuilder::new(Arc::clone(&self.schema), CHANNEL_BATCHES);
        let (taken, schema) = (stream.tx(), Arc::clone(&self.schema));
        let (source, chosen) = (self.source.clone(), Arc::clone(&self.chosen));
        let waiting = tokio::runtime::Handle::current();
        stream.spawn_blocking(move || {
            let files = chosen
                .columns
                .iter()
                .map(|_| waiting.block_on(source.open()));
            let mut files = files.collect::<Result<Vec<_>, _>>()?;
            rows::read_batches(&mut files, &chosen, &schema, |batch| {
                taken.blocking_send(Ok(batch)).is_ok()
            })
            .map_err(|reason| invalid_path(&source.path(), reason))
        });
        stream.build()
    }
}
