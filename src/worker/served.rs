//! The stores that a worker serves, at the versions that questions are about.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use datafusion::common::{DataFusionError, Result};
use object_store::ObjectStore;
use url::Url;

use crate::cluster::{Pinned, Served};
use crate::error::Error;
use crate::schema;
use crate::store::{Store, StoredTable};

/// Versions of a table that are kept at hand: questions that began before a commit are still about an older one.
const KEPT: usize = 4;

/// A store with the tables that were asked about last.
#[derive(Debug)]
struct Kept {
    store: Store,
    /// Its URL in plans.
    url: Url,
    tables: Mutex<Vec<Known>>,
}

/// A table at a version.
#[derive(Debug)]
struct Known {
    table: String,
    version: u64,
    read: Arc<StoredTable>,
}

/// All stores of a worker.
#[derive(Debug)]
pub(super) struct ServedStores(Vec<Kept>);

/// What a question may read: some tables of a store, each at a version.
#[derive(Debug)]
pub(super) struct Readable {
    pub(super) url: Url,
    pub(super) objects: Arc<dyn ObjectStore>,
    pub(super) tables: BTreeMap<String, Arc<StoredTable>>,
}

impl ServedStores {
    pub(super) fn new(stores: Vec<Store>) -> crate::error::Result<Self> {
        let mut served: Vec<Kept> = Vec::new();
        for store in stores {
            let url = store.object_store_url()?;
            let url: &Url = url.as_ref();
            if let Some(other) = served.iter().find(|other| other.url == *url) {
                return Err(Error::Refused(format!(
                    "`{}` and `{}` are one store, or copies of its files, which plans name alike\n\
                     hint: serve each with a worker of its own",
                    other.store.location().as_str(),
                    store.location().as_str()
                )));
            }
            served.push(Kept {
                url: url.clone(),
                store,
                tables: Mutex::default(),
            });
        }
        Ok(Self(served))
    }

    /// The stores, to be shown.
    pub(super) fn shown(&self) -> Vec<Served> {
        let shown = self.0.iter().map(|kept| Served {
            location: kept.store.location().as_str().to_owned(),
            id: kept.url.to_string(),
        });
        shown.collect()
    }

    /// The tables that a question is about.
    ///
    /// # Errors
    /// Where the store is not served, or a version is not there.
    pub(super) async fn readable(&self, pinned: &Pinned) -> Result<Readable> {
        let kept = self.0.iter().find(|kept| kept.url.as_str() == pinned.store);
        let kept = kept.ok_or_else(|| refused("this worker does not serve the store"))?;
        let asked = pinned
            .tables()
            .ok_or_else(|| refused("no list of versions"))?;
        let mut tables = BTreeMap::new();
        for (table, version) in asked {
            tables.insert(table.to_owned(), kept.table(table, version).await?);
        }
        Ok(Readable {
            url: kept.url.clone(),
            objects: Arc::clone(kept.store.location().objects()),
            tables,
        })
    }
}

impl Kept {
    async fn table(&self, table: &str, version: u64) -> Result<Arc<StoredTable>> {
        let is_it = |known: &&Known| known.table == table && known.version == version;
        if let Some(known) = self.known().iter().find(is_it) {
            return Ok(Arc::clone(&known.read));
        }
        let failed = |error: crate::Error| DataFusionError::External(error.into());
        let schema = schema::table(table).map_err(failed)?;
        let snapshot = self.store.snapshot_of(table, version).await;
        let snapshot = snapshot.map_err(failed)?;
        let read = self.store.stored_table(schema, snapshot.files());
        let read = Arc::new(read.map_err(failed)?);
        let mut known = self.known();
        known.push(Known {
            table: table.to_owned(),
            version,
            read: Arc::clone(&read),
        });
        let of_table = known.iter().filter(|known| known.table == table);
        if of_table.count() > KEPT
            && let Some(oldest) = known.iter().position(|known| known.table == table)
        {
            known.remove(oldest);
        }
        Ok(read)
    }

    fn known(&self) -> std::sync::MutexGuard<'_, Vec<Known>> {
        self.tables.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What is refused whoever asks.
pub(super) fn refused(reason: &str) -> DataFusionError {
    DataFusionError::Plan(format!("refused: {reason}"))
}
