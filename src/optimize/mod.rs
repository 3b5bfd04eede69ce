//! `optimize` makes few, large, well compressed files of many small ones.
//!
//! The rows stay the same, so readers and time travel are not disturbed; the old files go when
//! `vacuum` says so. What is in order already is moved only where much has come since (`due.rs` says which).
//!
//! ```
//! use tsql::{OptimizeOptions, Store, VacuumOptions};
//! # tokio::runtime::Runtime::new().unwrap().block_on(async {
//! let store = Store::demo().await?;
//! let done = store.optimize(&OptimizeOptions::default()).await?;
//! assert!(done.bytes_after <= done.bytes_before);
//! store.vacuum(&VacuumOptions::default()).await?;
//! # Ok::<(), tsql::Error>(()) }).unwrap();
//! ```

mod due;
mod ranges;
mod sketches;

use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{AsArray as _, RecordBatch};
use arrow::datatypes::{DataType, Int64Type};
use datafusion::functions_aggregate::expr_fn::count;
use datafusion::prelude::{DataFrame, col, lit};
use tokio::runtime::Handle;
use tokio::task::JoinSet;

use crate::column;
use crate::error::{Error, Result};
use crate::part::Part;
use crate::schema::{self, Table};
use crate::store::file::{self, DataFile, Effort, StatValue};
use crate::store::{Change, Snapshot, Store};
use due::{due, file_count, row_count};
use sketches::respecialised;

pub(crate) use ranges::{Range, ranges};

/// A file with fewer rows is small, and so many small ones in a partition are too many.
const SMALL_ROWS: u64 = 1 << 16;
const SMALL_FILES: usize = 32;

/// Rows of small files that are merged at once at most, as they are in memory: some 200 MB of
/// configurations (25 million took 5 GB). The others are merged the next time.
const FOLD_ROWS: u64 = 1 << 20;

/// How to optimize.
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct OptimizeOptions {
    pub(crate) again: bool,
    pub(crate) part: Option<Part>,
    pub(crate) progress: Option<OptimizeProgress>,
}

impl OptimizeOptions {
    /// Rewrites files that are optimized already, too: after an upgrade that packs them better.
    #[must_use]
    pub fn again(mut self, again: bool) -> Self {
        self.again = again;
        self
    }

    /// Rewrites this part of the partitions only, so that several processes share them.
    #[must_use]
    pub fn part(mut self, part: Part) -> Self {
        self.part = Some(part);
        self
    }

    /// Told now and then: the table at work, the bytes of its files that are rewritten, their bytes in all.
    #[must_use]
    pub fn progress(mut self, told: impl Fn(&str, u64, u64) + Send + Sync + 'static) -> Self {
        self.progress = Some(Arc::new(told));
        self
    }
}

/// Is told the table at work, its rows so far, its rows in all.
pub type OptimizeProgress = Arc<dyn Fn(&str, u64, u64) + Send + Sync>;

/// What an optimization did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Optimized {
    /// Files replaced.
    pub files_before: u64,
    /// Files that took their place.
    pub files_after: u64,
    /// Bytes of the former.
    pub bytes_before: u64,
    /// Bytes of the latter.
    pub bytes_after: u64,
}

impl Store {
    /// Rewrites the files of all tables: sorted, merged, compressed as well as zstd can. Files
    /// that are so already are left alone, unless what has come since is a fifth of the partition or more.
    ///
    /// # Errors
    /// Failures of the storage; the store is as before then.
    pub async fn optimize(&self, options: &OptimizeOptions) -> Result<Optimized> {
        let mut total = Optimized::default();
        for table in schema::tables()? {
            let Some(snapshot) = self.snapshot(&table.name).await? else {
                continue;
            };
            // Rows that the ingest log does not know stay in files of their own.
            let snapshot = self.acknowledged(&table.name, snapshot).await?;
            let mut at = Progress::new(table, &snapshot, options);
            let mut partitions: Vec<_> = snapshot
                .files()
                .iter()
                .map(|file| file.partition.clone())
                .collect();
            partitions.sort();
            partitions.dedup();
            if let Some(part) = options.part {
                partitions.retain(|partition| part.has(&format!("{} {partition:?}", table.name)));
            }
            let before = total;
            for partition in partitions {
                let old = snapshot
                    .files()
                    .iter()
                    .filter(|file| file.partition == partition);
                let old: Vec<DataFile> = old.cloned().collect();
                let rows = row_count(&old);
                let old = if options.again { old } else { due(table, old) };
                if !old.is_empty() {
                    let only = snapshot.only(old.clone());
                    self.rewrite(&only, old, &mut at, &mut total).await?;
                }
                at.rows += rows;
            }
            if total != before {
                self.checkpoint(&table.name).await?;
            }
        }
        Ok(total)
    }

