//! Sessions: the SQL view of a store.

use std::collections::BTreeSet;
use std::sync::Arc;

use datafusion::catalog::{MemorySchemaProvider, TableProvider};
use datafusion::prelude::SessionContext;
use tsql_dialect::referenced_tables::{ReferencedTables, STORED};
use tsql_dialect::session_versions::SessionVersions;
use tsql_engine::{Limits, SharedRuntime, new_context, shared_runtime};
use tsql_error::{Error, Result};
use tsql_schema as schema;
use tsql_schema::Table;
use tsql_store::{SCHEMES, Snapshot, SnapshotCache, Snapshots, Store, Versions, objects_at};
use url::Url;

use super::noise;
use super::retracted::retracted_views;
use super::search_spaces;
use super::view::plan_view;

#[cfg(feature = "cluster")]
use tsql_cluster::{Workers, with_workers};
#[cfg(feature = "cluster")]
use tsql_engine::{ExplainRulesPlanner, LocalPlanner};

/// Options of a session.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct SessionOptions {
    pub(crate) sql: Option<String>,
    pub(crate) memory_limit_bytes: Option<usize>,
    pub(crate) memory_guard_bytes: Option<usize>,
    pub(crate) threads: Option<usize>,
    pub(crate) shared: Option<SharedRuntime>,
    pub(crate) store_only: bool,
    #[cfg(feature = "cluster")]
    pub(crate) workers: Option<Workers>,
}

impl SessionOptions {
    /// Loads only the tables that this SQL references. By default all tables are loaded.
    #[must_use]
    pub fn sql(mut self, sql: impl Into<String>) -> Self {
        self.sql = Some(sql.into());
        self
    }

    /// Sets the memory limit for joins, sorts and aggregates, in bytes. Larger data spills to temporary files.
    #[must_use]
    pub fn memory_limit_bytes(mut self, bytes: impl Into<Option<usize>>) -> Self {
        self.memory_limit_bytes = bytes.into();
        self
    }

    /// Sets the memory at which a query stops or its sorts and aggregates spill, in bytes. Planning ignores this limit.
    /// It has no effect with [`SessionOptions::memory_limit_bytes`].
    #[must_use]
    pub fn memory_guard_bytes(mut self, bytes: impl Into<Option<usize>>) -> Self {
        self.memory_guard_bytes = bytes.into();
        self
    }

    /// Sets the number of partitions that a query computes in parallel, at least 1. The default is the number of cores.
    #[must_use]
    pub fn threads(mut self, threads: impl Into<Option<usize>>) -> Self {
        self.threads = threads.into().map(|threads| threads.max(1));
        self
    }

    /// Makes sessions with these options, or with clones of them, share one memory pool.
    ///
    /// # Errors
    /// [`tsql_error::Error::Io`] if the folder for spilled data cannot be created.
    pub fn share_memory(mut self) -> Result<Self> {
        self.shared = Some(shared_runtime(self.limits().memory_pool_bytes())?);
        Ok(self)
    }

    /// Disables files, folders and URLs as tables. Results come from the store alone.
    #[must_use]
    pub fn store_only(mut self) -> Self {
        self.store_only = true;
        self
    }

    /// Returns whether another session with such options would create the same views.
    #[cfg(feature = "cluster")]
    pub(super) fn shares_views(&self) -> bool {
        self.workers.is_none()
    }

    #[cfg(not(feature = "cluster"))]
    pub(super) fn shares_views(&self) -> bool {
        true
    }

    fn limits(&self) -> Limits {
        Limits {
            memory_bytes: self.memory_limit_bytes,
            guard_bytes: self.memory_guard_bytes,
            threads: self.threads,
            shared: self.shared.clone(),
            store_only: self.store_only,
        }
    }

    /// Sets the workers that run sufficiently large queries. Without this option there are none. They read the tables
    /// at the versions of the session.
    #[cfg(feature = "cluster")]
    #[must_use]
    pub fn workers(mut self, workers: Workers) -> Self {
        self.workers = Some(workers);
        self
    }
}

/// Creates a DataFusion session over the current state of the store.
///
/// It has the tables under their names, their stored columns as `stored.<table>`, the views, and the functions of
/// tsql. A path is a table too: `FROM 'predictions.parquet'`.
///
/// All tables have the versions as of this call. Later commits are not visible.
///
/// # Errors
/// [`Error::TooNew`] for a table of a newer tsql, and storage failures.
pub async fn open_session(store: &Store) -> Result<SessionContext> {
    open_session_with(store, &SessionOptions::default()).await
}

