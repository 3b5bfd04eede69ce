//! Options of row batches.

use std::path::PathBuf;

use derive_setters::Setters;
use tsql_error::{Error, Result};

use super::loader_options::{LoaderOptions, loader_setters};

/// Options that turn the rows of a selection into batches.
///
/// ```
/// use tsql_ml::training::RowsOptions;
/// let options = RowsOptions::default().batch_rows(512).seed(7).rank(0, 4);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Setters)]
#[setters(strip_option)]
#[non_exhaustive]
pub struct RowsOptions {
    #[setters(skip)]
    pub(crate) loader: LoaderOptions,
    #[setters(skip)]
    pub(crate) parameters: Vec<(String, String)>,
    /// Sets the number of rows of a batch; the last batch of an epoch may have fewer. With groups it is the
    /// maximum number of rows that are combined.
    pub(crate) batch_rows: u64,
    /// Groups rows with the same value in this column of the selection, in the order of the SQL. Groups are
    /// shuffled instead of rows, and a batch has whole groups. A group with more rows than `batch_rows` is a
    /// batch by itself. NULLs are one group.
    #[setters(into)]
    pub(crate) group: Option<String>,
    /// Balances the values of this column of the selection: they take turns, so that each is equally frequent.
    /// Rows of rare values are repeated. Of frequent values each epoch has other rows, and no row is repeated
    /// before all rows of its value were used. An epoch has as many rows (with groups: groups) as the
    /// selection, rounded down to a multiple of the number of values. With groups, a group has rows that share
    /// both values.
    #[setters(into)]
    pub(crate) balance: Option<String>,
    /// Sets the cache folder of selections, which is created for this user alone. The default is `rows` in the
    /// user's cache (`TSQL_CACHE`).
    #[setters(into)]
    pub(crate) cache: Option<PathBuf>,
    /// Sets the maximum size of the cache in bytes when this selection is added; the least recently used
    /// selections are removed.
    pub(crate) cache_bytes: u64,
}

impl Default for RowsOptions {
    /// Batches of 1,024 shuffled rows with seed 0, for one process; 8 batches are prefetched by two threads;
    /// the cache holds 64 GiB.
    fn default() -> Self {
        Self {
            loader: LoaderOptions::new(0, 8),
            parameters: Vec::new(),
            batch_rows: 1024,
            group: None,
            balance: None,
            cache: None,
            cache_bytes: 64 << 30,
        }
    }
}

impl RowsOptions {
    /// Sets the value of `$NAME` in the SQL.
    #[must_use]
    pub fn parameter(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.parameters.push((name.into(), value.into()));
        self
    }

    /// Sets the seed; the same seed gives the same batches.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.loader.seed = seed;
        self
    }

    loader_setters!(loader);

    /// # Errors
    /// [`Error::Argument`] for invalid options.
    pub(crate) fn validate(&self) -> Result<()> {
        if self.batch_rows == 0 {
            return Err(Error::Argument {
                name: "batch_rows",
                reason: "expected at least one row in a batch".to_owned(),
            });
        }
        self.loader.validate()
    }
}
