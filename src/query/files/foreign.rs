//! Files that others wrote, read with care: what they say of themselves may be incomplete, wrong or hostile.
//!
//! * Statistics of floating-point columns say nothing of NaN, which Parquet leaves out of them, and may have either zero for
//!   both. Rows are chosen by values, never by such statistics: bounds of row groups and pages, and Bloom filters.
//! * A reader that panics over a file is an error that names it.

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

use super::found::wrong;
use super::pages::Pages;
use crate::store::is_store_url;

/// A format of files that others wrote.
#[derive(Debug)]
pub(super) struct ForeignFormat(pub(super) Arc<dyn FileFormat>);

#[async_trait]
impl FileFormat for ForeignFormat {
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
        let Some(scan) = scan_of(&plan) else {
            return Ok(plan);
        };
        let Some(source) = scan.file_source().downcast_ref::<ParquetSource>() else {
            return Ok(plan);
        };
        let cache = runtime.cache_manager.get_file_metadata_cache();
        let readers = ForeignReaders(CachedParquetFileReaderFactory::new(objects, cache));
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

/// The scan of files that a plan is.
fn scan_of(plan: &Arc<dyn ExecutionPlan>) -> Option<&FileScanConfig> {
    let source = plan.downcast_ref::<DataSourceExec>()?.data_source();
    source.downcast_ref::<FileScanConfig>()
}

/// Readers of Parquet files without what their statistics cannot prove.
#[derive(Debug)]
struct ForeignReaders(CachedParquetFileReaderFactory);

impl ParquetFileReaderFactory for ForeignReaders {
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
        Ok(Box::new(ForeignReader {
            inner: reader?,
            pages: Pages::default(),
        }))
    }
}

struct ForeignReader {
    inner: Box<dyn AsyncFileReader + Send>,
    /// Those that the metadata tells of.
    pages: Pages,
}

impl AsyncFileReader for ForeignReader {
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
            *pages = Pages::of(&metadata);
            proven(metadata)
        });
        proven.boxed()
    }
}

/// The same metadata without bounds and Bloom filters of floating-point columns.
fn proven(metadata: Arc<ParquetMetaData>) -> ParquetResult<Arc<ParquetMetaData>> {
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

/// The same column with its count of NULL alone.
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

/// What a panic says, as the reason why a file is not read.
pub(super) fn panicked(path: &str, panic: &(dyn Any + Send)) -> DataFusionError {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    let text = text.unwrap_or("a panic");
    wrong(path, format!("is damaged: the reader failed on it: {text}"))
}

/// Has the scans of files that others wrote catch panics of their readers; after all rules that look at scans.
#[derive(Debug)]
pub(in crate::query) struct CatchPanics;

impl PhysicalOptimizerRule for CatchPanics {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let wrapped = plan.transform_up(|node| {
            let scan = scan_of(&node);
            if scan.is_none_or(|scan| is_store_url(&scan.object_store_url)) {
                return Ok(Transformed::no(node));
            }
            let caught: Arc<dyn ExecutionPlan> = Arc::new(CaughtExec { scan: node });
            Ok(Transformed::new(caught, true, TreeNodeRecursion::Continue))
        });
        wrapped.data()
    }

    fn name(&self) -> &'static str {
        "catch_panics"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// A scan whose panics are errors.
#[derive(Debug)]
struct CaughtExec {
    scan: Arc<dyn ExecutionPlan>,
}

impl DisplayAs for CaughtExec {
    fn fmt_as(&self, _: DisplayFormatType, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "CaughtExec")
    }
}

impl ExecutionPlan for CaughtExec {
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
            Err(children) => internal_err!("one scan is expected, not {}", children.len()),
        }
    }

    fn execute(&self, part: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let path = self.path(part);
        let opened =
            std::panic::catch_unwind(AssertUnwindSafe(|| self.scan.execute(part, context)));
        let inner = opened.unwrap_or_else(|panic| Err(panicked(&path, panic.as_ref())))?;
        Ok(Box::pin(CaughtStream {
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

impl CaughtExec {
    /// The files that a part of the scan reads, for people.
    fn path(&self, part: usize) -> String {
        let Some(scan) = scan_of(&self.scan) else {
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

/// An error of reading, with the path of its file; what is computed of the rows has other errors.
fn named(path: &str, error: DataFusionError) -> DataFusionError {
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
        true => wrong(path, error.strip_backtrace()),
        false => error,
    }
}

struct CaughtStream {
    schema: SchemaRef,
    /// `None` after a panic.
    inner: Option<SendableRecordBatchStream>,
    path: String,
}

impl Stream for CaughtStream {
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
            Ok(polled) => polled.map_err(|error| named(&self.path, error)),
            Err(panic) => {
                self.inner = None;
                Poll::Ready(Some(Err(panicked(&self.path, panic.as_ref()))))
            }
        }
    }
}

impl RecordBatchStream for CaughtStream {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}

#[cfg(test)]
mod tests;
