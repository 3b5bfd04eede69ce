//! `COPY ... TO`: files that appear complete or not at all.
//!
//! The writers of DataFusion finish their files when the input ends, even if it ends with an error. They therefore
//! write into a temporary folder, and the output is moved to its target after the last row:
//!
//! | target | output |
//! |---|---|
//! | `'x.csv'` | a file, as `tsql -o x.csv` writes it |
//! | `'folder/'`, `PARTITIONED BY (a)` | a folder, which must not exist or be empty |
//! | `'s3://bucket/x.csv'` | an object, which appears after the last part |
//!
//! The parent folder of the target must exist. Lists, structs and maps are JSON in CSV, as in the output of the
//! command.

mod staging;

use std::collections::HashMap;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use async_trait::async_trait;
use datafusion::catalog::Session;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode as _};
use datafusion::common::{GetExt, Statistics};
use datafusion::datasource::file_format::csv::CsvFormat;
use datafusion::datasource::file_format::file_compression_type::FileCompressionType;
use datafusion::datasource::file_format::{
    FileFormat, FileFormatFactory, file_type_to_format, format_as_file_type,
};
use datafusion::datasource::listing::ListingTableUrl;
use datafusion::datasource::physical_plan::{
    FileOutputMode, FileScanConfig, FileSinkConfig, FileSource,
};
use datafusion::datasource::sink::{DataSink, DataSinkExec};
use datafusion::datasource::table_schema::TableSchema;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::object_store::ObjectStoreUrl;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::LogicalPlan;
use datafusion::logical_expr::dml::CopyTo;
use datafusion::optimizer::AnalyzerRule;
use datafusion::physical_expr::LexRequirement;
use datafusion::physical_plan::empty::EmptyExec;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan};
use futures::StreamExt as _;
use object_store::local::LocalFileSystem;
use object_store::{ObjectMeta, ObjectStore};
use url::Url;

use staging::{OUTPUT, Staging};

use crate::files::text_values::{flatten_columns, flatten_schema, json_options};

/// URL scheme of the temporary folders.
const SCHEME: &str = "tsql-copy";

/// Analyzer rule that makes `COPY` write its files atomically.
#[derive(Debug)]
pub(crate) struct AtomicCopy;

impl AnalyzerRule for AtomicCopy {
    fn name(&self) -> &'static str {
        "copy_to"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        let plan = plan.transform_down(|plan| match plan {
            LogicalPlan::Copy(copy) => {
                let format = file_type_to_format(&copy.file_type)?;
                if format.is::<CopyFormats>() {
                    return Ok(Transformed::no(LogicalPlan::Copy(copy)));
                }
                let file_type = format_as_file_type(Arc::new(CopyFormats {
                    inner: format,
                    target: copy.output_url.clone(),
                }));
                // The target may have a name that is neither a URL nor a pattern.
                let output_url = match ListingTableUrl::parse(&copy.output_url) {
                    Ok(_) => copy.output_url,
                    Err(_) => format!("{SCHEME}:///{OUTPUT}"),
                };
                let copy = CopyTo {
                    output_url,
                    file_type,
                    ..copy
                };
                Ok(Transformed::yes(LogicalPlan::Copy(copy)))
            }
            other => Ok(Transformed::no(other)),
        });
        Ok(plan?.data)
    }
}

/// Factory of the file format of one `COPY`, which still receives the options.
#[derive(Debug)]
struct CopyFormats {
    inner: Arc<dyn FileFormatFactory>,
    target: String,
}

impl GetExt for CopyFormats {
    fn get_ext(&self) -> String {
        self.inner.get_ext()
    }
}

impl CopyFormats {
    fn wrap(&self, inner: Arc<dyn FileFormat>) -> Arc<dyn FileFormat> {
        let target = self.target.clone();
        Arc::new(CopyFormat { inner, target })
    }
}

impl FileFormatFactory for CopyFormats {
    fn create(
        &self,
        state: &dyn Session,
        format_options: &HashMap<String, String>,
    ) -> Result<Arc<dyn FileFormat>> {
        let inner = self.inner.create(state, format_options)?;
        Ok(self.wrap(inner))
    }

    fn default(&self) -> Arc<dyn FileFormat> {
        self.wrap(self.inner.default())
    }
}

/// File format of one `COPY`.
#[derive(Debug)]
struct CopyFormat {
    inner: Arc<dyn FileFormat>,
    target: String,
}

#[async_trait]
impl FileFormat for CopyFormat {
    fn get_ext(&self) -> String {
        self.inner.get_ext()
    }

    fn get_ext_with_compression(&self, compression: &FileCompressionType) -> Result<String> {
        self.inner.get_ext_with_compression(compression)
    }

    fn compression_type(&self) -> Option<FileCompressionType> {
        self.inner.compression_type()
    }

    async fn infer_schema(
        &self,
        state: &dyn Session,
        store: &Arc<dyn ObjectStore>,
        objects: &[ObjectMeta],
    ) -> Result<SchemaRef> {
        self.inner.infer_schema(state, store, objects).await
    }

