//! Functions without a store: tables, SQL functions, the command, publications.

use std::ffi::OsString;
use std::path::PathBuf;

use pyo3::prelude::*;
use serde::Serialize;
use tsql::{query, schema};

use crate::errors::{argument_error, to_py_err};
use crate::runtime::wait;
use crate::store::json;

/// Returns the version of tsql.
#[pyfunction]
pub(crate) fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

/// JSON description of a table or view.
#[derive(Serialize)]
struct Table {
    name: String,
    doc: String,
    is_view: bool,
    columns: Vec<Column>,
}

/// JSON description of a column.
#[derive(Serialize)]
pub(crate) struct Column {
    pub(crate) name: String,
    #[serde(rename = "type")]
    pub(crate) type_name: String,
    pub(crate) unit: Option<String>,
    pub(crate) is_nullable: bool,
    pub(crate) doc: String,
}

fn describe_columns<'a>(columns: impl Iterator<Item = &'a schema::Column>) -> Vec<Column> {
    let columns = columns.map(|column| Column {
        name: column.name.clone(),
        type_name: column.type_name.clone(),
        unit: column.unit.clone(),
        is_nullable: column.null,
        doc: column.doc.clone(),
    });
    columns.collect()
}

fn list_tables() -> tsql::Result<Vec<Table>> {
    let mut all: Vec<_> = schema::relations()?.collect();
    all.sort_by_key(|relation| schema::list_order(relation.name));
    let all = all.into_iter().map(|relation| Table {
        columns: describe_columns(relation.shown_columns()),
        name: relation.name.to_owned(),
        doc: relation.doc.to_owned(),
        is_view: relation.is_view,
    });
    Ok(all.collect())
}

/// Returns all tables and views with their columns, as JSON.
#[pyfunction]
pub(crate) fn tables(py: Python<'_>) -> PyResult<String> {
    json(py, &list_tables().map_err(|error| to_py_err(py, &error))?)
}

/// Returns all SQL functions, as JSON.
#[pyfunction]
pub(crate) fn functions(py: Python<'_>) -> PyResult<String> {
    json(py, &query::functions())
}

/// Returns a SQL function, as JSON.
#[pyfunction]
pub(crate) fn describe(py: Python<'_>, function: &str) -> PyResult<String> {
    let function = query::function(function);
    json(py, &function.map_err(|error| to_py_err(py, &error))?)
}

/// Replaces each `?` by `$1`, `$2`, and so on.
#[pyfunction]
pub(crate) fn numbered(py: Python<'_>, sql: &str, count: usize) -> PyResult<String> {
    query::number_placeholders(sql, count).map_err(|error| to_py_err(py, &error))
}

/// Returns the kind of the last statement if it affects only the session, which ends with the call.
#[pyfunction]
pub(crate) fn ends_with_session(py: Python<'_>, sql: &str) -> PyResult<Option<&'static str>> {
    query::ends_with_session(sql).map_err(|error| to_py_err(py, &error))
}

/// Parses a size like `500MB` or `2GiB`; returns bytes.
#[pyfunction]
pub(crate) fn size_bytes(py: Python<'_>, size: &str) -> PyResult<usize> {
    let bytes = tsql::cli::size_bytes(size);
    bytes.map_err(|reason| argument_error(py, "memory_limit", format!("{reason}, or `none`")))
}

/// Returns the names in a text that are not tables of a store.
#[pyfunction]
pub(crate) fn other_tables(py: Python<'_>, sql: &str) -> PyResult<Vec<String>> {
    query::other_tables(sql).map_err(|error| to_py_err(py, &error))
}

/// Writes a file atomically.
#[pyfunction]
pub(crate) fn write_file(py: Python<'_>, path: PathBuf, content: Vec<u8>) -> PyResult<()> {
    let written = tsql::atomic_output::write_output(&path, content);
    written.map_err(|error| to_py_err(py, &error))
}

/// Compares a publication with its checksums; returns the report as JSON.
#[pyfunction]
pub(crate) fn verify(py: Python<'_>, at: String) -> PyResult<String> {
    let call = move || async move { tsql::verify_publication(&at, |_| ()).await };
    json(py, &wait(py, call)?)
}

/// Runs the command `tsql`; `own` is the command line that starts it. Returns the exit code.
#[pyfunction]
pub(crate) fn command(py: Python<'_>, own: Vec<OsString>, words: Vec<OsString>) -> u8 {
    py.detach(|| tsql::cli::run_as(own, words))
}