/// Like [`open_session`](crate::open_session), for one query or with limits.
///
/// # Errors
/// As [`open_session`](crate::open_session); [`Error::Query`] if `sql` cannot be parsed.
pub async fn open_session_with(store: &Store, options: &SessionOptions) -> Result<SessionContext> {
    Ok(open_session_at(store, options).await?.0)
}

/// Opens the store at `location` for a query that follows immediately.
///
/// # Errors
/// As [`Store::open`]; [`Error::Query`] if `sql` cannot be parsed.
pub async fn open_for_query(location: &str, sql: &str) -> Result<Store> {
    // On a local disk, prefetching saves nothing.
    if !location.contains("://") {
        return Store::open(location).await;
    }
    let names = ReferencedTables::from_sql(sql, &SessionContext::new().state())?;
    Store::open_for(location, &tables_of(&names)?).await
}

/// Like [`open_session_with`](crate::open_session_with); also returns the versions of the tables.
pub async fn open_session_at(
    store: &Store,
    options: &SessionOptions,
) -> Result<(SessionContext, Snapshots)> {
    let context = new_engine_context(store, options)?;
    let names = match &options.sql {
        Some(sql) => ReferencedTables::from_sql(sql, &context.state())?,
        None => ReferencedTables::all()?,
    };
    if options.store_only
        && let Some(url) = names.urls.first()
    {
        return Err(file_not_allowed(url));
    }
    register_object_stores(&context, &names).await?;
    let snapshots = store.consistent_snapshots(&tables_of(&names)?).await?;
    store.report_hidden_rows(&snapshots);
    show_versions(store, &context, &names, &snapshots, options.shares_views()).await?;
    Ok((context, snapshots))
}

/// Registers or replaces the tables and views of these names at these versions. With `shares`, views of other
/// sessions are reused.
pub(super) async fn show_versions(
    store: &Store,
    context: &SessionContext,
    names: &ReferencedTables,
    snapshots: &Snapshots,
    shares: bool,
) -> Result<()> {
    let url = store.object_store_url()?;
    context.register_object_store(url.as_ref(), Arc::clone(store.location().objects()));
    let tables = tables_of(names)?;
    let version = |name: &str| snapshots.get(name).map(Snapshot::version);
    let versions = tables.iter().map(|table| {
        let name = table.name.as_str();
        (name, version(name))
    });
    let making = SessionTables {
        context,
        // Rows that are hidden now may become visible without a commit to their table.
        shelf: (shares
            && snapshots
                .values()
                .all(|snapshot| snapshot.hidden_rows().is_none()))
        .then(|| store.snapshot_cache()),
        versions: versions.collect(),
    };
    register_stored_schema(context)?;
    for table in &tables {
        let snapshot = snapshots.get(table.name.as_str());
        let files = snapshot.map(|snapshot| snapshot.files().as_slice());
        // The folder name remains valid even if the SQL name differs, because other engines know the table by it.
        for name in BTreeSet::from([table.name.as_str(), table.sql_name()]) {
            making.register(&format!("{STORED}.{name}"), || {
                let table = store.stored_table(table, files.unwrap_or_default())?;
                Ok(Arc::new(table))
            })?;
        }
    }
    SessionVersions::attach(context, url.as_str().to_owned(), snapshots);
    #[cfg(feature = "cluster")]
    let versions = snapshots
        .iter()
        .map(|(name, snapshot)| ((*name).to_owned(), snapshot.version()))
        .collect();
    #[cfg(feature = "cluster")]
    tsql_cluster::pin_versions(context, &versions);
    for (name, sql) in retracted_views(context, snapshots)? {
        making.register_view(&name, || sql).await?;
    }
    for table in tables {
        making
            .register_view(table.sql_name(), || table.view_sql())
            .await?;
    }
    for extra in schema::views()? {
        if names.views.contains(&extra.name) {
            making
                .register_view(&extra.name, || extra.sql.clone())
                .await?;
        }
    }
    Ok(())
}

/// Creates a session with the functions of tsql, without tables.
pub(super) fn new_engine_context(
    store: &Store,
    options: &SessionOptions,
) -> Result<SessionContext> {
    let context = engine_context(store, options)?;
    noise::register(&context);
    search_spaces::register(&context);
    Ok(context)
}

