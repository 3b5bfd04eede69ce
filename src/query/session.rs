//! The session: what SQL sees of a store.

use std::collections::BTreeSet;
use std::sync::Arc;

use datafusion::catalog::{MemorySchemaProvider, TableProvider};
use datafusion::prelude::SessionContext;
use url::Url;

use super::engine::{engine, shared};
use super::limits::{Limits, SharedRuntime};
use super::names::{Names, STORED};
use super::retracted::with_retracted;
#[cfg(feature = "cluster")]
use super::rules::{LocalPlanner, NamingPlanner};
use super::shown::Shown;
use super::view::view;
#[cfg(feature = "cluster")]
use crate::cluster::{Workers, with_workers};
use crate::error::{Error, Result};
use crate::schema::{self, Table};
use crate::store::{SCHEMES, Shelf, Snapshot, Snapshots, Store, Versions, objects_at};

/// What a session is for.
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
    /// Reads only the logs of the tables that this SQL names; all unless it is set.
    #[must_use]
    pub fn sql(mut self, sql: impl Into<String>) -> Self {
        self.sql = Some(sql.into());
        self
    }

    /// Memory that joins, sorts and groups may take, in bytes; what does not fit goes to
    /// temporary files.
    #[must_use]
    pub fn memory_limit_bytes(mut self, bytes: usize) -> Self {
        self.memory_limit_bytes = Some(bytes);
        self
    }

    /// Memory at which a question is stopped, or its sorts and groups go to temporary files, in bytes; it is
    /// planned as if there were no limit. Not used where there is one.
    #[must_use]
    pub fn memory_guard_bytes(mut self, bytes: usize) -> Self {
        self.memory_guard_bytes = Some(bytes);
        self
    }

    /// Parts that a question is computed in at a time, at least 1; as many as the machine has cores unless it is set.
    #[must_use]
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = Some(threads.max(1));
        self
    }

    /// Sessions with these options, and with clones of them, have their memory together, whatever runs at a time.
    ///
    /// # Errors
    /// [`crate::Error::Io`] where there can be no folder for what does not fit.
    pub fn sharing(mut self) -> Result<Self> {
        self.shared = Some(shared(self.limits().pool_bytes())?);
        Ok(self)
    }

    /// No files, folders or URLs are tables: answers come from the store alone.
    #[must_use]
    pub fn store_only(mut self) -> Self {
        self.store_only = true;
        self
    }

    /// Would another session with such options make the same views?
    #[cfg(feature = "cluster")]
    pub(super) fn shares(&self) -> bool {
        self.workers.is_none()
    }

    #[cfg(not(feature = "cluster"))]
    pub(super) fn shares(&self) -> bool {
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

    /// Machines that run what is worth it; none unless they are set. They read the tables at the versions that
    /// the session has.
    #[cfg(feature = "cluster")]
    #[must_use]
    pub fn workers(mut self, workers: Workers) -> Self {
        self.workers = Some(workers);
        self
    }
}

impl Store {
    /// A DataFusion session over the store as it is now: the tables under their names, their
    /// stored columns as `stored.<table>`, the views, and tsql's functions. A path is a table too:
    /// `FROM 'predictions.parquet'`.
    ///
    /// All tables are read at the versions that they have when this is called; later commits do
    /// not show.
    ///
    /// # Errors
    /// [`Error::TooNew`] for a table of a newer tsql, and failures of the storage.
    pub async fn session(&self) -> Result<SessionContext> {
        self.session_with(&SessionOptions::default()).await
    }

    /// As [`Store::session`], for one query or within limits.
    ///
    /// # Errors
    /// As [`Store::session`]; [`Error::Query`] where `sql` cannot be parsed.
    pub async fn session_with(&self, options: &SessionOptions) -> Result<SessionContext> {
        Ok(self.session_at(options).await?.0)
    }

    /// Opens the store at `location` for a question that follows at once.
    ///
    /// # Errors
    /// As [`Store::open`]; [`Error::Query`] where `sql` cannot be parsed.
    #[cfg(feature = "cli")]
    pub(crate) async fn open_to_ask(location: &str, sql: &str) -> Result<Self> {
        // On a local disk nothing is waited for.
        if !location.contains("://") {
            return Self::open(location).await;
        }
        let names = Names::of(sql, &SessionContext::new().state())?;
        Self::open_for(location, &tables_of(&names)?).await
    }

    /// As [`Store::session_with`], with the versions of the tables that it reads.
    pub(crate) async fn session_at(
        &self,
        options: &SessionOptions,
    ) -> Result<(SessionContext, Snapshots)> {
        let context = self.engine(options)?;
        let names = match &options.sql {
            Some(sql) => Names::of(sql, &context.state())?,
            None => Names::all()?,
        };
        if options.store_only
            && let Some(url) = names.urls.first()
        {
            return Err(elsewhere(url));
        }
        reach(&context, &names).await?;
        let snapshots = self.snapshots_of(&tables_of(&names)?).await?;
        self.show(&context, &names, &snapshots, options.shares())
            .await?;
        Ok((context, snapshots))
    }

