//! Opening of a store.

use std::path::Path;
use std::sync::Arc;

use tsql_formats::marker::Marker;

use crate::snapshot::prefetched_snapshots::PrefetchedSnapshots;
use crate::snapshot::prefetched_snapshots::read_marker;
use crate::{FOLDER, FORMAT, Location, Store};
use tsql_error::{Error, Result};
use tsql_schema::Table;

impl Store {
    /// Opens the store at `location`: see [`Location::open`].
    ///
    /// # Errors
    /// [`Error::NotAStore`], or [`Error::TooNew`] for the store of a newer tsql.
    pub async fn open(location: &str) -> Result<Self> {
        let location = Location::open(location).await?;
        let marker = read_marker(&location).await;
        Self::from_marker(location, marker)
    }

    /// As [`Store::open`], for a query of these tables that follows at once: their logs are read concurrently. This
    /// saves a round trip for remote stores.
    pub async fn open_for(location: &str, tables: &[&'static Table]) -> Result<Self> {
        let location = Location::open(location).await?;
        let unmarked = Self::from_location(location, "");
        let marker = read_marker(unmarked.location());
        let (marker, read) = tokio::join!(marker, unmarked.consistent_snapshots(tables));
        let store = Self::from_marker(unmarked.location, marker)?;
        // The query reads the logs again and reports the error.
        let Ok(snapshots) = read else {
            return Ok(store);
        };
        for (table, snapshot) in &snapshots {
            store.remember_snapshot(table, snapshot);
        }
        let first = PrefetchedSnapshots::new(tables, snapshots);
        Ok(Self { first, ..store })
    }

    fn from_marker(
        location: impl Into<Arc<Location>>,
        marker: Result<Option<Marker>>,
    ) -> Result<Self> {
        let location = location.into();
        let Some(marker) = marker? else {
            return Err(not_a_store(&location));
        };
        if marker.format > FORMAT {
            let what = "the store".to_owned();
            return Err(Error::TooNew {
                what,
                found: marker.format,
                supported: FORMAT,
            });
        }
        Ok(Self::from_location(location, &marker.store_id))
    }
}

fn not_a_store(location: &Location) -> Error {
    let given = location.as_str();
    let inner = Path::new(given).join(FOLDER);
    let is_missing = (location.local_directory()).is_some_and(|directory| !directory.exists());
    let hint = match inner.is_dir() {
        true => format!("the store is `{0}`: --store {0}", inner.display()),
        false if is_missing => {
            format!("the folder does not exist; `tsql init --store {given}` creates it")
        }
        false => format!("`tsql init --store {given}` creates one"),
    };
    Error::NotAStore {
        location: given.to_owned(),
        hint,
    }
}
