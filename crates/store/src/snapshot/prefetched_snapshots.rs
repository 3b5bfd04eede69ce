//! Snapshots that are read while a store is opened.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use tsql_formats::marker::{self, Marker};

use crate::io::location::Location;
use crate::log::Snapshot;
use tsql_error::{Error, Result};
use tsql_schema::Table;

/// Snapshots by table name.
type Snapshots = BTreeMap<&'static str, Snapshot>;

/// The requested tables, and snapshots of those that exist.
type Prefetched = (Vec<&'static str>, Snapshots);

/// Snapshots that were read together with the store's marker. The first query takes them if it needs exactly these
/// tables.
#[derive(Clone, Default)]
pub(crate) struct PrefetchedSnapshots(Arc<Mutex<Option<Prefetched>>>);

impl PrefetchedSnapshots {
    /// Takes the snapshots if they are of exactly these tables.
    pub(crate) fn take(&self, tables: &[&'static Table]) -> Option<Snapshots> {
        let mut first = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (names, snapshots) = first.take()?;
        let asked = tables.iter().map(|table| table.name.as_str());
        asked.eq(names).then_some(snapshots)
    }

    pub(crate) fn new(tables: &[&'static Table], snapshots: Snapshots) -> Self {
        let names = tables.iter().map(|table| table.name.as_str()).collect();
        Self(Arc::new(Mutex::new(Some((names, snapshots)))))
    }
}

/// Reads the marker of the store at `location`. `None` if there is none.
pub(crate) async fn read_marker(location: &Location) -> Result<Option<Marker>> {
    for name in marker::NAMES {
        let Some(bytes) = location.read(name).await? else {
            continue;
        };
        let found = Marker::parse(name, &String::from_utf8_lossy(&bytes));
        if let Some(found) = found.map_err(|reason| Error::damaged(name, reason))? {
            return Ok(Some(found));
        }
    }
    let lost = location.local_directory().is_some_and(marker::is_lost);
    Ok(lost.then(Marker::lost))
}