    async fn infer_stats(
        &self,
        state: &dyn Session,
        store: &Arc<dyn ObjectStore>,
        table_schema: SchemaRef,
        object: &ObjectMeta,
    ) -> Result<Statistics> {
        let inferred = self.inner.infer_stats(state, store, table_schema, object);
        inferred.await
    }

    async fn create_physical_plan(
        &self,
        state: &dyn Session,
        conf: FileScanConfig,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        self.inner.create_physical_plan(state, conf).await
    }

    async fn create_writer_physical_plan(
        &self,
        input: Arc<dyn ExecutionPlan>,
        state: &dyn Session,
        conf: FileSinkConfig,
        order_requirements: Option<LexRequirement>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let is_single = conf.table_partition_cols.is_empty()
            && match conf.file_output_mode {
                FileOutputMode::Automatic => is_file_name(&self.target),
                FileOutputMode::SingleFile => true,
                FileOutputMode::Directory => false,
            };
        let name = uuid::Uuid::new_v4().simple();
        let store = ObjectStoreUrl::parse(format!("{SCHEME}://{name}"))?;
        let slash = if is_single { "" } else { "/" };
        let path = ListingTableUrl::parse(format!("{SCHEME}://{name}/{OUTPUT}{slash}"))?;
        let schema = Arc::clone(&conf.output_schema);
        let flattens = self.inner.is::<CsvFormat>();
        let staged = FileSinkConfig {
            original_url: self.target.clone(),
            object_store_url: store.clone(),
            table_paths: vec![path],
            output_schema: match flattens {
                true => Arc::new(flatten_schema(&schema)),
                false => Arc::clone(&schema),
            },
            file_output_mode: match is_single {
                true => FileOutputMode::SingleFile,
                false => FileOutputMode::Directory,
            },
            ..conf
        };
        // The rows come from the operator above, which has the same sink.
        let rows = Arc::new(EmptyExec::new(Arc::clone(&staged.output_schema)));
        let writer = self
            .inner
            .create_writer_physical_plan(rows, state, staged, None);
        let sink = CopySink {
            target: self.target.clone(),
            is_single,
            writer: writer.await?,
            store,
            schema,
            flattens,
        };
        let plan = DataSinkExec::new(input, Arc::new(sink), order_requirements);
        Ok(Arc::new(plan))
    }

    fn file_source(&self, table_schema: TableSchema) -> Arc<dyn FileSource> {
        self.inner.file_source(table_schema)
    }
}

/// Sink that writes rows into a temporary folder and then delivers them to the target.
#[derive(Debug)]
struct CopySink {
    target: String,
    is_single: bool,
    /// Writer of DataFusion, which writes to `store`.
    writer: Arc<dyn ExecutionPlan>,
    /// The temporary folder, which exists while the rows are written.
    store: ObjectStoreUrl,
    schema: SchemaRef,
    /// Whether nested columns are written as text.
    flattens: bool,
}

impl DisplayAs for CopySink {
    fn fmt_as(&self, kind: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match kind {
            DisplayFormatType::TreeRender => writeln!(f, "file: {}", self.target),
            DisplayFormatType::Default | DisplayFormatType::Verbose => {
                write!(f, "CopySink(target={})", self.target)
            }
        }
    }
}

#[async_trait]
impl DataSink for CopySink {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    async fn write_all(
        &self,
        data: SendableRecordBatchStream,
        context: &Arc<TaskContext>,
    ) -> Result<u64> {
        let writer = self.writer.downcast_ref::<DataSinkExec>().ok_or_else(|| {
            let reason = format!("`{}`: files of this type cannot be written", self.target);
            DataFusionError::NotImplemented(reason)
        })?;
        let staging = Staging::open(&self.target, self.is_single, context)?;
        let files = LocalFileSystem::new_with_prefix(staging.folder())?;
        let url: &Url = self.store.as_ref();
        let runtime = context.runtime_env();
        runtime.register_object_store(url, Arc::new(files));
        let _registered = TemporaryObjectStore { context, url };
        let rows = writer.sink().write_all(self.flatten_nested(data), context);
        let rows = rows.await?;
        staging.deliver().await?;
        Ok(rows)
    }
}

impl CopySink {
    fn flatten_nested(&self, data: SendableRecordBatchStream) -> SendableRecordBatchStream {
        if !self.flattens {
            return data;
        }
        let schema = Arc::new(flatten_schema(&data.schema()));
        let options = json_options();
        let batches = data.map(move |batch| Ok(flatten_columns(&batch?, &options)?));
        Box::pin(RecordBatchStreamAdapter::new(schema, batches))
    }
}

/// An object store that is registered in a session while this value exists.
struct TemporaryObjectStore<'a> {
    context: &'a Arc<TaskContext>,
    url: &'a Url,
}

impl Drop for TemporaryObjectStore<'_> {
    fn drop(&mut self) {
        let _ = self.context.runtime_env().deregister_object_store(self.url);
    }
}

/// Returns whether the name of a target denotes a single file.
fn is_file_name(target: &str) -> bool {
    let path = Path::new(target);
    !target.ends_with('/') && path.extension().is_some() && !path.is_dir()
}

#[cfg(test)]
mod tests;
