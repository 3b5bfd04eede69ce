//! History of a log: its versions, old snapshots, and files that no version needs.

use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet, HashSet};

use deltalake_core::DeltaTable;
use deltalake_core::operations::vacuum::VacuumMode;
use futures::{StreamExt as _, TryStreamExt as _};
use object_store::path::Path;
use object_store::{ObjectMeta, ObjectStoreExt as _};

use super::{Log, Snapshot, log_error};
use crate::Location;
use crate::files::data_file::is_own_path;
use crate::log_files::entries::entry_path;
use tsql_error::{Error, Result};

/// Age from which an unlisted file counts as left over by an interrupted run. No writer takes that long between a file
/// and its commit; a slower one checks its files before the commit.
pub(crate) const UNLISTED_AGE: chrono::Duration = chrono::Duration::hours(1);

/// Number of entries that are read concurrently in the search for a time.
const ENTRIES_AT_ONCE: usize = 32;

/// A version of a table, for display.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Version {
    /// Table.
    pub table: String,
    /// Version, from 0.
    pub version: u64,
    /// Milliseconds since 1970.
    pub at_ms: Option<i64>,
    /// Operation.
    pub operation: String,
    /// Added files, removed files and rows, as stated in the commit.
    pub detail: String,
}

/// Parsed entry of a commit.
#[derive(Clone, Debug, Default)]
pub struct Entry {
    /// Commit time in milliseconds since 1970.
    pub at_ms: i64,
    /// Versions of tables that the writer had read.
    pub seen: BTreeMap<String, u64>,
    /// Application transactions: application id and version.
    pub transactions: Vec<(String, i64)>,
}

/// The parts of a commit action that an [`Entry`] needs.
#[derive(serde::Deserialize)]
#[serde(rename_all = "camelCase")]
struct CommitAction {
    commit_info: Option<CommitInfo>,
    txn: Option<CommitTransaction>,
}

#[derive(serde::Deserialize)]
struct CommitInfo {
    timestamp: Option<i64>,
    #[serde(rename = "tsqlSeen", default)]
    seen: BTreeMap<String, u64>,
}

#[derive(serde::Deserialize)]
#[serde(rename_all = "camelCase")]
struct CommitTransaction {
    app_id: String,
    version: i64,
}

impl Snapshot {
    /// Returns the version of an application's last transaction, however old. `None` if it has none.
    pub async fn transaction(&self, application: &str) -> Result<Option<i64>> {
        let state = self.state.snapshot();
        let store = self.log.log_store.as_ref();
        let version = state.transaction_version(store, application).await;
        version.map_err(|error| log_error(self.log.table, error))
    }

    /// Returns the applications of the commits after the version `since`, up to this one. `None` if the log does not
    /// have all of these commits any more.
    pub async fn applications_since(&self, since: u64) -> Result<Option<HashSet<String>>> {
        let mut named = HashSet::new();
        for version in since + 1..=self.version() {
            let Some(entry) = self.log.entry(version).await? else {
                return Ok(None);
            };
            let names = entry.transactions.into_iter();
            named.extend(names.map(|(application, _)| application));
        }
        Ok(Some(named))
    }
}

impl Log {
    /// Returns the version that was the newest at `at_ms` (milliseconds since 1970). `None` if the table did not exist
    /// yet, or the log does not reach back that far. The time of a version is the maximum up to it, because clocks may
    /// go backwards.
    pub async fn snapshot_at(&self, at_ms: i64) -> Result<Option<Snapshot>> {
        let Some(newest) = self.snapshot().await? else {
            return Ok(None);
        };
        let entries = futures::stream::iter(0..=newest.version());
        let mut entries = entries
            .map(|version| self.entry(version))
            .buffered(ENTRIES_AT_ONCE);
        let (mut version, mut known) = (0, None);
        while let Some(entry) = entries.try_next().await? {
            match entry {
                Some(entry) if entry.at_ms > at_ms => break,
                Some(_) => known = Some(version),
                // The log was cleaned up to here.
                None => {}
            }
            version += 1;
        }
        match known {
            None => Ok(None),
            Some(version) if version == newest.version() => Ok(Some(newest)),
            Some(version) => self.snapshot_at_version(version).await.map(Some),
        }
    }

