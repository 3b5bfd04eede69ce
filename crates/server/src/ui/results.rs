//! Results that are open in tabs of the browser.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arrow::datatypes::SchemaRef;
use tsql_error::{Error, Result};
use tsql_folders::Scratch;

use super::result_file::{ResultFile, ResultFileWriter};

/// Maximum number of stored results; the oldest are removed.
const MAX_RESULTS: usize = 12;

/// Sort order of rows: a column and a direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SortOrder {
    pub(super) column: usize,
    pub(super) is_down: bool,
}

/// A query result.
#[derive(Debug)]
pub(super) struct QueryResult {
    pub(super) id: u64,
    /// Rows in the order of the query.
    pub(super) rows: Arc<ResultFile>,
    /// Units of the columns, as far as the schema has them.
    pub(super) units: Vec<Option<String>>,
    /// Rows in the order that was requested last.
    pub(super) sorted: tokio::sync::Mutex<Option<(SortOrder, u64, Arc<ResultFile>)>>,
}

/// All stored results. Their rows are in one folder that only this user can access.
#[derive(Debug)]
pub(super) struct ResultStore {
    folder: Scratch,
    numbers: AtomicU64,
    /// In order of last use, the most recent last.
    stored: Mutex<VecDeque<Arc<QueryResult>>>,
}

impl ResultStore {
    pub(super) fn new() -> Result<Self> {
        Ok(Self {
            folder: Scratch::new()?,
            numbers: AtomicU64::new(1),
            stored: Mutex::default(),
        })
    }

    fn lock_results(&self) -> MutexGuard<'_, VecDeque<Arc<QueryResult>>> {
        self.stored.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Creates a file for rows.
    pub(super) fn create_file(&self, schema: SchemaRef) -> Result<(u64, ResultFileWriter)> {
        let number = self.numbers.fetch_add(1, Ordering::Relaxed);
        let path = self.folder.path().join(format!("{number}.rows"));
        Ok((number, ResultFileWriter::new(&path, schema)?))
    }

    /// Creates a result and the writer of its rows.
    pub(super) fn begin_result(
        &self,
        schema: SchemaRef,
        units: Vec<Option<String>>,
    ) -> Result<(Arc<QueryResult>, ResultFileWriter)> {
        let (id, writer) = self.create_file(schema)?;
        let result = Arc::new(QueryResult {
            id,
            rows: writer.reader(),
            units,
            sorted: tokio::sync::Mutex::default(),
        });
        let mut stored = self.lock_results();
        stored.push_back(Arc::clone(&result));
        if stored.len() > MAX_RESULTS {
            stored.pop_front();
        }
        Ok((result, writer))
    }

    /// Returns the result with this id.
    pub(super) fn get(&self, id: u64) -> Result<Arc<QueryResult>> {
        let mut stored = self.lock_results();
        let place = stored.iter().position(|result| result.id == id);
        let found = place.and_then(|place| stored.remove(place));
        let gone = || {
            Error::Empty(format!(
                "result {id} is no longer stored\nhint: run the query again"
            ))
        };
        let found = found.ok_or_else(gone)?;
        stored.push_back(Arc::clone(&found));
        Ok(found)
    }

    /// Removes a result whose tab was closed.
    pub(super) fn remove(&self, id: u64) {
        self.lock_results().retain(|result| result.id != id);
    }

    pub(super) fn count(&self) -> usize {
        self.lock_results().len()
    }
}
