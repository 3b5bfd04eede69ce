//! The store of a command, and its limits.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use clap::Args;
use datafusion::prelude::SessionContext;
use tsql_dataset::demo::create_demo;
use tsql_dataset::optional_setting::OptionalSetting as _;
use tsql_dialect::referenced_tables::references_store;
use tsql_error::{Error, Result};
use tsql_session::{SessionOptions, memory_guard_bytes, query_folders};
use tsql_session::{open_for_query, open_session_with};
use tsql_store::{At, FOLDER, Store};

use super::completion_values;
use super::memory::Memory;
use super::outcome::Failure;
use super::stderr::print_message;

/// Variable with the minimum number of rows that a query must read to run on workers.
#[cfg(feature = "cluster")]
const LEAST_ROWS: &str = "TSQL_WORKERS_LEAST_ROWS";

/// The store of a command, and its limits.
#[derive(Args, Debug)]
#[command(next_help_heading = "Store and limits")]
pub(super) struct StoreOptions {
    /// Folder or URL of the store [default: the nearest `.tsql`]
    ///
    /// Without it, the store is `.tsql` in the working directory or in the nearest folder above that has one.
    #[arg(
        long,
        global = true,
        env = "TSQL_STORE",
        value_name = "DIR|URL",
        hide_env_values = true
    )]
    pub(super) store: Option<String>,
    /// Use the small built-in sample store
    #[arg(long, global = true)]
    sample: bool,
    /// Memory of a query before it spills to disk, or `none`
    ///
    /// Applies to joins, sorts and groups; more goes to temporary files. Without a limit nothing spills, and a query
    /// stops at 70 % of the memory that the process may use. A worker without a limit has none.
    #[arg(
        long,
        global = true,
        env = "TSQL_MEMORY_LIMIT",
        value_name = "SIZE",
        hide_env_values = true
    )]
    memory_limit: Option<Memory>,
    /// Number of threads [default: one per core]
    #[arg(
        long,
        global = true,
        env = "TSQL_THREADS",
        value_name = "N",
        hide_env_values = true
    )]
    pub(super) threads: Option<NonZeroUsize>,
    /// Folder for temporary files [default: the folder of the system]
    #[arg(
        long,
        global = true,
        env = "TSQL_TEMP_DIR",
        value_name = "DIR",
        hide_env_values = true
    )]
    pub(super) temp_dir: Option<PathBuf>,
    /// Read an earlier version of the store
    ///
    /// A tag (`v1.0`), a time (`2026-11-21T17:00:00Z`) or a table version (`records@12`, see `tsql history`). Versions
    /// whose files `tsql vacuum` has deleted cannot be read.
    #[arg(long, global = true, value_name = "TAG|TIME|VERSION", add = completion_values::tags())]
    at: Option<At>,
    /// Print requests to object stores, and where queries ran
    #[arg(long, global = true)]
    pub(super) stats: bool,
    /// Workers that run large queries
    ///
    /// `HOST:PORT,HOST:PORT`, `dns:NAME:PORT` or `slurm`; see `tsql worker run`.
    #[cfg(feature = "cluster")]
    #[arg(
        long,
        help_heading = "Workers",
        global = true,
        env = "TSQL_WORKERS",
        value_name = "LIST",
        hide_env_values = true
    )]
    workers: Option<String>,
    #[cfg(feature = "cluster")]
    #[command(flatten)]
    certificates: super::security::Certificates,
}

impl StoreOptions {
    /// Opens the named or discovered store, or the sample; `None` if there is none.
    async fn find(&self) -> Result<Option<Store>> {
        self.find_by(async |location| Store::open(location).await)
            .await
    }

    async fn find_by(
        &self,
        open: impl AsyncFnOnce(&str) -> Result<Store>,
    ) -> Result<Option<Store>> {
        let store = match self.location()? {
            _ if self.sample => create_demo().await?,
            Some(location) => open(&location).await?.with_reporter(print_message),
            None => return Ok(None),
        };
        match &self.at {
            Some(at) => store.at(at).await.map(Some),
            None => Ok(Some(store)),
        }
    }

    /// Returns whether the command uses the sample.
    pub(super) fn is_sample(&self) -> bool {
        self.sample
    }

    /// Returns whether the command reads an earlier version of the store.
    pub(super) fn is_past(&self) -> bool {
        self.at.is_some()
    }

    /// Adds a hint to a failure of an earlier version: `tsql vacuum` has deleted a missing file. Returns other failures
    /// unchanged.
    pub(super) fn explain(&self, failure: Failure) -> Failure {
        let message = failure.to_string();
        let missing = [".parquet not found", "it is missing, not as written"];
        if self.is_past() && missing.iter().any(|missing| message.contains(missing)) {
            // A hint about repairs concerns the newest version only.
            let fact = message.split("\nhint: ").next().unwrap_or(&message);
            let hint =
                "`tsql vacuum` has deleted files of this version; it preserves the files of tags";
            return Failure::Usage(format!("{fact}\nhint: {hint}"));
        }
        failure
    }

    /// Returns the version that `--at` selects.
    pub(super) fn at(&self) -> Option<&At> {
        self.at.as_ref()
    }

    /// Returns the tag that `--at` selects.
    pub(super) fn tag(&self) -> Option<String> {
        match &self.at {
            Some(At::Tag(name)) => Some(name.clone()),
            _ => None,
        }
    }

