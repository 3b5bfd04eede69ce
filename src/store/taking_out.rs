//! Rows taken out of a table: the files that have some are written anew without them.

use std::collections::HashMap;

use arrow::array::RecordBatch;
use datafusion::logical_expr::Expr;

use super::file::{self, DataFile, Effort};
use super::{Change, Snapshot, Store};
use crate::error::Result;
use crate::schema;

impl Store {
    /// Takes the rows out of a table that `wanted` tells of its newest version (`None`: there are none);
    /// gives their number. The old files stay for older versions.
    ///
    /// # Errors
    /// Failures of the storage; the table is as before then.
    pub(crate) async fn take_out(
        &self,
        table: &str,
        detail: &str,
        mut wanted: impl AsyncFnMut(&Snapshot) -> Result<Option<Expr>>,
    ) -> Result<u64> {
        if self.snapshot(table).await?.is_none() {
            return Ok(0);
        }
        let mut taken = 0;
        // What was written for an attempt that someone else came before.
        let mut written: HashMap<(String, String), (u64, Option<DataFile>)> = HashMap::new();
        self.commit(table, detail, async |snapshot: &Snapshot| {
            taken = 0;
            let Some(filter) = wanted(snapshot).await? else {
                return Ok(None);
            };
            let mut change = Change::default();
            for old in snapshot.files().iter() {
                let key = (old.path.clone(), filter.to_string());
                if !written.contains_key(&key) {
                    let new = self.without(table, snapshot, old, &filter).await?;
                    written.insert(key.clone(), new);
                }
                if let Some((rows, new)) = written.get(&key).filter(|(rows, _)| *rows > 0) {
                    taken += rows;
                    change.remove.push(old.clone());
                    change.add.extend(new.clone());
                }
            }
            Ok((taken > 0).then_some(change))
        })
        .await?;
        Ok(taken)
    }

    /// How many rows of a file the filter tells, and a new file of the others, if there are both.
    async fn without(
        &self,
        table: &str,
        snapshot: &Snapshot,
        old: &DataFile,
        filter: &Expr,
    ) -> Result<(u64, Option<DataFile>)> {
        let kept = filter.clone().is_not_true();
        let kept = self.rows_of(table, snapshot, old, Some(kept)).await?;
        let rows: u64 = kept.iter().map(|batch| batch.num_rows() as u64).sum();
        let taken = old.stats.num_records.saturating_sub(rows);
        if taken == 0 || rows == 0 {
            return Ok((taken, None));
        }
        let new = self.instead_of(table, old, &kept).await?;
        Ok((taken, Some(new)))
    }

    /// Writes the rows of a file anew, with their sums.
    ///
    /// # Errors
    /// [`crate::Error::Query`] where not all of them can be read.
    pub(crate) async fn anew(
        &self,
        table: &str,
        snapshot: &Snapshot,
        old: &DataFile,
    ) -> Result<DataFile> {
        let rows = self.rows_of(table, snapshot, old, None).await?;
        self.instead_of(table, old, &rows).await
    }

    /// The rows of a file that a filter keeps.
    async fn rows_of(
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
        rows: &[RecordBatch],
    ) -> Result<DataFile> {
        let table = schema::table(table)?;
        let batches = rows.iter().map(|batch| {
            let fields = batch.schema();
            let names = fields.fields().iter().map(|field| field.name().as_str());
            file::batch(table, names.zip(batch.columns().iter().cloned()).collect())
        });
        let batches = batches.collect::<Result<Vec<_>>>()?;
        let effort = if old.is_optimized() {
            Effort::Optimize
        } else {
            Effort::Ingest
        };
        file::write(self.location(), table, &old.partition, &batches, effort).await
    }
}
