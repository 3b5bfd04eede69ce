//! Opening a store.

use std::path::Path;
use std::sync::Arc;

use tsql_formats::marker::Marker;

use crate::snapshot::prefetched_snapshots::First;
use crate::snapshot::prefetched_snapshots::marker_at;
use crate::{FOLDER, FORMAT, Location, Store};
use tsql_error::{Error, Result};
use tsql_schema::Table;

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
    pub async fn open_for(location: &str, tables: &[&'static Table]) -> Result<Self> {
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
        let first = First::new(tables, snapshots);
        Ok(Self { first, ..store })
    }

    fn marked(location: impl Into<Arc<Location>>, marker: Result<Option<Marker>>) -> Result<Self> {
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
        Ok(Self::over(location, &marker.made_as))
    }
}

fn not_a_store(location: &Location) -> Error {
    let given = location.as_str();
    let inner = Path::new(given).join(FOLDER);
    let hint = match inner.is_dir() {
        true => format!("the store is `{0}`: --store {0}", inner.display()),
        false => format!("`tsql init --store {given}` makes one"),
    };
    Error::NotAStore {
        location: given.to_owned(),
        hint,
    }
}
