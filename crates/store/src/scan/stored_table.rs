//! DataFusion table provider for a table at one version.
//!
//! The scan is DataFusion's own `DataSourceExec` over the files of the log, so it can be sent to any worker that knows
//! DataFusion. It contains the information of the log: partition values, exact statistics of every file, and the sort
//! order of rows within a file. With the statistics, COUNT, MIN and MAX read no file, and files without matches are
//! pruned.

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
use crate::files::file_statistics::{PruningFiles, TableFile, merge_statistics};
use crate::files::footers::PanicSafeReaders;
use crate::files::rollup::{self, RollupCache, RollupLocation};
use crate::files::selectivity::selectivity;
use crate::files::verified_blocks::ChecksummedFiles;
use crate::settings::verify_settings::Verify;
use tsql_schema::column::value_order::value_order;
use tsql_schema::{Table, view_field};

/// A footer and page index up to this size are read in one request, if the log does not contain their size.
const FOOTER_BYTES: u64 = 128 << 10;

/// Fraction of the rows below which a filter is selective.
const FEW: f64 = 0.1;

/// Estimate of the rows of a file that pass the filters of a scan. Attached to the file.
#[derive(Clone, Copy, Debug)]
pub struct ExpectedRows {
    /// Rows.
    pub rows: f64,
}

/// Stored columns of a table at one version. Without rows if the table was never written.
#[derive(Clone, Debug)]
pub struct StoredTable {
    table: &'static Table,
    /// File columns, then partition columns.
    schema: TableSchema,
    store: ObjectStoreUrl,
    /// Within a partition, sorted by the minimum of the first sort column.
    files: Vec<Arc<TableFile>>,
    /// Merged statistics, computed on first use.
    together: OnceLock<Statistics>,
    /// Location of each file's pre-aggregates.
    rollups: Arc<HashMap<Path, RollupLocation>>,
    known_sums: RollupCache,
    verified: Arc<ChecksummedFiles>,
    /// Whether the rows of each file are in the table's order.
    sorted: bool,
}

