//! Rows of interrupted runs: written, but their file is not in the ledger.
//!
//! Records and other lines of a file are committed before the ledger says so. Where a run ended in
//! between, the next one must not write them again. That there are any shows in the numbers of
//! rows alone, which the logs know; only then the tables are asked for the lines, and only of the
//! sources that a run may read: rows of a file that nobody gives again cost later runs nothing.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use arrow::datatypes::Int64Type;
use datafusion::functions_aggregate::expr_fn::{count, max};
use datafusion::logical_expr::Expr;
use datafusion::logical_expr::utils::conjunction;
use datafusion::prelude::{col, lit};

use super::ledger::Ledger;
use crate::column;
use crate::error::{Error, Result};
use crate::store::{LISTED, Snapshot, Store};

/// Through which line the rows of each source are in the store, by table.
#[derive(Clone, Debug, Default)]
pub(super) struct Orphans {
    records: HashMap<i64, Stored>,
    others: HashMap<i64, Stored>,
    /// Records of each source that the ledger knows of.
    in_ledger: HashMap<i64, u64>,
}

/// What a run may read.
#[derive(Debug, Default)]
pub(super) struct Scope {
    /// The datasets of its files.
    pub(super) datasets: BTreeSet<&'static str>,
    /// The platforms of these, where they are known.
    pub(super) platforms: Option<BTreeSet<String>>,
    /// What they will be called, where that is known.
    pub(super) sources: Option<BTreeSet<i64>>,
}

impl Scope {
    /// Any file of a dataset.
    pub(super) fn dataset(name: &'static str) -> Self {
        Self {
            datasets: BTreeSet::from([name]),
            ..Self::default()
        }
    }

    /// Files of these datasets, platforms and names.
    pub(super) fn files<'a>(
        ledger: &Ledger,
        files: impl Iterator<Item = (&'static str, &'a str, &'a str)>,
    ) -> Self {
        let mut counts: BTreeMap<_, usize> = BTreeMap::new();
        for file in files {
            *counts.entry(file).or_default() += 1;
        }
        let (mut datasets, mut platforms) = (BTreeSet::new(), BTreeSet::new());
        let mut sources = BTreeSet::new();
        for ((dataset, platform, name), count) in counts {
            datasets.insert(dataset);
            platforms.insert(platform.to_owned());
            sources.extend(ledger.candidates(dataset, platform, name, count));
        }
        Self {
            datasets,
            platforms: Some(platforms),
            sources: Some(sources),
        }
    }

    /// The rows of a table that may be of these files.
    fn filter(&self, table: &str) -> Option<Expr> {
        let mut filters = Vec::new();
        // `lines` lie in one folder.
        if table == "records" {
            let datasets = self.datasets.iter().map(|name| lit(*name)).collect();
            filters.push(col("dataset").in_list(datasets, false));
            filters.extend(self.platforms.as_ref().map(|names| {
                let names = names.iter().map(|name| lit(name.as_str())).collect();
                col("platform").in_list(names, false)
            }));
        }
        let few = self.sources.as_ref().filter(|ids| ids.len() <= LISTED);
        filters.extend(few.map(|ids| {
            let ids = ids.iter().map(|id| lit(*id)).collect();
            col("source_id").in_list(ids, false)
        }));
        conjunction(filters)
    }
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
        scope: &Scope,
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
                *found = stored_lines(store, table, &snapshot, scope.filter(table)).await?;
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

    /// Are all rows that were found of these sources still there?
    pub(super) async fn are_there(&self, store: &Store, sources: BTreeSet<i64>) -> Result<bool> {
        for (table, found) in [("records", &self.records), ("lines", &self.others)] {
            let found = found.iter().filter(|(id, _)| sources.contains(id));
            let found: HashMap<i64, Stored> = found.map(|(id, stored)| (*id, *stored)).collect();
            if found.is_empty() {
                continue;
            }
            let Some(snapshot) = store.snapshot(table).await? else {
                return Ok(false);
            };
            let ids = found.keys().map(|id| lit(*id)).collect();
            let filter = Some(col("source_id").in_list(ids, false));
            let mut rows: HashMap<i64, u64> = HashMap::new();
            let columns = ["source_id", "line"];
            for batch in store.read(table, &snapshot, &columns, filter).await? {
                let ids = column::numbers::<Int64Type>(&batch, "source_id")?;
                let lines = column::numbers::<Int64Type>(&batch, "line")?;
                for (id, line) in ids.values().iter().zip(lines.values()) {
                    let through = found.get(id).map_or(0, |stored| stored.last_line);
                    *rows.entry(*id).or_default() += u64::from(line.unsigned_abs() <= through);
                }
            }
            if found
                .iter()
                .any(|(id, stored)| rows.get(id) != Some(&stored.rows))
            {
                return Ok(false);
            }
        }
        Ok(true)
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

async fn stored_lines(
    store: &Store,
    table: &str,
    at: &Snapshot,
    filter: Option<Expr>,
) -> Result<HashMap<i64, Stored>> {
    let sums = vec![
        max(col("line")).alias("line"),
        count(col("line")).alias("rows"),
    ];
    let mut frame = store.frame(table, at)?;
    if let Some(filter) = filter {
        frame = frame.filter(filter).map_err(Error::Query)?;
    }
    let grouped = frame.aggregate(vec![col("source_id")], sums);
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
