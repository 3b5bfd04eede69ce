#![doc = include_str!("../README.md")]
//!
//! ```text
//! store/
//! ├── tsql-store.toml               marker of a store, with its format (`marker`)
//! ├── .queues/                      locks of writers, only on a local disk
//! ├── graphs/                       one Delta table for each of schemas/*.toml, created by
//! │   ├── _delta_log/000....json    the first write to it
//! │   └── part-....parquet
//! └── records/
//!     ├── _delta_log/
//!     └── dataset=tenset/platform=k80/part-....parquet
//! ```
//!
//! ```
//! use tsql_store::{At, Store};
//! # tokio::runtime::Runtime::new().unwrap().block_on(async {
//! let store = Store::create("memory:").await?;
//! let then: At = "2026-11-21T17:00:00Z".parse()?;
//! let as_it_was = store.at(&then).await;
//! # Ok::<(), tsql_error::Error>(()) }).unwrap();
//! ```
//!
//! Invariants: only `log` knows the format of a log, and only `log_files` the names of its files. Data files are never
//! changed or reused. Rows are committed after all rows that they refer to.

#![cfg_attr(
    test,
    allow(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::indexing_slicing,
        clippy::string_slice,
        clippy::print_stdout,
        reason = "a test fails by panicking, and may print what it checked"
    )
)]

pub mod atomic_output;
mod files;
mod io;
mod log;
mod log_files;
mod maintenance;
mod scan;
mod settings;
mod snapshot;
mod tables;

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock};

pub use files::file;
pub use files::rollup;
#[doc(hidden)]
pub use io::durable_fs::{DiskStep, Watch};
#[doc(hidden)]
pub use io::failing_store::{FailingStore, Hook};
pub use io::location::Location;
pub use io::remote::{
    ProbeResult, ProbeVerdict, SCHEMES, Traffic, are_retries_stopped, objects_at,
    set_retry_reporter, set_retry_timeout, stop_retries, traffic,
};
pub use log::{Change, HiddenRows, Log, Snapshot, Version};
pub use maintenance::delete_rows::{Partition, RewriteCache};
pub use maintenance::tags::{Tag, TagFiles};
pub use scan::read_tables::{LISTED, is_store_url, scan_of_store};
pub use scan::rollup_table::RollupTable;
pub use scan::stored_table::{ExpectedRows, StoredTable};
pub use settings::rule_switches::{RuleSwitch, RuleSwitches};
pub use settings::verify_settings::Settings;
pub use snapshot::at::At;
pub use snapshot::snapshot_cache::{SnapshotCache, Versions};
pub use tables::consistent_snapshot::{CORRECTIONS, RETRACTED, Snapshots};
pub use tables::discover::FOLDER;
pub use tables::table_logs::UnlistedSource;

use io::write_queue::{WriteQueues, WriteTurn};
use snapshot::at::AsOf;
use snapshot::prefetched_snapshots::{PrefetchedSnapshots, read_marker};
use tsql_error::{Error, Result};
use tsql_formats::marker::{self, Marker};
use tsql_schema as schema;

/// Version of the store format.
const FORMAT: i64 = 1;

/// A store of graphs, configurations and measurements.
///
/// - Cheap to clone; clones are the same store.
/// - Safe to use from many threads and processes at once.
/// - Holds no open files. Log contents are cached, and newer entries are read: every call sees the newest
///   committed state.
#[derive(Clone)]
pub struct Store {
    location: Arc<Location>,
    /// Unique id, wherever the store is opened: a random number, or a hash of the location.
    id: Arc<str>,
    /// Newest known version of each table.
    snapshots: Arc<Mutex<HashMap<String, Snapshot>>>,
    /// Snapshots that were read while the store was opened. The first query for these tables takes them.
    first: PrefetchedSnapshots,
    /// Tables and views that sessions share.
    shelf: Arc<SnapshotCache>,
    /// Versions that its tables prove of each other.
    proofs: Arc<OnceLock<log::Proofs>>,
    /// Time or versions at which the store is read. `None`: the newest state.
    at: Option<Arc<AsOf>>,
    queues: WriteQueues,
}

impl fmt::Debug for Store {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Store")
            .field("location", &self.location)
            .field("at", &self.at)
            .finish_non_exhaustive()
    }
}

impl Store {
    /// Creates a store at `location`, which must not exist or be an empty directory. `memory:` creates one that ends
    /// with the process.
    ///
    /// # Errors
    /// [`Error::CannotCreate`] if something exists there already.
    pub async fn create(location: &str) -> Result<Self> {
        let location = Location::open(location).await?;
        check_free(&location).await?;
        let (store_id, marker) = new_marker()?;
        if !location.create(marker::NAME, marker).await? {
            return Err(cannot_create(&location, "is a tsql store already"));
        }
        Ok(Self::from_location(location, &store_id))
    }

