//! The log of one table: which files it consists of, version by version.
//!
//! With those below it this is the only module that names the log's format, Delta Lake: protocol reader 1, writer 2, no
//! table features, so that every engine that reads Delta reads a tsql store.
//!
//! A commit is an exclusive step from the version that was read to the next one. delta-rs' own
//! retries have no pause and would commit over changes that this crate must look at first, so
//! they are switched off; see `commit` for ours.

mod actions;
mod ahead;
mod change;
mod checkpoint;
mod commit_info;
mod confirmed;
mod damage;
mod faults;
mod history;
mod log_checksum;
mod proofs;
mod repair;
mod schemes;
mod truncated_log;

#[cfg(test)]
pub(super) use ahead::tests;

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
use actions::{add, columns, data_files, refuse_features, remove};
use tsql_error::{Error, Result};
use tsql_schema::Table;

use commit_info::{ATTEMPT, CommitInfo};
use log_checksum::OfTable;

pub(crate) use change::About;
pub use change::Change;
pub(super) use damage::older;
pub(crate) use history::Entry;
pub(super) use history::UNLISTED_AGE;
pub use history::Version;
pub(super) use proofs::{Proof, Proofs, stated_counts};
pub(super) use repair::LogDamage;

/// Commits between two checkpoints, after which a reader need not look at older commits.
const CHECKPOINT_INTERVAL: u64 = 10;

const A_DAY: Duration = Duration::from_secs(24 * 3600);

/// Pauses of a writer that waits until it sees a table that another one makes.
const SHORTEST_PAUSE: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// Property that holds the version of the table's schema.
const SCHEMA_VERSION: &str = "tsql.schemaVersion";

/// The log of one table.
#[derive(Clone)]
pub struct Log {
    table: &'static Table,
    log_store: LogStoreRef,
    /// Its folder in a bucket.
    far: Option<Path>,
    /// The folder of its store on a local disk.
    store: Option<PathBuf>,
}

/// A table at one version.
#[derive(Clone)]
pub struct Snapshot {
    log: Log,
    state: DeltaTableState,
    files: Arc<Vec<DataFile>>,
    /// Of all files of this version.
    of_files: OfTable,
    /// Files of it are left out, which may come back without a commit.
    hides: bool,
}

/// A log as it was listed.
enum Listed {
    /// There is no such log.
    Nothing,
    /// Readers find all of this version here.
    Ahead(LogStoreRef),
    /// It is near, or has too many files: readers look for themselves.
    Unknown,
}

/// How an attempt to commit ended.
pub enum Attempt {
    /// It is in the log, as this version.
    Committed(Box<Snapshot>),
    /// Someone else was faster: look at their change, then try again.
    Conflict,
    /// It failed, or only seemed to: read the log before believing it.
    Unclear(Error),
}

impl Log {
    /// The log of `table` in the store at `location`; reads nothing yet.
    pub fn new(location: &Location, table: &'static Table) -> Result<Self> {
        let url = location.table_url(&table.name)?;
        schemes::register();
        let log_store = logstore_with(
            Arc::clone(location.objects()),
            &url,
            StorageConfig::default(),
        )
        .map_err(|error| failure(table, error))?;
        Ok(Self {
            far: (location.is_far()).then(|| Path::from(format!("{}/{FOLDER}", table.name))),
            store: location.local_directory().map(FilePath::to_owned),
            table,
            log_store,
        })
    }

    /// The newest version, `None` where the table was never written.
    ///
    /// # Errors
    /// The damaged file of the log, where there is one that this version needs.
    pub async fn snapshot(&self) -> Result<Option<Snapshot>> {
        let read = AssertUnwindSafe(self.read_newest()).catch_unwind().await;
        let read = read.unwrap_or_else(|_| Err(Error::damaged(&self.table.name, "unreadable log")));
        match read {
            Ok(newest) => Ok(newest),
            Err(error) => self.without_damage(error).await,
        }
    }

    async fn read_newest(&self) -> Result<Option<Snapshot>> {
        match self.ahead().await? {
            Listed::Nothing => return Ok(None),
            Listed::Ahead(log_store) => {
                let mut table = DeltaTable::new(log_store);
                // Else files may have gone since they were listed.
                if table.load().await.is_ok() {
                    return self.loaded(&table).await.map(Some);
                }
            }
            Listed::Unknown => {}
        }
        let mut table = DeltaTable::new(self.log_store.clone());
        if table.load().await.is_err() {
            let exists = table.verify_deltatable_existence().await;
            if !exists.map_err(|error| failure(self.table, error))? {
                return Ok(None);
            }
            // Another writer may have made it in between.
            let loaded = table.load().await;
            loaded.map_err(|error| failure(self.table, error))?;
        }
        self.loaded(&table).await.map(Some)
    }

    /// The version that was loaded.
    async fn loaded(&self, table: &DeltaTable) -> Result<Snapshot> {
        let state = table.snapshot();
        let state = state.map_err(|error| failure(self.table, error))?;
        let snapshot = Snapshot::new(self.clone(), state.clone())?;
        snapshot.confirmed(&table.log_store()).await
    }

