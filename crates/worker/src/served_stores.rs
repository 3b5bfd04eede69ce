//! Stores that a worker serves, at the table versions that queries pin.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use datafusion::common::{DataFusionError, Result};
use object_store::ObjectStore;
use tsql_cluster::{Pinned, StoreStatus};
use tsql_error::Error;
use tsql_schema as schema;
use tsql_store::{Store, StoredTable};
use url::Url;

/// Cached versions of each table: queries that began before a commit still read an older one.
const VERSIONS_PER_TABLE: usize = 4;

/// A store with the recently used tables.
#[derive(Debug)]
struct OpenStore {
    store: Store,
    /// URL of the store in plans.
    url: Url,
    tables: Mutex<Vec<CachedTable>>,
}

/// A table at a version.
#[derive(Debug)]
struct CachedTable {
    table: String,
    version: u64,
    read: Arc<StoredTable>,
}

/// All stores of a worker.
#[derive(Debug)]
pub(super) struct ServedStores(Vec<OpenStore>);

/// Tables that a query may read: some tables of a store, each at a version.
#[derive(Debug)]
pub(super) struct QueryTables {
    pub(super) url: Url,
    pub(super) objects: Arc<dyn ObjectStore>,
    pub(super) tables: BTreeMap<String, Arc<StoredTable>>,
}

impl ServedStores {
    pub(super) fn new(stores: Vec<Store>) -> tsql_error::Result<Self> {
        let mut served: Vec<OpenStore> = Vec::new();
        for store in stores {
            let url = store.object_store_url()?;
            let url: &Url = url.as_ref();
            if let Some(other) = served.iter().find(|other| other.url == *url) {
                return Err(Error::Refused(format!(
                    "`{}` and `{}` are the same store or copies, which plans cannot distinguish\n\
                     hint: serve each with a separate worker",
                    other.store.location().as_str(),
                    store.location().as_str()
                )));
            }
            served.push(OpenStore {
                url: url.clone(),
                store,
                tables: Mutex::default(),
            });
        }
        Ok(Self(served))
    }

    /// Returns the status of the stores.
    pub(super) fn status(&self) -> Vec<StoreStatus> {
        let shown = self.0.iter().map(|kept| StoreStatus {
            location: kept.store.location().as_str().to_owned(),
            id: kept.url.to_string(),
        });
        shown.collect()
    }

    /// Opens the pinned tables of a query.
    ///
    /// # Errors
    /// The store is not served, or a version does not exist.
    pub(super) async fn open_tables(&self, pinned: &Pinned) -> Result<QueryTables> {
        let kept = self.0.iter().find(|kept| kept.url.as_str() == pinned.store);
        let kept = kept.ok_or_else(|| refusal("this worker does not serve the store"))?;
        let asked = pinned
            .tables()
            .ok_or_else(|| refusal("no list of versions"))?;
        let mut tables = BTreeMap::new();
        for (table, version) in asked {
            tables.insert(table.to_owned(), kept.open_table(table, version).await?);
        }
        Ok(QueryTables {
            url: kept.url.clone(),
            objects: Arc::clone(kept.store.location().objects()),
            tables,
        })
    }
}

impl OpenStore {
    async fn open_table(&self, table: &str, version: u64) -> Result<Arc<StoredTable>> {
        let is_it = |known: &&CachedTable| known.table == table && known.version == version;
        if let Some(known) = self.lock_tables().iter().find(is_it) {
            return Ok(Arc::clone(&known.read));
        }
        let failed = |error: tsql_error::Error| DataFusionError::External(error.into());
        let schema = schema::table(table).map_err(failed)?;
        let snapshot = self.store.snapshot_at_version(table, version).await;
        let snapshot = snapshot.map_err(failed)?;
        let read = self.store.stored_table(schema, snapshot.files());
        let read = Arc::new(read.map_err(failed)?);
        let mut known = self.lock_tables();
        known.push(CachedTable {
            table: table.to_owned(),
            version,
            read: Arc::clone(&read),
        });
        let of_table = known.iter().filter(|known| known.table == table);
        if of_table.count() > VERSIONS_PER_TABLE
            && let Some(oldest) = known.iter().position(|known| known.table == table)
        {
            known.remove(oldest);
        }
        Ok(read)
    }

    fn lock_tables(&self) -> std::sync::MutexGuard<'_, Vec<CachedTable>> {
        self.tables.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Error for a rejected plan.
pub(super) fn refusal(reason: &str) -> DataFusionError {
    DataFusionError::Plan(format!("rejected: {reason}"))
}
