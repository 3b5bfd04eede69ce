//! Log of one table: its files, version by version.
//!
//! This module and its children are the only ones that know the log's format, Delta Lake: protocol reader 1, writer 2,
//! no table features. Every engine that reads Delta reads a tsql store.
//!
//! A commit is an atomic step from the version that was read to the next one. The retries of delta-rs have no pause and
//! would commit over changes that this crate must examine first, so they are disabled. See `commit` for the retries of
//! tsql.

mod actions;
mod change;
mod checkpoint;
mod commit_info;
mod damage;
mod faults;
mod history;
mod log_checksum;
mod misplaced;
mod prefetch;
mod proofs;
mod repair;
mod schemes;
mod truncated_log;
mod verify_files;

#[cfg(test)]
pub(super) use prefetch::tests;

use std::collections::HashSet;
use std::panic::AssertUnwindSafe;
use std::path::{Path as FilePath, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use deltalake_core::kernel::transaction::{CommitBuilder, CommitProperties, TransactionError};
use deltalake_core::kernel::{Action, MetadataExt as _, Transaction};
use deltalake_core::logstore::{LogStoreRef, StorageConfig, logstore_with};
use deltalake_core::operations::create::CreateBuilder;
use deltalake_core::protocol::{DeltaOperation, SaveMode};
use deltalake_core::table::config::TablePropertiesExt as _;
use deltalake_core::table::state::DeltaTableState;
use deltalake_core::{DeltaResult, DeltaTable, DeltaTableError};
use futures::FutureExt as _;
use object_store::path::Path;

use crate::files::data_file::DataFile;
use crate::io::durable_fs::DISK;
use crate::io::location::Location;
use crate::log_files::entries::{FOLDER, entry_path};
use actions::{add, columns, data_files, reject_features, remove};
use tsql_error::{Error, Result};
use tsql_schema::Table;

use commit_info::{ATTEMPT, CommitInfo};
use log_checksum::TableChecksum;

pub use change::Change;
pub(crate) use change::CommitContext;
pub(super) use damage::stale_error;
pub(crate) use history::Entry;
pub(super) use history::UNLISTED_AGE;
pub use history::Version;
pub(super) use proofs::{Proof, Proofs, stated_counts};
pub(super) use repair::LogDamage;

/// Commits between two checkpoints. Readers do not read commits before a checkpoint.
const CHECKPOINT_INTERVAL: u64 = 10;

const A_DAY: Duration = Duration::from_secs(24 * 3600);

/// Pauses of a writer that waits for a table that another writer creates.
const SHORTEST_PAUSE: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// Table property with the version of the table's schema.
const SCHEMA_VERSION: &str = "tsql.schemaVersion";

/// Log of one table.
#[derive(Clone)]
pub struct Log {
    table: &'static Table,
    log_store: LogStoreRef,
    /// Its folder in a bucket.
    far: Option<Path>,
    /// Folder of the store on a local disk.
    store: Option<PathBuf>,
}

/// A table at one version.
#[derive(Clone)]
pub struct Snapshot {
    log: Log,
    state: DeltaTableState,
    files: Arc<Vec<DataFile>>,
    /// Checksum of all files of this version.
    of_files: TableChecksum,
    /// Rows of hidden files, which may become visible without a commit.
    hidden: Option<HiddenRows>,
}

/// Rows that are hidden because the ingest log does not have them.
#[derive(Clone, Copy)]
pub struct HiddenRows {
    /// Number of rows.
    pub rows: u64,
    /// Time of the newest file, in ms since 1970.
    pub written_at_ms: i64,
}

/// Listing of a remote log.
enum LogListing {
    /// There is no log.
    Nothing,
    /// Prefetched: readers find all of this version here.
    Ahead(LogStoreRef),
    /// The log is local, or has too many files: readers list it themselves.
    Unknown,
}

/// Outcome of a commit attempt.
pub enum Attempt {
    /// Committed as this version.
    Committed(Box<Snapshot>),
    /// Another writer was faster: examine its change, then try again.
    Conflict,
    /// Failed, possibly after the commit: read the log to find out.
    Unclear(Error),
}

impl Log {
    /// Creates the log of `table` in the store at `location`, without reading it.
    pub fn new(location: &Location, table: &'static Table) -> Result<Self> {
        let url = location.table_url(&table.name)?;
        schemes::register();
        let log_store = logstore_with(
            Arc::clone(location.objects()),
            &url,
            StorageConfig::default(),
        )
        .map_err(|error| log_error(table, error))?;
        Ok(Self {
            far: (location.is_remote()).then(|| Path::from(format!("{}/{FOLDER}", table.name))),
            store: location.local_directory().map(FilePath::to_owned),
            table,
            log_store,
        })
    }

    /// Returns the newest version. `None` if the table was never written.
    ///
    /// # Errors
    /// The damaged log file that this version needs, if any.
    pub async fn snapshot(&self) -> Result<Option<Snapshot>> {
        let read = AssertUnwindSafe(self.read_newest()).catch_unwind().await;
        let read = read.unwrap_or_else(|_| Err(Error::damaged(&self.table.name, "unreadable log")));
        match read {
            Ok(newest) => Ok(newest),
            Err(error) => self.without_damage(error).await,
        }
    }

    async fn read_newest(&self) -> Result<Option<Snapshot>> {
        match self.prefetch().await? {
            LogListing::Nothing => return Ok(None),
            LogListing::Ahead(log_store) => {
                let mut table = DeltaTable::new(log_store);
                // Otherwise, files may have been deleted after the listing.
                if table.load().await.is_ok() {
                    return self.verified_snapshot(&table).await.map(Some);
                }
            }
            LogListing::Unknown => {}
        }
        let mut table = DeltaTable::new(self.log_store.clone());
        if table.load().await.is_err() {
            let exists = table.verify_deltatable_existence().await;
            if !exists.map_err(|error| log_error(self.table, error))? {
                return Ok(None);
            }
            // Another writer may have created it in between.
            let loaded = table.load().await;
            loaded.map_err(|error| log_error(self.table, error))?;
        }
        self.verified_snapshot(&table).await.map(Some)
    }

    /// Returns the loaded version after verification.
    async fn verified_snapshot(&self, table: &DeltaTable) -> Result<Snapshot> {
        let state = table.snapshot();
        let state = state.map_err(|error| log_error(self.table, error))?;
        let snapshot = Snapshot::new(self.clone(), state.clone())?;
        snapshot.verify_files(&table.log_store()).await
    }

    /// Returns the newest version, or creates the table.
    pub async fn snapshot_or_create(&self) -> Result<Snapshot> {
        let mut pause = SHORTEST_PAUSE;
        loop {
            if let Some(snapshot) = self.snapshot().await? {
                return Ok(snapshot);
            }
            // If creation failed because another writer created the table, its table is used.
            let created = self.create().await;
            match (self.snapshot().await?, created) {
                (_, Err(error)) if is_of_disk(&error) => return Err(log_error(self.table, error)),
                (Some(snapshot), _) => return Ok(snapshot),
                // The entry of that writer is not overwritten, and is not visible yet either.
                (None, Err(DeltaTableError::InvalidVersion(_))) if pause < LONGEST_PAUSE => {
                    tokio::time::sleep(pause).await;
                    pause *= 2;
                }
                (None, Err(error)) => return Err(log_error(self.table, error)),
                (None, Ok(())) => {
                    let what = "disappeared while it was created";
                    return Err(Error::damaged(&self.table.name, what));
                }
            }
        }
    }

    async fn create(&self) -> DeltaResult<()> {
        let schema =
            columns(self.table).map_err(|error| DeltaTableError::generic(error.to_string()))?;
        let properties = [
            (
                "delta.checkpointInterval".to_owned(),
                Some(CHECKPOINT_INTERVAL.to_string()),
            ),
            (
                SCHEMA_VERSION.to_owned(),
                Some(self.table.version.to_string()),
            ),
        ];
        CreateBuilder::new()
            .with_log_store(self.log_store.clone())
            .with_table_name(&self.table.name)
            .with_comment(&self.table.doc)
            .with_columns(schema.fields().cloned())
            .with_partition_columns(&self.table.partition)
            .with_raise_if_key_not_exists(false)
            .with_configuration(properties)
            .with_commit_properties(CommitProperties::default().with_max_retries(0))
            .await?;
        Ok(())
    }

    /// Replaces the bytes of an entry.
    #[doc(hidden)]
    pub async fn put_entry(&self, location: &Location, version: u64, bytes: Vec<u8>) -> Result<()> {
        let path = format!("{}/{}", self.table.name, entry_path(version));
        let path = Path::from(path);
        location.write(&path, bytes).await
    }

    /// Makes the entry of a version, and those before it, durable. No-op except on a local disk.
    pub async fn make_durable(&self, location: &Location, version: u64) -> Result<()> {
        let path = format!("{}/{}", self.table.name, entry_path(version));
        location.make_durable(&path).await
    }

    /// Returns whether the commit attempt of this name created `version`.
    pub async fn is_version_of_attempt(&self, version: u64, name: &str) -> Result<bool> {
        let entry = self.log_store.read_commit_entry(version).await;
        let entry = entry.map_err(|error| log_error(self.table, error))?;
        let wanted = format!("\"{ATTEMPT}\":\"{name}\"");
        let found = |entry: bytes::Bytes| memchr::memmem::find(&entry, wanted.as_bytes()).is_some();
        Ok(entry.is_some_and(found))
    }
}

impl Snapshot {
    fn new(log: Log, state: DeltaTableState) -> Result<Self> {
        let table = log.table;
        let known = state.metadata().configuration().get(SCHEMA_VERSION);
        let found = known
            .and_then(|version| version.parse().ok())
            .unwrap_or(table.version);
        if found > table.version {
            let what = format!("table {}", table.name);
            return Err(Error::TooNew {
                what,
                found,
                supported: table.version,
            });
        }
        let files = state.snapshot().try_log_data();
        files.map_err(|error| log_error(table, error))?;
        reject_features(table, &state)?;
        let (files, of_files) = data_files(table, &state)?;
        Ok(Self {
            log,
            state,
            files: Arc::new(files),
            of_files,
            hidden: None,
        })
    }

    /// Returns the version, from 0.
    pub fn version(&self) -> u64 {
        self.state.version()
    }

    /// Returns the files.
    pub fn files(&self) -> &Arc<Vec<DataFile>> {
        &self.files
    }

    /// Returns the same version with only these files.
    pub fn with_files(&self, files: Vec<DataFile>) -> Self {
        Self {
            files: Arc::new(files),
            ..self.clone()
        }
    }

    /// Returns the same version without the files of these paths, which are hidden until they are acknowledged.
    pub(super) fn without_unacknowledged(&self, paths: &HashSet<String>) -> Self {
        let (hidden, visible): (Vec<&DataFile>, Vec<&DataFile>) =
            (self.files.iter()).partition(|file| paths.contains(&file.path));
        Self {
            hidden: hidden
                .iter()
                .map(|file| file.written_at_ms)
                .max()
                .map(|written_at_ms| HiddenRows {
                    rows: hidden.iter().map(|file| file.stats.num_records).sum(),
                    written_at_ms,
                }),
            ..self.with_files(visible.into_iter().cloned().collect())
        }
    }

    /// Returns the rows that are hidden because they are not acknowledged yet.
    pub fn hidden_rows(&self) -> Option<HiddenRows> {
        self.hidden
    }

    /// Returns the newest version, by reading the entries after this one.
    pub async fn newest(&self) -> Result<Snapshot> {
        let mut state = self.state.clone();
        let updated = state.update(self.log.log_store.as_ref(), None).await;
        if updated.is_ok() && state.version() == self.version() {
            return Ok(self.clone());
        }
        if updated.is_ok()
            && let Ok(newest) = Self::new(self.log.clone(), state)
            && let Ok(newest) = newest.verify_files(&self.log.log_store).await
        {
            return Ok(newest);
        }
        // Later entries may have been cleaned up, or be damaged.
        let newest = self.log.snapshot().await?;
        newest.ok_or_else(|| Error::damaged(&self.log.table.name, "vanished"))
    }

    /// Returns whether the commit after this version may clean up the log. Clean-ups are checked for no more often than
    /// checkpoints are written.
    pub fn may_clean_up(&self) -> bool {
        (self.version() + 1).is_multiple_of(CHECKPOINT_INTERVAL)
    }

    /// Returns whether the log has entries that are a day older than their retention. A clean-up lists all of them,
    /// which is worthwhile once a day.
    pub async fn has_expired(&self, location: &Location) -> Result<bool> {
        let Some(oldest_ms) = self.log.oldest_ms(location, self.version()).await? else {
            return Ok(false);
        };
        let kept = self.state.table_config().log_retention_duration() + A_DAY;
        let kept_ms = i64::try_from(kept.as_millis()).unwrap_or(i64::MAX);
        Ok(chrono::Utc::now()
            .timestamp_millis()
            .saturating_sub(kept_ms)
            > oldest_ms)
    }

    /// Tries to commit `change` as the next version.
    pub async fn commit(&self, change: &Change, about: CommitContext<'_>) -> Attempt {
        let now = chrono::Utc::now().timestamp_millis();
        let data_change = !change.rewrite;
        let removes = change
            .remove
            .iter()
            .map(|file| Action::Remove(remove(file, data_change, now)));
        let adds = change
            .add
            .iter()
            .map(|file| add(self.log.table, file, data_change).map(Action::Add));
        let columns = self.new_columns().transpose().into_iter();
        let actions = removes.map(Ok).chain(adds).chain(columns);
        let actions = match actions.collect::<Result<Vec<Action>>>() {
            Ok(actions) => actions,
            Err(error) => return Attempt::Unclear(error),
        };
        let transactions = change.transactions.iter();
        let transactions = transactions
            .map(|(application, version)| {
                Transaction::new_with_last_update(application, *version, Some(now))
            })
            .collect();
        let after = self
            .of_files
            .after_change(self.log.table, &self.files, change);
        let info = CommitInfo::new(
            &self.log.table.name,
            self.version() + 1,
            &about,
            (after.to_string(), self.counts_after(change)),
            &change.transactions,
        );
        let properties = CommitProperties::default()
            .with_max_retries(0)
            .with_cleanup_expired_logs(Some(about.cleans_up))
            .with_metadata(info.fields())
            .with_application_transactions(transactions);
        let operation = if change.rewrite {
            DeltaOperation::Optimize {
                predicate: None,
                target_size: 0,
            }
        } else {
            DeltaOperation::Write {
                mode: SaveMode::Append,
                partition_by: None,
                predicate: None,
            }
        };
        let committed = CommitBuilder::from(properties)
            .with_actions(actions)
            .build(Some(&self.state), self.log.log_store.clone(), operation)
            .await;
        match committed {
            Ok(committed) => match Snapshot::new(self.log.clone(), committed.snapshot()) {
                Ok(snapshot) => Attempt::Committed(Box::new(snapshot)),
                Err(error) => Attempt::Unclear(error),
            },
            Err(
                DeltaTableError::VersionAlreadyExists(_)
                | DeltaTableError::Transaction {
                    source:
                        TransactionError::MaxCommitAttempts(_) | TransactionError::CommitConflict(_),
                },
            ) => Attempt::Conflict,
            Err(error) => Attempt::Unclear(log_error(self.log.table, error)),
        }
    }

    /// Returns the sums of the files' counts after a change, if all files have counts.
    fn counts_after(&self, change: &Change) -> Option<(u64, u64)> {
        let is_left = |file: &&DataFile| !change.remove.iter().any(|old| old.path == file.path);
        let files = self.files.iter().filter(is_left).chain(&change.add);
        let first = self.files.first().or(change.add.first())?;
        first.counts?;
        files
            .into_iter()
            .try_fold((0, 0), |(records, others), file| {
                let (of_records, of_others) = file.counts?;
                Some((records + of_records, others + of_others))
            })
    }

    /// Returns the metadata action that adds missing columns, if the table has an older schema version. New columns are
    /// nullable, and NULL in existing files.
    fn new_columns(&self) -> Result<Option<Action>> {
        let table = self.log.table;
        let metadata = self.state.metadata();
        let known = metadata.configuration().get(SCHEMA_VERSION);
        if known.and_then(|version| version.parse().ok()) == Some(table.version) {
            return Ok(None);
        }
        let version = table.version.to_string();
        let metadata = metadata
            .clone()
            .with_schema(&columns(table)?)
            .and_then(|metadata| metadata.add_config_key(SCHEMA_VERSION.to_owned(), version))
            .map_err(|error| Error::damaged(&table.name, error.to_string()))?;
        Ok(Some(Action::Metadata(metadata)))
    }
}

/// Returns whether the local disk failed to write. The entry may be visible, but not durable.
fn is_of_disk(error: &DeltaTableError) -> bool {
    let first: &(dyn std::error::Error + 'static) = error;
    let mut causes = std::iter::successors(Some(first), |error| error.source());
    causes.any(|cause| {
        let cause = cause.downcast_ref();
        matches!(cause, Some(object_store::Error::Generic { store, .. }) if *store == DISK)
    })
}

fn log_error(table: &Table, error: DeltaTableError) -> Error {
    match error {
        DeltaTableError::ObjectStore { source } => Error::Storage(source),
        other => Error::Log {
            table: table.name.clone(),
            message: other.to_string(),
        },
    }
}
