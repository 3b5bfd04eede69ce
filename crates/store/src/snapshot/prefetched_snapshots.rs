//! What is known of a store that was just opened.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use tsql_formats::marker::{self, Marker};

use crate::io::location::Location;
use crate::log::Snapshot;
use tsql_error::{Error, Result};
use tsql_schema::Table;

/// Tables by their names.
type Snapshots = BTreeMap<&'static str, Snapshot>;

/// The tables that were asked for, and those of them that there are.
type Asked = (Vec<&'static str>, Snapshots);

/// Versions of tables that were read with the store's marker. The first question takes them, if it asks for these tables.
#[derive(Clone, Default)]
pub(crate) struct First(Arc<Mutex<Option<Asked>>>);

impl First {
    /// Takes those of exactly these tables.
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

/// What marks the store at `location`; `None` where nothing does.
pub(crate) async fn marker_at(location: &Location) -> Result<Option<Marker>> {
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
