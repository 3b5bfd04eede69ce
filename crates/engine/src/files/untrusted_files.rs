//! Files from other programs, whose metadata may be incomplete, wrong or hostile.
//!
//! * Parquet statistics of floating-point columns exclude NaN, and may contain either zero for both. Rows are therefore
//!   selected by their values and never by these statistics: bounds of row groups and pages, and Bloom filters.
//! * A panic of a reader becomes an error that names the file.

use std::any::Any;
use std::fmt;
use std::ops::Range;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::task::{Context, Poll};

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use arrow::error::ArrowError;
use async_trait::async_trait;
use bytes::Bytes;
use datafusion::catalog::Session;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{
    Transformed, TransformedResult as _, TreeNode as _, TreeNodeRecursion,
};
use datafusion::common::{Statistics, internal_err};
use datafusion::datasource::file_format::FileFormat;
use datafusion::datasource::file_format::file_compression_type::FileCompressionType;
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::physical_plan::parquet::CachedParquetFileReaderFactory;
use datafusion::datasource::physical_plan::{
    FileScanConfig, FileScanConfigBuilder, FileSource, ParquetFileReaderFactory, ParquetSource,
};
use datafusion::datasource::source::DataSourceExec;
use datafusion::datasource::table_schema::TableSchema;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::{RecordBatchStream, SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::metrics::ExecutionPlanMetricsSet;
use datafusion::physical_plan::statistics::{ChildStats, StatisticsArgs};
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};
use futures::future::BoxFuture;
use futures::{FutureExt as _, Stream, StreamExt as _};
use object_store::{ObjectMeta, ObjectStore};
use parquet::arrow::arrow_reader::ArrowReaderOptions;
use parquet::arrow::async_reader::AsyncFileReader;
use parquet::basic::{LogicalType, Type};
use parquet::errors::Result as ParquetResult;
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData};
use parquet::file::page_index::column_index::ColumnIndexMetaData;
use parquet::file::statistics::Statistics as Bounds;
use parquet::schema::types::ColumnDescriptor;

use super::file_listing::invalid_path;
use super::pages::CompressedPages;
use tsql_store::is_store_url;

/// A file format of files from other programs.
#[derive(Debug)]
pub(super) struct UntrustedFormat(pub(super) Arc<dyn FileFormat>);

#[async_trait]
impl FileFormat for UntrustedFormat {
    fn get_ext(&self) -> String {
        self.0.get_ext()
    }

    fn get_ext_with_compression(&self, compression: &FileCompressionType) -> Result<String> {
        self.0.get_ext_with_compression(compression)
    }

    fn compression_type(&self) -> Option<FileCompressionType> {
        self.0.compression_type()
    }

    async fn infer_schema(
        &self,
        state: &dyn Session,
        store: &Arc<dyn ObjectStore>,
        objects: &[ObjectMeta],
    ) -> Result<SchemaRef> {
        self.0.infer_schema(state, store, objects).await
    }

    async fn infer_stats(
        &self,
        _: &dyn Session,
        _: &Arc<dyn ObjectStore>,
        table_schema: SchemaRef,
        _: &ObjectMeta,
    ) -> Result<Statistics> {
        Ok(Statistics::new_unknown(&table_schema))
    }

    async fn create_physical_plan(
        &self,
        state: &dyn Session,
        conf: FileScanConfig,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let runtime = state.runtime_env();
        let objects = runtime.object_store(conf.object_store_url.clone())?;
        let plan = self.0.create_physical_plan(state, conf).await?;
        let Some(scan) = file_scan(&plan) else {
            return Ok(plan);
        };
        let Some(source) = scan.file_source().downcast_ref::<ParquetSource>() else {
            return Ok(plan);
        };
        let cache = runtime.cache_manager.get_file_metadata_cache();
        let readers = UntrustedReaderFactory(CachedParquetFileReaderFactory::new(objects, cache));
        let source = source
            .clone()
            .with_parquet_file_reader_factory(Arc::new(readers));
        let scan = FileScanConfigBuilder::from(scan.clone()).with_source(Arc::new(source));
        Ok(DataSourceExec::from_data_source(scan.build()))
    }

    fn file_source(&self, table_schema: TableSchema) -> Arc<dyn FileSource> {
        self.0.file_source(table_schema)
    }
}

/// The file scan of a plan, if it is one.
fn file_scan(plan: &Arc<dyn ExecutionPlan>) -> Option<&FileScanConfig> {
    let source = plan.downcast_ref::<DataSourceExec>()?.data_source();
    source.downcast_ref::<FileScanConfig>()
}

/// Factory of Parquet readers that ignore unreliable statistics.
#[derive(Debug)]
struct UntrustedReaderFactory(CachedParquetFileReaderFactory);

