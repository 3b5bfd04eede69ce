//! npz files as tables: arrays of one length become columns, their first dimension is the row.
//!
//! | array | column |
//! |---|---|
//! | `(n,)` | its elements |
//! | `(n, m)`, `(n, m, k)` | lists of a fixed length, nested |
//! | `()` | the same value in each row, as `pandas.DataFrame` has it |
//!
//! Arrays of different lengths are several tables: `read_npz('x.npz', arrays => 'a, b')` says which one is meant. Only
//! columns that a question names are inflated, some megabytes at a time.

mod chosen;
mod element;
mod opened;
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

use super::found::{Found, wrong};
use super::options::Wanted;
use super::together::together;
use chosen::{Chosen, chosen};
use opened::Source;

/// Batches that wait to be taken.
const WAITING: usize = 2;

/// A table of the files.
pub(super) async fn table(
    found: &Found,
    wanted: &Wanted,
) -> Result<Arc<dyn TableProvider>, DataFusionError> {
    let mut tables: Vec<Npz> = Vec::new();
    for file in found.files.iter().filter(|file| file.size > 0) {
        let source = Source::of(found, file)?;
        let of_file = |reason: String| wrong(&source.path(), reason);
        let arrays = source.open().await?.arrays().map_err(of_file)?;
        let chosen = chosen(&arrays, wanted.arrays.as_deref()).map_err(of_file)?;
        let schema = Arc::new(Schema::new(chosen.fields()));
        let file = (source, Arc::new(chosen));
        match tables.iter_mut().find(|table| table.schema == schema) {
            Some(table) => table.files.push(file),
            None => tables.push(Npz {
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
        Err(tables) => together(&wanted.path, tables),
    }
}

/// Files of the same columns.
#[derive(Debug)]
struct Npz {
    schema: SchemaRef,
    files: Vec<(Source, Arc<Chosen>)>,
}

#[async_trait]
impl TableProvider for Npz {
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
            Arc::new(File {
                source: source.clone(),
                chosen: Arc::new(chosen.projected(&columns)),
                schema: Arc::clone(&schema),
            }) as Arc<dyn PartitionStream>
        });
        let files = files.collect();
        let read = StreamingTableExec::try_new(schema, files, None, [], false, limit)?;
        Ok(Arc::new(read))
    }
}

/// Columns of a file, on their way.
#[derive(Debug)]
struct File {
    source: Source,
    chosen: Arc<Chosen>,
    schema: SchemaRef,
}

impl PartitionStream for File {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn execute(&self, _: Arc<TaskContext>) -> SendableRecordBatchStream {
        let mut stream = RecordBatchReceiverStreamBuilder::new(Arc::clone(&self.schema), WAITING);
        let (taken, schema) = (stream.tx(), Arc::clone(&self.schema));
        let (source, chosen) = (self.source.clone(), Arc::clone(&self.chosen));
        let waiting = tokio::runtime::Handle::current();
        stream.spawn_blocking(move || {
            let files = chosen
                .columns
                .iter()
                .map(|_| waiting.block_on(source.open()));
            let mut files = files.collect::<Result<Vec<_>, _>>()?;
            rows::batches(&mut files, &chosen, &schema, |batch| {
                taken.blocking_send(Ok(batch)).is_ok()
            })
            .map_err(|reason| wrong(&source.path(), reason))
        });
        stream.build()
    }
}
