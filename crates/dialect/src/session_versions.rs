//! The store and table versions of a session.

use std::collections::BTreeMap;
use std::sync::Arc;

use datafusion::prelude::SessionContext;

use tsql_store::Snapshots;

/// The store and table versions that a session reads, as an extension of its configuration.
#[derive(Debug)]
pub struct SessionVersions {
    store: String,
    versions: BTreeMap<String, u64>,
}

impl SessionVersions {
    /// Sets the store and versions that a session reads.
    pub fn attach(context: &SessionContext, store: String, snapshots: &Snapshots) {
        let versions = snapshots.iter();
        let versions = versions.map(|(name, snapshot)| ((*name).to_owned(), snapshot.version()));
        let shown = Arc::new(Self {
            store,
            versions: versions.collect(),
        });
        let state = context.state_ref();
        state.write().config_mut().set_extension(shown);
    }

    /// Store and versions that a session reads; `None` for a session without a store.
    pub fn from_session(context: &SessionContext) -> Option<Arc<Self>> {
        context.state().config().get_extension::<Self>()
    }

    /// Name of the store.
    pub fn store(&self) -> &str {
        &self.store
    }

    /// Version of a table; `None` if the table was never written.
    pub fn version(&self, table: &str) -> Option<u64> {
        self.versions.get(table).copied()
    }
}
