//! A store: opening, queries and metadata.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde::Serialize;
use tsql::datafusion::common::ScalarValue;
use tsql::query::{self, NamedQuery};
use tsql::{At, Error, SessionOptions};

use crate::errors::{closed_error, to_py_err};
use crate::result::{QueryResult, register};
use crate::runtime::{generation, wait};
use crate::values::parameter;
use crate::views::without_views;

/// Location of the built-in sample.
const SAMPLE: &str = "sample:";

/// Memory limit for no limit, as in `_convert.py`.
const UNLIMITED: usize = 0;

/// Location of a store in memory, which ends with the process.
const MEMORY: &str = "memory:";

/// A store that was opened by certain threads of a process.
struct OpenStore {
    by: (u32, u64),
    store: tsql::Store,
}

/// A store, with the limits of its queries.
#[pyclass(frozen, module = "tsql._native")]
pub(crate) struct Store {
    #[pyo3(get)]
    location: String,
    #[pyo3(get)]
    at: Option<String>,
    options: SessionOptions,
    /// Memory limit in bytes, if it was set.
    pub(crate) memory_limit: Option<usize>,
    /// `None` once it was closed.
    opened: Mutex<Option<OpenStore>>,
}

impl Store {
    /// Returns the limits of its queries.
    pub(crate) fn options(&self) -> SessionOptions {
        self.options.clone()
    }

    /// Returns the store for the threads of this process; other threads reopen it with their own connections.
    ///
    /// # Errors
    /// `tsql.errors.Closed` after `close`, and failures of opening it.
    pub(crate) fn get(&self, py: Python<'_>) -> PyResult<tsql::Store> {
        let by = generation()?;
        let known = {
            let opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
            let opened = opened
                .as_ref()
                .ok_or_else(|| closed_error(py, "this store was closed"))?;
            let in_memory = [MEMORY, SAMPLE].contains(&self.location.as_str());
            let is_own = opened.by == by || in_memory;
            is_own.then(|| opened.store.clone())
        };
        if let Some(store) = known {
            return Ok(store);
        }
        let store = wait(py, {
            let (location, at) = (self.location.clone(), self.at.clone());
            move || open_store(location, at, Creation::None)
        })?;
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        if opened.is_some() {
            *opened = Some(OpenStore {
                by,
                store: store.clone(),
            });
        }
        Ok(store)
    }
}

/// Whether a store is created.
#[derive(Clone, Copy)]
enum Creation {
    None,
    IfMissing,
    New,
}

/// Creates a store.
///
/// # Errors
/// `CannotCreate`, with a hint if there is a store.
async fn create_new(location: &str) -> tsql::Result<tsql::Store> {
    let created = tsql::Store::create(location).await;
    if !matches!(created, Err(Error::CannotCreate { .. })) {
        return created;
    }
    match tsql::Store::open(location).await {
        Ok(_) => Err(Error::CannotCreate {
            location: location.to_owned(),
            reason:
                "is a tsql store already\nhint: `tsql.open` opens it, and so does `exist_ok=True`"
                    .to_owned(),
        }),
        Err(_) => created,
    }
}

async fn open_store(
    location: String,
    at: Option<String>,
    create: Creation,
) -> tsql::Result<tsql::Store> {
    let store = match (location.as_str(), create) {
        (SAMPLE, _) => tsql::Store::demo().await?,
        (place, Creation::None) => tsql::Store::open(place).await?,
        (place, Creation::IfMissing) => tsql::Store::open_or_create(place).await?,
        (place, Creation::New) => create_new(place).await?,
    };
    let store = store.with_reporter(crate::messages::enqueue);
    match at {
        Some(at) => store.at(&at.parse::<At>()?).await,
        None => Ok(store),
    }
}

/// Parses addresses of workers. The credentials come from the environment.
pub(crate) fn with_credentials(
    py: Python<'_>,
    addresses: &str,
) -> PyResult<tsql::cluster::Workers> {
    let security = tsql::cluster::Security::from_env();
    let workers = tsql::cluster::Workers::parse(addresses)
        .and_then(|workers| Ok(workers.security(security?)));
    workers.map_err(|error| to_py_err(py, &error))
}

/// Serializes a value of the library as JSON.
pub(crate) fn json(py: Python<'_>, value: &impl Serialize) -> PyResult<String> {
    let text = serde_json::to_string(value);
    text.map_err(|error| to_py_err(py, &Error::Internal(error.to_string())))
}

