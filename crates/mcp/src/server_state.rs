//! State that all requests share.

use tsql_session::{NamedQuery, QueryThreads, SessionOptions};
use tsql_store::Store;

/// State that all requests share.
#[derive(Debug)]
pub(crate) struct ServerState {
    pub(crate) store: Store,
    /// Limits of queries. They read only the store.
    pub(crate) session: SessionOptions,
    pub(crate) queries: Vec<NamedQuery>,
    pub(crate) threads: QueryThreads,
}
