//! The versions of tables that a store shows: the newest ones, or those of a moment.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, OnceLock, PoisonError};

use arrow::datatypes::Int64Type;

use crate::log::{Entry, Log, Proofs, Version, older};
use crate::settings::verify_settings::Verify;
use crate::snapshot::at::{At, Moment};
use crate::snapshot::prefetched_snapshots::First;
use crate::snapshot::snapshot_cache::Shelf;
use crate::{Snapshot, Store};
use tsql_error::{Error, Result};
use tsql_schema::{self as schema, column};

/// The table that names the files of all rows, written after these.
const LEDGER: &str = "sources";

impl Store {
    /// The store as it was at this moment, for looking only. All tables are as they were then, as far
    /// back as their logs reach and `vacuum` has left their files.
    ///
    /// The moment of a version is the one when it was complete: that table is exactly this version, the
    /// ledger has the files that it brought, and the other tables are as they were when the ledger had
    /// them, at least as new as the writer of the version saw them. So its rows find all that they
    /// refer to, whatever clocks say.
    ///
    /// # Errors
    /// [`Error::NoVersion`] for a version that a log does not have (any more), [`Error::Unknown`] for a tag that is none, and
    /// failures of the storage.
    pub async fn at(&self, at: &At) -> Result<Self> {
        let moment = match at {
            At::Time(at_ms) => Moment {
                at_ms: Some(*at_ms),
                ..Moment::default()
            },
            At::Tag(name) => Moment {
                exactly: self.tag(name).await?.versions,
                ..Moment::default()
            },
            At::Versions(versions) => Moment {
                exactly: versions.clone(),
                ..Moment::default()
            },
            At::Version { table, version } => self.moment(table, *version).await?,
        };
        Ok(Self {
            at: Some(Arc::new(moment)),
            first: First::default(),
            shelf: Arc::default(),
            ..self.clone()
        })
    }

    /// When this version of a table was complete.
    async fn moment(&self, table: &str, version: u64) -> Result<Moment> {
        let log = Log::new(self.location(), schema::table(table)?)?;
        let entry = log.entry(version).await?.ok_or_else(|| {
            Error::NoVersion(format!(
                "the log of {table} has no version {version}\nhint: `tsql history` lists what there is"
            ))
        })?;
        let mut moment = Moment {
            at_ms: Some(entry.at_ms),
            exactly: BTreeMap::from([(table.to_owned(), version)]),
            at_least: entry.seen,
        };
        if let Some((ledger, entry)) = self.ledger_of(&entry.transactions, entry.at_ms).await? {
            moment.at_ms = moment.at_ms.max(Some(entry.at_ms));
            moment.exactly.insert(LEDGER.to_owned(), ledger);
            for (table, seen) in entry.seen {
                let least = moment.at_least.entry(table).or_default();
                *least = seen.max(*least);
            }
        }
        Ok(moment)
    }

