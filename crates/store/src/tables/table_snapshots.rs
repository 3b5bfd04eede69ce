//! Snapshots of the tables of a store: the newest ones, or those of a point in history.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, OnceLock, PoisonError};

use arrow::datatypes::Int64Type;

use crate::log::{Entry, Log, Proofs, Version, stale_error};
use crate::settings::verify_settings::Verify;
use crate::snapshot::at::{AsOf, At};
use crate::snapshot::prefetched_snapshots::PrefetchedSnapshots;
use crate::snapshot::snapshot_cache::SnapshotCache;
use crate::{Snapshot, Store};
use tsql_error::{Error, Result};
use tsql_schema::{self as schema, column};

/// Name of the ingest log, which lists the files of all rows and is written after them.
const INGEST_LOG: &str = "sources";

impl Store {
    /// Returns the store at a point in history, read only. All tables are as they were then, as far as their logs reach
    /// back and `vacuum` has kept their files.
    ///
    /// For a table version, the point is the time at which it was complete: that table has exactly this version, and
    /// the ingest log has its files. The other tables are as they were at that entry of the ingest log, and at least as
    /// new as the writer of the version saw them. So all references of its rows resolve, independent of clocks.
    ///
    /// # Errors
    /// [`Error::NoVersion`] for a version that a log does not have (any more) and for a time before the first version,
    /// [`Error::Unknown`] for an unknown tag, and failures of the storage.
    pub async fn at(&self, at: &At) -> Result<Self> {
        let moment = match at {
            At::Time(at_ms) => {
                self.check_not_before_first(*at_ms).await?;
                return Ok(self.at_time(*at_ms));
            }
            At::Tag(name) => AsOf {
                exactly: self.tag(name).await?.versions,
                ..AsOf::default()
            },
            At::Versions(versions) => AsOf {
                exactly: versions.clone(),
                ..AsOf::default()
            },
            At::Version { table, version } => self.as_of_version(table, *version).await?,
        };
        Ok(self.as_of(moment))
    }

    /// Returns the store at a time, in milliseconds since 1970. Before its first version, it has no rows.
    #[must_use]
    pub fn at_time(&self, at_ms: i64) -> Self {
        self.as_of(AsOf {
            at_ms: Some(at_ms),
            ..AsOf::default()
        })
    }

    fn as_of(&self, moment: AsOf) -> Self {
        Self {
            at: Some(Arc::new(moment)),
            first: PrefetchedSnapshots::default(),
            shelf: Arc::default(),
            ..self.clone()
        }
    }

    /// Rejects a time before the first version of all tables. The first version is unknown if a log was cleaned up, or
    /// if there is none: then each time is accepted.
    async fn check_not_before_first(&self, at_ms: i64) -> Result<()> {
        let tables = schema::tables()?.iter();
        let entries = tables.map(async |table| {
            let log = Log::new(self.location(), table)?;
            Ok::<_, Error>((table.name.as_str(), log.entry(0).await?))
        });
        let entries = futures::future::try_join_all(entries).await?;
        let mut first: Option<(&str, i64)> = None;
        for (table, entry) in &entries {
            match entry {
                Some(entry) if entry.at_ms <= at_ms => return Ok(()),
                Some(entry) if first.is_none_or(|(_, at_ms)| entry.at_ms < at_ms) => {
                    first = Some((table, entry.at_ms));
                }
                _ => {}
            }
        }
        let Some((table, first_ms)) = first else {
            return Ok(());
        };
        for (table, _) in entries.iter().filter(|(_, entry)| entry.is_none()) {
            if self.snapshot(table).await?.is_some() {
                return Ok(());
            }
        }
        let time = |ms: i64| {
            let time = chrono::DateTime::from_timestamp_millis(ms);
            time.map_or_else(
                || format!("{ms} ms since 1970"),
                |time| time.to_rfc3339_opts(chrono::SecondsFormat::Millis, true),
            )
        };
        Err(Error::NoVersion(format!(
            "the store has no version at {}, the first is {table}@0 at {}\nhint: `tsql history` lists the versions",
            time(at_ms),
            time(first_ms)
        )))
    }

