//! Import of features.

use arrow::datatypes::Int64Type;
use datafusion::prelude::{col, lit};
use futures::StreamExt as _;
use tsql_dialect::plan_query;
use tsql_error::{Error, Result};
use tsql_schema::column;
use tsql_session::SessionOptions;
use tsql_session::key_columns::source_columns;
use tsql_session::open_session_with;
use tsql_store::{Snapshot, Store};

use super::columns::column_query;
use super::configurations::Configurations;
use super::options::{FeaturesOptions, argument};
use super::report::FeaturesImported;
use super::row_import::{FEATURES, KnownFeatures, RowImport, read_known};

/// Imports features that another program computed, from a file (Parquet, Arrow, CSV, JSON lines, npz) or a query in
/// parentheses.
///
/// Each row has the configuration's `config_key` (text, 16 bytes, or a row of 16 uint8) and its numbers, as a list
/// or as one column each. All new rows are one commit. Rejected rows are counted, and the first of each reason are
/// reported with their lines.
///
/// # Errors
/// [`Error::Argument`] for an invalid name or version, [`Error::Source`] if a column is missing, ambiguous or of
/// another type, [`Error::Empty`] for a file without rows, [`Error::Query`] if it cannot be read,
/// [`Error::ReadOnly`] for a past version of a store, and failures of the storage. Nothing is written in these
/// cases.
pub async fn import_features(
    store: &Store,
    from: &str,
    options: &FeaturesOptions,
) -> Result<FeaturesImported> {
    store.check_writable()?;
    options.check()?;
    // A single partition, so that rows are in the order of their lines.
    let context = open_session_with(store, &SessionOptions::default().threads(1)).await?;
    let schema = source_columns(&context, from).await?;
    let sql = column_query(from, &schema, options.column.as_deref())?;
    let configurations = Configurations::load(&context).await?;
    let name = options.name.as_str();
    let mut told = FeaturesImported::default();
    let detail = format!("import features {name}");
    store
        .commit(FEATURES, &detail, async |snapshot: &Snapshot| {
            let version = resolve_version(store, snapshot, options).await?;
            let known = read_version(store, snapshot, name, version).await?;
            let mut taken = RowImport::new(store, from, &configurations, known, name, version);
            let rows = plan_query(&context, &sql).await?.execute_stream().await;
            let mut rows = rows.map_err(Error::Query)?;
            while let Some(batch) = rows.next().await {
                taken.take(&batch.map_err(Error::Query)?).await?;
            }
            let (report, change) = taken.finish().await?;
            told = report;
            Ok(change)
        })
        .await?;
    if told.rows == 0 {
        return Err(Error::Empty(format!("{from}: it has no rows")));
    }
    Ok(told)
}

/// Returns the version for the new rows.
///
/// # Errors
/// [`Error::Argument`] for a version that is neither an existing one nor the next.
async fn resolve_version(store: &Store, at: &Snapshot, options: &FeaturesOptions) -> Result<i64> {
    let name = &options.name;
    let mut newest = 0;
    if !at.files().is_empty() {
        let own = col("name").eq(lit(name));
        for batch in store.read(FEATURES, at, &["version"], Some(own)).await? {
            let versions = column::numbers::<Int64Type>(&batch, "version")?;
            newest = newest.max(arrow::compute::max(versions).unwrap_or_default());
        }
    }
    match options.version {
        None => Ok(newest.max(1)),
        Some(version) if version <= newest + 1 => Ok(version),
        Some(version) => {
            let next = newest + 1;
            let reason = format!(
                "{name} has {newest} revisions, so {version} cannot be the next\nhint: --revision {next}"
            );
            Err(argument("version", reason))
        }
    }
}

/// Reads the stored features of a version, file by file.
async fn read_version(
    store: &Store,
    at: &Snapshot,
    name: &str,
    version: i64,
) -> Result<KnownFeatures> {
    let mut all = KnownFeatures::default();
    for file in at.files().iter() {
        let only = at.with_files(vec![file.clone()]);
        let own = col("name")
            .eq(lit(name))
            .and(col("version").eq(lit(version)));
        let columns = ["config_key", "numbers"];
        for batch in store.read(FEATURES, &only, &columns, Some(own)).await? {
            read_known(&batch, &mut all)?;
        }
    }
    Ok(all)
}
