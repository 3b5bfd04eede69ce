//! `COPY ... TO`: files that appear when they are whole, or not at all.
//!
//! DataFusion's writers finish their files when the rows end, also where an error has ended them. So they write into a
//! temporary folder, and what they have written gets its name when all rows are there:
//!
//! | target | written |
//! |---|---|
//! | `'x.csv'` | a file, as `tsql -o x.csv` writes it |
//! | `'folder/'`, `PARTITIONED BY (a)` | a folder, which must be missing or empty |
//! | `'s3://bucket/x.csv'` | an object, sent when it is whole |
//!
//! The folder of the target must exist. Lists, structures and maps are JSON in CSV, as the command prints them.

use std::collections::HashMap;
use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
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
use object_store::{ObjectMeta, ObjectStore, ObjectStoreExt as _, WriteMultipart};
use tsql_folders::{OutputFile, Scratch, folder_of};
use url::Url;

use super::text_values::{flat, flat_schema, json_options};
use crate::error::Error;

/// Scheme of the temporary folders that writers write into.
const SCHEME: &str = "tsql-copy";

/// What is written there: a file or a folder.
const OUTPUT: &str = "output";

/// Bytes of a part of an object.
const PART_BYTES: usize = 16 << 20;

/// Parts of an object that are sent at the same time.
const PARTS: usize = 4;

/// Has the files of `COPY` written as a whole.
#[derive(Debug)]
pub(super) struct CopiesWhole;

impl AnalyzerRule for CopiesWhole {
    fn name(&self) -> &'static str {
        "copy_writes_whole_files"
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
                // The target may have a name that is no URL and no pattern.
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

/// The format of one `COPY`, with its options still to come.
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
    fn around(&self, inner: Arc<dyn FileFormat>) -> Arc<dyn FileFormat> {
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
        Ok(self.around(inner))
    }

    fn default(&self) -> Arc<dyn FileFormat> {
        self.around(self.inner.default())
    }
}

/// The format of one `COPY`.
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
                FileOutputMode::Automatic => is_file(&self.target),
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
                true => Arc::new(flat_schema(&schema)),
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

/// Writes rows into a temporary folder, and then to their target.
#[derive(Debug)]
struct CopySink {
    target: String,
    is_single: bool,
    /// DataFusion's writer, which writes to `store`.
    writer: Arc<dyn ExecutionPlan>,
    /// The temporary folder, which exists while the rows are written.
    store: ObjectStoreUrl,
    schema: SchemaRef,
    /// Are nested columns written as text?
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
            let reason = format!("`{}`: files of this kind cannot be written", self.target);
            DataFusionError::NotImplemented(reason)
        })?;
        let staging = Staging::open(&self.target, self.is_single, context)?;
        let files = LocalFileSystem::new_with_prefix(staging.folder())?;
        let url: &Url = self.store.as_ref();
        let runtime = context.runtime_env();
        runtime.register_object_store(url, Arc::new(files));
        let _registered = Registered { context, url };
        let rows = writer.sink().write_all(self.flattened(data), context);
        let rows = rows.await?;
        staging.deliver().await?;
        Ok(rows)
    }
}

impl CopySink {
    fn flattened(&self, data: SendableRecordBatchStream) -> SendableRecordBatchStream {
        if !self.flattens {
            return data;
        }
        let schema = Arc::new(flat_schema(&data.schema()));
        let options = json_options();
        let batches = data.map(move |batch| Ok(flat(&batch?, &options)?));
        Box::pin(RecordBatchStreamAdapter::new(schema, batches))
    }
}

/// An object store that a session knows for as long as this lives.
struct Registered<'a> {
    context: &'a Arc<TaskContext>,
    url: &'a Url,
}

impl Drop for Registered<'_> {
    fn drop(&mut self) {
        let _ = self.context.runtime_env().deregister_object_store(self.url);
    }
}

/// Where a writer writes, and what becomes of it.
struct Staging {
    scratch: Option<Scratch>,
    target: Target,
}

enum Target {
    File(OutputFile),
    /// A device or a pipe, which is written when all is there.
    Device(File, PathBuf),
    Folder(PathBuf),
    Objects(ListingTableUrl, Arc<dyn ObjectStore>),
}

impl Staging {
    fn open(target: &str, is_single: bool, context: &TaskContext) -> Result<Self> {
        if let Some(path) = local(target)? {
            return match is_single {
                true => Self::file(target, &path),
                false => Self::directory(target, &path),
            };
        }
        let url = ListingTableUrl::parse(target)?;
        let objects = context.runtime_env().object_store(&url)?;
        Ok(Self {
            scratch: Some(Scratch::new().map_err(failed)?),
            target: Target::Objects(url, objects),
        })
    }

    fn file(target: &str, path: &Path) -> Result<Self> {
        if !folder_of(path).is_dir() {
            return Err(wrong(target, "there is no such folder"));
        }
        if path.is_dir() {
            return Err(wrong(target, "is a folder, expected a file"));
        }
        let (output, file) = OutputFile::create(path).map_err(failed)?;
        Ok(match output.staged().is_some() {
            true => Self {
                scratch: None,
                target: Target::File(output),
            },
            false => Self {
                scratch: Some(Scratch::new().map_err(failed)?),
                target: Target::Device(file, path.to_owned()),
            },
        })
    }