    /// Returns the time of the oldest entry up to `newest`, in milliseconds since 1970. Versions have no gaps, so it is
    /// found by binary search. `None` if there is no entry.
    pub(super) async fn oldest_ms(&self, location: &Location, newest: u64) -> Result<Option<i64>> {
        let written_ms = async |version: u64| {
            let path = Path::from(format!("{}/{}", self.table.name, entry_path(version)));
            match location.objects().head(&path).await {
                Ok(entry) => Ok(Some(entry.last_modified.timestamp_millis())),
                Err(object_store::Error::NotFound { .. }) => Ok(None),
                Err(error) => Err(Error::Storage(error)),
            }
        };
        let (mut missing, mut there) = (0, newest);
        let mut oldest_ms = written_ms(0).await?;
        if oldest_ms.is_some() {
            return Ok(oldest_ms);
        }
        oldest_ms = written_ms(newest).await?;
        while oldest_ms.is_some() && missing + 1 < there {
            let middle = missing + (there - missing) / 2;
            match written_ms(middle).await? {
                None => missing = middle,
                found => (there, oldest_ms) = (middle, found),
            }
        }
        Ok(oldest_ms)
    }

    /// Loads the table at this version.
    pub async fn snapshot_at_version(&self, version: u64) -> Result<Snapshot> {
        let mut table = DeltaTable::new(self.log_store.clone());
        let loaded = table.load_version(version).await;
        loaded.map_err(|error| log_error(self.table, error))?;
        self.verified_snapshot(&table).await
    }

    /// Reads the commit of a version. `None` if the log does not have it any more.
    pub async fn entry(&self, version: u64) -> Result<Option<Entry>> {
        let bytes = self.log_store.read_commit_entry(version).await;
        let Some(bytes) = bytes.map_err(|error| log_error(self.table, error))? else {
            return Ok(None);
        };
        let (mut entry, mut at_ms) = (Entry::default(), None);
        let actions = bytes.split(|&byte| byte == b'\n');
        for action in actions.filter_map(|line| serde_json::from_slice::<CommitAction>(line).ok()) {
            if let Some(info) = action.commit_info {
                at_ms = at_ms.or(info.timestamp);
                entry.seen.extend(info.seen);
            }
            let transaction = action.txn.map(|txn| (txn.app_id, txn.version));
            entry.transactions.extend(transaction);
        }
        entry.at_ms = match at_ms {
            Some(at_ms) => at_ms,
            // Other writers may omit the time. The protocol then uses the modification time of the entry.
            None => {
                let path = Path::from(entry_path(version));
                let object = self.log_store.object_store(None).head(&path).await;
                object
                    .map_err(Error::Storage)?
                    .last_modified
                    .timestamp_millis()
            }
        };
        Ok(Some(entry))
    }

    /// Returns all versions in the log, newest first.
    pub async fn history(&self) -> Result<Vec<Version>> {
        let Some(snapshot) = self.snapshot().await? else {
            return Ok(Vec::new());
        };
        let mut table = DeltaTable::new(self.log_store.clone());
        table
            .load()
            .await
            .map_err(|error| log_error(self.table, error))?;
        let commits: Vec<_> = table
            .history(None)
            .try_collect()
            .await
            .map_err(|error| log_error(self.table, error))?;
        let mut version = snapshot.version() + 1;
        let mut history = Vec::with_capacity(commits.len());
        for commit in commits {
            version = version.saturating_sub(1);
            let detail = commit.info.get("tsql").map(|detail| {
                detail
                    .as_str()
                    .map_or_else(|| detail.to_string(), str::to_owned)
            });
            history.push(Version {
                table: self.table.name.clone(),
                version,
                at_ms: commit.timestamp,
                operation: commit.operation.unwrap_or_default(),
                detail: detail.unwrap_or_default(),
            });
        }
        Ok(history)
    }