    /// The newest version; makes the table where there is none yet.
    pub async fn snapshot_or_create(&self) -> Result<Snapshot> {
        let mut pause = SHORTEST_PAUSE;
        loop {
            if let Some(snapshot) = self.snapshot().await? {
                return Ok(snapshot);
            }
            // Where it failed because another writer made the table, that is what is wanted.
            let created = self.create().await;
            match (self.snapshot().await?, created) {
                (_, Err(error)) if is_of_disk(&error) => return Err(failure(self.table, error)),
                (Some(snapshot), _) => return Ok(snapshot),
                // That writer's entry is not overwritten, and not shown yet either.
                (None, Err(DeltaTableError::InvalidVersion(_))) if pause < LONGEST_PAUSE => {
                    tokio::time::sleep(pause).await;
                    pause *= 2;
                }
                (None, Err(error)) => return Err(failure(self.table, error)),
                (None, Ok(())) => {
                    let what = "vanished while it was made";
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

    /// Puts any bytes in the place of an entry.
    #[doc(hidden)]
    pub async fn put_entry(&self, location: &Location, version: u64, bytes: Vec<u8>) -> Result<()> {
        let path = format!("{}/{}", self.table.name, entry_path(version));
        let path = Path::from(path);
        location.write(&path, bytes).await
    }

    /// The entry of a version, and those before it, are on the disk when this returns; elsewhere they always
    /// are.
    pub async fn settle(&self, location: &Location, version: u64) -> Result<()> {
        let path = format!("{}/{}", self.table.name, entry_path(version));
        location.settle(&path).await
    }

    /// Is `version` what the attempt of this name has made?
    pub async fn has(&self, version: u64, name: &str) -> Result<bool> {
        let entry = self.log_store.read_commit_entry(version).await;
        let entry = entry.map_err(|error| failure(self.table, error))?;
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
        files.map_err(|error| failure(table, error))?;
        refuse_features(table, &state)?;
        let (files, of_files) = data_files(table, &state)?;
        Ok(Self {
            log,
            state,
            files: Arc::new(files),
            of_files,
            hides: false,
        })
    }

    /// Its version, from 0.
    pub fn version(&self) -> u64 {
        self.state.version()
    }

    /// The files that it consists of.
    pub fn files(&self) -> &Arc<Vec<DataFile>> {
        &self.files
    }

    /// The same version as if it had only these of its files.
    pub fn only(&self, files: Vec<DataFile>) -> Self {
        Self {
            files: Arc::new(files),
            ..self.clone()
        }
    }

    /// The same version as if it had only these of its files until others are acknowledged.
    pub(super) fn hiding(&self, files: Vec<DataFile>) -> Self {
        Self {
            hides: true,
            ..self.only(files)
        }
    }

    /// Whether files of this version are left out that are not acknowledged yet.
    pub fn hides(&self) -> bool {
        self.hides
    }

    /// The newest version, by what came after this one.
    pub async fn newest(&self) -> Result<Snapshot> {
        let mut state = self.state.clone();
        let updated = state.update(self.log.log_store.as_ref(), None).await;
        if updated.is_ok() && state.version() == self.version() {
            return Ok(self.clone());
        }
        if updated.is_ok()
            && let Ok(newest) = Self::new(self.log.clone(), state)
            && let Ok(newest) = newest.confirmed(&self.log.log_store).await
        {
            return Ok(newest);
        }
        // What came after may be cleaned up by now, or be damaged.
        let newest = self.log.snapshot().await?;
        newest.ok_or_else(|| Error::damaged(&self.log.table.name, "vanished"))
    }

    /// May the commit after this version clean up the log? Old versions are looked for no more often than checkpoints are
    /// written.
    pub fn may_clean_up(&self) -> bool {
        (self.version() + 1).is_multiple_of(CHECKPOINT_INTERVAL)
    }

    /// Has the log entries that are a day older than it keeps them? Whoever cleans up lists all of them, which is worth it
    /// once a day.
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

    /// Tries to make `change` the next version after this one.
    pub async fn commit(&self, change: &Change, about: About<'_>) -> Attempt {
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
        let after = self.of_files.after(self.log.table, &self.files, change);
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
            Err(error) => Attempt::Unclear(failure(self.log.table, error)),
        }
    }

    /// What the files count after a change, where each says so.
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

    /// Where the table is of an older version than ours: the columns that it has from now on. The
    /// new ones can be NULL, and are so in the files that it consists of.
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

/// Did the local disk fail to take what was written? What is to be seen all the same may not be on it.
fn is_of_disk(error: &DeltaTableError) -> bool {
    let first: &(dyn std::error::Error + 'static) = error;
    let mut causes = std::iter::successors(Some(first), |error| error.source());
    causes.any(|cause| {
        let cause = cause.downcast_ref();
        matches!(cause, Some(object_store::Error::Generic { store, .. }) if *store == DISK)
    })
}

fn failure(table: &Table, error: DeltaTableError) -> Error {
    match error {
        DeltaTableError::ObjectStore { source } => Error::Storage(source),
        other => Error::Log {
            table: table.name.clone(),
            message: other.to_string(),
        },
    }
}