    /// Returns the point in history at which this version of a table was complete.
    async fn as_of_version(&self, table: &str, version: u64) -> Result<AsOf> {
        let log = Log::new(self.location(), schema::table(table)?)?;
        let entry = log.entry(version).await?.ok_or_else(|| {
            Error::NoVersion(format!(
                "the log of {table} has no version {version}\nhint: `tsql history` lists the versions"
            ))
        })?;
        let mut moment = AsOf {
            at_ms: Some(entry.at_ms),
            exactly: BTreeMap::from([(table.to_owned(), version)]),
            at_least: entry.seen,
        };
        if let Some((ledger, entry)) = self
            .ingest_log_version(&entry.transactions, entry.at_ms)
            .await?
        {
            moment.at_ms = moment.at_ms.max(Some(entry.at_ms));
            moment.exactly.insert(INGEST_LOG.to_owned(), ledger);
            for (table, seen) in entry.seen {
                let least = moment.at_least.entry(table).or_default();
                *least = seen.max(*least);
            }
        }
        Ok(moment)
    }

    /// Returns the first version of the ingest log that has all files of a commit at `at_ms`, with its commit. `None`
    /// if the commit has no files, or no version has them. The time is only the start of the search.
    async fn ingest_log_version(
        &self,
        transactions: &[(String, i64)],
        at_ms: i64,
    ) -> Result<Option<(u64, Entry)>> {
        let wanted = transactions.iter().filter_map(|(application, end)| {
            let source = u64::from_str_radix(application.strip_prefix("source:")?, 16);
            Some((source.ok()?.cast_signed(), *end))
        });
        let wanted: Vec<(i64, i64)> = wanted.collect();
        let log = Log::new(self.location(), schema::table(INGEST_LOG)?)?;
        let Some(newest) = log.snapshot().await?.filter(|_| !wanted.is_empty()) else {
            return Ok(None);
        };
        let then = log.snapshot_at(at_ms).await?;
        let newest = newest.version();
        // Most likely it is the next version. Otherwise it is between the previous attempt and this one.
        let (mut low, mut high, mut step) = (0, then.map_or(0, |then| then.version()), 1);
        while !self
            .has_files(&log.snapshot_at_version(high).await?, &wanted)
            .await?
        {
            if high == newest {
                return Ok(None);
            }
            low = high + 1;
            high = newest.min(high + step);
            step *= 2;
        }
        while low < high {
            let middle = low + (high - low) / 2;
            if self
                .has_files(&log.snapshot_at_version(middle).await?, &wanted)
                .await?
            {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        Ok(log.entry(high).await?.map(|entry| (high, entry)))
    }

    /// Returns whether this version of the ingest log has all these sources, up to their ends.
    async fn has_files(&self, ledger: &Snapshot, wanted: &[(i64, i64)]) -> Result<bool> {
        let mut ends: HashMap<i64, i64> = HashMap::new();
        let columns = ["source_id", "end_byte"];
        for batch in self.read(INGEST_LOG, ledger, &columns, None).await? {
            let sources = column::numbers::<Int64Type>(&batch, "source_id")?;
            let segments = column::numbers::<Int64Type>(&batch, "end_byte")?;
            for (source, end) in sources.values().iter().zip(segments.values()) {
                let last = ends.entry(*source).or_insert(*end);
                *last = (*last).max(*end);
            }
        }
        let mut wanted = wanted.iter();
        Ok(wanted.all(|(source, end)| ends.get(source).is_some_and(|known| known >= end)))
    }

    /// Returns all versions of all tables, by table, newest first.
    ///
    /// # Errors
    /// [`Error::Storage`] or [`Error::Log`] if a log cannot be read.
    pub async fn history(&self) -> Result<Vec<Version>> {
        let mut history = Vec::new();
        for table in schema::tables()? {
            let log = Log::new(&self.location, table)?;
            history.extend(explain_error(&log, log.history().await).await?);
        }
        Ok(history)
    }

    /// Returns the cache of table providers for its versions.
    pub fn snapshot_cache(&self) -> &SnapshotCache {
        &self.shelf
    }

    /// Checks that the store can be changed.
    ///
    /// # Errors
    /// [`Error::ReadOnly`] for a store at a point in history.
    pub fn check_writable(&self) -> Result<()> {
        if self.at.is_none() {
            return Ok(());
        }
        Err(Error::ReadOnly)
    }

    /// Returns the snapshot of a table that this store shows, by default the newest one.
    /// `None` if the table did not exist.
    pub async fn snapshot(&self, table: &str) -> Result<Option<Snapshot>> {
        if let Some(moment) = &self.at {
            let log = Log::new(self.location(), schema::table(table)?)?;
            if let Some(version) = moment.exactly.get(table) {
                let then = explain_error(&log, log.snapshot_at_version(*version).await).await;
                return then.map(Some);
            }
            let Some(at_ms) = moment.at_ms else {
                return Ok(None);
            };
            let then = explain_error(&log, log.snapshot_at(at_ms).await).await?;
            let version = then.as_ref().map(Snapshot::version);
            return match moment.at_least.get(table) {
                Some(least) if version < Some(*least) => {
                    log.snapshot_at_version(*least).await.map(Some)
                }
                _ => Ok(then),
            };
        }
        // Proofs are read before the log, which then has all proven versions.
        self.proofs();
        let known = self.cached_snapshot(table);
        let version = known.as_ref().map(Snapshot::version);
        if self.location().is_newest(table, version) {
            self.check_proof(table, known.as_ref())?;
            return Ok(known);
        }
        let log = Log::new(self.location(), schema::table(table)?)?;
        let newest = async || match self.cached_snapshot(table) {
            Some(known) => known.newest().await.map(Some),
            None => log.snapshot().await,
        };
        let newest = newest().await?;
        self.check_proof(table, newest.as_ref())?;
        if let Some(newest) = &newest {
            self.remember_snapshot(table, newest);
        }
        Ok(newest)
    }

    /// Checks a version against the proofs.
    ///
    /// # Errors
    /// If something outside the log of a table proves a newer version.
    fn check_proof(&self, table: &str, newest: Option<&Snapshot>) -> Result<()> {
        match self.proofs().get(table) {
            Some(proof) if newest.map(Snapshot::version) < Some(proof.version) => {
                Err(stale_error(table, proof))
            }
            _ => Ok(()),
        }
    }

    /// Returns the proven versions of all tables, as of the first read of the store.
    fn proofs(&self) -> &Proofs {
        self.proofs.get_or_init(|| {
            let directory = self.location().local_directory();
            let is_wanted = !matches!(Verify::from_env(), Ok(Verify::Never));
            let directory = directory.filter(|_| is_wanted);
            directory
                .map(Proofs::from_newest_entries)
                .unwrap_or_default()
        })
    }

    /// Returns the same store without proofs, for repairs.
    pub fn without_proofs(&self) -> Self {
        Self {
            proofs: Arc::new(OnceLock::from(Proofs::default())),
            snapshots: Arc::default(),
            first: PrefetchedSnapshots::default(),
            shelf: Arc::default(),
            ..self.clone()
        }
    }

    /// Reports a message, if there is a callback and a message.
    pub(crate) fn report(&self, text: Option<String>) {
        if let Some(text) = text {
            self.queues.report(&text);
        }
    }

    /// Returns this version of a table.
    ///
    /// # Errors
    /// [`Error::Log`] if the log does not have it (any more).
    pub async fn snapshot_at_version(&self, table: &str, version: u64) -> Result<Snapshot> {
        if let Some(newest) = self.snapshot(table).await?
            && newest.version() == version
        {
            return Ok(newest);
        }
        Log::new(self.location(), schema::table(table)?)?
            .snapshot_at_version(version)
            .await
    }

    /// Returns the versions of the tables that were read or written, except `table`.
    pub(crate) fn seen_versions(&self, table: &str) -> BTreeMap<String, u64> {
        let snapshots = self.snapshots.lock();
        let snapshots = snapshots.unwrap_or_else(PoisonError::into_inner);
        let others = snapshots.iter().filter(|(name, _)| *name != table);
        others
            .map(|(name, snapshot)| (name.clone(), snapshot.version()))
            .collect()
    }

    /// Returns the cached snapshot of a table. There may be newer ones.
    pub(crate) fn cached_snapshot(&self, table: &str) -> Option<Snapshot> {
        let snapshots = self.snapshots.lock();
        let snapshots = snapshots.unwrap_or_else(PoisonError::into_inner);
        snapshots.get(table).cloned()
    }

    /// Caches a snapshot of a table, so only later entries are read.
    pub(crate) fn remember_snapshot(&self, table: &str, snapshot: &Snapshot) {
        let snapshots = self.snapshots.lock();
        let mut snapshots = snapshots.unwrap_or_else(PoisonError::into_inner);
        let known = snapshots.get(table).map(Snapshot::version);
        if known.is_none_or(|known| known < snapshot.version()) {
            snapshots.insert(table.to_owned(), snapshot.clone());
        }
    }
}

/// Replaces an error by that of the damaged log file that caused it.
async fn explain_error<T>(log: &Log, read: Result<T>) -> Result<T> {
    match read {
        Err(error) => Err(log.explain(error).await),
        read => read,
    }
}