impl ParquetFileReaderFactory for UntrustedReaderFactory {
    fn create_reader(
        &self,
        partition_index: usize,
        file: PartitionedFile,
        metadata_size_hint: Option<usize>,
        metrics: &ExecutionPlanMetricsSet,
    ) -> Result<Box<dyn AsyncFileReader + Send>> {
        let reader = self
            .0
            .create_reader(partition_index, file, metadata_size_hint, metrics);
        Ok(Box::new(UntrustedReader {
            inner: reader?,
            pages: CompressedPages::default(),
        }))
    }
}

struct UntrustedReader {
    inner: Box<dyn AsyncFileReader + Send>,
    /// Pages according to the metadata.
    pages: CompressedPages,
}

impl AsyncFileReader for UntrustedReader {
    fn get_bytes(&mut self, range: Range<u64>) -> BoxFuture<'_, ParquetResult<Bytes>> {
        let read = self.inner.get_bytes(range.clone());
        let pages = &self.pages;
        let checked = read.map(move |bytes| {
            let bytes = bytes?;
            pages.check(&range, &bytes)?;
            Ok(bytes)
        });
        checked.boxed()
    }

    fn get_byte_ranges(
        &mut self,
        ranges: Vec<Range<u64>>,
    ) -> BoxFuture<'_, ParquetResult<Vec<Bytes>>> {
        let read = self.inner.get_byte_ranges(ranges.clone());
        let pages = &self.pages;
        let checked = read.map(move |parts| {
            let parts = parts?;
            for (range, bytes) in ranges.iter().zip(&parts) {
                pages.check(range, bytes)?;
            }
            Ok(parts)
        });
        checked.boxed()
    }

    fn get_metadata<'a>(
        &'a mut self,
        options: Option<&'a ArrowReaderOptions>,
    ) -> BoxFuture<'a, ParquetResult<Arc<ParquetMetaData>>> {
        let read = self.inner.get_metadata(options);
        let pages = &mut self.pages;
        let proven = read.map(move |metadata| {
            let metadata = metadata?;
            *pages = CompressedPages::from_metadata(&metadata);
            without_float_statistics(metadata)
        });
        proven.boxed()
    }
}

/// Removes bounds and Bloom filters of floating-point columns from the metadata.
fn without_float_statistics(metadata: Arc<ParquetMetaData>) -> ParquetResult<Arc<ParquetMetaData>> {
    let columns = metadata.file_metadata().schema_descr().columns().iter();
    let is_float: Vec<bool> = columns.map(|column| is_float(column)).collect();
    if !is_float.contains(&true) {
        return Ok(metadata);
    }
    let mut builder = ParquetMetaData::clone(&metadata).into_builder();
    let groups = builder.take_row_groups().into_iter().map(|group| {
        let mut group = group.into_builder();
        let columns = group.take_columns().into_iter().zip(&is_float);
        let columns = columns.map(|(column, is_float)| match is_float {
            true => without_bounds(column),
            false => Ok(column),
        });
        let columns = columns.collect::<ParquetResult<Vec<_>>>()?;
        group.set_column_metadata(columns).build()
    });
    let groups = groups.collect::<ParquetResult<Vec<_>>>()?;
    let index = builder.take_column_index().map(|mut index| {
        for group in &mut index {
            for (column, _) in group.iter_mut().zip(&is_float).filter(|(_, is)| **is) {
                *column = ColumnIndexMetaData::NONE;
            }
        }
        index
    });
    let builder = builder.set_row_groups(groups).set_column_index(index);
    Ok(Arc::new(builder.build()))
}

fn is_float(column: &ColumnDescriptor) -> bool {
    matches!(column.physical_type(), Type::FLOAT | Type::DOUBLE)
        || matches!(column.logical_type_ref(), Some(LogicalType::Float16))
}

/// Removes all statistics of a column except its NULL count.
fn without_bounds(column: ColumnChunkMetaData) -> ParquetResult<ColumnChunkMetaData> {
    let nulls = column.statistics().and_then(Bounds::null_count_opt);
    let kind = column.column_type();
    let builder = column
        .into_builder()
        .clear_statistics()
        .set_bloom_filter_offset(None)
        .set_bloom_filter_length(None);
    let builder = match kind {
        Type::FLOAT => builder.set_statistics(Bounds::new::<f32>(None, None, None, nulls, false)),
        Type::DOUBLE => builder.set_statistics(Bounds::new::<f64>(None, None, None, nulls, false)),
        _ => builder,
    };
    builder.build()
}

/// Error for a panic of a reader, with the panic message as the reason.
pub(super) fn panic_error(path: &str, panic: &(dyn Any + Send)) -> DataFusionError {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    let text = text.unwrap_or("a panic");
    invalid_path(path, format!("it is damaged: the reader failed: {text}"))
}

/// Physical optimizer rule that catches panics in scans of files from other programs. It runs after all rules that
/// inspect scans.
#[derive(Debug)]
pub(crate) struct CatchPanics;

