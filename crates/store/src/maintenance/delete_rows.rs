//! Deletion and update of rows: the affected files are rewritten without these rows, and updated rows are written to
//! new files.

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

/// Maximum number of files that are processed concurrently.
const AT_ONCE: usize = 8;

/// Rewritten files by path and filter. After a conflict, the next attempt uses the files of the previous one.
#[derive(Default)]
pub struct RewriteCache(HashMap<(String, String), RewrittenFile>);

/// A file after a deletion of rows.
#[derive(Clone)]
struct RewrittenFile {
    taken: u64,
    /// New file with the remaining rows. `None` if all or no rows are deleted.
    others: Option<DataFile>,
}

impl Store {
    /// Deletes the rows of a table that match the filter that `wanted` returns for its newest version (`None`: no
    /// rows). Returns their number. The old files stay for older versions.
    ///
    /// # Errors
    /// Failures of the storage. The table is unchanged in that case.
    pub async fn delete_rows(
        &self,
        table: &str,
        detail: &str,
        mut wanted: impl AsyncFnMut(&Snapshot) -> Result<Option<Expr>>,
    ) -> Result<u64> {
        if self.snapshot(table).await?.is_none() {
            return Ok(0);
        }
        let mut taken = 0;
        let mut rests = RewriteCache::default();
        self.commit(table, detail, async |snapshot: &Snapshot| {
            taken = 0;
            let Some(filter) = wanted(snapshot).await? else {
                return Ok(None);
            };
            let (rows, change) = self
                .plan_delete(table, snapshot, &filter, &mut rests)
                .await?;
            taken = rows;
            Ok((taken > 0).then_some(change))
        })
        .await?;
        Ok(taken)
    }

    /// Plans the deletion of the rows of `at` that match `filter`. Returns their number and the change.
    pub async fn plan_delete(
        &self,
        table: &str,
        at: &Snapshot,
        filter: &Expr,
        rests: &mut RewriteCache,
    ) -> Result<(u64, Change)> {
        let told = filter.to_string();
        let key = |file: &DataFile| (file.path.clone(), told.clone());
        let unknown = at.files().iter();
        let unknown: Vec<DataFile> = unknown
            .filter(|file| !rests.0.contains_key(&key(file)))
            .cloned()
            .collect();
        let looked = stream::iter(unknown).map(|file| async move {
            let rest = self.rewrite_without(table, at, &file, filter).await?;
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

    /// Updates the rows of a table that match the filter that `wanted` returns for its newest version (`None`: no
    /// rows), in one commit. Returns their number. `change` gets the partition and the rows of a file; `named` is
    /// recorded in the log.
    ///
    /// # Errors
    /// Failures of the storage. The table is unchanged in that case.
    pub async fn update_rows(
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
        let mut rests = RewriteCache::default();
        let mut written: HashMap<(String, String), DataFile> = HashMap::new();
        self.commit(table, detail, async |snapshot: &Snapshot| {
            changed = 0;
            let Some(filter) = wanted(snapshot).await? else {
                return Ok(None);
            };
            let (rows, mut all) = self
                .plan_delete(table, snapshot, &filter, &mut rests)
                .await?;
            for old in all.remove.clone() {
                let key = (old.path.clone(), filter.to_string());
                let new = match written.get(&key) {
                    Some(new) => new.clone(),
                    None => {
                        let mut partition = old.partition.clone();
                        let rows = self.read_file_rows(table, snapshot, &old, Some(filter.clone()));
                        let rows = rows.await?;
                        let rows = rows.iter().map(|rows| change(&mut partition, rows));
                        let rows = rows.collect::<Result<Vec<_>>>()?;
                        self.write_replacement(table, &old, &partition, &rows)
                            .await?
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

    async fn rewrite_without(
        &self,
        table: &str,
        at: &Snapshot,
        old: &DataFile,
        filter: &Expr,
    ) -> Result<RewrittenFile> {
        let only = at.with_files(vec![old.clone()]);
        let count = |batches: &[RecordBatch]| -> u64 {
            batches.iter().map(|batch| batch.num_rows() as u64).sum()
        };
        let key = schema::table(table)?.sort.iter().take(1);
        let key: Vec<&str> = key.map(String::as_str).collect();
        let wanted = self.read(table, &only, &key, Some(filter.clone()));
        let taken = count(&wanted.await?);
        if taken == 0 || taken == old.stats.num_records {
            let others = None;
            return Ok(RewrittenFile { taken, others });
        }
        let others = filter.clone().is_not_true();
        let others = self.read_file_rows(table, at, old, Some(others)).await?;
        let found = taken + count(&others);
        if found != old.stats.num_records {
            let reason = format!("{found} of {} rows were read", old.stats.num_records);
            return Err(Error::damaged(table, reason));
        }
        let others = Some(
            self.write_replacement(table, old, &old.partition, &others)
                .await?,
        );
        Ok(RewrittenFile { taken, others })
    }

    /// Rewrites a file with its pre-aggregates.
    ///
    /// # Errors
    /// [`crate::Error::Query`] if not all rows can be read.
    pub async fn rewrite_file(
        &self,
        table: &str,
        snapshot: &Snapshot,
        old: &DataFile,
    ) -> Result<DataFile> {
        let rows = self.read_file_rows(table, snapshot, old, None).await?;
        self.write_replacement(table, old, &old.partition, &rows)
            .await
    }

    /// Reads the rows of a file that match a filter.
    pub async fn read_file_rows(
        &self,
        table: &str,
        snapshot: &Snapshot,
        file: &DataFile,
        kept: Option<Expr>,
    ) -> Result<Vec<RecordBatch>> {
        let only = snapshot.with_files(vec![file.clone()]);
        let schema = schema::table(table)?.file_schema();
        let names = schema.fields().iter().map(|field| field.name().as_str());
        let names: Vec<&str> = names.collect();
        self.read(table, &only, &names, kept).await
    }

    /// Writes these rows to a file that replaces another one.
    async fn write_replacement(
        &self,
        table: &str,
        old: &DataFile,
        partition: &Partition,
        rows: &[RecordBatch],
    ) -> Result<DataFile> {
        let table = schema::table(table)?;
        let batches = rows.iter().map(|rows| file::fit_to_schema(table, rows));
        let batches = batches.collect::<Result<Vec<_>>>()?;
        let effort = if old.is_optimized() {
            Effort::Optimize
        } else {
            Effort::Ingest
        };
        file::write(self.location(), table, partition, &batches, effort).await
    }
}
