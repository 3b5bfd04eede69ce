//! Assignment of sequential ids to rows, which compress to almost nothing in a file.
//!
//! Two writers cannot assign the same id: each commit is an atomic step, and after a conflict a writer looks up and
//! assigns again.

use std::collections::HashSet;
use std::hash::Hash;

use ahash::RandomState;
use tsql_error::Result;
use tsql_schema::column::arrays::Columns;
use tsql_store::file::{DataFile, StatValue};
use tsql_store::{Snapshot, Store};

use super::write_single_file;

/// Ids in such a table at one version.
pub trait NumberAllocator {
    /// Key of a row.
    type Key: Clone + Eq + Hash;

    /// Returns the table, and the column of the ids.
    fn table() -> (&'static str, &'static str);

    /// Loads the existing ids of these rows at this version.
    async fn load<R>(
        &mut self,
        store: &Store,
        at: &Snapshot,
        rows: &[(Self::Key, R)],
    ) -> Result<()>;

    /// Returns the id of a row, if it has one.
    fn number(&self, key: &Self::Key) -> Option<i64>;

    /// Records an existing id.
    fn insert(&mut self, key: Self::Key, number: i64);

    /// Records the version that was loaded.
    fn advance(&mut self, version: u64);
}

/// Assigns ids to the rows that have none, in their order, and adds them as the columns that
/// `columns` returns for ids and rows. Returns the number of added rows. Rows may occur more than once.
pub async fn assign_numbers<N: NumberAllocator, R>(
    known: &mut N,
    store: &Store,
    rows: &[(N::Key, R)],
    columns: impl Fn(&[(i64, &(N::Key, R))]) -> Result<Columns>,
) -> Result<u64> {
    let (table, column) = N::table();
    let mut given: Vec<(&N::Key, i64)> = Vec::new();
    let mut version = None;
    store
        .commit(table, "ingest", async |snapshot: &Snapshot| {
            known.load(store, snapshot, rows).await?;
            let mut seen: HashSet<&N::Key, RandomState> = HashSet::default();
            let new = rows.iter();
            let new: Vec<_> = new
                .filter(|(key, _)| seen.insert(key) && known.number(key).is_none())
                .collect();
            let numbers = next_number(snapshot, column)..;
            given = new.iter().map(|(key, _)| key).zip(numbers).collect();
            version = (!new.is_empty()).then(|| snapshot.version() + 1);
            if new.is_empty() {
                return Ok(None);
            }
            let numbers = given.iter().map(|(_, number)| *number);
            let new: Vec<_> = numbers.zip(new.iter().copied()).collect();
            write_single_file(store, table, columns(&new)?)
                .await
                .map(Some)
        })
        .await?;
    for &(key, number) in &given {
        known.insert(key.clone(), number);
    }
    if let Some(version) = version {
        known.advance(version);
    }
    Ok(given.len() as u64)
}

/// Returns the next free id in `column` at `snapshot`.
pub fn next_number(snapshot: &Snapshot, column: &str) -> i64 {
    let greatest = |file: &DataFile| {
        file.stats
            .max_values
            .get(column)
            .and_then(StatValue::as_i64)
    };
    snapshot
        .files()
        .iter()
        .filter_map(greatest)
        .max()
        .map_or(0, |greatest| greatest + 1)
}