#[cfg(feature = "cluster")]
fn engine_context(store: &Store, options: &SessionOptions) -> Result<SessionContext> {
    let Some(workers) = &options.workers else {
        return new_context(options.limits());
    };
    let store = store.object_store_url()?;
    let limits = options.limits();
    let builder = tsql_engine::session_builder(&limits, false)?;
    let local = Arc::new(LocalPlanner);
    let mut builder = with_workers(
        builder,
        workers,
        store.as_str(),
        super::plan_version(),
        local,
    )?;
    if let Some(planner) = builder.query_planner().take() {
        builder = builder.with_query_planner(Arc::new(ExplainRulesPlanner(planner)));
    }
    Ok(tsql_engine::build_context(builder, &limits))
}

#[cfg(not(feature = "cluster"))]
fn engine_context(_store: &Store, options: &SessionOptions) -> Result<SessionContext> {
    new_context(options.limits())
}

/// Registers tables and views of a session, and reuses those of other sessions.
struct SessionTables<'a> {
    context: &'a SessionContext,
    shelf: Option<&'a SnapshotCache>,
    versions: Versions,
}

impl SessionTables<'_> {
    fn cached(&self, name: &str) -> Option<Arc<dyn TableProvider>> {
        self.shelf.and_then(|shelf| shelf.get(name, &self.versions))
    }

    /// Registers or replaces a table.
    fn register(
        &self,
        name: &str,
        make: impl FnOnce() -> Result<Arc<dyn TableProvider>>,
    ) -> Result<()> {
        let table = match self.cached(name) {
            Some(table) => table,
            None => {
                let table = make()?;
                if let Some(shelf) = self.shelf {
                    shelf.insert(name, &self.versions, Arc::clone(&table));
                }
                table
            }
        };
        self.context.deregister_table(name).map_err(Error::Query)?;
        let put = self.context.register_table(name, table);
        put.map(|_| ()).map_err(Error::Query)
    }

    async fn register_view(&self, name: &str, sql: impl FnOnce() -> String) -> Result<()> {
        let view = match self.cached(name) {
            Some(view) => view,
            None => Arc::new(plan_view(self.context, sql()).await?),
        };
        self.register(name, || Ok(view))
    }
}

/// Tables with these names.
pub(super) fn tables_of(names: &ReferencedTables) -> Result<Vec<&'static Table>> {
    let tables = schema::tables()?.iter();
    let named = tables.filter(|table| names.tables.contains(table.name.as_str()));
    Ok(named.collect())
}

/// Registers the buckets and web servers of these files in a session.
pub(super) async fn register_object_stores(
    context: &SessionContext,
    names: &ReferencedTables,
) -> Result<()> {
    let mut places = BTreeSet::new();
    for file in &names.urls {
        places.extend(object_store_root(file)?);
    }
    for url in places {
        context.register_object_store(&url, objects_at(&url).await?);
    }
    Ok(())
}

/// Registers the schema of the stored columns.
fn register_stored_schema(context: &SessionContext) -> Result<()> {
    let catalog = context.catalog("tsql");
    let catalog = catalog.ok_or_else(|| Error::Internal("no catalog".to_owned()))?;
    if catalog.schema(STORED).is_none() {
        let made = catalog.register_schema(STORED, Arc::new(MemorySchemaProvider::new()));
        made.map_err(Error::Query)?;
    }
    Ok(())
}

/// Bucket or web server of a file; `None` for a local file.
fn object_store_root(file: &str) -> Result<Option<Url>> {
    let Ok(mut url) = Url::parse(file) else {
        return Ok(None);
    };
    if !SCHEMES.contains(&url.scheme()) {
        return Ok(None);
    }
    // The query part would be read as a part of the file name, and would appear in messages.
    if url.query().is_some_and(|query| query.contains('=')) {
        return Err(Error::InvalidLocation(format!(
            "`{file}`: a URL with a query cannot be read or written\n\
             hint: download a signed URL with `curl -o FILE URL`"
        )));
    }
    url.set_path("/");
    url.set_query(None);
    Ok(Some(url))
}

/// Error for a file in a session without files.
pub(super) fn file_not_allowed(file: &str) -> Error {
    Error::Refused(format!(
        "`{file}` is a file, but queries can read only the store here\n\
         hint: `tsql \"SQL\"` reads files; `tsql ui --allow-files` allows it to everyone with the address"
    ))
}
