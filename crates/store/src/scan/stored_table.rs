//! A table at one version as DataFusion sees it.
//!
//! The scan is DataFusion's own `DataSourceExec` over the files of the log, so that it can be
//! sent to any worker that knows DataFusion. It brings what the log knows: partition values, exact
//! statistics of every file (so that COUNT, MIN and MAX need no file at all, and files that cannot
//! match are not opened), and the order of the rows inside a file.

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, OnceLock};

use arrow::datatypes::{Field, FieldRef, Schema, SchemaRef};
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::config::ConfigOptions;
use datafusion::common::stats::Precision;
use datafusion::common::{DFSchema, DataFusionError, Result, Statistics, project_schema};
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::physical_plan::FileScanConfig;
use datafusion::datasource::physical_plan::parquet::CachedParquetFileReaderFactory;
use datafusion::datasource::physical_plan::{
    FileGroup, FileScanConfigBuilder, ParquetFileReaderFactory, ParquetSource,
};
use datafusion::datasource::source::DataSourceExec;
use datafusion::datasource::table_schema::TableSchema;
use datafusion::execution::object_store::ObjectStoreUrl;
use datafusion::execution::runtime_env::RuntimeEnv;
use datafusion::logical_expr::utils::conjunction;
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::{LexOrdering, PhysicalSortExpr};
use datafusion::physical_optimizer::pruning::PruningPredicateBuilder;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::empty::EmptyExec;
use object_store::ObjectStore;
use object_store::path::Path;

use crate::files::file::DataFile;
use crate::files::file_statistics::{KnownFile, Prunable, together};
use crate::files::footers::Caught;
use crate::files::rollup::{self, KnownSums, Place};
use crate::files::selectivity::share;
use crate::files::verified_blocks::Files;
use crate::settings::verify_settings::Verify;
use tsql_schema::column::value_order::value_order;
use tsql_schema::{Table, viewed};

/// A footer and the index of pages are read at once where they are no longer than this, if the log does
/// not say how long they are.
const FOOTER_BYTES: u64 = 128 << 10;

/// Share of the rows below which a filter leaves few.
const FEW: f64 = 0.1;

/// What the filters of a scan are expected to leave of a file, told with it.
#[derive(Clone, Copy, Debug)]
pub struct Expected {
    /// Rows.
    pub rows: f64,
}

/// A table's stored columns at one version; no rows where the table was never written.
#[derive(Clone, Debug)]
pub struct StoredTable {
    table: &'static Table,
    /// File columns, then partition columns.
    schema: TableSchema,
    store: ObjectStoreUrl,
    /// Those of a partition by the least value of the first column that rows are sorted by.
    files: Vec<Arc<KnownFile>>,
    /// What they have together, once it was asked for.
    together: OnceLock<Statistics>,
    /// Where files keep sums of their rows.
    rollups: Arc<HashMap<Path, Place>>,
    known_sums: KnownSums,
    verified: Arc<Files>,
    /// The rows of each file are in the table's order.
    sorted: bool,
}

impl StoredTable {
    /// The table made of `files`, which lie in the object store registered as `store`.
    pub fn new(table: &'static Table, store: ObjectStoreUrl, files: &[DataFile]) -> Result<Self> {
        let stored = table.stored_schema();
        let (partition, inside): (Vec<FieldRef>, Vec<FieldRef>) = stored
            .fields()
            .iter()
            .map(|field| Arc::new(viewed(field)))
            .partition(|field| table.partition.contains(field.name()));
        let schema = TableSchema::builder(Arc::new(Schema::new(inside)))
            .with_table_partition_cols(partition)
            .build();
        let path = |file: &DataFile| {
            let path = file.object(&table.name);
            path.map_err(|error| DataFusionError::External(error.into()))
        };
        let layout = table.rollup.as_ref().map(rollup::layout);
        let rollups = files.iter().filter_map(|file| {
            let place = file.rollup.filter(|place| Some(place.layout) == layout)?;
            Some((path(file).ok()?, place))
        });
        let rollups = Arc::new(rollups.collect());
        let verified = Arc::new(Files::new(&table.name, files));
        let sorted = files.iter().all(DataFile::is_own);
        let files = files.iter().map(|file| KnownFile::new(path(file)?, file));
        let files = files.collect::<Result<Vec<_>>>()?;
        // One after the other, the files of a partition are sorted if each begins where another ends.
        let first = table.sort.first();
        let least = |file: &KnownFile| file.least(first?, &schema);
        let mut files: Vec<_> = files.into_iter().map(|file| (least(&file), file)).collect();
        files.sort_by(|(least_of_a, a), (least_of_b, b)| {
            let values = a.partition_values().iter().zip(b.partition_values());
            let orders = values.map(|(one, other)| value_order(one, other));
            let least = least_of_a.iter().zip(least_of_b);
            let mut orders = orders
                .chain([least_of_a.is_some().cmp(&least_of_b.is_some())])
                .chain(least.map(|(one, other)| value_order(one, other)));
            orders
                .find(|order| order.is_ne())
                .unwrap_or(Ordering::Equal)
        });
        let files = files.into_iter().map(|(_, file)| Arc::new(file)).collect();
        Ok(Self {
            table,
            schema,
            store,
            files,
            together: OnceLock::new(),
            rollups,
            known_sums: KnownSums::default(),
            verified,
            sorted,
        })
    }