    /// The first version of the ledger that has all files that a commit at `at_ms` brought rows of, and its
    /// commit; `None` where there are none, or it never had. The time only says where to look first.
    async fn ledger_of(
        &self,
        transactions: &[(String, i64)],
        at_ms: i64,
    ) -> Result<Option<(u64, Entry)>> {
        let wanted = transactions.iter().filter_map(|(application, end)| {
            let source = u64::from_str_radix(application.strip_prefix("source:")?, 16);
            Some((source.ok()?.cast_signed(), *end))
        });
        let wanted: Vec<(i64, i64)> = wanted.collect();
        let log = Log::new(self.location(), schema::table(LEDGER)?)?;
        let Some(newest) = log.snapshot().await?.filter(|_| !wanted.is_empty()) else {
            return Ok(None);
        };
        let then = log.snapshot_at(at_ms).await?;
        let newest = newest.version();
        // Most likely it is the next one; else it lies between the last try and this one.
        let (mut low, mut high, mut step) = (0, then.map_or(0, |then| then.version()), 1);
        while !self
            .has_files(&log.snapshot_of(high).await?, &wanted)
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
                .has_files(&log.snapshot_of(middle).await?, &wanted)
                .await?
            {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        Ok(log.entry(high).await?.map(|entry| (high, entry)))
    }

    /// Does this ledger have all these sources, up to their ends?
    async fn has_files(&self, ledger: &Snapshot, wanted: &[(i64, i64)]) -> Result<bool> {
        let mut ends: HashMap<i64, i64> = HashMap::new();
        let columns = ["source_id", "end_byte"];
        for batch in self.read(LEDGER, ledger, &columns, None).await? {
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

    /// All versions of all tables, by table, the newest first.
    ///
    /// # Errors
    /// [`Error::Storage`] or [`Error::Log`] where a log cannot be read.
    pub async fn history(&self) -> Result<Vec<Version>> {
        let mut history = Vec::new();
        for table in schema::tables()? {
            let log = Log::new(&self.location, table)?;
            history.extend(explained(&log, log.history().await).await?);
        }
        Ok(history)
    }

    /// What sessions have made of the versions that it shows.
    pub fn shelf(&self) -> &Shelf {
        &self.shelf
    }

    /// # Errors
    /// [`Error::ReadOnly`] for a store as it was.
    pub fn changeable(&self) -> Result<()> {
        if self.at.is_none() {
            return Ok(());
        }
        Err(Error::ReadOnly)
    }

    /// The version of a table that this store shows, the newest one unless it is a store as it was;
    /// `None` where there was none yet.
    pub async fn snapshot(&self, table: &str) -> Result<Option<Snapshot>> {
        if let Some(moment) = &self.at {
            let log = Log::new(self.location(), schema::table(table)?)?;
            if let Some(version) = moment.exactly.get(table) {
                let then = explained(&log, log.snapshot_of(*version).await).await;
                return then.map(Some);
            }
            let Some(at_ms) = moment.at_ms else {
                return Ok(None);
            };
            let then = explained(&log, log.snapshot_at(at_ms).await).await?;
            let version = then.as_ref().map(Snapshot::version);
            return match moment.at_least.get(table) {
                Some(least) if version < Some(*least) => log.snapshot_of(*least).await.map(Some),
                _ => Ok(then),
            };
        }
        // Before the log: it has what was proven by then.
        self.proofs();
        let known = self.cached_snapshot(table);
        let version = known.as_ref().map(Snapshot::version);
        if self.location().is_newest(table, version) {
            self.prove(table, known.as_ref())?;
            return Ok(known);
        }
        let log = Log::new(self.location(), schema::table(table)?)?;
        let newest = async || match self.cached_snapshot(table) {
            Some(known) => known.newest().await.map(Some),
            None => log.snapshot().await,
        };
        let newest = newest().await?;
        self.prove(table, newest.as_ref())?;
        if let Some(newest) = &newest {
            self.learn(table, newest);
        }
        Ok(newest)
    }

    /// # Errors
    /// Where something outside the log of a table proves a newer version than this one.
    fn prove(&self, table: &str, newest: Option<&Snapshot>) -> Result<()> {
        match self.proofs().get(table) {
            Some(proof) if newest.map(Snapshot::version) < Some(proof.version) => {
                Err(older(table, proof))
            }
            _ => Ok(()),
        }
    }

    /// The versions that its tables prove of each other, as they were when it was first read.
    fn proofs(&self) -> &Proofs {
        self.proofs.get_or_init(|| {
            let directory = self.location().local_directory();
            let is_wanted = !matches!(Verify::of_environment(), Ok(Verify::Never));
            let directory = directory.filter(|_| is_wanted);
            directory.map(Proofs::of_newest).unwrap_or_default()
        })
    }

    /// The same store, read without comparing its tables with each other, for whoever repairs it.
    pub fn unproven(&self) -> Self {
        Self {
            proofs: Arc::new(OnceLock::from(Proofs::default())),
            snapshots: Arc::default(),
            first: First::default(),
            shelf: Arc::default(),
            ..self.clone()
        }
    }

    /// Tells a person, if there is one, and something to tell.
    pub(crate) fn tell(&self, text: Option<String>) {
        if let Some(text) = text {
            self.queues.tell(&text);
        }
    }

    /// This version of a table.
    ///
    /// # Errors
    /// [`Error::Log`] where the log has it no more, or not yet.
    pub async fn snapshot_of(&self, table: &str, version: u64) -> Result<Snapshot> {
        if let Some(newest) = self.snapshot(table).await?
            && newest.version() == version
        {
            return Ok(newest);
        }
        Log::new(self.location(), schema::table(table)?)?
            .snapshot_of(version)
            .await
    }

    /// The versions of the tables that were read or written, but of `table`.
    pub(crate) fn seen(&self, table: &str) -> BTreeMap<String, u64> {
        let snapshots = self.snapshots.lock();
        let snapshots = snapshots.unwrap_or_else(PoisonError::into_inner);
        let others = snapshots.iter().filter(|(name, _)| *name != table);
        others
            .map(|(name, snapshot)| (name.clone(), snapshot.version()))
            .collect()
    }

    /// A version of a table that was read before; there may be newer ones.
    pub(crate) fn cached_snapshot(&self, table: &str) -> Option<Snapshot> {
        let snapshots = self.snapshots.lock();
        let snapshots = snapshots.unwrap_or_else(PoisonError::into_inner);
        snapshots.get(table).cloned()
    }

    /// Remembers a version of a table, so that only newer ones need be read.
    pub(crate) fn learn(&self, table: &str, snapshot: &Snapshot) {
        let snapshots = self.snapshots.lock();
        let mut snapshots = snapshots.unwrap_or_else(PoisonError::into_inner);
        let known = snapshots.get(table).map(Snapshot::version);
        if known.is_none_or(|known| known < snapshot.version()) {
            snapshots.insert(table.to_owned(), snapshot.clone());
        }
    }
}

/// What was read of a log, or the damaged file that it could not be read for.
async fn explained<T>(log: &Log, read: Result<T>) -> Result<T> {
    match read {
        Err(error) => Err(log.explain(error).await),
        read => read,
    }
}
