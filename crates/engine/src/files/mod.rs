//! Files as tables: `FROM 'predictions.parquet'`, `FROM 'logs/*.csv.gz'`, `FROM read_csv('x.log', delim => ';')`, `FROM
//! 'x.npz'`.
//!
//! Turns a path, pattern, folder or URL into a DataFusion table, which reads the files. This module decides which files
//! are included, which type they have, and which common schema files with different columns have.

pub(crate) mod copy_to;
mod file_listing;
mod ipc;
mod kind;
mod npz;
mod options;
mod pages;
mod read;
pub mod text_values;
mod tsv_text;
mod union_by_name;
mod untrusted_files;

use std::fmt;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use datafusion::catalog::{DynamicFileCatalog, TableProvider, UrlTableFactory};
use datafusion::error::DataFusionError;
use datafusion::execution::SessionState;
use datafusion::prelude::SessionContext;
use futures::FutureExt as _;

use kind::FileKind;

pub use options::rewrite_read_call;
pub(crate) use untrusted_files::CatchPanics;

/// Returns the state of the querying session while that session exists.
type SessionStateFn = Box<dyn Fn() -> Option<SessionState> + Send + Sync>;

/// Catalog of tables whose names are file paths.
#[derive(Default)]
struct FileTables {
    asking: OnceLock<SessionStateFn>,
}

impl fmt::Debug for FileTables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Files")
    }
}

#[async_trait]
impl UrlTableFactory for FileTables {
    async fn try_new(&self, name: &str) -> Result<Option<Arc<dyn TableProvider>>, DataFusionError> {
        let state = self.asking.get().and_then(|asking| asking());
        let gone = || DataFusionError::Internal("the session is gone".to_owned());
        let (state, wanted) = (state.ok_or_else(gone)?, options::parse_request(name)?);
        let read = AssertUnwindSafe(read::open_table(&state, &wanted)).catch_unwind();
        read.await
            .unwrap_or_else(|panic| Err(untrusted_files::panic_error(&wanted.path, panic.as_ref())))
    }
}

/// Number of lines before the first row of a file, according to its extension.
pub fn lines_before_rows(path: &str) -> u64 {
    let has_header = [FileKind::Csv, FileKind::Tsv];
    u64::from(kind::kind_from_name(path).is_some_and(|(_, kind)| has_header.contains(&kind)))
}