    /// Deletes data files that no version in `tagged` or within `retain` needs, and those that no version lists and
    /// that are older than a time in milliseconds. Returns their paths.
    ///
    /// A file whose name tsql does not generate, or that is below a symbolic link, belongs to others and stays.
    pub async fn vacuum(
        &self,
        location: &Location,
        retain: chrono::Duration,
        unlisted_before_ms: i64,
        tagged: &BTreeSet<u64>,
        dry_run: bool,
    ) -> Result<Vec<String>> {
        // Later commits are newer than the version below, or listed by it.
        let there = self.data_files(location).await?;
        let mut table = DeltaTable::new(self.log_store.clone());
        if self.snapshot().await?.is_none() {
            return Ok(Vec::new());
        }
        let failed = |error| log_error(self.table, error);
        table.load().await.map_err(failed)?;
        let state = table.snapshot().map_err(failed)?.clone();
        let mut named: HashSet<Path> = HashSet::new();
        // The log only records which files were removed before a time, not which versions still need them.
        for version in tagged {
            let files = self.snapshot_at_version(*version).await?;
            let files = files.files().iter();
            named.extend(files.filter_map(|file| Path::parse(&file.path).ok()));
        }
        let kept: Vec<u64> = tagged.iter().copied().collect();
        let expired = table
            .clone()
            .vacuum()
            .with_retention_period(retain)
            .with_enforce_retention_duration(false)
            .with_mode(VacuumMode::Lite)
            .with_keep_versions(&kept)
            .with_dry_run(true)
            .await;
        let (_, expired) = expired.map_err(failed)?;
        let expired = expired.files_deleted.iter();
        let expired: HashSet<Path> = expired.filter_map(|path| Path::parse(path).ok()).collect();
        let active = state.log_data();
        named.extend(active.iter().map(|file| file.object_store_path()));
        let removed = state.all_tombstones(&self.log_store);
        let removed: Vec<_> = removed.try_collect().await.map_err(failed)?;
        named.extend(
            removed
                .iter()
                .filter_map(|file| Path::parse(file.path()).ok()),
        );
        let objects = self.log_store.object_store(None);
        let (mut deleted, mut was_expired) = (Vec::new(), false);
        for file in there {
            // The log lists removed files until it is cleaned up.
            let is_unlisted = file.last_modified.timestamp_millis() < unlisted_before_ms
                && !named.contains(&file.location);
            let is_expired = expired.contains(&file.location);
            if !is_unlisted && !is_expired {
                continue;
            }
            was_expired |= is_expired;
            if !dry_run {
                match objects.delete(&file.location).await {
                    Ok(()) | Err(object_store::Error::NotFound { .. }) => {}
                    Err(error) => return Err(Error::Storage(error)),
                }
            }
            deleted.push(file.location.to_string());
        }
        if !dry_run && was_expired {
            self.checkpoint().await?;
        }
        Ok(deleted)
    }

    /// Lists the files in the table's folder that have names of tsql's data files, by their paths in it.
    pub(crate) async fn data_files(&self, location: &Location) -> Result<Vec<ObjectMeta>> {
        let folder = Path::from(self.table.name.as_str());
        let files = location.files_in(&self.table.name).await?.into_iter();
        let data = files.filter_map(|file| {
            let parts = file.location.prefix_match(&folder)?;
            let path = parts.map(|part| part.as_ref().to_owned());
            let path = path.collect::<Vec<_>>().join("/");
            let location = Path::parse(&path).ok()?;
            is_own_path(self.table, &path).then_some(ObjectMeta { location, ..file })
        });
        Ok(data.collect())
    }
}
