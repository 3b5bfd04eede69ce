//! Tables whose rows get numbers, one after the other: so a column of them costs next to nothing in a file.
//!
//! Two writers cannot give out the same number: each commit is an exclusive step, and whoever loses it looks up
//! and numbers anew.

use std::collections::HashSet;
use std::hash::Hash;

use ahash::RandomState;

use super::one_file;
use crate::column::made::Columns;
use crate::error::Result;
use crate::store::file::{DataFile, StatValue};
use crate::store::{Snapshot, Store};

/// The numbers in such a table at one version of it.
pub(crate) trait Numbers {
    /// What a row is known by.
    type Key: Clone + Eq + Hash;

    /// The table, and the column of the numbers.
    fn table() -> (&'static str, &'static str);

    /// Makes sure that all numbers which these rows have at this version are known.
    async fn load<R>(
        &mut self,
        store: &Store,
        at: &Snapshot,
        rows: &[(Self::Key, R)],
    ) -> Result<()>;

    /// The number of a row, where it has one.
    fn number(&self, key: &Self::Key) -> Option<i64>;

    /// Remembers a number that is in the store.
    fn insert(&mut self, key: Self::Key, number: i64);

    /// What is known is what this version of the table holds.
    fn advance(&mut self, version: u64);
}

/// Gives a number to each of these rows that has none, in their order, and adds it as the columns that
/// `columns` makes of the numbers and rows; says how many were added. Rows may come more than once.
pub(crate) async fn number<N: Numbers, R>(
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
            one_file(store, table, columns(&new)?).await.map(Some)
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

/// The number after the greatest that is taken in `column` at `snapshot`.
pub(crate) fn next_number(snapshot: &Snapshot, column: &str) -> i64 {
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
