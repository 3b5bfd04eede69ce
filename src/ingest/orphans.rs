//! Rows of interrupted runs: written, but their file is not in the ledger.
//!
//! Records and other lines of a file are committed before the ledger says so. Where a run ended in
//! between, the next one must not write them again. That there are any shows in the numbers of
//! rows alone, which the logs know; only then the tables are asked for the lines.

use std::collections::HashMap;

use arrow::datatypes::Int64Type;
use datafusion::functions_aggregate::expr_fn::max;
use datafusion::prelude::col;

use super::ledger::Ledger;
use crate::column;
use crate::error::{Error, Result};
use crate::store::{Snapshot, Store};

/// Through which line the rows of each source are in the store, by table.
#[derive(Debug, Default)]
pub(super) struct Orphans {
    records: HashMap<i64, u64>,
    others: HashMap<i64, u64>,
}

impl Orphans {
    /// Looks for rows that `ledger` does not know of; also says in which versions of the tables.
    pub(super) async fn find(
        store: &Store,
        ledger: &Ledger,
    ) -> Result<(Self, HashMap<&'static str, u64>)> {
        let mut orphans = Self::default();
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
                *found = last_lines(store, table, &snapshot).await?;
            }
        }
        Ok((orphans, versions))
    }

    /// The last line of a source whose record is in the store; 0 for none.
    pub(super) fn records_through(&self, source_id: i64) -> u64 {
        self.records.get(&source_id).copied().unwrap_or(0)
    }

    /// The last line of a source that is in the store as no record; 0 for none.
    pub(super) fn others_through(&self, source_id: i64) -> u64 {
        self.others.get(&source_id).copied().unwrap_or(0)
    }
}

async fn last_lines(store: &Store, table: &str, at: &Snapshot) -> Result<HashMap<i64, u64>> {
    let frame = store.frame(table, at)?;
    let grouped = frame.aggregate(vec![col("source_id")], vec![max(col("line")).alias("line")]);
    let batches = grouped
        .map_err(Error::Query)?
        .collect()
        .await
        .map_err(Error::Query)?;
    let mut lines = HashMap::new();
    for batch in batches {
        let sources = column::numbers::<Int64Type>(&batch, "source_id")?;
        let last = column::numbers::<Int64Type>(&batch, "line")?;
        for row in 0..batch.num_rows() {
            lines.insert(sources.value(row), last.value(row).unsigned_abs());
        }
    }
    Ok(lines)
}