    /// Returns the definition of the table.
    pub fn table(&self) -> &'static Table {
        self.table
    }

    /// The object store that the files lie in, as a session is to read them.
    pub(crate) fn objects(&self, session: &dyn Session) -> Result<Arc<dyn ObjectStore>> {
        let objects = session.runtime_env().object_store(&self.store)?;
        Ok(self.verified.within(objects, Verify::from_session(session)))
    }

    /// The rows of each file, and whether it keeps sums of them.
    pub(crate) fn rows_and_sums(&self) -> impl Iterator<Item = (usize, bool)> {
        let files = self.files.iter();
        files.map(|file| (file.rows(), self.rollup(file).is_some()))
    }

    /// Where a file keeps sums of its rows.
    pub(crate) fn rollup(&self, file: &KnownFile) -> Option<Place> {
        self.rollups.get(&file.meta().location).copied()
    }

    pub(crate) fn known_sums(&self) -> &KnownSums {
        &self.known_sums
    }

    /// The table of these files only, which is not asked for sums.
    pub(crate) fn only(&self, files: Vec<Arc<KnownFile>>) -> Self {
        Self {
            files,
            together: OnceLock::new(),
            rollups: Arc::default(),
            ..self.clone()
        }
    }

    /// The files that `filters` do not rule out.
    pub(crate) fn matching(
        &self,
        state: &dyn Session,
        filters: &[Expr],
    ) -> Result<Vec<Arc<KnownFile>>> {
        let Some(filter) = conjunction(filters.iter().cloned()) else {
            return Ok(self.files.clone());
        };
        let schema = self.schema.table_schema();
        let named = DFSchema::try_from(Arc::clone(schema))?;
        let predicate = state.create_physical_expr(filter, &named)?;
        let predicate = PruningPredicateBuilder::new()
            .with_file_schema(Arc::clone(schema))
            .with_max_in_list_size(state.config_options().execution.parquet.max_in_list_size)
            .try_build(predicate)?;
        let kept = predicate.prune(&Prunable {
            files: &self.files,
            schema: &self.schema,
        })?;
        let files = self.files.iter().zip(kept);
        Ok(files
            .filter(|(_, kept)| *kept)
            .map(|(file, _)| Arc::clone(file))
            .collect())
    }

    /// The statistics of all rows of these files, which are some of the table's.
    fn together(&self, files: &[Arc<KnownFile>]) -> Result<Statistics> {
        if files.len() < self.files.len() {
            return together(files, &self.schema);
        }
        if let Some(known) = self.together.get() {
            return Ok(known.clone());
        }
        let mut all = together(&self.files, &self.schema)?;
        self.count_partition_values(&mut all);
        Ok(self.together.get_or_init(|| all).clone())
    }

    /// Adds how many different values the partition columns have. Files of others may have no rows.
    fn count_partition_values(&self, statistics: &mut Statistics) {
        let in_files = self.schema.file_schema().fields().len();
        let columns = statistics.column_statistics.iter_mut().skip(in_files);
        for (place, column) in columns.enumerate() {
            let files = self.files.iter();
            let values = files.map(|file| file.partition_values().get(place));
            let values: HashSet<_> = values.collect();
            column.distinct_count = Precision::Inexact(values.len());
        }
    }

    /// Is it better to filter while reading? That pays where few rows are left and the pages of the
    /// others are worth skipping; a filter that most rows pass is faster afterwards.
    fn filters_early(
        &self,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        statistics: &Statistics,
    ) -> bool {
        let table = self.table;
        let schema = self.schema.table_schema();
        let (mut any, mut selective) = (false, false);
        for filter in filters {
            for column in filter.column_refs() {
                any |= !table.partition.contains(&column.name);
                selective |= table.sort.contains(&column.name);
            }
        }
        let is_wide = |field: &Field| {
            let narrow = field.data_type().is_primitive();
            !narrow && !table.partition.contains(field.name())
        };
        let wide = match projection {
            Some(places) => places.iter().any(|&place| is_wide(schema.field(place))),
            None => schema.fields().iter().any(|field| is_wide(field)),
        };
        let sorted = |name: &str| table.sort.iter().any(|column| column == name);
        (wide && (selective || !any)) || share(filters, schema, statistics, sorted) < FEW
    }

    /// Does the choice of files alone settle this filter?
    fn settles(&self, filter: &Expr) -> bool {
        let columns = filter.column_refs();
        let mut inside = columns
            .iter()
            .map(|column| self.table.partition.contains(&column.name));
        is_comparison(filter) && !columns.is_empty() && inside.all(|inside| inside)
    }

    /// Reads files with care, and keeps their footers for the next question of the session: data files never change.
    fn reader(
        &self,
        runtime: &RuntimeEnv,
        verify: Verify,
    ) -> Result<Arc<dyn ParquetFileReaderFactory>> {
        let objects = runtime.object_store(&self.store)?;
        let reader = CachedParquetFileReaderFactory::new(
            self.verified.within(objects, verify),
            runtime.cache_manager.get_file_metadata_cache(),
        );
        Ok(Arc::new(Caught(reader)))
    }

    /// A scan that another machine has planned, of files of this table only, with the readers that this machine has:
    /// `within` may put others around them.
    ///
    /// # Errors
    /// Where a file is not one of the table at this version.
    pub fn reading(
        &self,
        scan: &FileScanConfig,
        runtime: &RuntimeEnv,
        options: &ConfigOptions,
        within: impl FnOnce(Arc<dyn ParquetFileReaderFactory>) -> Arc<dyn ParquetFileReaderFactory>,
    ) -> Result<FileScanConfig> {
        let sizes = self.files.iter().map(|file| file.meta());
        let sizes: HashMap<&Path, u64> = sizes.map(|meta| (&meta.location, meta.size)).collect();
        let asked = scan.file_groups.iter().flat_map(FileGroup::files);
        let mut most_end_bytes = 0;
        for meta in asked.map(|file| &file.object_meta) {
            if sizes.get(&meta.location) != Some(&meta.size) {
                let (file, table) = (&meta.location, &self.table.name);
                let reason = format!("refused: `{file}` is no file of {table} at this version");
                return Err(DataFusionError::Plan(reason));
            }
            let end_bytes = self.verified.end_bytes(&meta.location);
            most_end_bytes = most_end_bytes.max(end_bytes.unwrap_or(FOOTER_BYTES));
        }
        let source = scan.file_source().downcast_ref::<ParquetSource>();
        let source =
            source.ok_or_else(|| DataFusionError::Plan("refused: no parquet".to_owned()))?;
        let reader = within(self.reader(runtime, Verify::of_options(options))?);
        let source = source
            .clone()
            .with_parquet_file_reader_factory(reader)
            .with_metadata_size_hint(usize::try_from(most_end_bytes).unwrap_or_default());
        let scan = FileScanConfigBuilder::from(scan.clone());
        Ok(scan.with_source(Arc::new(source)).build())
    }

    /// The order that the rows of every file are in; none where others have written files.
    fn ordering(&self) -> Result<Vec<LexOrdering>> {
        if !self.sorted {
            return Ok(Vec::new());
        }
        let schema = self.schema.table_schema();
        let columns = self.table.sort.iter().map(|name| {
            let index = schema.index_of(name)?;
            Ok(
                PhysicalSortExpr::new_default(Arc::new(Column::new(name, index)))
                    .asc()
                    .nulls_first(),
            )
        });
        Ok(LexOrdering::new(columns.collect::<Result<Vec<_>>>()?)
            .into_iter()
            .collect())
    }
}

