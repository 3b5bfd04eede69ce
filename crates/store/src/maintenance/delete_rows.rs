//! Rows taken out of a table, or changed: the files that have some are written anew without them, and what they become
//! is written beside.

use std::collections::HashMap;

use arrow::array::RecordBatch;
use datafusion::logical_expr::Expr;
use futures::stream::{self, StreamExt as _, TryStreamExt as _};

use crate::files::file::{self, DataFile, Effort};
use crate::{Change, Snapshot, Store};
use tsql_error::{Error, Result};
use tsql_schema as schema;

/// Values of the partition columns of a file.
pub type Partition = Vec<(String, Option<String>)>;

/// Files that are looked at at once.
const AT_ONCE: usize = 8;

/// What becomes of files without some of their rows, by path and filter: what was written for an attempt
/// that someone else came before serves the next one.
#[derive(Default)]
pub struct Rests(HashMap<(String, String), Rest>);

/// A file without some of its rows.
#[derive(Clone)]
struct Rest {
    taken: u64,
    /// A new file of the others, if there are both.
    others: Option<DataFile>,
}

impl Store {
    /// Takes the rows out of a table that `wanted` tells of its newest version (`None`: there are none);
    /// gives their number. The old files stay for older versions.
    ///
    /// # Errors
    /// Failures of the storage; the table is as before then.
    pub async fn take_out(
        &self,
        table: &str,
        detail: &str,
        mut wanted: impl AsyncFnMut(&Snapshot) -> Result<Option<Expr>>,
    ) -> Result<u64> {
        if self.snapshot(table).await?.is_none() {
            return Ok(0);
        }
        let mut taken = 0;
        let mut rests = Rests::default();
        self.commit(table, detail, async |snapshot: &Snapshot| {
            taken = 0;
            let Some(filter) = wanted(snapshot).await? else {
                return Ok(None);
            };
            let (rows, change) = self.without(table, snapshot, &filter, &mut rests).await?;
            taken = rows;
            Ok((taken > 0).then_some(change))
        })
        .await?;
        Ok(taken)
    }

    /// The change that takes the rows that `filter` tells out of the files of `at`, and their number.
    pub async fn without(
        &self,
        table: &str,
        at: &Snapshot,
        filter: &Expr,
        rests: &mut Rests,
    ) -> Result<(u64, Change)> {
        let told = filter.to_string();
        let key = |file: &DataFile| (file.path.clone(), told.clone());
        let unknown = at.files().iter();
        let unknown: Vec<DataFile> = unknown
            .filter(|file| !rests.0.contains_key(&key(file)))
            .cloned()
            .collect();
        let looked = stream::iter(unknown).map(|file| async move {
            let rest = self.rest(table, at, &file, filter).await?;
            Ok::<_, Error>((file, rest))
        });
        let mut looked = looked.buffer_unordered(AT_ONCE);
        while let Some((file, rest)) = looked.try_next().await? {
            rests.0.insert(key(&file), rest);
        }
        let (mut taken, mut change) = (0, Change::default());
        for file in at.files().iter() {
            if let Some(rest) = rests.0.get(&key(file)).filter(|rest| rest.taken > 0) {
                taken += rest.taken;
                change.remove.push(file.clone());
                change.add.extend(rest.others.clone());
            }
        }
        Ok((taken, change))
    }