    /// Merges small files where a partition has many of them, as streams and many ingests leave: quick,
    /// and no more than a stop-gap for [`Store::optimize`]. [`Store::ingest`] and streams do so by themselves.
    ///
    /// # Errors
    /// Failures of the storage; the store is as before then. Where another process has merged the same
    /// files, nothing is left to do.
    pub async fn fold(&self) -> Result<Optimized> {
        let mut total = Optimized::default();
        for table in schema::tables()? {
            let Some(snapshot) = self.snapshot(&table.name).await? else {
                continue;
            };
            // Rows that the ingest log does not know stay in files of their own.
            let snapshot = self.acknowledged(&table.name, snapshot).await?;
            let mut small: BTreeMap<_, Vec<DataFile>> = BTreeMap::new();
            for file in snapshot.files().iter() {
                if !file.is_optimized() && file.stats.num_records < SMALL_ROWS {
                    let files = small.entry(file.partition.clone()).or_default();
                    files.push(file.clone());
                }
            }
            for (partition, mut old) in small {
                if old.len() < SMALL_FILES {
                    continue;
                }
                old.sort_by_key(|file| file.stats.num_records);
                let mut sum = 0;
                old.retain(|file| {
                    sum += file.stats.num_records;
                    sum <= FOLD_ROWS
                });
                let only = snapshot.only(old.clone());
                let mut files = Files::new(self, &only, table, partition, Effort::Ingest);
                let rows = row_count(&old);
                let between = None;
                files.write(Range { between, rows }).await?;
                let new = files.finish().await?;
                self.replace(table, old, new, Rivals::Yield, &mut total)
                    .await?;
            }
        }
        Ok(total)
    }

    async fn rewrite(
        &self,
        snapshot: &Snapshot,
        old: Vec<DataFile>,
        at: &mut Progress<'_>,
        total: &mut Optimized,
    ) -> Result<()> {
        let table = at.table;
        let partition = old
            .first()
            .map(|file| file.partition.clone())
            .unwrap_or_default();
        at.advance(0);
        let mut files = Files::new(self, snapshot, table, partition, Effort::Optimize);
        for range in files.ranges().await? {
            files.write(range).await?;
            at.advance(files.rows_written());
        }
        while files.next().await? {
            at.advance(files.rows_written());
        }
        let new = files.finish().await?;
        self.replace(table, old, new, Rivals::Tell, total).await
    }

    /// Commits that files hold the rows of others.
    async fn replace(
        &self,
        table: &Table,
        old: Vec<DataFile>,
        new: Vec<DataFile>,
        rivals: Rivals,
        total: &mut Optimized,
    ) -> Result<()> {
        if row_count(&new) != row_count(&old) {
            let reason = format!("{} of {} rows were read", row_count(&new), row_count(&old));
            return Err(Error::damaged(&table.name, reason));
        }
        let sizes = |files: &[DataFile]| files.iter().map(|file| file.size_bytes).sum::<u64>();
        let done = Optimized {
            files_before: old.len() as u64,
            files_after: new.len() as u64,
            bytes_before: sizes(&old),
            bytes_after: sizes(&new),
        };
        let change = Change {
            add: new,
            remove: old,
            rewrite: true,
            ..Change::default()
        };
        let mut lost = false;
        self.commit(&table.name, "optimize", async |snapshot: &Snapshot| {
            let there =
                |file: &DataFile| snapshot.files().iter().any(|found| found.path == file.path);
            lost = !change.remove.iter().all(there);
            Ok((!lost).then(|| change.clone()))
        })
        .await?;
        match rivals {
            Rivals::Yield if lost => Ok(()),
            Rivals::Tell if lost => {
                let table = table.name.clone();
                Err(Error::Rewritten { table })
            }
            _ => {
                total.add(done);
                Ok(())
            }
        }
    }
}

/// What to do where another process has rewritten the same files.
#[derive(Clone, Copy)]
enum Rivals {
    /// Say so.
    Tell,
    /// Leave it at that.
    Yield,
}

impl Optimized {
    fn add(&mut self, other: Self) {
        self.files_before += other.files_before;
        self.files_after += other.files_after;
        self.bytes_before += other.bytes_before;
        self.bytes_after += other.bytes_after;
    }
}

/// How far the rewriting of a table is.
struct Progress<'a> {
    table: &'static Table,
    rows: u64,
    of_rows: u64,
    of_bytes: u64,
    options: &'a OptimizeOptions,
}

impl<'a> Progress<'a> {
    fn new(table: &'static Table, snapshot: &Snapshot, options: &'a OptimizeOptions) -> Self {
        let files = snapshot.files().iter();
        Self {
            table,
            rows: 0,
            of_rows: row_count(files.clone()),
            of_bytes: files.map(|file| file.size_bytes).sum(),
            options,
        }
    }

    /// So many rows of the partition at work are written.
    fn advance(&self, rows: u64) {
        if let Some(progress) = &self.options.progress {
            let bytes = u128::from(self.of_bytes) * u128::from(self.rows + rows);
            let bytes = bytes / u128::from(self.of_rows.max(1));
            let bytes = u64::try_from(bytes).unwrap_or(self.of_bytes);
            progress(&self.table.name, bytes, self.of_bytes);
        }
    }
}

