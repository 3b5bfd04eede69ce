//! Publication of a portable dataset: plain Parquet, a dataset card, Croissant metadata, and checksums.
//!
//! ```text
//! DIR/
//! ├── README.md                                 dataset card, which Hugging Face shows
//! ├── croissant.json                            Croissant metadata of all columns
//! ├── SHA256SUMS                                written last: without it the publication is incomplete
//! ├── graphs/part-00000.parquet                 a folder for each table and view with rows
//! └── records/tenset/k80/part-00000.parquet
//! ```
//!
//! Folders of `records` are plain names, not `platform=k80`. `datasets` and `mlcroissant` ignore folder names, so the
//! columns must be in the files; if they are in both, `pyarrow.parquet.read_table` and pandas fail.
//!
//! ```
//! use tsql_ml::publish::PublishOptions;
//! # tokio::runtime::Runtime::new().unwrap().block_on(async {
//! # let folder = tempfile::tempdir().unwrap();
//! # let folder = folder.path().join("published").to_string_lossy().into_owned();
//! let store = tsql_dataset::demo::create_demo().await?;
//! let options = PublishOptions::default().title("Two machines").license("CC-BY-4.0");
//! let published = tsql_ml::publish::publish(&store, &folder, &options).await?;
//! assert!(published.tables.iter().any(|table| table.name == "records" && table.rows > 0));
//! # Ok::<(), tsql_error::Error>(()) }).unwrap();
//! ```

mod card;
mod croissant;
mod dataset;
mod facts;
mod files;
mod folder;
mod options;
mod portable_types;
mod publication;
mod published_relations;
mod rows;
mod verify;

use std::sync::Arc;

use datafusion::prelude::SessionContext;
use futures::TryStreamExt as _;
use tsql_error::{Error, Result};
use tsql_store::Store;
use tsql_store::atomic_output::{OutputTarget, WrittenFile};

use dataset::{Dataset, DatasetTable};
use facts::Facts;
use files::ParquetFilesWriter;
use publication::{CARD, CROISSANT, PUBLICATION};
use published_relations::PublishedRelation;

pub use options::{PublishOptions, PublishProgress, Published, PublishedTable};
pub use verify::{VerifyReport, verify_publication};

/// Writes the store, at its version, as a portable dataset into a directory or a bucket (`s3://bucket/prefix`). The
/// target must be empty, have an interrupted publication, or ([`PublishOptions::overwrite`]) a publication.
///
/// Each table and view with rows becomes plain Parquet, in a fixed order of rows: equal data and options give equal
/// bytes. Data without a meaning outside the store is omitted: tags, the ingest log with its local paths (`sources`
/// describes the sources), and texts that are only stored for exports.
///
/// # Errors
/// [`Error::CannotCreate`] if the target has other files, [`Error::Argument`] for an invalid option,
/// [`Error::Empty`] for a store without rows, and failures of the storage. An interrupted publication is
/// recognizable as such.
pub async fn publish(store: &Store, to: &str, options: &PublishOptions) -> Result<Published> {
    options.validate()?;
    let target = OutputTarget::open(to, options.overwrite, PUBLICATION).await?;
    let context = rows::session(store, options.memory_limit_bytes).await?;
    let counted = rows::count_rows(&context).await?;
    if counted.is_empty() {
        let reason = "the store has no rows to publish\nhint: `tsql ingest FILES` first";
        return Err(Error::Empty(reason.to_owned()));
    }
    if options.dry_run {
        let tables = counted.into_iter().map(|(shown, rows)| PublishedTable {
            name: shown.name,
            rows,
            file_count: 0,
            bytes: 0,
        });
        let tables = tables.collect();
        return Ok(Published {
            tables,
            ..Published::default()
        });
    }
    target.begin().await?;
    let mut tables = Vec::new();
    let mut bytes = 0;
    for (shown, _) in counted {
        let table = write_table(&context, &target, shown, options, bytes).await?;
        bytes += table.bytes();
        tables.push(table);
    }
    let facts = Facts::load(&context).await?;
    let dataset = Dataset::new(target.name(), options, tables, facts);
    let mut written: Vec<WrittenFile> = dataset
        .tables
        .iter()
        .flat_map(|table| table.files.clone())
        .collect();
    for (name, text) in [
        (CARD, card::render_card(&dataset)),
        (CROISSANT, croissant::render_croissant(&dataset)),
    ] {
        written.push(target.write(name.to_owned(), text.into_bytes(), 0).await?);
    }
    let list = target.finish(&written).await?;
    let tables = dataset.tables.iter().map(|table| PublishedTable {
        name: table.shown.name.clone(),
        rows: table.rows(),
        file_count: table.files.len() as u64,
        bytes: table.bytes(),
    });
    Ok(Published {
        tables: tables.collect(),
        file_count: written.len() as u64 + 1,
        bytes: written.iter().map(|file| file.bytes).sum::<u64>() + list,
    })
}

/// Writes all rows of a table. `before` is the number of bytes that were written before.
async fn write_table(
    context: &SessionContext,
    target: &OutputTarget,
    shown: PublishedRelation,
    options: &PublishOptions,
    before: u64,
) -> Result<DatasetTable> {
    let folders = rows::list_folders(context, &shown).await?;
    let (mut written, mut schema) = (Vec::<WrittenFile>::new(), None);
    let mut done = 0;
    for folder in folders {
        let frame = rows::folder_rows(context, &shown, &folder).await?;
        let mut stream = frame.execute_stream().await.map_err(Error::Query)?;
        let given = stream.schema();
        let plain = Arc::new(portable_types::portable_schema(&shown, &given));
        let names = folder.iter().map(|value| folder::folder_name(value) + "/");
        let path = format!("{}/{}", shown.name, names.collect::<String>());
        let mut files = ParquetFilesWriter::new(target, &shown.name, path, &given, &plain)?;
        while let Some(batch) = stream.try_next().await.map_err(Error::Query)? {
            done += batch.num_rows() as u64;
            files.push(batch).await?;
            if let Some(progress) = &options.progress {
                let so_far = written
                    .iter()
                    .chain(files.written_files())
                    .map(|file| file.bytes);
                progress(&shown.name, done, before + so_far.sum::<u64>());
            }
        }
        written.extend(files.finish().await?);
        schema = Some(plain);
    }
    Ok(DatasetTable {
        schema: schema.ok_or_else(|| Error::Internal(format!("{}: no folder", shown.name)))?,
        files: written,
        shown,
    })
}