    /// Changes the rows of a table that `wanted` tells of its newest version (`None`: nothing is to be done), in one
    /// commit; gives their number. `change` is given the partition and the rows of a file; `named` stands in the log.
    ///
    /// # Errors
    /// Failures of the storage; the table is as before then.
    pub async fn change_rows(
        &self,
        table: &str,
        detail: &str,
        mut wanted: impl AsyncFnMut(&Snapshot) -> Result<Option<Expr>>,
        change: impl Fn(&mut Partition, &RecordBatch) -> Result<RecordBatch>,
        named: impl Fn(u64) -> Vec<(String, i64)>,
    ) -> Result<u64> {
        if self.snapshot(table).await?.is_none() {
            return Ok(0);
        }
        let mut changed = 0;
        let mut rests = Rests::default();
        let mut written: HashMap<(String, String), DataFile> = HashMap::new();
        self.commit(table, detail, async |snapshot: &Snapshot| {
            changed = 0;
            let Some(filter) = wanted(snapshot).await? else {
                return Ok(None);
            };
            let (rows, mut all) = self.without(table, snapshot, &filter, &mut rests).await?;
            for old in all.remove.clone() {
                let key = (old.path.clone(), filter.to_string());
                let new = match written.get(&key) {
                    Some(new) => new.clone(),
                    None => {
                        let mut partition = old.partition.clone();
                        let rows = self.rows_of(table, snapshot, &old, Some(filter.clone()));
                        let rows = rows.await?;
                        let rows = rows.iter().map(|rows| change(&mut partition, rows));
                        let rows = rows.collect::<Result<Vec<_>>>()?;
                        self.instead_of(table, &old, &partition, &rows).await?
                    }
                };
                written.insert(key, new.clone());
                all.add.push(new);
            }
            changed = rows;
            all.transactions = named(snapshot.version() + 1);
            Ok((changed > 0).then_some(all))
        })
        .await?;
        Ok(changed)
    }

    async fn rest(
        &self,
        table: &str,
        at: &Snapshot,
        old: &DataFile,
        filter: &Expr,
    ) -> Result<Rest> {
        let only = at.only(vec![old.clone()]);
        let count = |batches: &[RecordBatch]| -> u64 {
            batches.iter().map(|batch| batch.num_rows() as u64).sum()
        };
        let key = schema::table(table)?.sort.iter().take(1);
        let key: Vec<&str> = key.map(String::as_str).collect();
        let wanted = self.read(table, &only, &key, Some(filter.clone()));
        let taken = count(&wanted.await?);
        if taken == 0 || taken == old.stats.num_records {
            let others = None;
            return Ok(Rest { taken, others });
        }
        let others = filter.clone().is_not_true();
        let others = self.rows_of(table, at, old, Some(others)).await?;
        let found = taken + count(&others);
        if found != old.stats.num_records {
            let reason = format!("{found} of {} rows were read", old.stats.num_records);
            return Err(Error::damaged(table, reason));
        }
        let others = Some(self.instead_of(table, old, &old.partition, &others).await?);
        Ok(Rest { taken, others })
    }

    /// Writes the rows of a file anew, with their sums.
    ///
    /// # Errors
    /// [`crate::Error::Query`] where not all of them can be read.
    pub async fn anew(&self, table: &str, snapshot: &Snapshot, old: &DataFile) -> Result<DataFile> {
        let rows = self.rows_of(table, snapshot, old, None).await?;
        self.instead_of(table, old, &old.partition, &rows).await
    }

    /// The rows of a file that a filter keeps.
    pub async fn rows_of(
        &self,
        table: &str,
        snapshot: &Snapshot,
        file: &DataFile,
        kept: Option<Expr>,
    ) -> Result<Vec<RecordBatch>> {
        let only = snapshot.only(vec![file.clone()]);
        let schema = schema::table(table)?.file_schema();
        let names = schema.fields().iter().map(|field| field.name().as_str());
        let names: Vec<&str> = names.collect();
        self.read(table, &only, &names, kept).await
    }

    /// A file of these rows in the place of another one.
    async fn instead_of(
        &self,
        table: &str,
        old: &DataFile,
        partition: &Partition,
        rows: &[RecordBatch],
    ) -> Result<DataFile> {
        let table = schema::table(table)?;
        let batches = rows.iter().map(|rows| file::fitted(table, rows));
        let batches = batches.collect::<Result<Vec<_>>>()?;
        let effort = if old.is_optimized() {
            Effort::Optimize
        } else {
            Effort::Ingest
        };
        file::write(self.location(), table, partition, &batches, effort).await
    }
}