    /// Gives a session the tables and views of these names, at these versions, in the place of those that it has. `shares`:
    /// those that another session has made will do.
    pub(super) async fn show(
        &self,
        context: &SessionContext,
        names: &Names,
        snapshots: &Snapshots,
        shares: bool,
    ) -> Result<()> {
        let url = self.object_store_url()?;
        context.register_object_store(url.as_ref(), Arc::clone(self.location().objects()));
        let tables = tables_of(names)?;
        let version = |name: &str| snapshots.get(name).map(Snapshot::version);
        let versions = tables.iter().map(|table| {
            let name = table.name.as_str();
            (name, version(name))
        });
        let making = Making {
            context,
            // What is hidden now may be shown without a commit to its table.
            shelf: (shares && !snapshots.values().any(Snapshot::hides)).then(|| self.shelf()),
            versions: versions.collect(),
        };
        stored(context)?;
        for table in &tables {
            let snapshot = snapshots.get(table.name.as_str());
            let files = snapshot.map(|snapshot| snapshot.files().as_slice());
            // The name of the folder stays where SQL has another one: other engines know the table by it.
            for name in BTreeSet::from([table.name.as_str(), table.sql_name()]) {
                making.put(&format!("{STORED}.{name}"), || {
                    let table = self.stored_table(table, files.unwrap_or_default())?;
                    Ok(Arc::new(table))
                })?;
            }
        }
        Shown::put(context, url.as_str().to_owned(), snapshots);
        #[cfg(feature = "cluster")]
        let versions = snapshots
            .iter()
            .map(|(name, snapshot)| ((*name).to_owned(), snapshot.version()))
            .collect();
        #[cfg(feature = "cluster")]
        crate::cluster::pin(context, &versions);
        for (name, sql) in with_retracted(context, snapshots)? {
            making.view(&name, || sql).await?;
        }
        for table in tables {
            making.view(table.sql_name(), || table.view_sql()).await?;
        }
        for extra in schema::views()? {
            if names.views.contains(&extra.name) {
                making.view(&extra.name, || extra.sql.clone()).await?;
            }
        }
        Ok(())
    }

    #[cfg(feature = "cluster")]
    pub(super) fn engine(&self, options: &SessionOptions) -> Result<SessionContext> {
        let Some(workers) = &options.workers else {
            return engine(options.limits());
        };
        let store = self.object_store_url()?;
        let limits = options.limits();
        let builder = super::engine::builder(&limits, false)?;
        let local = Arc::new(LocalPlanner);
        let mut builder = with_workers(builder, workers, store.as_str(), super::version(), local)?;
        if let Some(planner) = builder.query_planner().take() {
            builder = builder.with_query_planner(Arc::new(NamingPlanner(planner)));
        }
        Ok(super::engine::context(builder, &limits))
    }

    #[cfg(not(feature = "cluster"))]
    pub(super) fn engine(&self, options: &SessionOptions) -> Result<SessionContext> {
        engine(options.limits())
    }
}

/// Makes the tables and views of a session, or takes those of another one.
struct Making<'a> {
    context: &'a SessionContext,
    shelf: Option<&'a Shelf>,
    versions: Versions,
}

impl Making<'_> {
    fn known(&self, name: &str) -> Option<Arc<dyn TableProvider>> {
        self.shelf.and_then(|shelf| shelf.get(name, &self.versions))
    }

    /// Registers a table, in the place of one that there may be.
    fn put(&self, name: &str, make: impl FnOnce() -> Result<Arc<dyn TableProvider>>) -> Result<()> {
        let table = match self.known(name) {
            Some(table) => table,
            None => {
                let table = make()?;
                if let Some(shelf) = self.shelf {
                    shelf.keep(name, &self.versions, Arc::clone(&table));
                }
                table
            }
        };
        self.context.deregister_table(name).map_err(Error::Query)?;
        let put = self.context.register_table(name, table);
        put.map(|_| ()).map_err(Error::Query)
    }

    async fn view(&self, name: &str, sql: impl FnOnce() -> String) -> Result<()> {
        let view = match self.known(name) {
            Some(view) => view,
            None => Arc::new(view(self.context, sql()).await?),
        };
        self.put(name, || Ok(view))
    }
}

/// The tables of these names.
pub(super) fn tables_of(names: &Names) -> Result<Vec<&'static Table>> {
    let tables = schema::tables()?.iter();
    let named = tables.filter(|table| names.tables.contains(table.name.as_str()));
    Ok(named.collect())
}

/// Makes the buckets and web servers of the files of these names known to a session.
pub(super) async fn reach(context: &SessionContext, names: &Names) -> Result<()> {
    let mut places = BTreeSet::new();
    for file in &names.urls {
        places.extend(bucket_of(file)?);
    }
    for url in places {
        context.register_object_store(&url, objects_at(&url).await?);
    }
    Ok(())
}

/// Makes the place where a session has the stored columns of tables.
fn stored(context: &SessionContext) -> Result<()> {
    let catalog = context.catalog("tsql");
    let catalog = catalog.ok_or_else(|| Error::Internal("no catalog".to_owned()))?;
    if catalog.schema(STORED).is_none() {
        let made = catalog.register_schema(STORED, Arc::new(MemorySchemaProvider::new()));
        made.map_err(Error::Query)?;
    }
    Ok(())
}

/// The bucket or web server of a file; `None` for a file on this machine.
fn bucket_of(file: &str) -> Result<Option<Url>> {
    let Ok(mut url) = Url::parse(file) else {
        return Ok(None);
    };
    if !SCHEMES.contains(&url.scheme()) {
        return Ok(None);
    }
    // It would be taken for a part of the file's name, and stand in messages as such.
    if url.query().is_some_and(|query| query.contains('=')) {
        return Err(Error::InvalidLocation(format!(
            "`{file}`: a URL with a query cannot be read or written\nhint: what is signed so is fetched by `curl -o FILE URL`"
        )));
    }
    url.set_path("/");
    url.set_query(None);
    Ok(Some(url))
}

/// A file was named where there is only the store.
pub(super) fn elsewhere(file: &str) -> Error {
    Error::Refused(format!(
        "`{file}` is a file: answers come from the store alone here\nhint: `tsql ui --files` lets whoever has its address read files"
    ))
}
