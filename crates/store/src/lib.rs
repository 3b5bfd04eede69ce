#![doc = include_str!("../README.md")]
//!
//! ```text
//! store/
//! ├── tsql-store.toml               what makes the folder a store: its format (`marker`)
//! ├── .queues/                      locks of writers, on a local disk only
//! ├── graphs/                       one Delta table for each of schemas/*.toml, made when
//! │   ├── _delta_log/000....json    something is first written to it
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
//! Invariants: only `log` knows the format of a log, and only `log_files` the names of its files. Data files are never changed
//! or reused. No table is written that refers to rows of another which are not committed yet.

#![cfg_attr(
    test,
    allow(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::indexing_slicing,
        clippy::string_slice,
        clippy::print_stdout,
        reason = "a test fails by panicking, and may say how much it looked at"
    )
)]

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
pub use io::durable_fs::{Step, Watch};
#[doc(hidden)]
pub use io::failing_store::{FailingStore, Hook};
pub use io::location::Location;
pub use io::remote::{
    Probed, SCHEMES, Traffic, objects_at, stop_waiting, tell_waiting, traffic, wait_at_most,
    waiting_is_stopped,
};
pub use log::{Change, Log, Snapshot, Version};
pub use maintenance::delete_rows::{Partition, Rests};
pub use maintenance::tags::{Held, Tag};
pub use scan::read_tables::{LISTED, is_store_url, scan_of_store};
pub use scan::rollup_table::RollupTable;
pub use scan::stored_table::{Expected, StoredTable};
pub use settings::rule_switches::{RuleSwitch, RuleSwitches};
pub use settings::verify_settings::Settings;
pub use snapshot::at::At;
pub use snapshot::snapshot_cache::{Shelf, Versions};
pub use tables::consistent_snapshot::{CORRECTIONS, RETRACTED, Snapshots};
pub use tables::discover::FOLDER;

use io::write_queue::{Queues, Turn};
use snapshot::at::Moment;
use snapshot::prefetched_snapshots::{First, marker_at};
use tsql_error::{Error, Result};
use tsql_formats::marker::{self, Marker};
use tsql_schema as schema;

/// Version of the store's layout.
const FORMAT: i64 = 1;