    /// Opens the store at `location`. A missing one in a directory is created by its first write, which then calls
    /// `report`, or by [`Store::ensure_created`]. So a call that fails leaves no empty store behind. A missing one in a
    /// bucket is created at once: some servers have no bucket, and so no listing of it, before its first object.
    ///
    /// # Errors
    /// As [`Store::open`] and [`Store::create`].
    pub async fn open_or_create_on_write(
        location: &str,
        report: impl Fn() + Send + Sync + 'static,
    ) -> Result<Self> {
        match Self::open(location).await {
            Err(Error::NotAStore { .. }) => {}
            opened => return opened,
        }
        let location = Location::open(location).await?;
        if let Err(error) = check_free(&location).await {
            // Another process may have created it meanwhile.
            return Self::open(location.as_str()).await.map_err(|_| error);
        }
        if location.local_directory().is_none() {
            return match Self::create(location.as_str()).await {
                Ok(store) => {
                    report();
                    Ok(store)
                }
                Err(error) => Self::open(location.as_str()).await.map_err(|_| error),
            };
        }
        let (store_id, marker) = new_marker()?;
        let location = location.with_deferred_creation(marker, report);
        Ok(Self::from_location(location, &store_id))
    }

    /// Creates the store now, if its first write would.
    ///
    /// # Errors
    /// [`Error::Storage`] if it cannot be written to.
    pub async fn ensure_created(&self) -> Result<()> {
        self.location.ensure_created().await
    }

    /// Creates a store in a directory whose disk operations a test observes.
    #[doc(hidden)]
    pub async fn with_disk_watch(directory: &std::path::Path, watch: Watch) -> Result<Self> {
        let location = Location::with_disk_watch(directory, watch)?;
        if read_marker(&location).await?.is_none() {
            location
                .create(marker::NAME, b"format = 1\n".to_vec())
                .await?;
        }
        Ok(Self::from_location(location, ""))
    }

    /// Creates a store in an object store that a test provides.
    #[doc(hidden)]
    pub fn from_object_store(objects: Arc<dyn object_store::ObjectStore>) -> Result<Self> {
        Ok(Self::from_location(
            Location::from_object_store(objects)?,
            "",
        ))
    }

    fn from_location(location: impl Into<Arc<Location>>, store_id: &str) -> Self {
        let location = location.into();
        let is_plain = |c: char| c.is_ascii_alphanumeric();
        let id = if store_id.is_empty() || !store_id.chars().all(is_plain) {
            let place = location.as_str().as_bytes();
            format!("{:016x}", twox_hash::XxHash3_64::oneshot(place))
        } else {
            store_id.to_ascii_lowercase()
        };
        Self {
            location,
            id: id.into(),
            snapshots: Arc::default(),
            first: PrefetchedSnapshots::default(),
            shelf: Arc::default(),
            proofs: Arc::default(),
            at: None,
            queues: WriteQueues::default(),
        }
    }

    /// Opens the store at `location`, or creates it.
    ///
    /// # Errors
    /// As [`Store::open`] and [`Store::create`].
    pub async fn open_or_create(location: &str) -> Result<Self> {
        match Self::open(location).await {
            Err(Error::NotAStore { .. }) => match Self::create(location).await {
                // Another process may have created it meanwhile.
                Err(error @ Error::CannotCreate { .. }) => {
                    Self::open(location).await.map_err(|_| error)
                }
                created => created,
            },
            opened => opened,
        }
    }

    /// Returns the location.
    #[must_use]
    pub fn location(&self) -> &Location {
        &self.location
    }

    /// Sets a callback that is called when a writer waits for another process, with its name.
    #[must_use]
    pub fn with_reporter(self, report: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self {
            queues: self.queues.with_reporter(report),
            ..self
        }
    }

    /// Waits for the turn of this writer among the writers of a table, on a local disk.
    async fn wait_for_turn(&self, table: &str) -> Option<WriteTurn> {
        let directory = self.location.local_directory()?;
        self.location.ensure_created().await.ok()?;
        self.queues.wait_for_turn(directory, table).await
    }