    /// Opens the store for reading and maintenance.
    pub(super) async fn open(&self) -> Result<Store> {
        self.find().await?.ok_or(Error::NoStore)
    }

    /// Opens the store for a query, or an empty one if there is none and the query names no table of a store.
    pub(super) async fn open_for(&self, sql: &str) -> Result<Store> {
        let open = async |location: &str| match &self.at {
            Some(_) => Store::open(location).await,
            None => open_for_query(location, sql).await,
        };
        match self.find_by(open).await {
            Ok(Some(store)) => Ok(store),
            Ok(None) if references_store(sql)? => Err(Error::NoStore),
            Err(error) if !matches!(error, Error::Foreign { .. }) || references_store(sql)? => {
                Err(error)
            }
            Ok(None) | Err(_) => Store::create("memory:").await,
        }
    }

    /// Returns the folders of the user's own queries: those of TSQL_QUERIES, and `queries` beside the store.
    pub(super) fn query_folders(&self) -> Result<Vec<PathBuf>> {
        let store = match self.sample {
            true => None,
            false => self.location()?.filter(|store| !store.contains("://")),
        };
        let around = store.as_ref().and_then(|store| Path::new(store).parent());
        Ok(query_folders(around))
    }

    /// Opens a session over `store`, with all tables or with those that `sql` names.
    pub(super) async fn session(&self, store: &Store, sql: Option<&str>) -> Result<SessionContext> {
        open_session_with(store, &self.options(sql)?).await
    }

    /// Returns the options of a session, with its limits.
    pub(super) fn options(&self, sql: Option<&str>) -> Result<SessionOptions> {
        let guard_bytes = match self.memory_limit {
            None => memory_guard_bytes(),
            Some(_) => None,
        };
        let options = SessionOptions::default()
            .memory_limit_bytes(self.memory_limit_bytes())
            .memory_guard_bytes(guard_bytes)
            .threads(self.threads.map(NonZeroUsize::get))
            .set_if(sql, SessionOptions::sql);
        #[cfg(feature = "cluster")]
        let options = options.set_if(self.workers()?, SessionOptions::workers);
        Ok(options)
    }

    /// Returns the workers of `--workers`.
    #[cfg(feature = "cluster")]
    pub(super) fn workers(&self) -> Result<Option<tsql_cluster::Workers>> {
        let Some(list) = self.workers.as_ref().filter(|list| !list.is_empty()) else {
            return Ok(None);
        };
        let mut workers = tsql_cluster::Workers::parse(list)?.security(self.security()?);
        if let Ok(rows) = std::env::var(LEAST_ROWS) {
            let rows = rows.parse();
            let wrong = |_| Error::Setting(format!("{LEAST_ROWS}: a number of rows is expected"));
            workers = workers.least_rows(rows.map_err(wrong)?);
        }
        Ok(Some(workers))
    }

    /// Returns the token and the certificates for connections between workers and clients.
    #[cfg(feature = "cluster")]
    pub(super) fn security(&self) -> Result<tsql_cluster::Security> {
        self.certificates.security()
    }

    /// Returns the limit of `--memory-limit` in bytes.
    pub(super) fn memory_limit_bytes(&self) -> Option<usize> {
        self.memory_limit.and_then(Memory::bytes)
    }

    /// Returns whether a store was named.
    #[cfg(feature = "cluster")]
    pub(super) fn is_named(&self) -> bool {
        self.store.is_some()
    }

    /// Prints why workers are not used, and with `--stats` where the queries of a session ran.
    #[cfg(feature = "cluster")]
    pub(super) fn print_decisions(&self, context: &SessionContext) {
        for decision in tsql_cluster::decisions(context) {
            if self.stats || decision.is_failure {
                print_message(&format!("workers: {}", decision.text));
            }
        }
    }

    #[cfg(not(feature = "cluster"))]
    pub(super) fn print_decisions(&self, _: &SessionContext) {}

    /// Opens the store for writing. The first write creates a missing one.
    pub(super) async fn open_or_create(&self) -> Result<Store> {
        if self.sample {
            let reason = "the sample is read-only\nhint: leave out --sample";
            return Err(Error::Argument {
                name: "sample",
                reason: reason.to_owned(),
            });
        }
        if self.at.is_some() {
            // The first change will be rejected.
            return self.open().await;
        }
        let location = self.location()?.unwrap_or_else(|| FOLDER.to_owned());
        let created = location.clone();
        let report = move || print_message(&format!("created the store {created}"));
        let store = Store::open_or_create_on_write(&location, report).await?;
        Ok(store.with_reporter(print_message))
    }

    /// Opens the store for reading, if there is one.
    pub(super) async fn open_if_any(&self) -> Result<Option<Store>> {
        match self.find().await {
            Err(Error::NotAStore { .. }) => Ok(None),
            found => found,
        }
    }

    /// Returns the location of a new store.
    pub(super) fn new_location(&self) -> String {
        self.store.clone().unwrap_or_else(|| FOLDER.to_owned())
    }

    /// Returns the named location, or else the nearest store in the working directory or above it.
    fn location(&self) -> Result<Option<String>> {
        match &self.store {
            Some(store) => Ok(Some(store.clone())),
            None => Store::discover(),
        }
    }
}
