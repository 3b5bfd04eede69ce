//! The log of one table: which files it consists of, version by version.
//!
//! This is the only module that names the log's format, Delta Lake: protocol reader 1, writer 2, no
//! table features, so that every engine that reads Delta reads a tsql store.
//!
//! A commit is an exclusive step from the version that was read to the next one. delta-rs' own
//! retries have no pause and would commit over changes that this crate must look at first, so
//! they are switched off; see `commit` for ours.

use std::collections::HashMap;
use std::sync::Arc;

use deltalake_core::kernel::engine::arrow_conversion::TryIntoKernel as _;
use deltalake_core::kernel::transaction::{CommitBuilder, CommitProperties, TransactionError};
use deltalake_core::kernel::{
    Action, Add, LogicalFileView, MetadataExt as _, Remove, StructType, Transaction,
};
use deltalake_core::logstore::{LogStoreRef, StorageConfig, logstore_with};
use deltalake_core::operations::create::CreateBuilder;
use deltalake_core::operations::vacuum::VacuumMode;
use deltalake_core::protocol::{DeltaOperation, SaveMode};
use deltalake_core::table::state::DeltaTableState;
use deltalake_core::{DeltaTable, DeltaTableError};
use futures::TryStreamExt as _;

use super::file::{DataFile, Stats};
use super::location::Location;
use super::rollup::Place;
use crate::error::{Error, Result};
use crate::schema::Table;

/// Commits between two checkpoints, after which a reader need not look at older commits.
const CHECKPOINT_INTERVAL: &str = "10";

/// Property that holds the version of the table's schema.
const SCHEMA_VERSION: &str = "tsql.schemaVersion";

/// The log of one table.
#[derive(Clone)]
pub(crate) struct Log {
    table: &'static Table,
    log_store: LogStoreRef,
}

/// A table at one version.
#[derive(Clone)]
pub(crate) struct Snapshot {
    log: Log,
    state: DeltaTableState,
    files: Arc<Vec<DataFile>>,
}

/// What a commit does.
#[derive(Clone, Debug, Default)]
pub(crate) struct Change {
    pub(crate) add: Vec<DataFile>,
    pub(crate) remove: Vec<DataFile>,
    /// Application transactions: who, and how far.
    pub(crate) transactions: Vec<(String, i64)>,
    /// The rows stay the same, only their files change.
    pub(crate) rewrite: bool,
}

/// How an attempt to commit ended.
pub(crate) enum Attempt {
    /// It is in the log.
    Committed,
    /// Someone else was faster: look at their change, then try again.
    Conflict,
    /// It failed, or only seemed to: read the log before believing it.
    Unclear(Error),
}

/// One version of a table, for people.
#[derive(Clone, Debug)]
pub struct Version {
    /// Table.
    pub table: String,
    /// Version, from 0.
    pub version: u64,
    /// Milliseconds since 1970.
    pub at_ms: Option<i64>,
    /// What was done.
    pub operation: String,
    /// Files added and removed, and rows, as the commit states them.
    pub detail: String,
}

impl Log {
    /// The log of `table` in the store at `location`; reads nothing yet.
    pub(crate) fn new(location: &Location, table: &'static Table) -> Result<Self> {
        let url = location.table_url(&table.name)?;
        let log_store = logstore_with(location.root(), &url, StorageConfig::default())
            .map_err(|error| failure(table, error))?;
        Ok(Self { table, log_store })
    }

    /// The newest version, `None` where the table was never written.
    pub(crate) async fn snapshot(&self) -> Result<Option<Snapshot>> {
        let mut table = DeltaTable::new(self.log_store.clone());
        let exists = table.verify_deltatable_existence().await;
        if !exists.map_err(|error| failure(self.table, error))? {
            return Ok(None);
        }
        match table.load().await {
            Ok(()) => {}
            Err(DeltaTableError::NotATable(_)) => return Ok(None),
            Err(error) => return Err(failure(self.table, error)),
        }
        let state = table
            .snapshot()
            .map_err(|error| failure(self.table, error))?
            .clone();
        Snapshot::new(self.clone(), state).map(Some)
    }

    /// The newest version; makes the table where there is none yet.
    pub(crate) async fn snapshot_or_create(&self) -> Result<Snapshot> {
        if let Some(snapshot) = self.snapshot().await? {
            return Ok(snapshot);
        }
        let created = self.create().await;
        match (self.snapshot().await?, created) {
            (Some(snapshot), _) => Ok(snapshot),
            (None, Err(error)) => Err(error),
            (None, Ok(())) => Err(Error::damaged(
                &self.table.name,
                "vanished while it was made",
            )),
        }
    }

