//! How another engine sees the tables as tsql shows them.

use crate::error::{Error, Result};
use crate::store::Store;

/// The views, for the store that `tsql_store` names.
const VIEWS: &str = include_str!("../../queries/duckdb-views.sql");

impl Store {
    /// SQL by which `DuckDB` sees the tables as tsql shows them. Other engines find in a store what its files hold: repeats and
    /// parameters are packed there, and these views unpack them.
    ///
    /// # Errors
    /// Where the working directory is gone, and the store's place is relative to it.
    pub fn duckdb_views(&self) -> Result<String> {
        let location = self.location();
        let folder = location.local_directory().map(std::path::absolute);
        let folder = folder.transpose().map_err(Error::io("."))?;
        let name = folder.map_or_else(
            || location.as_str().trim_end_matches('/').to_owned(),
            |folder| folder.to_string_lossy().into_owned(),
        );
        let name = name.replace('\'', "''");
        Ok(format!("SET VARIABLE tsql_store = '{name}';\n\n{VIEWS}"))
    }
}
