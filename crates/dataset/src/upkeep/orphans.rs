//! Orphaned rows: rows of interrupted runs that are in a table but not in the ingest log.
//!
//! A later run over the same file replaces them. If the file is never ingested again, they can be removed.
//! Queries do not return them (`acknowledged.rs` of the store crate).
//!
//! Before their removal, the rows are claimed in the transaction log of the ingest log, as by a run that
//! replaces them. If the original writer continues after all, it finds the claim and starts again, so it
//! loses nothing. A running stream would fail, however. Therefore only rows older than a [`LEASE`] are
//! removed.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use arrow::array::AsArray as _;
use arrow::datatypes::Int64Type;
use datafusion::functions_aggregate::expr_fn::count;
use datafusion::prelude::{cast, col, lit};
use tsql_adapters::ingest_log::{IngestLog, transaction_app_id};
use tsql_error::{Error, Result};
use tsql_schema::column;
use tsql_store::{Change, RewriteCache, Snapshot, Store, UnlistedSource};

use crate::ingest::commits::claim_app_id;
use crate::ingest::orphans::{OrphanRows, TABLES};

/// Maximum time between the rows of a run and their entry in the ingest log, before it has to start again.
const LEASE: Duration = Duration::from_mins(15);

/// Rows of a source that are missing from the ingest log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OrphanedRows {
    pub(crate) table: &'static str,
    pub(crate) source_id: i64,
    /// Name of the source, if the ingest log has its beginning or an alias.
    pub(crate) name: Option<String>,
    /// Dataset and platform of its records.
    pub(crate) place: Option<(String, String)>,
    pub(crate) rows: u64,
}

impl OrphanedRows {
    /// Describes the rows for users.
    pub(crate) fn describe(&self) -> String {
        let place = self.place.as_ref();
        let place = place.map(|(dataset, platform)| format!(" ({dataset}, platform {platform})"));
        let place = place.unwrap_or_default();
        let whose = match &self.name {
            Some(name) => format!("of {name}{place}"),
            None => format!("of source {}{place}, whose name is unknown", self.source_id),
        };
        format!(
            "{} rows {whose} are not in the ingest log: a run was interrupted",
            self.rows
        )
    }
}

/// Finds rows of `records`, `runs` and `lines` that are missing from the ingest log, by source. Rows of
/// a running ingest are briefly included.
pub(crate) async fn find_orphaned(store: &Store) -> Result<Vec<OrphanedRows>> {
    Ok(find_with_offsets(store)
        .await?
        .into_iter()
        .map(|(one, _)| one)
        .collect())
}

/// Removes rows that are missing from the ingest log and at least `least_age` old. Returns the removed
/// rows.
///
/// # Errors
/// [`Error::Argument`] for an age that a running ingest may have, and failures of the storage.
pub(crate) async fn remove_orphaned(
    store: &Store,
    least_age: Duration,
) -> Result<Vec<OrphanedRows>> {
    if least_age < LEASE {
        let least = LEASE.as_secs() / 60;
        let reason = format!("rows of the last {least} minutes may belong to a running ingest");
        return Err(Error::Argument {
            name: "least_age",
            reason,
        });
    }
    remove_orphaned_since(store, least_age).await
}

async fn remove_orphaned_since(store: &Store, least_age: Duration) -> Result<Vec<OrphanedRows>> {
    let age_ms = i64::try_from(least_age.as_millis()).unwrap_or(i64::MAX);
    let then_ms = chrono::Utc::now().timestamp_millis().saturating_sub(age_ms);
    let then = store.at_time(then_ms);
    let found = find_with_offsets(store).await?;
    let mut old_files = BTreeMap::new();
    let mut young = BTreeSet::new();
    for table in TABLES {
        let old = then.snapshot(table).await?;
        let old = old.iter().flat_map(|old| old.files().iter());
        let old: BTreeSet<String> = old.map(|file| file.path.clone()).collect();
        if let Some(now) = store.snapshot(table).await? {
            let files = now.files().iter();
            let new = files.filter(|file| !old.contains(&file.path)).cloned();
            let rows = select_rows(&found, table);
            let new = count_rows(store, table, &now.with_files(new.collect()), &rows).await?;
            young.extend(new.into_keys());
        }
        old_files.insert(table, old);
    }
    // End bytes according to the ingest log, so that a resumed run does not consider itself complete.
    let ledger = IngestLog::load(store).await?;
    let transactions = found.iter().map(|(one, _)| {
        let source = ledger.source_by_id(one.source_id);
        let end = source.map_or(0, |source| source.end_byte.cast_signed());
        (transaction_app_id(one.source_id), end)
    });
    let transactions: BTreeMap<String, i64> = transactions.collect();
    let transactions: Vec<(String, i64)> = transactions.into_iter().collect();
    let found: Vec<_> = found
        .into_iter()
        .filter(|(one, _)| !young.contains(&one.source_id))
        .collect();
    if found.is_empty() || !claim(store, &found).await? {
        return Ok(Vec::new());
    }
    for table in TABLES {
        let rows = select_rows(&found, table);
        if rows.is_empty() {
            continue;
        }
        let (filter, mut rests) = (rows.filter(table), RewriteCache::default());
        let old = old_files.get(table);
        store
            .commit(table, "mend", async |snapshot: &Snapshot| {
                let files = snapshot.files().iter();
                let files = files.filter(|file| old.is_some_and(|old| old.contains(&file.path)));
                let old = snapshot.with_files(files.cloned().collect());
                let (rows, mut change) =
                    store.plan_delete(table, &old, &filter, &mut rests).await?;
                change.transactions.clone_from(&transactions);
                Ok((rows > 0).then_some(change))
            })
            .await?;
    }
    Ok(found.into_iter().map(|(one, _)| one).collect())
}

