//! Rows of interrupted runs: written, but their file is not in the ledger.
//!
//! Records and other lines of a file are committed before the ledger says so. Where a run ended in
//! between, the next one must not write them again. That there are any shows in the numbers of
//! rows alone, which the logs know; only then the tables are asked for the lines.

use std::collections::HashMap;

use arrow::datatypes::Int64Type;
use datafusion::functions_aggregate::expr_fn::{count, max};
use datafusion::prelude::col;

use super::ledger::Ledger;
use crate::column;
use crate::error::{Error, Result};
use crate::store::{Snapshot, Store};

/// Through which line the rows of each source are in the store, by table.
#[derive(Clone, Debug, Default)]
pub(super) struct Orphans {
    records: HashMap<i64, Stored>,
    others: HashMap<i64, Stored>,
    /// Records of each source that the ledger knows of.
    in_ledger: HashMap<i64, u64>,
}

/// The rows of a source in a table.
#[derive(Clone, Copy, Debug, Default)]
struct Stored {
    last_line: u64,
    rows: u64,
}

impl Orphans {
    /// Looks for rows that `ledger` does not know of; also says in which versions of the tables.
    pub(super) async fn find(
        store: &Store,
        ledger: &Ledger,
    ) -> Result<(Self, HashMap<&'static str, u64>)> {
        let in_ledger = ledger.records_of.clone();
        let mut orphans = Self {
            in_ledger,
            ..Self::default()
        };
        let mut versions = HashMap::new();
        for (table, expected, found) in [
            ("records", ledger.record_count, &mut orphans.records),
            ("lines", ledger.other_count, &mut orphans.others),
        ] {
            let Some(snapshot) = store.snapshot(table).await? else {
                continue;
            };
            let rows: u64 = snapshot
                .files()
                .iter()
                .map(|file| file.stats.num_records)
                .sum();
            versions.insert(table, snapshot.version());
            if rows != expected {
                *found = stored_lines(store, table, &snapshot).await?;
            }
        }
        Ok((orphans, versions))
    }

    /// The last line of a source whose record is in the store; 0 for none.
    pub(super) fn records_through(&self, source_id: i64) -> u64 {
        self.records
            .get(&source_id)
            .map_or(0, |stored| stored.last_line)
    }

    /// Records of a source that are in the store and not in the ledger.
    pub(super) fn unknown_records(&self, source_id: i64) -> u64 {
        let rows = self.records.get(&source_id).map_or(0, |stored| stored.rows);
        rows.saturating_sub(self.in_ledger.get(&source_id).copied().unwrap_or(0))
    }

    /// The source is in the ledger by now.
    pub(super) fn forget(&mut self, source_id: i64) {
        self.records.remove(&source_id);
        self.others.remove(&source_id);
    }

    /// The last line of a source that is in the store as no record; 0 for none.
    pub(super) fn others_through(&self, source_id: i64) -> u64 {
        self.others
            .get(&source_id)
            .map_or(0, |stored| stored.last_line)
    }
}

async fn stored_lines(store: &Store, table: &str, at: &Snapshot) -> Result<HashMap<i64, Stored>> {
    let sums = vec![
        max(col("line")).alias("line"),
        count(col("line")).alias("rows"),
    ];
    let grouped = store
        .frame(table, at)?
        .aggregate(vec![col("source_id")], sums);
    let batches = grouped
        .map_err(Error::Query)?
        .collect()
        .await
        .map_err(Error::Query)?;
    let mut lines = HashMap::new();
    for batch in batches {
        let sources = column::numbers::<Int64Type>(&batch, "source_id")?;
        let last = column::numbers::<Int64Type>(&batch, "line")?;
        let rows = column::numbers::<Int64Type>(&batch, "rows")?;
        for row in 0..batch.num_rows() {
            let last_line = last.value(row).unsigned_abs();
            let rows = rows.value(row).unsigned_abs();
            lines.insert(sources.value(row), Stored { last_line, rows });
        }
    }
    Ok(lines)
}
