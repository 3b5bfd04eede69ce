//! Table provider of the pre-aggregates of all files of a table, for queries that need no rows.

use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::{FieldRef, Schema, SchemaRef};
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::{Column, DataFusionError, Result, project_schema};
use datafusion::datasource::memory::MemorySourceConfig;
use datafusion::datasource::provider_as_source;
use datafusion::functions_aggregate::expr_fn::{count, max, min, sum};
use datafusion::logical_expr::{
    Expr, LogicalPlanBuilder, TableProviderFilterPushDown, TableType, col, lit,
};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::Column as PhysicalColumn;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::union::UnionExec;
use futures::{StreamExt as _, TryStreamExt as _};
use object_store::{ObjectStore, ObjectStoreExt as _};

use crate::files::file_statistics::TableFile;
use crate::files::rollup::{self, RollupLocation};
use crate::scan::stored_table::StoredTable;
use tsql_schema::{Rollup, view_field};

/// Maximum number of files whose pre-aggregates are read concurrently.
const READ_AHEAD: usize = 16;

/// A table with fewer rows is read as fast.
const WORTH_ROWS: usize = 256;

/// Pre-aggregates of a table's files: partition columns, labels, NULL flags of the measures, row counts, sums, minima
/// and maxima. For files without pre-aggregates, they are computed from the rows.
#[derive(Debug)]
pub struct RollupTable {
    stored: StoredTable,
    rollup: &'static Rollup,
    schema: SchemaRef,
}

impl RollupTable {
    /// Returns the pre-aggregates of `stored`. `None` if few of its rows have any, or reading the rows is as fast.
    pub fn from_stored(stored: &StoredTable) -> Option<Self> {
        let rollup = stored.table().rollup.as_ref()?;
        let (mut rows, mut without) = (0, 0);
        for (count, has_sums) in stored.rows_and_sums() {
            rows += count;
            without += if has_sums { 0 } else { count };
        }
        if rows < WORTH_ROWS || without > rows / 8 {
            return None;
        }
        let table = stored.table();
        let all = table.stored_schema();
        let partition = all
            .fields()
            .iter()
            .filter(|field| table.partition.contains(field.name()))
            .map(|field| Arc::new(view_field(field)));
        let sums = rollup::schema(table, rollup);
        let fields: Vec<FieldRef> = partition.chain(sums.fields().iter().cloned()).collect();
        Some(Self {
            stored: stored.clone(),
            rollup,
            schema: Arc::new(Schema::new(fields)),
        })
    }

    /// Returns the label columns.
    pub fn labels(&self) -> impl Iterator<Item = &str> {
        let labels = self.stored.table().partition.iter().chain(&self.rollup.by);
        labels.map(String::as_str)
    }

    /// Returns the measure columns.
    pub fn measures(&self) -> impl Iterator<Item = &str> {
        self.rollup.of.iter().map(String::as_str)
    }

    /// Reads the pre-aggregates of a file, with its partition values. `None` if their columns differ from the tag's
    /// layout.
    async fn read(
        &self,
        objects: Arc<dyn ObjectStore>,
        file: &TableFile,
        place: RollupLocation,
    ) -> Result<Option<Vec<RecordBatch>>> {
        let path = &file.meta().location;
        let lock =
            || DataFusionError::Internal("a thread failed while it held pre-aggregates".to_owned());
        let known = self
            .stored
            .rollup_cache()
            .lock()
            .map_err(|_| lock())?
            .get(path)
            .cloned();
        let sums = match known {
            Some(sums) => sums,
            None => {
                let bytes = objects.get_range(path, place.range()).await?;
                let sums = rollup::decode(&bytes, file.rows() as u64);
                let damaged = |error| {
                    DataFusionError::ArrowError(Box::new(error), None).context(path.to_string())
                };
                let sums = Arc::new(sums.map_err(damaged)?);
                let mut known = self.stored.rollup_cache().lock().map_err(|_| lock())?;
                known.insert(path.clone(), Arc::clone(&sums));
                sums
            }
        };
        let expected = rollup::schema(self.stored.table(), self.rollup);
        let fits = |sums: &RecordBatch| {
            let fields = sums.schema_ref().fields().iter();
            let types = fields.map(|field| (field.name(), field.data_type()));
            let wanted = expected.fields().iter();
            types.eq(wanted.map(|field| (field.name(), field.data_type())))
        };
        if !sums.iter().all(fits) {
            return Ok(None);
        }
        let with_partition = |sums: &RecordBatch| {
            let values = file.partition_values().iter();
            let values = values.map(|value| value.to_array_of_size(sums.num_rows()));
            let columns = values.chain(sums.columns().iter().cloned().map(Ok));
            let columns = columns.collect::<Result<Vec<_>>>()?;
            Ok(RecordBatch::try_new(Arc::clone(&self.schema), columns)?)
        };
        let sums = sums.iter().map(with_partition);
        sums.collect::<Result<_>>().map(Some)
    }