    /// Deletes files that no tag and no version younger than `retain` needs, and orphaned files of interrupted runs.
    /// Returns their paths. Orphaned files of a table stay if a writer does not release its lock.
    ///
    /// # Errors
    /// [`Error::Storage`] if a file cannot be deleted.
    pub async fn vacuum(&self, options: &VacuumOptions) -> Result<Vec<String>> {
        self.check_writable()?;
        let retain =
            chrono::Duration::from_std(options.retain).map_err(|error| Error::Argument {
                name: "retain",
                reason: format!("--retain: {error}"),
            })?;
        let now_ms = match self.location.now_ms().await {
            // A dry run deletes nothing.
            Err(_) if options.dry_run => chrono::Utc::now().timestamp_millis(),
            now_ms => now_ms?,
        };
        let least_age = if options.force_unlisted {
            chrono::Duration::zero()
        } else {
            retain.max(log::UNLISTED_AGE)
        };
        let unlisted_before_ms = now_ms.saturating_sub(least_age.num_milliseconds());
        let mut deleted = Vec::new();
        for table in schema::tables()? {
            let log = Log::new(&self.location, table)?;
            // A writer checks that its files exist, and then commits them. The lock prevents a deletion in between.
            let turn = self.wait_for_turn(&table.name).await;
            let local = self.location.local_directory().is_some();
            let spares = local && turn.is_none() && !options.force_unlisted;
            let unlisted_before_ms = if spares { i64::MIN } else { unlisted_before_ms };
            let tagged = self.tagged_versions(&table.name).await?;
            let files = log.vacuum(
                &self.location,
                retain,
                unlisted_before_ms,
                &tagged,
                options.dry_run,
            );
            let files = files.await?.into_iter();
            deleted.extend(files.map(|file| format!("{}/{file}", table.name)));
        }
        Ok(deleted)
    }
}

/// Options of [`Store::vacuum`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct VacuumOptions {
    /// Keep files of versions that are younger than this. A week by default.
    pub retain: std::time::Duration,
    /// Delete files that no log lists, whatever their age.
    pub force_unlisted: bool,
    /// Only list the files.
    pub dry_run: bool,
}

impl VacuumOptions {
    /// Sets the age of versions whose files are kept. Default: a week.
    #[must_use]
    pub fn retain(mut self, retain: std::time::Duration) -> Self {
        self.retain = retain;
        self
    }

    /// Deletes unlisted files whatever their age. That includes files of active writers, whose commits fail then.
    /// Without this option such a file must be an hour old.
    #[must_use]
    pub fn force_unlisted(mut self, force: bool) -> Self {
        self.force_unlisted = force;
        self
    }

    /// Only lists the files.
    #[must_use]
    pub fn dry_run(mut self, dry_run: bool) -> Self {
        self.dry_run = dry_run;
        self
    }
}

impl Default for VacuumOptions {
    /// Keeps a week.
    fn default() -> Self {
        Self {
            retain: std::time::Duration::from_secs(7 * 24 * 3600),
            force_unlisted: false,
            dry_run: false,
        }
    }
}

/// Returns the id of a new store, and its marker.
fn new_marker() -> Result<(String, Vec<u8>)> {
    let store_id = uuid::Uuid::new_v4().simple().to_string();
    let marker = toml::to_string(&Marker {
        format: FORMAT,
        store_id: store_id.clone(),
    });
    let marker = marker.map_err(|error| Error::damaged(marker::NAME, error.to_string()))?;
    Ok((store_id, marker.into_bytes()))
}

fn cannot_create(location: &Location, reason: &str) -> Error {
    Error::CannotCreate {
        location: location.as_str().to_owned(),
        reason: reason.to_owned(),
    }
}

/// Checks that a store can be created: the location does not exist, or is an empty directory.
async fn check_free(location: &Location) -> Result<()> {
    if read_marker(location).await?.is_some() {
        return Err(cannot_create(location, "is a tsql store already"));
    }
    let Some(directory) = location.local_directory() else {
        return Ok(());
    };
    match is_empty(directory) {
        Ok(false) => Err(cannot_create(location, "is not empty")),
        Ok(true) => Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(cannot_create(location, &format!("cannot be used: {error}"))),
    }
}

/// Returns whether the directory is empty, except for files of an interrupted creation of a store.
fn is_empty(directory: &std::path::Path) -> std::io::Result<bool> {
    for entry in std::fs::read_dir(directory)? {
        let entry = entry?;
        let name = entry.file_name();
        let name = name.to_str().unwrap_or_default();
        let staged = name.split_once('#');
        let is_staged = staged.is_some_and(|(name, _)| marker::NAMES.contains(&name));
        let is_lost = name == marker::FIRST_NAME && entry.metadata()?.len() == 0;
        // A writer that was killed before the first write may have queued up.
        let is_queue = name == io::write_queue::QUEUE_FOLDER;
        if !is_staged && !is_lost && !is_queue {
            return Ok(false);
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests;
