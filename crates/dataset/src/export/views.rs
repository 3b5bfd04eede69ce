//! SQL views for other engines.

use tsql_error::{Error, Result};
use tsql_store::Store;

/// The views, for the store in the variable `tsql_store`.
const VIEWS: &str = include_str!("../../../../queries/duckdb-views.sql");

/// Returns SQL that defines the tables in `DuckDB` as tsql shows them. Other engines see the stored columns of a
/// store, with packed repeats and parameters; these views unpack them.
///
/// # Errors
/// If the working directory does not exist, and the store's path is relative to it.
pub fn duckdb_views(store: &Store) -> Result<String> {
    let location = store.location();
    let folder = location.local_directory().map(std::path::absolute);
    let folder = folder.transpose().map_err(Error::io("."))?;
    let name = folder.map_or_else(
        || location.as_str().trim_end_matches('/').to_owned(),
        |folder| folder.to_string_lossy().into_owned(),
    );
    let name = name.replace('\'', "''");
    Ok(format!("SET VARIABLE tsql_store = '{name}';\n\n{VIEWS}"))
}