/// Files that are written side by side, one on each core: compressing takes nearly all of the time.
/// Each holds the rows of a range, so that no more are in memory than a few files have.
struct Files<'a> {
    store: &'a Store,
    snapshot: &'a Snapshot,
    table: &'static Table,
    partition: Vec<(String, Option<String>)>,
    effort: Effort,
    running: JoinSet<Result<Vec<DataFile>>>,
    cores: usize,
    written: Vec<DataFile>,
}

impl<'a> Files<'a> {
    fn new(
        store: &'a Store,
        snapshot: &'a Snapshot,
        table: &'static Table,
        partition: Vec<(String, Option<String>)>,
        effort: Effort,
    ) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            store,
            snapshot,
            table,
            partition,
            effort,
            running: JoinSet::new(),
            cores,
            written: Vec::new(),
        }
    }

    /// The rows of the partition.
    fn frame(&self) -> Result<DataFrame> {
        let mut frame = self.store.frame(&self.table.name, self.snapshot)?;
        for (name, value) in &self.partition {
            let filter = match value {
                Some(value) => col(name).eq(lit(value.as_str())),
                None => col(name).is_null(),
            };
            frame = frame.filter(filter).map_err(Error::Query)?;
        }
        Ok(frame)
    }

    /// The ranges that files are made of. Rows with the same value stay together.
    async fn ranges(&self) -> Result<Vec<Range>> {
        let first = self.table.sort.first();
        let first = first.and_then(|name| self.table.column(name));
        let number = match first {
            Some(column) if !column.null && column.data_type()? == DataType::Int64 => column,
            _ => {
                let rows = self.frame()?.count().await.map_err(Error::Query)?;
                return Ok(vec![Range {
                    between: None,
                    rows: rows as u64,
                }]);
            }
        };
        let counts = self
            .frame()?
            .aggregate(vec![col(&number.name)], vec![count(lit(1_i64))])
            .and_then(|frame| frame.sort(vec![col(&number.name).sort(true, true)]))
            .map_err(Error::Query)?;
        let mut counted: Vec<(i64, u64)> = Vec::new();
        for batch in counts.collect().await.map_err(Error::Query)? {
            let values = column::numbers::<Int64Type>(&batch, &number.name)?;
            let counts = batch.column(1).as_primitive::<Int64Type>().values();
            let rows = counts.iter().map(|count| count.unsigned_abs());
            counted.extend(values.values().iter().copied().zip(rows));
        }
        let all: u64 = counted.iter().map(|(_, rows)| rows).sum();
        let file_rows = all.div_ceil(file_count(all));
        Ok(ranges(counted, file_rows))
    }

    /// Writes the rows of a range, as soon as a core is free.
    async fn write(&mut self, range: Range) -> Result<()> {
        while self.running.len() >= self.cores {
            self.next().await?;
        }
        let table = self.table;
        let mut frame = self.frame()?;
        if let (Some((least, greatest)), Some(first)) = (range.between, table.sort.first()) {
            let inside = col(first).between(lit(least), lit(greatest));
            frame = frame.filter(inside).map_err(Error::Query)?;
        }
        let columns = table.file_schema();
        let columns = columns
            .fields()
            .iter()
            .filter(|field| self.has(field.name()));
        let columns = columns.map(|field| col(field.name()));
        let frame = frame
            .select(columns.collect::<Vec<_>>())
            .map_err(Error::Query)?;
        let (store, partition) = (self.store.clone(), self.partition.clone());
        let (effort, runtime) = (self.effort, Handle::current());
        self.running.spawn_blocking(move || {
            let batches = runtime.block_on(frame.collect()).map_err(Error::Query)?;
            let batches = batches.into_iter().filter(|batch| batch.num_rows() > 0);
            let batches: Vec<RecordBatch> = batches.collect();
            if batches.is_empty() {
                return Ok(Vec::new());
            }
            let mut rows = file::fitted(table, &file::sorted(table, batches)?)?;
            if table.name == "configurations" && effort == Effort::Optimize {
                rows = respecialised(&rows)?;
            }
            let location = store.location();
            let written = file::write_sorted(location, table, &partition, &rows, effort);
            Ok(vec![runtime.block_on(written)?])
        });
        Ok(())
    }

    /// May rows have something in this column? What is NULL throughout would fill memory.
    fn has(&self, column: &str) -> bool {
        self.snapshot.files().iter().any(|file| {
            let nulls = file
                .stats
                .null_count
                .get(column)
                .and_then(StatValue::as_u64);
            !file.is_own() || nulls != Some(file.stats.num_records)
        })
    }

    /// Waits for one of the files that are being written; false where there is none.
    async fn next(&mut self) -> Result<bool> {
        let Some(done) = self.running.join_next().await else {
            return Ok(false);
        };
        let written = done.map_err(|error| Error::damaged(&self.table.name, error.to_string()));
        self.written.extend(written??);
        Ok(true)
    }

    /// Rows of the files that are written.
    fn rows_written(&self) -> u64 {
        row_count(&self.written)
    }

    /// All files, when they are written.
    async fn finish(mut self) -> Result<Vec<DataFile>> {
        while self.next().await? {}
        Ok(self.written)
    }
}
