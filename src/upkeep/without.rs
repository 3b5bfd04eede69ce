//! Files of a table written again without some of their rows.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use datafusion::logical_expr::Expr;
use datafusion::prelude::{col, lit, not};
use serde_json::Value;

use super::stored;
use crate::error::{Error, Result};
use crate::schema;
use crate::store::file::{self, DataFile, Effort};
use crate::store::{Change, Snapshot, Store};

/// Rows of sources: those from a line on (`records`, `runs`), or from a segment on (`lines`).
#[derive(Clone, Debug, Default)]
pub(super) struct Rows(BTreeMap<i64, i64>);

impl Rows {
    pub(super) fn add(&mut self, source_id: i64, from: i64) {
        self.0.insert(source_id, from);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// A row of one of these sources.
    pub(super) fn among(&self) -> Expr {
        let ids = self.0.keys().map(|id| lit(*id)).collect();
        col("source_id").in_list(ids, false)
    }

    /// Is it one of them? `place` is its line, or its segment.
    pub(super) fn has(&self, source_id: i64, place: i64) -> bool {
        self.0.get(&source_id).is_some_and(|from| place >= *from)
    }

    /// What is counted from: the column of a table that [`Rows`] speak of.
    pub(super) fn place(table: &str) -> &'static str {
        if table == "lines" { "segment" } else { "line" }
    }

    fn filter(&self, table: &str) -> Expr {
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

    /// May the file have rows of these sources?
    fn may_be_in(&self, file: &DataFile) -> bool {
        let bound = |values: &BTreeMap<String, Value>| values.get("source_id")?.as_i64();
        let least = bound(&file.stats.min_values).unwrap_or(i64::MIN);
        let greatest = bound(&file.stats.max_values).unwrap_or(i64::MAX);
        least <= greatest && self.0.range(least..=greatest).next().is_some()
    }
}

/// Takes rows out of a table in one exclusive commit, of all files or only of these, with which go
/// `transactions`; gives the files of the rows that were taken out, which are in no table.
pub(super) async fn take_out(
    store: &Store,
    table: &str,
    rows: &Rows,
    only: Option<&BTreeSet<String>>,
    transactions: &[(String, i64)],
) -> Result<Vec<DataFile>> {
    let mut split: HashMap<String, Option<Split>> = HashMap::new();
    let mut taken = Vec::new();
    store
        .commit(table, "mend", async |snapshot: &Snapshot| {
            let mut change = Change {
                transactions: transactions.to_vec(),
                ..Change::default()
            };
            taken.clear();
            let files = snapshot.files().iter();
            let files = files.filter(|file| only.is_none_or(|only| only.contains(&file.path)));
            for file in files.filter(|file| rows.may_be_in(file)) {
                if !split.contains_key(&file.path) {
                    let parts = self::split(store, table, snapshot, file, rows).await?;
                    split.insert(file.path.clone(), parts);
                }
                if let Some(Some(parts)) = split.get(&file.path) {
                    change.remove.push(file.clone());
                    change.add.extend(parts.kept.clone());
                    taken.push(parts.taken.clone());
                }
            }
            Ok((!change.remove.is_empty()).then_some(change))
        })
        .await?;
    Ok(taken)
}

/// Gives a table back what was taken out of it.
pub(super) async fn put_back(store: &Store, table: &str, files: Vec<DataFile>) -> Result<()> {
    let change = Change {
        add: files,
        ..Change::default()
    };
    if change.add.is_empty() {
        return Ok(());
    }
    let add = async |_: &Snapshot| Ok(Some(change.clone()));
    store.commit(table, "mend", add).await
}

/// What becomes of a file.
#[derive(Clone, Debug)]
struct Split {
    kept: Option<DataFile>,
    taken: DataFile,
}

/// The file in two: `None` where it has none of these rows.
async fn split(
    store: &Store,
    table: &str,
    snapshot: &Snapshot,
    file: &DataFile,
    rows: &Rows,
) -> Result<Option<Split>> {
    let alone = snapshot.only(vec![file.clone()]);
    let schema = schema::table(table)?;
    let columns = schema.row_schema();
    let columns = columns.fields().iter();
    let columns: Vec<&str> = columns.map(|field| field.name().as_str()).collect();
    let effort = if file.is_optimized() {
        Effort::Optimize
    } else {
        Effort::Ingest
    };
    let mut parts = Vec::new();
    for filter in [rows.filter(table), not(rows.filter(table))] {
        let batches = store.read(table, &alone, &columns, Some(filter)).await?;
        let count: usize = batches
            .iter()
            .map(arrow::array::RecordBatch::num_rows)
            .sum();
        if count == 0 {
            parts.push(None);
            continue;
        }
        let batches = batches.iter().map(|batch| stored(schema, batch));
        let batches = batches.collect::<Result<Vec<_>>>()?;
        let location = store.location();
        let written = file::write(location, schema, &file.partition, &batches, effort).await?;
        parts.push(Some(written));
    }
    let kept = parts.pop().flatten();
    let Some(taken) = parts.pop().flatten() else {
        return Ok(None);
    };
    let rows = |file: &DataFile| file.stats.num_records;
    let found = rows(&taken) + kept.as_ref().map_or(0, rows);
    if found != rows(file) {
        let reason = format!("{found} of {} rows were read", rows(file));
        return Err(Error::damaged(table, reason));
    }
    Ok(Some(Split { kept, taken }))
}