    fn directory(target: &str, path: &Path) -> Result<Self> {
        let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        match fs::read_dir(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
                return Err(wrong(target, "is a file, expected a folder"));
            }
            Err(error) => return Err(failed(Error::io(&path)(error))),
            Ok(mut entries) => {
                if entries.next().is_some() {
                    return Err(wrong(
                        target,
                        "the folder has files, expected one that is empty or missing",
                    ));
                }
            }
        }
        if !folder_of(&path).is_dir() {
            return Err(wrong(target, "there is no such folder"));
        }
        Ok(Self {
            scratch: Some(Scratch::within(folder_of(&path)).map_err(failed)?),
            target: Target::Folder(path),
        })
    }

    /// The folder in which [`OUTPUT`] is written.
    fn folder(&self) -> &Path {
        let staged = match &self.target {
            Target::File(output) => output.staged().map(folder_of),
            _ => self.scratch.as_ref().map(Scratch::path),
        };
        staged.unwrap_or(Path::new("."))
    }

    /// Gives it to whom it is for.
    async fn deliver(self) -> Result<()> {
        let staged = self.folder().join(OUTPUT);
        match self.target {
            Target::File(output) => output.finish().map_err(failed),
            Target::Device(mut file, path) => {
                let sent = File::open(staged).and_then(|mut from| io::copy(&mut from, &mut file));
                let sent = sent.map_err(Error::io(path));
                sent.map(|_| ()).map_err(failed)
            }
            Target::Folder(path) => {
                // Without rows there is no file that would have made it.
                fs::create_dir_all(&staged)
                    .and_then(|()| match fs::metadata(&path) {
                        Ok(empty) => fs::set_permissions(&staged, empty.permissions()),
                        Err(_) => Ok(()),
                    })
                    .and_then(|()| fs::rename(&staged, &path))
                    .map_err(|error| failed(Error::io(&path)(error)))
            }
            Target::Objects(url, objects) => {
                let prefix = url.prefix();
                for (file, below) in files_below(&staged).map_err(|error| {
                    let place = Error::io(&staged)(error);
                    failed(place)
                })? {
                    let object = match below.is_empty() {
                        true => prefix.clone(),
                        false => {
                            let parts = below.iter().map(String::as_str);
                            let path = prefix.parts().map(|part| part.as_ref().to_owned());
                            let path: Vec<String> = path.chain(parts.map(str::to_owned)).collect();
                            object_store::path::Path::parse(path.join("/"))
                                .map_err(|error| DataFusionError::External(error.into()))?
                        }
                    };
                    send(&file, objects.as_ref(), &object).await?;
                }
                Ok(())
            }
        }
    }
}

/// Is a target a file by its name?
fn is_file(target: &str) -> bool {
    let path = Path::new(target);
    !target.ends_with('/') && path.extension().is_some() && !path.is_dir()
}

/// The path of a target on this machine; `None` for one elsewhere.
fn local(target: &str) -> Result<Option<PathBuf>> {
    if target.starts_with("file://") {
        let path = Url::parse(target)
            .ok()
            .and_then(|url| url.to_file_path().ok());
        let path = path.ok_or_else(|| wrong(target, "is no path of this machine"))?;
        return Ok(Some(path));
    }
    Ok((!target.contains("://")).then(|| PathBuf::from(target)))
}

/// The files of a file or a folder, with the names that lead to them.
fn files_below(path: &Path) -> io::Result<Vec<(PathBuf, Vec<String>)>> {
    if !path.is_dir() {
        return Ok(vec![(path.to_owned(), Vec::new())]);
    }
    let mut files = Vec::new();
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let below = files_below(&entry.path())?.into_iter();
        files.extend(below.map(|(file, mut names)| {
            names.insert(0, name.clone());
            (file, names)
        }));
    }
    Ok(files)
}

/// Sends a file, which is an object when all of it is there.
async fn send(
    path: &Path,
    objects: &dyn ObjectStore,
    object: &object_store::path::Path,
) -> Result<()> {
    let unread = |error| failed(Error::io(path)(error));
    let mut file = File::open(path).map_err(unread)?;
    let mut part = |most: usize| {
        let mut bytes = Vec::new();
        let most = u64::try_from(most).unwrap_or(u64::MAX);
        file.by_ref()
            .take(most)
            .read_to_end(&mut bytes)
            .map(|_| bytes)
    };
    let first = part(PART_BYTES).map_err(unread)?;
    if first.len() < PART_BYTES {
        objects.put(object, first.into()).await?;
        return Ok(());
    }
    let upload = objects.put_multipart(object).await?;
    let mut parts = WriteMultipart::new_with_chunk_size(upload, PART_BYTES);
    let mut bytes = first;
    while !bytes.is_empty() {
        parts.wait_for_capacity(PARTS).await?;
        parts.put(bytes.into());
        bytes = part(PART_BYTES).map_err(unread)?;
    }
    parts.finish().await?;
    Ok(())
}