/// Claims rows in the transaction log of the ingest log. Returns false if the ingest log contains some
/// of them by now.
async fn claim(store: &Store, found: &[(OrphanedRows, i64)]) -> Result<bool> {
    let mut claimed = false;
    store
        .commit("sources", "mend", async |snapshot: &Snapshot| {
            let ledger = IngestLog::load_version(store, snapshot).await?;
            claimed = found
                .iter()
                .all(|(one, from)| ledger.first_unknown(one.table, one.source_id) == *from);
            let version = snapshot.version().cast_signed() + 1;
            let ids: BTreeSet<i64> = found.iter().map(|(one, _)| one.source_id).collect();
            Ok(claimed.then(|| Change {
                transactions: ids
                    .into_iter()
                    .map(|id| (claim_app_id(id), version))
                    .collect(),
                ..Change::default()
            }))
        })
        .await?;
    Ok(claimed)
}

fn select_rows(found: &[(OrphanedRows, i64)], table: &str) -> OrphanRows {
    let mut rows = OrphanRows::default();
    for (one, from) in found {
        if one.table == table {
            rows.add(one.source_id, *from);
        }
    }
    rows
}

/// Finds all rows that are missing from the ingest log, with their first positions.
async fn find_with_offsets(store: &Store) -> Result<Vec<(OrphanedRows, i64)>> {
    let mut snapshots = Vec::new();
    for table in TABLES {
        snapshots.extend(
            store
                .snapshot(table)
                .await?
                .map(|snapshot| (table, snapshot)),
        );
    }
    // Loaded after the tables, so it includes everything that runs have written since.
    let ledger = IngestLog::load(store).await?;
    let mut found = Vec::new();
    for (table, snapshot) in snapshots {
        let stored: u64 = snapshot
            .files()
            .iter()
            .map(|file| file.stats.num_records)
            .sum();
        let known = match table {
            "records" => {
                let retracted = store.row_count("retracted").await?;
                let rows = ledger.record_count.saturating_sub(retracted);
                Some((rows, &ledger.records_of))
            }
            "lines" => Some((ledger.other_count, &ledger.others_of)),
            _ => None,
        };
        if known.is_some_and(|(rows, _)| rows == stored) {
            continue;
        }
        let mut suspects = OrphanRows::default();
        let mut places = BTreeMap::new();
        for (id, place, rows) in count_by_source(store, table, &snapshot).await? {
            let in_ledger = known.and_then(|(_, of)| of.get(&id)).copied().unwrap_or(0);
            if rows != in_ledger || ledger.first_unknown(table, id) == 0 {
                suspects.add(id, ledger.first_unknown(table, id));
                places.insert(id, place);
            }
        }
        for (id, rows) in count_rows(store, table, &snapshot, &suspects).await? {
            let name = ledger.source_by_id(id).map(|source| source.name.clone());
            let place = places.remove(&id).flatten();
            let one = OrphanedRows {
                table,
                source_id: id,
                name,
                place,
                rows,
            };
            found.push((one, ledger.first_unknown(table, id)));
        }
    }
    if found.iter().any(|(one, _)| one.name.is_none()) {
        let lost = lost_sources(store).await?;
        for (one, _) in found.iter_mut().filter(|(one, _)| one.name.is_none()) {
            let source = lost.iter().find(|lost| lost.source_id == one.source_id);
            one.name = source.map(|source| source.path.clone());
        }
    }
    Ok(found)
}

/// Finds the sources in unlisted data files of the ingest log that it does not have under any entry.
pub(crate) async fn lost_sources(store: &Store) -> Result<Vec<UnlistedSource>> {
    let ledger = IngestLog::load(store).await?;
    let mut found = store.unlisted_sources().await?;
    found.retain(|source| ledger.source_by_id(source.source_id).is_none());
    Ok(found)
}

