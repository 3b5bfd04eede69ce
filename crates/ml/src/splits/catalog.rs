//! Lists the splits of a store and their parts.

use arrow::array::AsArray as _;
use arrow::compute::cast;
use arrow::datatypes::{DataType, Int64Type};
use datafusion::prelude::{SessionContext, col, lit};
use tsql_dialect::splits::{SplitDefinition, all_definitions, find_definition};
use tsql_error::{Error, Result};
use tsql_schema::column;
use tsql_session::{SessionOptions, open_session_with};
use tsql_store::{RewriteCache, Snapshot, Store};

use super::part_count::PartCount;
use super::scope::Scope;
use super::session::split_session;

/// Name of the table of splits.
pub(super) const SPLITS: &str = "splits";

/// Returns all versions of all splits, by name and version.
///
/// # Errors
/// Failures of the storage.
pub async fn list_splits(store: &Store) -> Result<Vec<SplitDefinition>> {
    all_definitions(&definitions_session(store).await?).await
}

/// Returns a split: `NAME@VERSION`, or `NAME` for its newest version.
///
/// # Errors
/// [`Error::Unknown`] if there is none.
pub async fn find_split(store: &Store, name: &str) -> Result<SplitDefinition> {
    find_definition(&definitions_session(store).await?, name).await
}

/// Counts the records of a split in each part, in the order train, valid, test, none.
///
/// # Errors
/// [`Error::Unknown`] if there is no such split, and failures of the storage.
pub async fn parts_of_split(store: &Store, name: &str) -> Result<Vec<PartCount>> {
    let (_, parts) = load_with_parts(store, name).await?;
    Ok(parts)
}

/// Drops a split: `NAME@VERSION`, or `NAME` with all its versions; returns the number of dropped versions.
/// Version numbers are never reused.
///
/// # Errors
/// [`Error::Unknown`] if there is none; [`Error::ReadOnly`] for a store at an old version.
pub async fn drop_split(store: &Store, name: &str) -> Result<u64> {
    store.check_writable()?;
    let found = find_split(store, name).await?;
    let mut own = col("name").eq(lit(&found.name));
    if name.contains('@') {
        own = own.and(col("version").eq(lit(found.version)));
    }
    let detail = format!("drop split {name}");
    let mut dropped = 0;
    let mut rests = RewriteCache::default();
    store
        .commit(SPLITS, &detail, async |snapshot: &Snapshot| {
            let (rows, mut change) = store
                .plan_delete(SPLITS, snapshot, &own, &mut rests)
                .await?;
            dropped = rows;
            let highest = highest_version(snapshot, &found.name)
                .await?
                .max(found.version);
            change.transactions = vec![(version_counter(&found.name), highest)];
            Ok((rows > 0).then_some(change))
        })
        .await?;
    Ok(dropped)
}

/// Returns the highest version number ever used for this name; 0 if there is none.
pub(super) async fn highest_version(at: &Snapshot, name: &str) -> Result<i64> {
    Ok(at
        .transaction(&version_counter(name))
        .await?
        .unwrap_or_default())
}

/// Returns the application transaction id that counts the versions of a split.
pub(super) fn version_counter(name: &str) -> String {
    format!("tsql split {name}")
}

/// Returns a split with its parts.
pub(super) async fn load_with_parts(
    store: &Store,
    name: &str,
) -> Result<(SplitDefinition, Vec<PartCount>)> {
    let split = find_definition(&definitions_session(store).await?, name).await?;
    let query = split.query.as_deref();
    let context = split_session(store, &[query]).await?;
    let scope = Scope::try_new(&context, query, &[]).await?;
    let parts = count_parts(&scope, &split).await?;
    Ok((split, parts))
}

/// Creates a session with the definitions of splits.
pub(super) async fn definitions_session(store: &Store) -> Result<SessionContext> {
    let options = SessionOptions::default().sql("SELECT name FROM splits");
    open_session_with(store, &options).await
}

/// Returns the SQL call that computes the part of a row.
pub(super) fn split_call(split: &SplitDefinition) -> String {
    format!("split('{}')", split.full_name())
}

/// Counts the records of each part.
pub(super) async fn count_parts(
    scope: &Scope<'_>,
    split: &SplitDefinition,
) -> Result<Vec<PartCount>> {
    let sql = format!(
        "SELECT {} AS part, count(*) AS record_count FROM $rows GROUP BY 1 \
         ORDER BY CASE part WHEN 'train' THEN 1 WHEN 'valid' THEN 2 WHEN 'test' THEN 3 ELSE 4 END",
        split_call(split)
    );
    let mut parts = Vec::new();
    for batch in scope.collect(&sql).await? {
        let names = cast(batch.column(0), &DataType::Utf8View);
        let names = names.map_err(|error| Error::Query(error.into()))?;
        let counts = column::numbers::<Int64Type>(&batch, "record_count")?;
        for (part, count) in names.as_string_view().iter().zip(counts.values()) {
            parts.push(PartCount {
                part: part.map(str::to_owned),
                record_count: count.unsigned_abs(),
            });
        }
    }
    Ok(parts)
}
