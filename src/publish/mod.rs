//! A dataset that people without tsql can use: plain Parquet, a card, Croissant metadata, and checksums.
//!
//! ```text
//! DIR/
//! ├── README.md                                 the dataset card, which Hugging Face shows
//! ├── croissant.json                            all columns, for machines
//! ├── SHA256SUMS                                comes last: without it there is no publication
//! ├── graphs/part-00000.parquet                 a folder for each table and view that has rows
//! └── records/tenset/k80/part-00000.parquet
//! ```
//!
//! Folders of `records` are plain names, not `platform=k80`: `datasets` and `mlcroissant` do not look at folders, so the
//! columns must be in the files; and where they are in both, `pyarrow.parquet.read_table` and pandas refuse to read.
//!
//! ```
//! use tsql::{PublishOptions, Store};
//! # tokio::runtime::Runtime::new().unwrap().block_on(async {
//! # let folder = tempfile::tempdir().unwrap();
//! # let folder = folder.path().join("published").to_string_lossy().into_owned();
//! let store = Store::demo().await?;
//! let options = PublishOptions::default().title("Two machines").license("CC-BY-4.0");
//! let published = store.publish(&folder, &options).await?;
//! assert!(published.tables.iter().any(|table| table.name == "records" && table.rows > 0));
//! # Ok::<(), tsql::Error>(()) }).unwrap();
//! ```

mod card;
mod croissant;
mod dataset;
mod facts;
mod files;
mod folder;
mod kind;
mod options;
mod plain;
mod rows;
mod shown;
mod verify;

use std::sync::Arc;

use datafusion::prelude::SessionContext;
use futures::TryStreamExt as _;

use crate::delivered::{Target, Written};
use crate::error::{Error, Result};
use crate::store::Store;
use dataset::{Dataset, Table};
use facts::Facts;
use files::Files;
use kind::{CARD, CROISSANT, PUBLICATION};
use shown::Shown;

pub use options::{PublishOptions, PublishProgress, Published, PublishedTable};
pub use verify::{Verified, verify_publication};

impl Store {
    /// Writes the store, or the version that it is looked at, as a dataset for others into a directory or a bucket
    /// (`s3://bucket/prefix`), which is empty, has what is left of a publication that was broken off, or
    /// ([`PublishOptions::overwrite`]) a publication.
    ///
    /// Each table and view that has rows becomes plain Parquet, in a fixed order of rows: the same data and options
    /// are the same bytes. Not published is what means nothing elsewhere: tags, the ingest log with its local paths (`sources`
    /// says what the sources are), and texts that are only kept to give files back.
    ///
    /// # Errors
    /// [`Error::CannotCreate`] where something else is there, [`Error::Argument`] for an option that cannot be used,
    /// [`Error::Empty`] for a store without rows, and failures of the storage. What was begun is no publication then.
    pub async fn publish(&self, to: &str, options: &PublishOptions) -> Result<Published> {
        options.checked()?;
        let target = Target::open(to, options.overwrite, PUBLICATION).await?;
        let context = rows::session(self, options.memory_limit_bytes).await?;
        let counted = rows::counted(&context).await?;
        if counted.is_empty() {
            let reason = "the store has no rows, so there is nothing to publish\nhint: `tsql ingest FILES` first";
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
        let facts = Facts::of(&context).await?;
        let dataset = Dataset::new(target.name(), options, tables, facts);
        let mut written: Vec<Written> = dataset
            .tables
            .iter()
            .flat_map(|table| table.files.clone())
            .collect();
        for (name, text) in [
            (CARD, card::text(&dataset)),
            (CROISSANT, croissant::text(&dataset)),
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
}

/// Writes all rows of a table; `before` bytes are written already.
async fn write_table(
    context: &SessionContext,
    target: &Target,
    shown: Shown,
    options: &PublishOptions,
    before: u64,
) -> Result<Table> {
    let folders = rows::folders(context, &shown).await?;
    let (mut written, mut schema) = (Vec::<Written>::new(), None);
    let mut done = 0;
    for folder in folders {
        let frame = rows::rows(context, &shown, &folder).await?;
        let mut stream = frame.execute_stream().await.map_err(Error::Query)?;
        let given = stream.schema();
        let plain = Arc::new(plain::schema(&shown, &given));
        let names = folder.iter().map(|value| folder::folder(value) + "/");
        let path = format!("{}/{}", shown.name, names.collect::<String>());
        let mut files = Files::new(target, &shown.name, path, &given, &plain)?;
        while let Some(batch) = stream.try_next().await.map_err(Error::Query)? {
            done += batch.num_rows() as u64;
            files.push(batch).await?;
            if let Some(progress) = &options.progress {
                let so_far = written.iter().chain(files.written()).map(|file| file.bytes);
                progress(&shown.name, done, before + so_far.sum::<u64>());
            }
        }
        written.extend(files.finish().await?);
        schema = Some(plain);
    }
    Ok(Table {
        schema: schema.ok_or_else(|| Error::Internal(format!("{}: no folder", shown.name)))?,
        files: written,
        shown,
    })
}
