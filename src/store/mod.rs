//! The store: tables of Parquet files with a log each, in a directory, a bucket or in memory.
//!
//! ```text
//! store/
//! ├── tsql.toml                     what makes the folder a store: its format
//! ├── .queues/                      locks of writers, on a local disk only
//! ├── graphs/                       one Delta table for each of schemas/*.toml, made when
//! │   ├── _delta_log/000....json    something is first written to it
//! │   └── part-....parquet
//! └── records/
//!     ├── _delta_log/
//!     └── dataset=tenset/platform=k80/part-....parquet
//! ```
//!
//! Architecture invariants: only `log` names the log's format; data files are never changed or
//! reused; no table is written that refers to rows of another which are not committed yet.

mod at;
mod commit;
mod encode;
pub(crate) mod file;
mod location;
mod log;
mod read;
mod remote;
pub(crate) mod rollup;
mod rollup_table;
mod scan;
mod selectivity;
mod synced;

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex};

use serde::{Deserialize, Serialize};

pub use at::At;
pub use location::Location;
pub use log::Version;
pub(crate) use log::{Change, Log, Snapshot};
pub(crate) use read::LISTED;
pub use remote::{Probed, Traffic, traffic};
pub(crate) use remote::{SCHEMES, objects_at};
pub(crate) use rollup_table::RollupTable;
pub(crate) use scan::StoredTable;

use crate::error::{Error, Result};
use crate::schema;

/// Name of the file that makes a folder a store.
const MARKER: &str = "tsql.toml";

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
    /// The newest versions of tables that were read.
    snapshots: Arc<Mutex<HashMap<String, Snapshot>>>,
    /// It is looked at as it was then.
    at: Option<Arc<at::Moment>>,
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

#[derive(Serialize, Deserialize)]
struct Marker {
    format: i64,
    /// A random number, by which whoever made the store knows that it did.
    #[serde(default)]
    made_as: String,
}

impl Store {
    /// Opens the store at `location`: see [`Location::open`].
    ///
    /// # Errors
    /// [`Error::NotAStore`], or [`Error::TooNew`] for one that a newer tsql has made.
    pub async fn open(location: &str) -> Result<Self> {
        let location = Location::open(location).await?;
        let Some(bytes) = location.read(MARKER).await? else {
            return Err(Error::NotAStore {
                location: location.as_str().to_owned(),
            });
        };
        let text = String::from_utf8_lossy(&bytes);
        let marker: Marker =
            toml::from_str(&text).map_err(|error| Error::damaged(MARKER, error.to_string()))?;
        if marker.format > FORMAT {
            let what = "the store".to_owned();
            return Err(Error::TooNew {
                what,
                found: marker.format,
                supported: FORMAT,
            });
        }
        Ok(Self::over(location))
    }

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
        if location.read(MARKER).await?.is_some() {
            return Err(taken("is a tsql store already"));
        }
        if let Some(directory) = location.local_directory() {
            match std::fs::read_dir(directory).map(|mut entries| entries.next().is_some()) {
                Ok(true) => return Err(taken("is not empty")),
                Ok(false) => {}
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) => return Err(taken(&format!("cannot be used: {error}"))),
            }
        }
        let marker = toml::to_string(&Marker {
            format: FORMAT,
            made_as: uuid::Uuid::new_v4().simple().to_string(),
        });
        let marker = marker.map_err(|error| Error::damaged(MARKER, error.to_string()))?;
        if !location.create(MARKER, marker.into_bytes()).await? {
            return Err(taken("is a tsql store already"));
        }
        Ok(Self::over(location))
    }

    fn over(location: Location) -> Self {
        Self {
            location: Arc::new(location),
            snapshots: Arc::default(),
            at: None,
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

    /// All versions of all tables, by table, the newest first.
    ///
    /// # Errors
    /// [`Error::Storage`] or [`Error::Log`] where a log cannot be read.
    pub async fn history(&self) -> Result<Vec<Version>> {
        let mut history = Vec::new();
        for table in schema::tables()? {
            history.extend(Log::new(&self.location, table)?.history().await?);
        }
        Ok(history)
    }

    /// Deletes the files that no version younger than `retain` needs, left-overs of broken runs
    /// among them; returns their paths. `dry_run` only lists them.
    ///
    /// # Errors
    /// [`Error::Storage`] where a file cannot be deleted.
    pub async fn vacuum(&self, retain: std::time::Duration, dry_run: bool) -> Result<Vec<String>> {
        self.changeable()?;
        let retain = chrono::Duration::from_std(retain)
            .map_err(|error| Error::Usage(format!("--retain: {error}")))?;
        let mut deleted = Vec::new();
        for table in schema::tables()? {
            let files = Log::new(&self.location, table)?
                .vacuum(retain, dry_run)
                .await?;
            deleted.extend(
                files
                    .into_iter()
                    .map(|file| format!("{}/{file}", table.name)),
            );
        }
        Ok(deleted)
    }
}