#[pymethods]
impl Store {
    #[new]
    #[pyo3(signature = (location, at=None, create=None, memory_limit=None, threads=None, workers=None))]
    fn new(
        py: Python<'_>,
        location: Option<String>,
        at: Option<String>,
        create: Option<&str>,
        memory_limit: Option<usize>,
        threads: Option<usize>,
        workers: Option<&str>,
    ) -> PyResult<Self> {
        let location = match location {
            Some(location) => location,
            None => {
                let near = tsql::Store::discover().and_then(|near| near.ok_or(Error::NoStore));
                near.map_err(|error| to_py_err(py, &error))?
            }
        };
        let create = match create {
            Some("new") => Creation::New,
            Some(_) => Creation::IfMissing,
            None => Creation::None,
        };
        let mut options = SessionOptions::default();
        match (memory_limit, query::memory_guard_bytes()) {
            (Some(UNLIMITED), _) => {}
            (Some(bytes), _) => options = options.memory_limit_bytes(bytes),
            (None, Some(bytes)) => options = options.memory_guard_bytes(bytes),
            (None, None) => {}
        }
        if let Some(threads) = threads {
            options = options.threads(threads);
        }
        if let Some(workers) = workers {
            options = options.workers(with_credentials(py, workers)?);
        }
        let store = wait(py, {
            let (location, at) = (location.clone(), at.clone());
            move || open_store(location, at, create)
        })?;
        Ok(Self {
            location,
            at,
            options,
            memory_limit: memory_limit.filter(|bytes| *bytes != UNLIMITED),
            opened: Mutex::new(Some(OpenStore {
                by: generation()?,
                store,
            })),
        })
    }

    fn close(&self) {
        *self.opened.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Plans a query; it runs when the result is read.
    #[pyo3(signature = (sql, params, tables, view_types=true))]
    fn sql(
        &self,
        py: Python<'_>,
        sql: String,
        params: &Bound<'_, PyDict>,
        tables: &Bound<'_, PyDict>,
        view_types: bool,
    ) -> PyResult<QueryResult> {
        let given = query_parameters(params)?;
        let store = self.get(py)?;
        let options = self.options.clone().sql(sql.clone());
        let context = wait(
            py,
            move || async move { store.session_with(&options).await },
        )?;
        for (name, table) in tables {
            register(py, &context, &name.extract::<String>()?, &table)?;
        }
        let frame = wait(py, move || async move {
            let frame = query::run_sql(&context, &sql, &given).await?;
            match view_types {
                true => Ok(frame),
                false => without_views(frame).map_err(Error::Query),
            }
        })?;
        Ok(QueryResult::new(frame))
    }

    /// Plans a built-in query, or one of the user's own.
    fn run_query(
        &self,
        py: Python<'_>,
        name: &str,
        given: Vec<(String, String)>,
    ) -> PyResult<QueryResult> {
        let all = queries_at(&self.location);
        let found = all.into_iter().find(|question| question.name == name);
        let question = match found {
            Some(question) => question,
            None => query::built_in_query(name).map_err(|error| to_py_err(py, &error))?,
        };
        let (store, options) = (self.get(py)?, self.options.clone());
        let frame = wait(py, move || async move {
            let context = store.session_with(&options).await?;
            question.run(&context, &given).await
        })?;
        Ok(QueryResult::new(frame))
    }

    /// Returns the built-in queries and the user's own, as JSON.
    fn queries_json(&self, py: Python<'_>) -> PyResult<String> {
        json(py, &queries_at(&self.location))
    }

    /// Returns the versions of its tables: `graphs@3,records@12`.
    fn version(&self, py: Python<'_>) -> PyResult<String> {
        let store = self.get(py)?;
        let versions = wait(py, move || async move { store.current_versions().await })?;
        Ok(At::Versions(versions).to_string())
    }

    /// Returns all versions of all tables, as JSON.
    fn history(&self, py: Python<'_>) -> PyResult<String> {
        let store = self.get(py)?;
        json(py, &wait(py, move || async move { store.history().await })?)
    }

    /// Returns all tags, as JSON.
    fn tags(&self, py: Python<'_>) -> PyResult<String> {
        let store = self.get(py)?;
        json(py, &wait(py, move || async move { store.tags().await })?)
    }

    /// Returns all notes, as JSON.
    fn notes(&self, py: Python<'_>) -> PyResult<String> {
        let store = self.get(py)?;
        json(py, &wait(py, move || async move { store.notes().await })?)
    }

    /// Returns all corrections, as JSON.
    fn corrections(&self, py: Python<'_>) -> PyResult<String> {
        let store = self.get(py)?;
        json(
            py,
            &wait(py, move || async move { store.corrections().await })?,
        )
    }

    /// Returns the differences to another version, as JSON.
    fn diff(&self, py: Python<'_>, after: &Self) -> PyResult<String> {
        let (before, after) = (self.get(py)?, after.get(py)?);
        json(
            py,
            &wait(py, move || async move { before.diff(&after).await })?,
        )
    }

    /// Returns the size of its data files in bytes.
    fn data_bytes(&self, py: Python<'_>) -> PyResult<u64> {
        let store = self.get(py)?;
        wait(py, move || async move { store.data_bytes().await })
    }
}

/// Converts names and values of parameters.
fn query_parameters(params: &Bound<'_, PyDict>) -> PyResult<Vec<(String, ScalarValue)>> {
    let given = params.iter();
    let given = given.map(|(name, value)| Ok((name.extract()?, parameter(&value)?)));
    given.collect()
}

/// Returns the user's own queries, then the built-in ones.
fn queries_at(location: &str) -> Vec<NamedQuery> {
    let beside = match location.contains(':') {
        true => None,
        false => PathBuf::from(location).parent().map(PathBuf::from),
    };
    let mut all = query::user_queries(&query::query_folders(beside.as_deref())).questions;
    let own: Vec<String> = all.iter().map(|question| question.name.clone()).collect();
    let known = query::built_in_queries().into_iter();
    all.extend(known.filter(|question| !own.contains(&question.name)));
    all
}