fn failed(error: impl Into<Error>) -> DataFusionError {
    DataFusionError::External(Box::new(error.into()))
}

fn wrong(target: &str, reason: &str) -> DataFusionError {
    failed(Error::Source {
        location: target.to_owned(),
        reason: reason.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Store;

    async fn copy(sql: &str) -> std::result::Result<u64, String> {
        let store = Store::create("memory:").await.unwrap();
        let context = store.session().await.unwrap();
        let frame = context.sql(sql).await.map_err(|error| error.to_string())?;
        let batches = frame.collect().await.map_err(|error| error.to_string())?;
        let counts = batches.iter().map(|batch| {
            let counts = batch.column(0).as_any();
            let counts = counts.downcast_ref::<arrow::array::UInt64Array>().unwrap();
            counts.values().iter().sum::<u64>()
        });
        Ok(counts.sum())
    }

    fn names(folder: &Path) -> Vec<String> {
        let names = fs::read_dir(folder).unwrap().map(|entry| {
            let name = entry.unwrap().file_name();
            name.into_string().unwrap()
        });
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    }

    /// Rows of which the last ones cannot be computed.
    const FAILING: &str =
        "SELECT 10 / (99999 - value) AS x FROM generate_series(0, 100000) AS s(value)";

    #[tokio::test]
    async fn a_file_is_replaced_by_a_whole_one_or_stays_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        for ending in ["csv", "json", "parquet", "arrow"] {
            let path = folder.path().join(format!("good.{ending}"));
            let missing = folder.path().join(format!("new.{ending}"));
            fs::write(&path, "good").unwrap();
            for target in [&path, &missing] {
                let sql = format!("COPY ({FAILING}) TO '{}'", target.display());
                assert!(copy(&sql).await.is_err(), "{sql}");
            }
            assert_eq!(fs::read(&path).unwrap(), b"good", "{ending}");
            assert!(!missing.exists(), "{ending}");
            let sql = format!("COPY (SELECT 1 AS a, 'x' AS b) TO '{}'", path.display());
            assert_eq!(copy(&sql).await.unwrap(), 1);
            assert_ne!(fs::read(&path).unwrap(), b"good", "{ending}");
            fs::remove_file(&path).unwrap();
        }
        assert!(names(folder.path()).is_empty());
    }

    #[tokio::test]
    async fn a_target_is_the_file_of_exactly_that_name() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["a%20b.csv", "a*[b.csv", "a b?#.csv", "ä\\.csv"] {
            let path = folder.path().join(name);
            let sql = format!("COPY (SELECT 1 AS a) TO '{}'", path.display());
            copy(&sql).await.unwrap();
            assert_eq!(names(folder.path()), [name]);
            assert_eq!(fs::read(&path).unwrap(), b"a\n1\n");
            fs::remove_file(&path).unwrap();
        }
        let path = folder.path().join("no/such/x.csv");
        let told = copy(&format!("COPY (SELECT 1) TO '{}'", path.display())).await;
        assert!(told.unwrap_err().contains("there is no such folder"));
        assert!(names(folder.path()).is_empty());
    }

    #[tokio::test]
    async fn nested_values_are_json_in_csv() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.csv");
        let sql = format!(
            "COPY (SELECT [1, 2] AS l, named_struct('a', 1.5) AS s, 'q\"' AS t, CAST(NULL AS INT) AS n) TO '{}'",
            path.display()
        );
        copy(&sql).await.unwrap();
        let wanted = "l,s,t,n\n\"[1,2]\",\"{\"\"a\"\":1.5}\",\"q\"\"\",\n";
        assert_eq!(fs::read_to_string(&path).unwrap(), wanted);
        let both = format!(
            "COPY (SELECT 1 AS a, [1] AS l) TO '{}' OPTIONS ('format.delimiter' ';')",
            path.display()
        );
        copy(&both).await.unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "a;l\n1;[1]\n");
    }

    #[tokio::test]
    async fn a_folder_appears_with_all_its_files_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("out");
        let rows = "SELECT value % 3 AS k, value FROM generate_series(1, 9) AS s(value)";
        let to = |rows: &str| {
            format!(
                "COPY ({rows}) TO '{}/' STORED AS PARQUET PARTITIONED BY (k)",
                out.display()
            )
        };
        let failing = FAILING.replace("AS x", "AS x, value % 3 AS k");
        assert!(copy(&to(&failing)).await.is_err());
        assert!(names(folder.path()).is_empty());
        assert_eq!(copy(&to(rows)).await.unwrap(), 9);
        assert_eq!(names(&out), ["k=0", "k=1", "k=2"]);
        assert_eq!(names(folder.path()), ["out"]);
        let told = copy(&to(rows)).await.unwrap_err();
        assert!(
            told.contains("expected one that is empty or missing"),
            "{told}"
        );
        let file = folder.path().join("out/k=0");
        let told = copy(&format!("COPY ({rows}) TO '{}'", file.display())).await;
        assert!(told.is_err());
        fs::remove_dir_all(&out).unwrap();
        fs::create_dir(&out).unwrap();
        assert_eq!(copy(&to(rows)).await.unwrap(), 9);
    }
}
