//! Rows that the ledger does not know: an interrupted run has left them, or one that is at work has not come
//! to its ledger yet.
//!
//! Nothing says that their file is still what it was, so no run goes on with them. The next one over the
//! same file claims them (see `commits`) and takes them out in the commits that add its own. That there are
//! any shows in the numbers of rows alone, which the logs know; only then the tables are asked, and only
//! for the sources that a run may read: rows of a file that nobody gives again cost later runs nothing.

use std::collections::{BTreeMap, BTreeSet};

use arrow::datatypes::{DataType, Int64Type};
use datafusion::functions_aggregate::expr_fn::max;
use datafusion::logical_expr::Expr;
use datafusion::logical_expr::utils::conjunction;
use datafusion::prelude::{cast, col, lit};

use crate::column;
use crate::error::{Error, Result};
use crate::ledger::Ledger;
use crate::store::{LISTED, Snapshot, Store};

/// Tables whose rows belong to sources, in the order in which they are committed and emptied.
pub(crate) const TABLES: [&str; 8] = [
    "records",
    "retracted",
    "runs",
    "retracted_runs",
    "lines",
    "network_tasks",
    "relays",
    "workloads",
];

/// Rows of sources: those from a line on (`records`, `runs`), or from a segment on (`lines`).
#[derive(Clone, Debug, Default)]
pub(crate) struct Rows(BTreeMap<i64, i64>);

impl Rows {
    pub(crate) fn add(&mut self, source_id: i64, from: i64) {
        self.0.insert(source_id, from);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// A row of one of these sources.
    pub(crate) fn among(&self) -> Expr {
        let ids = self.0.keys().map(|id| lit(*id)).collect();
        col("source_id").in_list(ids, false)
    }

    /// Is it one of them? `place` is its line, or its segment.
    pub(crate) fn has(&self, source_id: i64, place: i64) -> bool {
        self.0.get(&source_id).is_some_and(|from| place >= *from)
    }

    /// What is counted from: the column of a table that [`Rows`] speak of.
    pub(crate) fn place(table: &str) -> &'static str {
        if table == "lines" { "segment" } else { "line" }
    }

    /// The rows among those of a table.
    pub(crate) fn filter(&self, table: &str) -> Expr {
        let place = col(Self::place(table));
        let mut by_start: BTreeMap<i64, Vec<Expr>> = BTreeMap::new();
        for (id, from) in &self.0 {
            by_start.entry(*from).or_default().push(lit(*id));
        }
        let parts = by_start.into_iter().map(|(from, ids)| {
            let begun = place.clone().gt_eq(lit(from));
            col("source_id").in_list(ids, false).and(begun)
        });
        parts.reduce(Expr::or).unwrap_or_else(|| lit(false))
    }

    fn of(&self, sources: &BTreeSet<i64>) -> Self {
        let among = self.0.iter().filter(|(id, _)| sources.contains(id));
        Self(among.map(|(id, from)| (*id, *from)).collect())
    }
}

/// What the tables have of the files of a run that its ledger does not know.
#[derive(Debug, Default)]
pub(crate) struct Orphans {
    rows: BTreeMap<&'static str, Rows>,
    /// Those of them, with their sizes, that the ledger has as other names of what is there.
    pub(super) strays: BTreeMap<i64, i64>,
    /// The versions of the tables that say so.
    pub(super) versions: BTreeMap<&'static str, u64>,
}

/// What a run may read.
#[derive(Debug, Default)]
pub(crate) struct Scope {
    /// The datasets of its files.
    pub(crate) datasets: BTreeSet<&'static str>,
    /// The platforms of these, where they are known.
    pub(crate) platforms: Option<BTreeSet<String>>,
    /// What they will be called, where that is known.
    pub(crate) sources: Option<BTreeSet<i64>>,
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
            platforms.extend(ledger.platforms_of(name));
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

impl Orphans {
    /// Looks for rows that `ledger` does not know of in these tables.
    pub(crate) async fn find(
        store: &Store,
        ledger: &Ledger,
        scope: &Scope,
        tables: &[&'static str],
    ) -> Result<Self> {
        let mut orphans = Self::default();
        for &table in tables {
            let Some(snapshot) = store.snapshot(table).await? else {
                continue;
            };
            orphans.versions.insert(table, snapshot.version());
            let expected = match table {
                "records" => {
                    let retracted = store.row_count("retracted").await?;
                    Some(ledger.record_count.saturating_sub(retracted))
                }
                "lines" => Some(ledger.other_count),
                _ => None,
            };
            let files = snapshot.files().iter();
            let rows: u64 = files.map(|file| file.stats.num_records).sum();
            if expected == Some(rows) || rows == 0 {
                continue;
            }
            let unknown = unknown(store, table, &snapshot, ledger, scope).await?;
            let strays = unknown.0.keys().filter_map(|id| ledger.source(*id));
            let strays = strays.filter(|source| source.same_as.is_some());
            let strays = strays.map(|source| (source.source_id, source.end_byte.cast_signed()));
            orphans.strays.extend(strays);
            orphans.rows.insert(table, unknown);
        }
        Ok(orphans)
    }

    /// Those of these sources that have such rows.
    pub(super) fn among(&self, sources: impl Iterator<Item = i64>) -> BTreeSet<i64> {
        let has = |id: &i64| self.rows.values().any(|rows| rows.0.contains_key(id));
        sources.filter(has).collect()
    }

    /// The rows that these sources have in a table.
    pub(super) fn of(&self, table: &str, sources: &BTreeSet<i64>) -> Rows {
        let rows = self.rows.get(table);
        rows.map(|rows| rows.of(sources)).unwrap_or_default()
    }

    /// They are no more.
    pub(super) fn forget(&mut self, sources: &BTreeSet<i64>) {
        for rows in self.rows.values_mut() {
            rows.0.retain(|id, _| !sources.contains(id));
        }
        self.strays.retain(|id, _| !sources.contains(id));
    }
}

async fn unknown(
    store: &Store,
    table: &str,
    at: &Snapshot,
    ledger: &Ledger,
    scope: &Scope,
) -> Result<Rows> {
    let mut frame = store.frame(table, at)?;
    if let Some(filter) = scope.filter(table) {
        frame = frame.filter(filter).map_err(Error::Query)?;
    }
    let place = cast(col(Rows::place(table)), DataType::Int64);
    let last = frame.aggregate(vec![col("source_id")], vec![max(place).alias("last")]);
    let batches = last
        .map_err(Error::Query)?
        .collect()
        .await
        .map_err(Error::Query)?;
    let mut rows = Rows::default();
    for batch in batches {
        let sources = column::numbers::<Int64Type>(&batch, "source_id")?;
        let last = column::numbers::<Int64Type>(&batch, "last")?;
        for (&id, &last) in sources.values().iter().zip(last.values()) {
            let from = ledger.first_unknown(table, id);
            let wanted = scope.sources.as_ref().is_none_or(|ids| ids.contains(&id));
            if wanted && last >= from {
                rows.add(id, from);
            }
        }
    }
    Ok(rows)
}