impl StoredTable {
    /// Creates the table of `files` in the object store registered as `store`.
    pub fn new(table: &'static Table, store: ObjectStoreUrl, files: &[DataFile]) -> Result<Self> {
        let stored = table.stored_schema();
        let (partition, inside): (Vec<FieldRef>, Vec<FieldRef>) = stored
            .fields()
            .iter()
            .map(|field| Arc::new(view_field(field)))
            .partition(|field| table.partition.contains(field.name()));
        let schema = TableSchema::builder(Arc::new(Schema::new(inside)))
            .with_table_partition_cols(partition)
            .build();
        let path = |file: &DataFile| {
            let path = file.object_path(&table.name);
            path.map_err(|error| DataFusionError::External(error.into()))
        };
        let layout = table.rollup.as_ref().map(rollup::layout);
        let rollups = files.iter().filter_map(|file| {
            let place = file.rollup.filter(|place| Some(place.layout) == layout)?;
            Some((path(file).ok()?, place))
        });
        let rollups = Arc::new(rollups.collect());
        let verified = Arc::new(ChecksummedFiles::new(&table.name, files));
        let sorted = files.iter().all(DataFile::is_own);
        let files = files.iter().map(|file| TableFile::new(path(file)?, file));
        let files = files.collect::<Result<Vec<_>>>()?;
        // The files of a partition are sorted as a sequence if their ranges do not overlap.
        let first = table.sort.first();
        let least = |file: &TableFile| file.min_value(first?, &schema);
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
            known_sums: RollupCache::default(),
            verified,
            sorted,
        })
    }

    /// Returns the definition of the table.
    pub fn table(&self) -> &'static Table {
        self.table
    }

    /// Returns the object store of the files, with the settings of a session.
    pub(crate) fn objects(&self, session: &dyn Session) -> Result<Arc<dyn ObjectStore>> {
        let objects = session.runtime_env().object_store(&self.store)?;
        Ok(self.verified.wrap(objects, Verify::from_session(session)))
    }

    /// Returns the number of rows of each file, and whether it has pre-aggregates.
    pub(crate) fn rows_and_sums(&self) -> impl Iterator<Item = (usize, bool)> {
        let files = self.files.iter();
        files.map(|file| (file.rows(), self.rollup(file).is_some()))
    }

    /// Returns the location of a file's pre-aggregates.
    pub(crate) fn rollup(&self, file: &TableFile) -> Option<RollupLocation> {
        self.rollups.get(&file.meta().location).copied()
    }

    pub(crate) fn rollup_cache(&self) -> &RollupCache {
        &self.known_sums
    }

    /// Returns the table with these files only, without pre-aggregates.
    pub(crate) fn with_files(&self, files: Vec<Arc<TableFile>>) -> Self {
        Self {
            files,
            together: OnceLock::new(),
            rollups: Arc::default(),
            ..self.clone()
        }
    }

    /// Returns the files that `filters` do not prune.
    pub(crate) fn prune_files(
        &self,
        state: &dyn Session,
        filters: &[Expr],
    ) -> Result<Vec<Arc<TableFile>>> {
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
        let kept = predicate.prune(&PruningFiles {
            files: &self.files,
            schema: &self.schema,
        })?;
        let files = self.files.iter().zip(kept);
        Ok(files
            .filter(|(_, kept)| *kept)
            .map(|(file, _)| Arc::clone(file))
            .collect())
    }

    /// Returns the statistics of all rows of these files, which are some of the table's.
    fn merged_statistics(&self, files: &[Arc<TableFile>]) -> Result<Statistics> {
        if files.len() < self.files.len() {
            return merge_statistics(files, &self.schema);
        }
        if let Some(known) = self.together.get() {
            return Ok(known.clone());
        }
        let mut all = merge_statistics(&self.files, &self.schema)?;
        self.count_partition_values(&mut all);
        Ok(self.together.get_or_init(|| all).clone())
    }

    /// Sets the distinct counts of the partition columns to upper bounds. Files of other writers may have no rows.
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

    /// Returns whether to filter while reading. That pays if few rows match and pages can be skipped. A filter that
    /// most rows pass is faster after the scan.
    fn should_filter_early(
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
        (wide && (selective || !any)) || selectivity(filters, schema, statistics, sorted) < FEW
    }

    /// Returns whether pruning of files decides this filter for all rows.
    fn is_decided_by_partition(&self, filter: &Expr) -> bool {
        let columns = filter.column_refs();
        let mut inside = columns
            .iter()
            .map(|column| self.table.partition.contains(&column.name));
        is_comparison(filter) && !columns.is_empty() && inside.all(|inside| inside)
    }

    /// Returns a reader factory that verifies checksums and caches footers for later queries of the session. Data files
    /// never change.
    fn reader(
        &self,
        runtime: &RuntimeEnv,
        verify: Verify,
    ) -> Result<Arc<dyn ParquetFileReaderFactory>> {
        let objects = runtime.object_store(&self.store)?;
        let reader = CachedParquetFileReaderFactory::new(
            self.verified.wrap(objects, verify),
            runtime.cache_manager.get_file_metadata_cache(),
        );
        Ok(Arc::new(PanicSafeReaders(reader)))
    }

    /// Rebuilds a scan that another machine has planned, for files of this table only, with this machine's readers.
    /// `within` may wrap the reader factory.
    ///
    /// # Errors
    /// If a file does not belong to the table at this version.
    pub fn restore_scan(
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
                let reason = format!("rejected: `{file}` is not a file of {table} at this version");
                return Err(DataFusionError::Plan(reason));
            }
            let end_bytes = self.verified.end_bytes(&meta.location);
            most_end_bytes = most_end_bytes.max(end_bytes.unwrap_or(FOOTER_BYTES));
        }
        let source = scan.file_source().downcast_ref::<ParquetSource>();
        let source = source.ok_or_else(|| {
            DataFusionError::Plan("rejected: not a scan of Parquet files".to_owned())
        })?;
        let reader = within(self.reader(runtime, Verify::from_options(options))?);
        let source = source
            .clone()
            .with_parquet_file_reader_factory(reader)
            .with_metadata_size_hint(usize::try_from(most_end_bytes).unwrap_or_default());
        let scan = FileScanConfigBuilder::from(scan.clone());
        Ok(scan.with_source(Arc::new(source)).build())
    }

    /// Returns the sort order of every file. Empty if other writers have added files.
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

    /// Filters over partition columns only are exact.
    fn supports_filters_pushdown(
        &self,
        filters: &[&Expr],
    ) -> Result<Vec<TableProviderFilterPushDown>> {
        let settled = |filter: &&Expr| {
            if self.is_decided_by_partition(filter) {
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
        let files = self.prune_files(state, filters)?;
        // Filters that pruning has decided would only make statistics inexact.
        let filters: Vec<Expr> = filters
            .iter()
            .filter(|filter| !self.is_decided_by_partition(filter))
            .cloned()
            .collect();
        let schema = self.schema.table_schema();
        if files.is_empty() {
            return Ok(Arc::new(EmptyExec::new(project_schema(
                schema, projection,
            )?)));
        }
        // A row count needs no column, and may need no file.
        let counts_only = projection.is_some_and(Vec::is_empty) && filters.is_empty();
        let scanned = files.iter().map(|file| {
            if counts_only {
                file.to_bare_file()
            } else {
                file.to_scan_file(&self.schema)
            }
        });
        let scanned: Vec<PartitionedFile> = scanned.collect();
        let statistics = self.merged_statistics(&files)?;
        let ends = files.iter().map(|file| {
            let end = self.verified.end_bytes(&file.meta().location);
            end.unwrap_or(FOOTER_BYTES)
        });
        let footer_bytes = ends.max().and_then(|bytes| usize::try_from(bytes).ok());
        let scanned = {
            let share = selectivity(&filters, schema, &statistics, |_| false);
            with_expected_rows(scanned.into_iter().zip(&files), share)
        };
        let groups = FileGroup::new(scanned);
        let groups = groups.split_files(state.config().target_partitions());
        let reader = self.reader(state.runtime_env(), Verify::from_session(state))?;
        let early = self.should_filter_early(projection, &filters, &statistics);
        let mut source = ParquetSource::new(self.schema.clone())
            .with_parquet_file_reader_factory(reader)
            .with_table_parquet_options(state.table_options().parquet.clone())
            .with_pushdown_filters(early)
            .with_metadata_size_hint(footer_bytes.unwrap_or_default());
        if !early && let Some(filter) = conjunction(filters.iter().cloned()) {
            // For pruning of row groups and pages.
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
            return Some(empty_statistics(schema));
        }
        self.merged_statistics(&self.files).ok()
    }
}

/// Returns whether a filter is `column = literal`, `column IN (literals)` or similar, which pruning decides exactly if
/// a file has one value of the column. A comparison with NULL is neither true nor false, and pruning keeps every file.
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

/// Attaches to each file the estimated number of rows that pass the filters: `share` of its rows.
fn with_expected_rows<'a>(
    files: impl Iterator<Item = (PartitionedFile, &'a Arc<TableFile>)>,
    share: f64,
) -> Vec<PartitionedFile> {
    let files = files.map(|(file, known)| {
        #[expect(clippy::cast_precision_loss, reason = "an estimate")]
        let rows = known.rows() as f64 * share;
        file.with_extension(ExpectedRows { rows })
    });
    files.collect()
}

fn empty_statistics(schema: &SchemaRef) -> Statistics {
    let mut statistics = Statistics::new_unknown(schema);
    statistics.num_rows = Precision::Exact(0);
    statistics
}