    /// Computes the pre-aggregates of files without them.
    async fn aggregate_files(
        &self,
        state: &dyn Session,
        files: Vec<Arc<TableFile>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let source = provider_as_source(Arc::new(self.stored.with_files(files)));
        let label = |name: &str| col(Column::from_name(name));
        let mut by: Vec<Expr> = self.labels().map(label).collect();
        let mut of = vec![count(lit(1_i64)).alias(rollup::ROWS)];
        for name in self.measures() {
            by.push(label(name).is_null().alias(rollup::is_null_column(name)));
            of.push(sum(label(name)).alias(rollup::sum_column(name)));
            of.push(min(label(name)).alias(rollup::min_column(name)));
            of.push(max(label(name)).alias(rollup::max_column(name)));
        }
        let wanted = self.schema.fields().iter().map(|field| label(field.name()));
        let plan = LogicalPlanBuilder::scan(&self.stored.table().name, source, None)?
            .aggregate(by, of)?
            .project(wanted.collect::<Vec<_>>())?
            .build()?;
        state.create_physical_plan(&plan).await
    }
}

#[async_trait::async_trait]
impl TableProvider for RollupTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    fn supports_filters_pushdown(
        &self,
        filters: &[&Expr],
    ) -> Result<Vec<TableProviderFilterPushDown>> {
        Ok(vec![TableProviderFilterPushDown::Inexact; filters.len()])
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        _limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let labels: Vec<&str> = self.labels().collect();
        let of_rows = |filter: &&Expr| {
            filter
                .column_refs()
                .iter()
                .all(|column| labels.contains(&column.name.as_str()))
        };
        let filters: Vec<Expr> = filters.iter().filter(of_rows).cloned().collect();
        let files = self.stored.prune_files(state, &filters)?;
        let objects = self.stored.objects(state)?;
        let (mut kept, mut missing) = (Vec::new(), Vec::new());
        for file in files {
            match self.stored.rollup(&file) {
                Some(place) => kept.push((file, place)),
                None => missing.push(file),
            }
        }
        let read = async |(file, place): (Arc<TableFile>, RollupLocation)| {
            let sums = self.read(Arc::clone(&objects), &file, place).await;
            sums.map(|sums| (file, sums))
        };
        let read: Vec<(Arc<TableFile>, Option<Vec<RecordBatch>>)> = futures::stream::iter(kept)
            .map(read)
            .buffered(READ_AHEAD)
            .try_collect()
            .await?;
        let mut batches = Vec::new();
        for (file, sums) in read {
            match sums {
                Some(sums) => batches.extend(sums),
                None => missing.push(file),
            }
        }
        let sums: Arc<dyn ExecutionPlan> =
            MemorySourceConfig::try_new_exec(&[batches], self.schema(), projection.cloned())?;
        if missing.is_empty() {
            return Ok(sums);
        }
        let made = self.aggregate_files(state, missing).await?;
        let projected = project_schema(&self.schema, projection)?;
        let columns = projected.fields().iter().map(|field| {
            let place = made.schema().index_of(field.name())?;
            let column: Arc<dyn PhysicalExpr> = Arc::new(PhysicalColumn::new(field.name(), place));
            Ok((column, field.name().clone()))
        });
        let made = ProjectionExec::try_new(columns.collect::<Result<Vec<_>>>()?, made)?;
        UnionExec::try_new(vec![sums, Arc::new(made)])
    }
}
