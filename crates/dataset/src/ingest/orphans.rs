//! Rows that the ingest log does not know: left by an interrupted run, or written by a run that has not
//! reached its ingest log commit.
//!
//! Their file may have changed, so no run continues with them. The next run over the same file claims them
//! (see `commits`) and removes them in the commits that add its own rows.
//!
//! Row counts in the Delta logs show whether there are any. Only then are the tables queried, and only for
//! the sources of the run. Rows of a file that is never ingested again cost later runs nothing.

use std::collections::{BTreeMap, BTreeSet};

use arrow::datatypes::{DataType, Int64Type};
use datafusion::functions_aggregate::expr_fn::max;
use datafusion::logical_expr::Expr;
use datafusion::logical_expr::utils::conjunction;
use datafusion::prelude::{cast, col, lit};
use tsql_adapters::ingest_log::IngestLog;
use tsql_error::{Error, Result};
use tsql_schema::column;
use tsql_store::{LISTED, Snapshot, Store};

/// Tables with rows of sources, in the order of commits and removals.
pub(crate) const TABLES: [&str; 9] = [
    "records",
    "retracted",
    "runs",
    "retracted_runs",
    "lines",
    "network_tasks",
    "relays",
    "workloads",
    "spaces",
];

/// Rows of sources, from a start position on: a line (`records`, `runs`), or a segment (`lines`).
#[derive(Clone, Debug, Default)]
pub(crate) struct OrphanRows(BTreeMap<i64, i64>);

impl OrphanRows {
    pub(crate) fn add(&mut self, source_id: i64, from: i64) {
        self.0.insert(source_id, from);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Filter for all rows of these sources.
    pub(crate) fn source_filter(&self) -> Expr {
        let ids = self.0.keys().map(|id| lit(*id)).collect();
        col("source_id").in_list(ids, false)
    }

    /// Returns whether a row is included. `place` is its line or segment.
    pub(crate) fn contains(&self, source_id: i64, place: i64) -> bool {
        self.0.get(&source_id).is_some_and(|from| place >= *from)
    }

    /// Position column of a table: `segment` or `line`.
    pub(crate) fn position_column(table: &str) -> &'static str {
        if table == "lines" { "segment" } else { "line" }
    }

    /// Filter for these rows in a table.
    pub(crate) fn filter(&self, table: &str) -> Expr {
        let place = col(Self::position_column(table));
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

    fn for_sources(&self, sources: &BTreeSet<i64>) -> Self {
        let among = self.0.iter().filter(|(id, _)| sources.contains(id));
        Self(among.map(|(id, from)| (*id, *from)).collect())
    }
}

/// Rows of the files of a run that its ingest log does not know.
#[derive(Debug, Default)]
pub(crate) struct Orphans {
    rows: BTreeMap<&'static str, OrphanRows>,
    /// Orphaned sources that are aliases in the ingest log, with their sizes.
    pub(super) strays: BTreeMap<i64, i64>,
    /// Versions of the tables that were read.
    pub(super) versions: BTreeMap<&'static str, u64>,
}

/// Sources that a run may read.
#[derive(Debug, Default)]
pub(crate) struct ReadScope {
    /// Datasets of its files.
    pub(crate) datasets: BTreeSet<&'static str>,
    /// Platforms of its files, if known.
    pub(crate) platforms: Option<BTreeSet<String>>,
    /// Identifiers of its sources, if known.
    pub(crate) sources: Option<BTreeSet<i64>>,
}

impl ReadScope {
    /// Any file of some datasets.
    pub(super) fn for_datasets(names: &[&'static str]) -> Self {
        Self {
            datasets: names.iter().copied().collect(),
            ..Self::default()
        }
    }

    /// Files with these datasets, platforms and names.
    pub(super) fn for_files<'a>(
        ledger: &IngestLog,
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

    /// Filter for the rows of a table that may belong to these files.
    fn filter(&self, table: &str) -> Option<Expr> {
        let mut filters = Vec::new();
        // `lines` is not partitioned.
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
    /// Finds rows in these tables that `ledger` does not know.
    pub(crate) async fn find(
        store: &Store,
        ledger: &IngestLog,
        scope: &ReadScope,
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
            let unknown = find_unknown_rows(store, table, &snapshot, ledger, scope).await?;
            let strays = unknown.0.keys().filter_map(|id| ledger.source_by_id(*id));
            let strays = strays.filter(|source| source.same_as.is_some());
            let strays = strays.map(|source| (source.source_id, source.end_byte.cast_signed()));
            orphans.strays.extend(strays);
            orphans.rows.insert(table, unknown);
        }
        Ok(orphans)
    }

    /// Returns those of `sources` that have orphaned rows.
    pub(super) fn sources_with_orphans(&self, sources: impl Iterator<Item = i64>) -> BTreeSet<i64> {
        let has = |id: &i64| self.rows.values().any(|rows| rows.0.contains_key(id));
        sources.filter(has).collect()
    }

    /// Orphaned rows of these sources in a table.
    pub(super) fn rows_of_sources(&self, table: &str, sources: &BTreeSet<i64>) -> OrphanRows {
        let rows = self.rows.get(table);
        rows.map(|rows| rows.for_sources(sources))
            .unwrap_or_default()
    }

    /// Removes sources whose orphaned rows were removed.
    pub(super) fn remove_sources(&mut self, sources: &BTreeSet<i64>) {
        for rows in self.rows.values_mut() {
            rows.0.retain(|id, _| !sources.contains(id));
        }
        self.strays.retain(|id, _| !sources.contains(id));
    }
}

async fn find_unknown_rows(
    store: &Store,
    table: &str,
    at: &Snapshot,
    ledger: &IngestLog,
    scope: &ReadScope,
) -> Result<OrphanRows> {
    let mut frame = store.frame(table, at)?;
    if let Some(filter) = scope.filter(table) {
        frame = frame.filter(filter).map_err(Error::Query)?;
    }
    let place = cast(col(OrphanRows::position_column(table)), DataType::Int64);
    let last = frame.aggregate(vec![col("source_id")], vec![max(place).alias("last")]);
    let batches = last
        .map_err(Error::Query)?
        .collect()
        .await
        .map_err(Error::Query)?;
    let mut rows = OrphanRows::default();
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
