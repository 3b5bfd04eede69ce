//! Opening a store.

use std::sync::{Arc, Mutex, PoisonError};

use tsql_formats::marker::{self, Marker};

use super::{FORMAT, Location, Snapshots, Store};
use crate::error::{Error, Result};
use crate::schema::Table;

/// Versions of tables that were read with the store's marker. The first question takes them, if it asks for these tables.
#[derive(Clone, Default)]
pub(super) struct First(Arc<Mutex<Option<(Vec<&'static str>, Snapshots)>>>);

impl First {
    /// Takes those of exactly these tables.
    pub(super) fn take(&self, tables: &[&'static Table]) -> Option<Snapshots> {
        let mut first = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (names, snapshots) = first.take()?;
        let asked = tables.iter().map(|table| table.name.as_str());
        asked.eq(names).then_some(snapshots)
    }

    fn of(tables: &[&'static Table], snapshots: Snapshots) -> Self {
        let names = tables.iter().map(|table| table.name.as_str()).collect();
        Self(Arc::new(Mutex::new(Some((names, snapshots)))))
    }
}

impl Store {
    /// Opens the store at `location`: see [`Location::open`].
    ///
    /// # Errors
    /// [`Error::NotAStore`], or [`Error::TooNew`] for one that a newer tsql has made.
    pub async fn open(location: &str) -> Result<Self> {
        let location = Location::open(location).await?;
        let marker = marker_at(&location).await;
        Self::marked(location, marker)
    }

    /// As [`Store::open`] for a question about these tables that follows at once: their logs are read meanwhile. Where the
    /// store is far away, that is a round trip less.
    pub(crate) async fn open_for(location: &str, tables: &[&'static Table]) -> Result<Self> {
        let location = Location::open(location).await?;
        let unmarked = Self::over(location, "");
        let marker = marker_at(unmarked.location());
        let (marker, read) = tokio::join!(marker, unmarked.snapshots_of(tables));
        let store = Self::marked(unmarked.location, marker)?;
        // Who asks again says what is wrong.
        let Ok(snapshots) = read else {
            return Ok(store);
        };
        for (table, snapshot) in &snapshots {
            store.learn(table, snapshot);
        }
        let first = First::of(tables, snapshots);
        Ok(Self { first, ..store })
    }

    fn marked(location: impl Into<Arc<Location>>, marker: Result<Option<Marker>>) -> Result<Self> {
        let location = location.into();
        let Some(marker) = marker? else {
            return Err(Error::NotAStore {
                location: location.as_str().to_owned(),
            });
        };
        if marker.format > FORMAT {
            let what = "the store".to_owned();
            return Err(Error::TooNew {
                what,
                found: marker.format,
                supported: FORMAT,
            });
        }
        Ok(Self::over(location, &marker.made_as))
    }
}

/// What marks the store at `location`; `None` where nothing does.
pub(super) async fn marker_at(location: &Location) -> Result<Option<Marker>> {
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