#[async_trait::async_trait]
impl TableProvider for StoredTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(self.schema.table_schema())
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    /// A filter over partition columns alone is settled by the choice of files.
    fn supports_filters_pushdown(
        &self,
        filters: &[&Expr],
    ) -> Result<Vec<TableProviderFilterPushDown>> {
        let settled = |filter: &&Expr| {
            if self.settles(filter) {
                TableProviderFilterPushDown::Exact
            } else {
                TableProviderFilterPushDown::Inexact
            }
        };
        Ok(filters.iter().map(settled).collect())
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let files = self.matching(state, filters)?;
        // What the choice of files has settled would only hide that their statistics are exact.
        let filters: Vec<Expr> = filters
            .iter()
            .filter(|filter| !self.settles(filter))
            .cloned()
            .collect();
        let schema = self.schema.table_schema();
        if files.is_empty() {
            return Ok(Arc::new(EmptyExec::new(project_schema(
                schema, projection,
            )?)));
        }
        // Who counts rows asks for no column, and may need no file at all.
        let counts_only = projection.is_some_and(Vec::is_empty) && filters.is_empty();
        let scanned = files.iter().map(|file| {
            if counts_only {
                file.bare()
            } else {
                file.scanned(&self.schema)
            }
        });
        let scanned: Vec<PartitionedFile> = scanned.collect();
        let statistics = self.together(&files)?;
        let ends = files.iter().map(|file| {
            let end = self.verified.end_bytes(&file.meta().location);
            end.unwrap_or(FOOTER_BYTES)
        });
        let footer_bytes = ends.max().and_then(|bytes| usize::try_from(bytes).ok());
        let scanned = {
            let share = share(&filters, schema, &statistics, |_| false);
            expecting(scanned.into_iter().zip(&files), share)
        };
        let groups = FileGroup::new(scanned);
        let groups = groups.split_files(state.config().target_partitions());
        let reader = self.reader(state.runtime_env(), Verify::from_session(state))?;
        let early = self.filters_early(projection, &filters, &statistics);
        let mut source = ParquetSource::new(self.schema.clone())
            .with_parquet_file_reader_factory(reader)
            .with_table_parquet_options(state.table_options().parquet.clone())
            .with_pushdown_filters(early)
            .with_metadata_size_hint(footer_bytes.unwrap_or_default());
        if !early && let Some(filter) = conjunction(filters.iter().cloned()) {
            // To leave out row groups and pages.
            let named = DFSchema::try_from(Arc::clone(schema))?;
            source = source.with_predicate(state.create_physical_expr(filter, &named)?);
        }
        let config = FileScanConfigBuilder::new(self.store.clone(), Arc::new(source))
            .with_file_groups(groups)
            .with_statistics(statistics)
            .with_output_ordering(self.ordering()?)
            .with_projection_indices(projection.cloned())?
            .with_limit(limit.filter(|_| filters.is_empty()))
            .build();
        Ok(DataSourceExec::from_data_source(config))
    }

    fn statistics(&self) -> Option<Statistics> {
        let schema = self.schema.table_schema();
        if self.files.is_empty() {
            return Some(empty(schema));
        }
        self.together(&self.files).ok()
    }
}