/// Configures a session to resolve unknown table names as file paths.
pub(crate) fn with_files(context: SessionContext) -> SessionContext {
    let files = Arc::new(FileTables::default());
    let catalogs = Arc::clone(context.state_ref().read().catalog_list());
    let factory: Arc<dyn UrlTableFactory> = Arc::clone(&files) as _;
    let catalogs = DynamicFileCatalog::new(catalogs, factory);
    let id = context.session_id();
    let builder = context.into_state_builder().with_session_id(id);
    let state = builder.with_catalog_list(Arc::new(catalogs)).build();
    let context = SessionContext::new_with_state(state);
    // A weak reference, because the state owns the catalogs.
    let state = Arc::downgrade(&context.state_ref());
    let asking = move || state.upgrade().map(|state| state.read().clone());
    let _ = files.asking.set(Box::new(asking));
    context
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write as _;
    use std::path::Path;

    use datafusion::prelude::SessionContext;
    use zip::write::SimpleFileOptions;

    use crate::context::new_context;

    /// Number of corrupted variants per file.
    const DAMAGES: usize = 40;

    async fn run(context: &SessionContext, sql: &str) -> Result<usize, String> {
        let frame = context.sql(sql).await.map_err(|error| error.to_string())?;
        let batches = frame.collect().await.map_err(|error| error.to_string())?;
        Ok(batches.iter().map(|batch| batch.num_rows()).sum())
    }

    /// A file of each type, with numbers, text and lists in small batches.
    async fn write(context: &SessionContext, folder: &Path) -> Vec<String> {
        let rows = "SELECT value AS n, value / 3.0 AS x, 'text ' || value % 7 AS t, \
            make_array(value, value + 1) AS l FROM generate_series(1, 500) AS s(value)";
        let mut names = Vec::new();
        for (ending, options) in [
            ("csv", ""),
            ("json", ""),
            ("parquet", "OPTIONS ('format.compression' 'snappy')"),
            ("parquet", "OPTIONS ('format.compression' 'zstd(3)')"),
            ("arrow", ""),
        ] {
            let name = format!("{}.{ending}", names.len());
            let path = folder.join(&name);
            let sql = format!("COPY ({rows}) TO '{}' {options}", path.display());
            run(context, &sql).await.unwrap();
            names.push(name);
        }
        let batches = context.sql(rows).await.unwrap().collect().await.unwrap();
        let stream = fs::File::create(folder.join("5.arrows")).unwrap();
        let schema = batches[0].schema();
        let mut writer = arrow::ipc::writer::StreamWriter::try_new(stream, &schema).unwrap();
        for batch in &batches {
            writer.write(batch).unwrap();
        }
        writer.finish().unwrap();
        let file = fs::File::create(folder.join("6.npz")).unwrap();
        let mut zip = zip::ZipWriter::new(file);
        for name in ["a.npy", "b.npy"] {
            zip.start_file(name, SimpleFileOptions::default()).unwrap();
            zip.write_all(&tsql_formats::npy::format_row_major_header("<i8", &[100]))
                .unwrap();
            zip.write_all(&[1; 800]).unwrap();
        }
        zip.finish().unwrap();
        names.extend(["5.arrows", "6.npz"].map(str::to_owned));
        names
    }

    /// Changes some bytes, or removes, truncates or inserts a part.
    fn corrupt(whole: &[u8], random: &mut fastrand::Rng) -> Vec<u8> {
        let mut bytes = whole.to_vec();
        match random.usize(..4) {
            0 => bytes.truncate(random.usize(..bytes.len())),
            1 => {
                let begin = random.usize(..bytes.len());
                let end = (begin + random.usize(1..16)).min(bytes.len());
                bytes.drain(begin..end);
            }
            2 => {
                let at = random.usize(..bytes.len());
                bytes.splice(at..at, [0xff, 0xff, 0xff, 0x7f]);
            }
            _ => {
                for _ in 0..random.usize(1..8) {
                    // Headers and footers are small, so half of the changes target them.
                    let last = bytes.len();
                    let near = last.min(400);
                    let at = match random.u8(..4) {
                        0 => random.usize(..near),
                        1 => last - 1 - random.usize(..near),
                        _ => random.usize(..last),
                    };
                    bytes[at] = random.u8(..);
                }
            }
        }
        bytes
    }

    #[tokio::test]
    async fn a_file_with_a_damaged_footer_is_not_read_as_a_stream() {
        let folder = tempfile::tempdir().unwrap();
        let context = new_context(None).unwrap();
        let names = write(&context, folder.path()).await;
        let name = names.iter().find(|name| name.ends_with(".arrow")).unwrap();
        let whole = fs::read(folder.path().join(name)).unwrap();
        let mut rejected = 0;
        for at in whole.len() - 400..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 8;
            let path = folder.path().join(format!("{at}.arrow"));
            fs::write(&path, bytes).unwrap();
            let sql = format!("SELECT count(*) FROM '{}'", path.display());
            if let Err(error) = run(&context, &sql).await {
                assert!(!error.contains("stream format"), "{at}: {error}");
                rejected += 1;
            }
        }
        assert!(rejected > 0);
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_damaged_file_is_read_or_an_error_that_names_it() {
        let seed = fastrand::u64(..);
        println!("seed {seed}");
        let mut random = fastrand::Rng::with_seed(seed);
        let folder = tempfile::tempdir().unwrap();
        let context = new_context(None).unwrap();
        for name in write(&context, folder.path()).await {
            let whole = fs::read(folder.path().join(&name)).unwrap();
            assert!(
                run(
                    &context,
                    &format!("SELECT * FROM '{}'", folder.path().join(&name).display())
                )
                .await
                .unwrap()
                    > 0
            );
            for number in 0..DAMAGES {
                let path = folder.path().join(format!("damaged-{number}-{name}"));
                fs::write(&path, corrupt(&whole, &mut random)).unwrap();
                let file = path.display();
                for sql in [
                    format!("SELECT * FROM '{file}'"),
                    format!("SELECT count(*) FROM '{file}'"),
                ] {
                    if let Err(told) = run(&context, &sql).await {
                        assert!(
                            told.contains(&*path.file_name().unwrap().to_string_lossy()),
                            "{sql}: {told}"
                        );
                    }
                }
                fs::remove_file(&path).unwrap();
            }
        }
    }

    #[tokio::test]
    async fn what_a_file_claims_is_compared_with_its_size() {
        let folder = tempfile::tempdir().unwrap();
        let context = new_context(None).unwrap();
        let told = async |name: &str, bytes: &[u8]| {
            let path = folder.path().join(name);
            fs::write(&path, bytes).unwrap();
            let mut told = Vec::new();
            for columns in ["*", "count(*)"] {
                let sql = format!("SELECT {columns} FROM '{}'", path.display());
                told.push(run(&context, &sql).await.unwrap_err());
            }
            told.join("\n")
        };
        for garbage in [
            &b"garbage garbage 1234"[..],
            &[0xff; 20],
            &[0x7f; 20],
            b"ARROW1ARROW1ARROW1ARROW1",
        ] {
            let told = told("g.arrow", garbage).await;
            assert!(told.contains("g.arrow"), "{told}");
        }
        let npz = |shape: &[usize], bytes: usize| {
            let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
            zip.start_file("a.npy", SimpleFileOptions::default())
                .unwrap();
            zip.write_all(&tsql_formats::npy::format_row_major_header("<i8", shape))
                .unwrap();
            zip.write_all(&vec![0; bytes]).unwrap();
            zip.finish().unwrap().into_inner()
        };
        let short = told("a.npz", &npz(&[1000], 64)).await;
        assert!(
            short.contains("its header states 8000 bytes, found 64"),
            "{short}"
        );
        for shape in [
            &[1_000_000_000_000][..],
            &[1 << 62],
            &[1 << 62, 0],
            &[1 << 40, 0, 3],
            &[3, 1 << 50],
        ] {
            let told = told("a.npz", &npz(shape, 0)).await;
            assert!(told.contains("a.npz"), "{shape:?}: {told}");
        }
        let path = folder.path().join("empty.npz");
        fs::write(&path, npz(&[3, 0], 0)).unwrap();
        let rows = run(&context, &format!("SELECT * FROM '{}'", path.display())).await;
        assert_eq!(rows, Ok(3));
    }
}