/// A store of graphs, configurations and measurements.
///
/// - Cheap to clone; clones are the same store.
/// - Safe to use from many threads and processes at once.
/// - Holds no open files. What was read of a log is remembered, and what came after is read: every
///   call sees the newest committed state.
#[derive(Clone)]
pub struct Store {
    location: Arc<Location>,
    /// What tells it from all others, wherever it is found: a random number, or where it was found.
    id: Arc<str>,
    /// The newest versions of tables that were read.
    snapshots: Arc<Mutex<HashMap<String, Snapshot>>>,
    /// What was read while the store was opened, for whoever asks for these tables first.
    first: First,
    /// What sessions over them have made.
    shelf: Arc<Shelf>,
    /// What its tables prove of each other.
    proofs: Arc<OnceLock<log::Proofs>>,
    /// It is looked at as it was then.
    at: Option<Arc<Moment>>,
    queues: Queues,
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
    /// Makes a store at `location`, which must not exist or be an empty directory; `memory:` makes
    /// one that ends with the process.
    ///
    /// # Errors
    /// [`Error::CannotCreate`] where something is there already.
    pub async fn create(location: &str) -> Result<Self> {
        let location = Location::open(location).await?;
        let taken = |reason: &str| Error::CannotCreate {
            location: location.as_str().to_owned(),
            reason: reason.to_owned(),
        };
        if marker_at(&location).await?.is_some() {
            return Err(taken("is a tsql store already"));
        }
        if let Some(directory) = location.local_directory() {
            match is_empty(directory) {
                Ok(false) => return Err(taken("is not empty")),
                Ok(true) => {}
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) => return Err(taken(&format!("cannot be used: {error}"))),
            }
        }
        let made_as = uuid::Uuid::new_v4().simple().to_string();
        let marker = toml::to_string(&Marker {
            format: FORMAT,
            made_as: made_as.clone(),
        });
        let marker = marker.map_err(|error| Error::damaged(marker::NAME, error.to_string()))?;
        if !location.create(marker::NAME, marker.into_bytes()).await? {
            return Err(taken("is a tsql store already"));
        }
        Ok(Self::over(location, &made_as))
    }

    /// A store in a directory, each step on whose disk a test sees.
    #[doc(hidden)]
    pub async fn watched(directory: &std::path::Path, watch: Watch) -> Result<Self> {
        let location = Location::watched(directory, watch)?;
        if marker_at(&location).await?.is_none() {
            location
                .create(marker::NAME, b"format = 1\n".to_vec())
                .await?;
        }
        Ok(Self::over(location, ""))
    }

    /// A store in an object store of a test's own.
    #[doc(hidden)]
    pub fn in_objects(objects: Arc<dyn object_store::ObjectStore>) -> Result<Self> {
        Ok(Self::over(Location::over(objects)?, ""))
    }

    fn over(location: impl Into<Arc<Location>>, made_as: &str) -> Self {
        let location = location.into();
        let is_plain = |c: char| c.is_ascii_alphanumeric();
        let id = if made_as.is_empty() || !made_as.chars().all(is_plain) {
            let place = location.as_str().as_bytes();
            format!("{:016x}", twox_hash::XxHash3_64::oneshot(place))
        } else {
            made_as.to_ascii_lowercase()
        };
        Self {
            location,
            id: id.into(),
            snapshots: Arc::default(),
            first: First::default(),
            shelf: Arc::default(),
            proofs: Arc::default(),
            at: None,
            queues: Queues::default(),
        }
    }

    /// Opens the store at `location`, or makes it.
    ///
    /// # Errors
    /// As [`Store::open`] and [`Store::create`].
    pub async fn open_or_create(location: &str) -> Result<Self> {
        match Self::open(location).await {
            Err(Error::NotAStore { .. }) => match Self::create(location).await {
                // Another process may have made it meanwhile.
                Err(error @ Error::CannotCreate { .. }) => {
                    Self::open(location).await.map_err(|_| error)
                }
                created => created,
            },
            opened => opened,
        }
    }

    /// Where it lies.
    #[must_use]
    pub fn location(&self) -> &Location {
        &self.location
    }

    /// The same store, whose writers tell when they wait for another process, and for which.
    #[must_use]
    pub fn telling(self, tell: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self {
            queues: self.queues.telling(tell),
            ..self
        }
    }

    /// Waits for its turn among the writers of a table, on a local disk.
    async fn turn(&self, table: &str) -> Option<Turn> {
        let directory = self.location.local_directory()?;
        self.queues.turn(directory, table).await
    }

    /// Deletes the files that no tag and no version younger than `retain` needs, and left-overs of broken runs;
    /// returns their paths. Left-overs of a table stay where a writer does not make way.
    ///
    /// # Errors
    /// [`Error::Storage`] where a file cannot be deleted.
    pub async fn vacuum(&self, options: &VacuumOptions) -> Result<Vec<String>> {
        self.changeable()?;
        let retain =
            chrono::Duration::from_std(options.retain).map_err(|error| Error::Argument {
                name: "retain",
                reason: format!("--retain: {error}"),
            })?;
        let now_ms = match self.location.now_ms().await {
            // Nothing is deleted then.
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
            // A writer looks whether its files are there, and then commits them: not in between.
            let turn = self.turn(&table.name).await;
            let local = self.location.local_directory().is_some();
            let spares = local && turn.is_none() && !options.force_unlisted;
            let unlisted_before_ms = if spares { i64::MIN } else { unlisted_before_ms };
            let tagged = self.tagged(&table.name).await?;
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

/// What to delete.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct VacuumOptions {
    /// Files that a version of this last while needs stay. A week by default.
    pub retain: std::time::Duration,
    /// Delete files that no log names, whatever their age.
    pub force_unlisted: bool,
    /// List the files only.
    pub dry_run: bool,
}

impl VacuumOptions {
    /// Keeps what versions of this last while need; of a week unless it is set.
    #[must_use]
    pub fn retain(mut self, retain: std::time::Duration) -> Self {
        self.retain = retain;
        self
    }

    /// Files that no log names go whatever their age. Those of writers that run now are among them, and
    /// their commits fail then; otherwise such a file must be an hour old.
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
    /// A week is kept.
    fn default() -> Self {
        Self {
            retain: std::time::Duration::from_secs(7 * 24 * 3600),
            force_unlisted: false,
            dry_run: false,
        }
    }
}

/// Is there nothing in the directory, but what is left of a store whose making was broken off?
fn is_empty(directory: &std::path::Path) -> std::io::Result<bool> {
    for entry in std::fs::read_dir(directory)? {
        let entry = entry?;
        let name = entry.file_name();
        let name = name.to_str().unwrap_or_default();
        let staged = name.split_once('#');
        let is_staged = staged.is_some_and(|(name, _)| marker::NAMES.contains(&name));
        let is_lost = name == marker::FIRST_NAME && entry.metadata()?.len() == 0;
        if !is_staged && !is_lost {
            return Ok(false);
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests;