/// `column = literal`, `column IN (literals)` and their like, which pruning decides exactly where
/// a file has one value of the column. A comparison with NULL is neither true nor false, and pruning
/// keeps every file then.
fn is_comparison(filter: &Expr) -> bool {
    let literal = |expr: &Expr| matches!(expr, Expr::Literal(value, _) if !value.is_null());
    match filter {
        Expr::BinaryExpr(binary) => {
            let (left, right) = (binary.left.as_ref(), binary.right.as_ref());
            binary.op == datafusion::logical_expr::Operator::Eq
                && ((matches!(left, Expr::Column(_)) && literal(right))
                    || (literal(left) && matches!(right, Expr::Column(_))))
        }
        Expr::InList(list) => {
            !list.negated
                && matches!(list.expr.as_ref(), Expr::Column(_))
                && list.list.len() <= 16
                && list.list.iter().all(literal)
        }
        _ => false,
    }
}

/// The files, each with the rows that filters are expected to leave of it, which is this share.
fn expecting<'a>(
    files: impl Iterator<Item = (PartitionedFile, &'a Arc<KnownFile>)>,
    share: f64,
) -> Vec<PartitionedFile> {
    let files = files.map(|(file, known)| {
        #[expect(clippy::cast_precision_loss, reason = "an estimate")]
        let rows = known.rows() as f64 * share;
        file.with_extension(Expected { rows })
    });
    files.collect()
}

fn empty(schema: &SchemaRef) -> Statistics {
    let mut statistics = Statistics::new_unknown(schema);
    statistics.num_rows = Precision::Exact(0);
    statistics
}