impl PhysicalOptimizerRule for CatchPanics {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let wrapped = plan.transform_up(|node| {
            let scan = file_scan(&node);
            if scan.is_none_or(|scan| is_store_url(&scan.object_store_url)) {
                return Ok(Transformed::no(node));
            }
            let caught: Arc<dyn ExecutionPlan> = Arc::new(CatchPanicsExec { scan: node });
            Ok(Transformed::new(caught, true, TreeNodeRecursion::Continue))
        });
        wrapped.data()
    }

    fn name(&self) -> &'static str {
        "untrusted_files"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// A scan that converts panics into errors.
#[derive(Debug)]
struct CatchPanicsExec {
    scan: Arc<dyn ExecutionPlan>,
}

impl DisplayAs for CatchPanicsExec {
    fn fmt_as(&self, _: DisplayFormatType, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "CaughtExec")
    }
}

impl ExecutionPlan for CatchPanicsExec {
    fn name(&self) -> &'static str {
        "CaughtExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.scan.properties()
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![true]
    }

    fn benefits_from_input_partitioning(&self) -> Vec<bool> {
        vec![false]
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.scan]
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        match <[_; 1]>::try_from(children) {
            Ok([scan]) => Ok(Arc::new(Self { scan })),
            Err(children) => internal_err!("expected one scan, found {}", children.len()),
        }
    }

    fn execute(&self, part: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let path = self.partition_paths(part);
        let opened =
            std::panic::catch_unwind(AssertUnwindSafe(|| self.scan.execute(part, context)));
        let inner = opened.unwrap_or_else(|panic| Err(panic_error(&path, panic.as_ref())))?;
        Ok(Box::pin(CatchPanicsStream {
            schema: inner.schema(),
            inner: Some(inner),
            path,
        }))
    }

    fn child_stats_requests(&self, partition: Option<usize>) -> Vec<ChildStats> {
        vec![ChildStats::At(partition)]
    }

    fn statistics_from_inputs(
        &self,
        inputs: &[Arc<Statistics>],
        _: &StatisticsArgs,
    ) -> Result<Arc<Statistics>> {
        match inputs {
            [only] => Ok(Arc::clone(only)),
            _ => Ok(Arc::new(Statistics::new_unknown(&self.schema()))),
        }
    }
}

impl CatchPanicsExec {
    /// Files of a partition of the scan, for messages.
    fn partition_paths(&self, part: usize) -> String {
        let Some(scan) = file_scan(&self.scan) else {
            return "a file".to_owned();
        };
        let files = scan.file_groups.get(part).map(|group| group.files());
        let mut names: Vec<String> = files
            .unwrap_or_default()
            .iter()
            .map(|file| format!("{}{}", scan.object_store_url, file.object_meta.location))
            .map(|name| {
                name.strip_prefix("file://")
                    .map_or(name.clone(), str::to_owned)
            })
            .collect();
        names.dedup();
        match names.as_slice() {
            [] => "a file".to_owned(),
            [only] => only.clone(),
            [first, rest @ ..] => format!("{first} or one of {} more", rest.len()),
        }
    }
}

/// Adds the path of the file to an error of reading. Errors of computations on the rows are unrelated.
fn with_path(path: &str, error: DataFusionError) -> DataFusionError {
    let is_read = match error.find_root() {
        DataFusionError::ParquetError(_)
        | DataFusionError::ObjectStore(_)
        | DataFusionError::IoError(_) => true,
        DataFusionError::ArrowError(error, _) => !matches!(
            **error,
            ArrowError::ArithmeticOverflow(_)
                | ArrowError::CastError(_)
                | ArrowError::ComputeError(_)
                | ArrowError::DivideByZero
        ),
        _ => false,
    };
    match is_read && !error.to_string().contains(path) {
        true => invalid_path(path, error.strip_backtrace()),
        false => error,
    }
}

struct CatchPanicsStream {
    schema: SchemaRef,
    /// `None` after a panic.
    inner: Option<SendableRecordBatchStream>,
    path: String,
}

impl Stream for CatchPanicsStream {
    type Item = Result<RecordBatch>;

    fn poll_next(
        mut self: std::pin::Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Self::Item>> {
        let Some(inner) = &mut self.inner else {
            return Poll::Ready(None);
        };
        let polled = std::panic::catch_unwind(AssertUnwindSafe(|| inner.poll_next_unpin(context)));
        match polled {
            Ok(polled) => polled.map_err(|error| with_path(&self.path, error)),
            Err(panic) => {
                self.inner = None;
                Poll::Ready(Some(Err(panic_error(&self.path, panic.as_ref()))))
            }
        }
    }
}

impl RecordBatchStream for CatchPanicsStream {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}

#[cfg(test)]
mod tests;