type SourceCount = (i64, Option<(String, String)>, u64);

/// Row count of each source, with its dataset and platform.
async fn count_by_source(store: &Store, table: &str, at: &Snapshot) -> Result<Vec<SourceCount>> {
    let placed = table == "records";
    let mut groups = vec![col("source_id")];
    if placed {
        groups.extend(["dataset", "platform"].map(col));
    }
    let frame = store.frame(table, at)?;
    let frame = frame.aggregate(groups, vec![count(lit(1_i64)).alias("rows")]);
    let batches = frame
        .map_err(Error::Query)?
        .collect()
        .await
        .map_err(Error::Query)?;
    let mut found = Vec::new();
    for batch in batches {
        let ids = column::numbers::<Int64Type>(&batch, "source_id")?;
        let rows = column::numbers::<Int64Type>(&batch, "rows")?;
        for row in 0..batch.num_rows() {
            let text = |name| Ok::<_, Error>(column::text(&batch, name)?.value(row).to_owned());
            let place = placed.then(|| Ok::<_, Error>((text("dataset")?, text("platform")?)));
            let rows = rows.value(row).unsigned_abs();
            found.push((ids.value(row), place.transpose()?, rows));
        }
    }
    Ok(found)
}

/// Number of these rows per source.
async fn count_rows(
    store: &Store,
    table: &str,
    at: &Snapshot,
    rows: &OrphanRows,
) -> Result<BTreeMap<i64, u64>> {
    let mut found = BTreeMap::new();
    if rows.is_empty() || at.files().is_empty() {
        return Ok(found);
    }
    let frame = store.frame(table, at)?;
    let place = cast(
        col(OrphanRows::position_column(table)),
        arrow::datatypes::DataType::Int64,
    );
    let frame = frame.select(vec![col("source_id"), place.alias("place")]);
    let frame = frame.and_then(|frame| frame.filter(rows.source_filter()));
    let mut batches = frame
        .map_err(Error::Query)?
        .collect()
        .await
        .map_err(Error::Query)?;
    for batch in batches.drain(..) {
        let ids = column::numbers::<Int64Type>(&batch, "source_id")?;
        let places = batch.column(1).as_primitive::<Int64Type>();
        for (id, place) in ids.values().iter().zip(places.values()) {
            if rows.contains(*id, *place) {
                *found.entry(*id).or_default() += 1;
            }
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use crate::check::check;
    use crate::ingest::ingest;
    use std::path::Path;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
    use tsql_session::open_session;

    use super::*;
    use crate::ingest::{Event, IngestOptions};

    /// Lines of measured records.
    fn lines(first: u32, count: u32) -> String {
        let line = |number| {
            format!(
                "{{\"workload_key\": [\"mm\", 8], \"steps\": {{\"TILE\": {number}}}, \"repeats_ns\": [{number}.5, 9]}}\n"
            )
        };
        (first..first + count).map(line).collect()
    }

    async fn ingest_file(store: &Store, file: &Path, progress: crate::ingest::Progress) {
        let options = IngestOptions {
            platform: Some("p".to_owned()),
            progress,
            ..IngestOptions::default()
        };
        let input = file.to_str().unwrap().to_owned();
        let report = ingest(store, &[input], &options).await.unwrap();
        assert!(report.failed_files.is_empty(), "{report:?}");
    }

    /// Removes the last commit from a table's log.
    fn remove_last_commit(table: &Path) {
        let entries = |folder: &Path| std::fs::read_dir(folder).unwrap().flatten();
        let log = entries(table)
            .map(|entry| entry.path())
            .find(|path| path.is_dir());
        let last = entries(&log.unwrap()).map(|entry| entry.path()).max();
        std::fs::remove_file(last.unwrap()).unwrap();
    }

    /// A store with `a.jsonl`, and with rows of `b.jsonl` that are missing from its ingest log.
    async fn interrupted_store(folder: &Path) -> Store {
        let location = folder.join("s");
        let location = location.to_str().unwrap();
        let store = Store::create(location).await.unwrap();
        std::fs::write(folder.join("a.jsonl"), lines(1, 5)).unwrap();
        std::fs::write(folder.join("b.jsonl"), lines(100, 7) + "no record\n").unwrap();
        for file in ["a.jsonl", "b.jsonl"] {
            ingest_file(&store, &folder.join(file), Arc::new(|_| {})).await;
        }
        remove_last_commit(&folder.join("s/sources"));
        Store::open(location).await.unwrap()
    }

    async fn records(store: &Store) -> u64 {
        let records = store.snapshot("records").await.unwrap().unwrap();
        records
            .files()
            .iter()
            .map(|file| file.stats.num_records)
            .sum()
    }

    #[tokio::test]
    async fn rows_without_an_ingest_log_entry_are_reported_and_removed() {
        let folder = tempfile::tempdir().unwrap();
        let store = interrupted_store(folder.path()).await;
        let found = find_orphaned(&store).await.unwrap();
        let told: Vec<_> = found.iter().map(|one| (one.table, one.rows)).collect();
        assert_eq!(told, [("records", 7), ("lines", 1)]);
        let place = ("measured".to_owned(), "p".to_owned());
        assert_eq!(found[0].place, Some(place));
        // The data file of the lost entry has the name.
        let described = found[0].describe();
        assert!(described.starts_with("7 rows of /"), "{described}");
        assert!(
            described.contains("b.jsonl (measured, platform p)"),
            "{described}"
        );
        // Queries do not return them, so the check succeeds.
        let checked = check(&store).await.unwrap();
        assert_eq!(checked.damage, []);
        assert_eq!(checked.repairs[0].count, 2);
        let context = open_session(&store).await.unwrap();
        let counted = context.sql("SELECT line FROM records").await.unwrap();
        assert_eq!(counted.count().await.unwrap(), 5);
        // They are recent and could belong to a running ingest.
        let hour = Duration::from_hours(1);
        assert_eq!(remove_orphaned(&store, hour).await.unwrap(), []);
        assert!(
            remove_orphaned(&store, Duration::from_mins(1))
                .await
                .is_err()
        );
        assert_eq!(records(&store).await, 12);
        let gone = remove_orphaned_since(&store, Duration::ZERO).await.unwrap();
        assert_eq!(gone, found);
        assert_eq!(records(&store).await, 5);
        assert_eq!(check(&store).await.unwrap().damage, []);
        assert_eq!(
            remove_orphaned_since(&store, Duration::ZERO).await.unwrap(),
            []
        );
        // The file can be ingested as if there had been no interruption.
        ingest_file(&store, &folder.path().join("b.jsonl"), Arc::new(|_| {})).await;
        assert_eq!(records(&store).await, 12);
        assert_eq!(check(&store).await.unwrap().damage, []);
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_resumed_run_stores_its_rows_again() {
        let folder = tempfile::tempdir().unwrap();
        let store = interrupted_store(folder.path()).await;
        let (other, runtime) = (store.clone(), tokio::runtime::Handle::current());
        let done = Arc::new(AtomicBool::new(false));
        let hears = Arc::clone(&done);
        // The run has found the rows and starts reading their file.
        let progress = move |event: Event<'_>| {
            if matches!(event, Event::File(_)) && !hears.swap(true, Ordering::Relaxed) {
                let gone = runtime.block_on(remove_orphaned_since(&other, Duration::ZERO));
                assert_eq!(gone.unwrap().len(), 2);
            }
        };
        ingest_file(&store, &folder.path().join("b.jsonl"), Arc::new(progress)).await;
        assert!(done.load(Ordering::Relaxed));
        assert_eq!(records(&store).await, 12);
        assert_eq!(check(&store).await.unwrap().damage, []);
    }

    #[tokio::test]
    async fn only_new_lines_of_a_grown_file_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        let store = interrupted_store(folder.path()).await;
        let (a, b) = (folder.path().join("a.jsonl"), folder.path().join("b.jsonl"));
        ingest_file(&store, &b, Arc::new(|_| {})).await;
        std::fs::write(&a, lines(1, 8)).unwrap();
        ingest_file(&store, &a, Arc::new(|_| {})).await;
        let location = store.location().local_directory().unwrap().to_owned();
        remove_last_commit(&location.join("sources"));
        let store = Store::open(location.to_str().unwrap()).await.unwrap();
        let gone = remove_orphaned_since(&store, Duration::ZERO).await.unwrap();
        let gone: Vec<_> = gone
            .iter()
            .map(|one| (one.name.as_deref(), one.rows))
            .collect();
        assert_eq!(gone, [(Some("a.jsonl"), 3)]);
        assert_eq!(records(&store).await, 12);
        assert_eq!(check(&store).await.unwrap().damage, []);
    }

    /// Rows that are never ingested again cost later runs nothing: their data file is not read.
    #[tokio::test]
    async fn later_runs_do_not_look_at_them() {
        let folder = tempfile::tempdir().unwrap();
        let store = interrupted_store(folder.path()).await;
        let records = store.snapshot("records").await.unwrap().unwrap();
        for file in records.files().iter() {
            let path = folder.path().join("s/records").join(&file.path);
            std::fs::remove_file(path).unwrap();
        }
        let c = folder.path().join("c.jsonl");
        std::fs::write(&c, lines(200, 2)).unwrap();
        ingest_file(&store, &c, Arc::new(|_| {})).await;
    }
}
