//! What a session shows of a store: which one, and the versions of its tables.

use std::collections::BTreeMap;
use std::sync::Arc;

use datafusion::prelude::SessionContext;

use crate::store::Snapshots;

/// A store and the versions of its tables that a session reads; what its settings bring along.
#[derive(Debug)]
pub(crate) struct Shown {
    store: String,
    versions: BTreeMap<String, u64>,
}

impl Shown {
    /// What a session reads from now on.
    pub(super) fn put(context: &SessionContext, store: String, snapshots: &Snapshots) {
        let versions = snapshots.iter();
        let versions = versions.map(|(name, snapshot)| ((*name).to_owned(), snapshot.version()));
        let shown = Arc::new(Self {
            store,
            versions: versions.collect(),
        });
        let state = context.state_ref();
        state.write().config_mut().set_extension(shown);
    }

    /// What a session reads; `None` of one without a store.
    pub(crate) fn of(context: &SessionContext) -> Option<Arc<Self>> {
        context.state().config().get_extension::<Self>()
    }

    /// Name of the store.
    pub(crate) fn store(&self) -> &str {
        &self.store
    }

    /// The version of a table; `None` where nobody has written it.
    pub(crate) fn version(&self, table: &str) -> Option<u64> {
        self.versions.get(table).copied()
    }
}