    async fn create(&self) -> Result<()> {
        let schema = columns(self.table)?;
        let properties = [
            (
                "delta.checkpointInterval".to_owned(),
                Some(CHECKPOINT_INTERVAL.to_owned()),
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
            .await
            .map_err(|error| failure(self.table, error))?;
        Ok(())
    }

    /// All versions that the log still has, the newest first.
    pub(crate) async fn history(&self) -> Result<Vec<Version>> {
        let Some(snapshot) = self.snapshot().await? else {
            return Ok(Vec::new());
        };
        let mut table = DeltaTable::new(self.log_store.clone());
        table
            .load()
            .await
            .map_err(|error| failure(self.table, error))?;
        let commits: Vec<_> = table
            .history(None)
            .try_collect()
            .await
            .map_err(|error| failure(self.table, error))?;
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

    /// Deletes files that no version within `retain` needs; returns their paths.
    pub(crate) async fn vacuum(
        &self,
        retain: chrono::Duration,
        dry_run: bool,
    ) -> Result<Vec<String>> {
        let mut table = DeltaTable::new(self.log_store.clone());
        if self.snapshot().await?.is_none() {
            return Ok(Vec::new());
        }
        table
            .load()
            .await
            .map_err(|error| failure(self.table, error))?;
        let (_, metrics) = table
            .vacuum()
            .with_retention_period(retain)
            .with_enforce_retention_duration(false)
            .with_mode(VacuumMode::Full)
            .with_dry_run(dry_run)
            .await
            .map_err(|error| failure(self.table, error))?;
        Ok(metrics.files_deleted)
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
        refuse_features(table, &state)?;
        let views = state.log_data().into_iter();
        let files = views
            .map(|view| data_file(table, &view))
            .collect::<Result<Vec<_>>>()?;
        Ok(Self {
            log,
            state,
            files: Arc::new(files),
        })
    }

    /// Its version, from 0.
    pub(crate) fn version(&self) -> u64 {
        self.state.version()
    }

    /// The files that it consists of.
    pub(crate) fn files(&self) -> &Arc<Vec<DataFile>> {
        &self.files
    }

    /// How far this application got, by its own count.
    pub(crate) async fn transaction(&self, application: &str) -> Result<Option<i64>> {
        let found = self
            .state
            .transaction_version(self.log.log_store.as_ref(), application)
            .await;
        found.map_err(|error| failure(self.log.table, error))
    }

    /// Tries to make `change` the next version after this one.
    pub(crate) async fn commit(&self, change: &Change, detail: &str) -> Attempt {
        let now = chrono::Utc::now().timestamp_millis();
        let data_change = !change.rewrite;
        let removes = change
            .remove
            .iter()
            .map(|file| Action::Remove(remove(file, data_change, now)));
        let adds = change
            .add
            .iter()
            .map(|file| add(file, data_change).map(Action::Add));
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
        let metadata = [("tsql".to_owned(), serde_json::Value::from(detail))];
        let properties = CommitProperties::default()
            .with_max_retries(0)
            .with_metadata(metadata)
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
            Ok(_) => Attempt::Committed,
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

    /// Is this change part of this version? File names are never used twice.
    pub(crate) async fn contains(&self, change: &Change) -> Result<bool> {
        if let Some(first) = change.add.first() {
            return Ok(self.files.iter().any(|file| file.path == first.path));
        }
        match change.transactions.first() {
            Some((application, version)) => {
                Ok(self.transaction(application).await? >= Some(*version))
            }
            None => Ok(false),
        }
    }
}

/// A scan of ours would give wrong rows for these; nothing that tsql writes has them.
fn refuse_features(table: &Table, state: &DeltaTableState) -> Result<()> {
    let deleted = state
        .log_data()
        .iter()
        .any(|file| file.deletion_vector_descriptor().is_some());
    let mapped = state
        .metadata()
        .configuration()
        .get("delta.columnMapping.mode")
        .is_some_and(|mode| mode != "none");
    if deleted || mapped || state.protocol().min_reader_version() > 1 {
        let reason =
            "another program put deletion vectors, column mapping or other reader features on it";
        return Err(Error::damaged(&table.name, reason));
    }
    Ok(())
}

/// The stored columns in the log's own form.
fn columns(table: &Table) -> Result<StructType> {
    let columns = table.stored_schema().as_ref().try_into_kernel();
    let damaged = |error: arrow::error::ArrowError| Error::damaged(&table.name, error.to_string());
    columns.map_err(damaged)
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

fn data_file(table: &Table, view: &LogicalFileView) -> Result<DataFile> {
    let stats = view.stats().as_deref().map(Stats::parse).transpose();
    let stats = stats.map_err(|error| Error::damaged(&table.name, error.to_string()))?;
    let stats = stats.ok_or_else(|| Error::damaged(&table.name, "a file without statistics"))?;
    let values = view.partition_values_map();
    let value = |name: &String| (name.clone(), values.get(name).cloned().flatten());
    #[expect(deprecated, reason = "tags have no other accessor")]
    let tags = |_| view.add_action().tags;
    let tags = table.rollup.as_ref().and_then(tags);
    let rollup = tags.and_then(|tags| Place::of(&tags));
    Ok(DataFile {
        path: view.path().into_owned(),
        partition: table.partition.iter().map(value).collect(),
        size_bytes: u64::try_from(view.size()).unwrap_or(0),
        stats,
        rollup,
        written_at_ms: view.modification_time(),
    })
}

fn add(file: &DataFile, data_change: bool) -> Result<Add> {
    let stats = serde_json::to_string(&file.stats);
    let stats = stats.map_err(|error| Error::damaged(&file.path, error.to_string()))?;
    Ok(Add {
        path: file.path.clone(),
        partition_values: file.partition.iter().cloned().collect::<HashMap<_, _>>(),
        size: size(file),
        modification_time: file.written_at_ms,
        data_change,
        stats: Some(stats),
        tags: file.rollup.map(|place| HashMap::from([place.tag()])),
        ..Add::default()
    })
}

fn remove(file: &DataFile, data_change: bool, now_ms: i64) -> Remove {
    Remove {
        path: file.path.clone(),
        data_change,
        deletion_timestamp: Some(now_ms),
        extended_file_metadata: Some(true),
        partition_values: Some(file.partition.iter().cloned().collect()),
        size: Some(size(file)),
        ..Remove::default()
    }
}

fn size(file: &DataFile) -> i64 {
    i64::try_from(file.size_bytes).unwrap_or(i64::MAX)
}
