//! `optimize` merges many small files to few large, well compressed ones.
//!
//! The rows stay the same, so readers and time travel are not affected. The old files stay until
//! `vacuum`. Sorted files are rewritten only if much new data was added (see `file_selection`).
//!
//! ```
//! use tsql_dataset::optimize::OptimizeOptions;
//! use tsql_store::VacuumOptions;
//! # tokio::runtime::Runtime::new().unwrap().block_on(async {
//! let store = tsql_dataset::demo::create_demo().await?;
//! let done = tsql_dataset::optimize::optimize(&store, &OptimizeOptions::default()).await?;
//! assert!(done.bytes_after <= done.bytes_before);
//! store.vacuum(&VacuumOptions::default()).await?;
//! # Ok::<(), tsql_error::Error>(()) }).unwrap();
//! ```

mod file_selection;
mod ranges;
mod sketches;

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{AsArray as _, RecordBatch};
use arrow::datatypes::{DataType, Int64Type};
use datafusion::functions_aggregate::expr_fn::count;
use datafusion::prelude::{DataFrame, col, lit};
use derive_setters::Setters;
use serde::Serialize;
use tokio::runtime::Handle;
use tokio::task::JoinSet;
use tsql_error::{Error, Result};
use tsql_schema as schema;
use tsql_schema::shard::Shard;
use tsql_schema::{Table, column};
use tsql_store::file::{DataFile, Effort, StatValue};
use tsql_store::{Change, Snapshot, Store, file};

use file_selection::{file_count, files_to_rewrite, row_count};
use sketches::respecialize;

pub(crate) use ranges::{KeyRange, split_into_ranges};

/// Row count below which a file is small, and number of small files of a partition that is too large.
const SMALL_ROWS: u64 = 1 << 16;
const SMALL_FILES: usize = 32;

/// Maximum number of rows of small files that are merged at once in memory: about 200 MB of configurations (25 million
/// took 5 GB). The others are merged by the next call.
const FOLD_ROWS: u64 = 1 << 20;

/// Options of an optimization.
#[derive(Clone, Default, Setters)]
#[setters(strip_option)]
#[non_exhaustive]
pub struct OptimizeOptions {
    /// Rewrites optimized files as well, after an upgrade with better compression.
    pub(crate) again: bool,
    /// Only counts the files that would be rewritten. The report has no new files then.
    pub(crate) dry_run: bool,
    /// Rewrites only this shard of the partitions, so several processes can share the work.
    #[setters(rename = "shard")]
    pub(crate) part: Option<Shard>,
    #[setters(skip)]
    pub(crate) progress: Option<OptimizeProgress>,
}

impl OptimizeOptions {
    /// Sets the progress callback: table, bytes of its files that are rewritten, total bytes.
    #[must_use]
    pub fn progress(mut self, callback: impl Fn(&str, u64, u64) + Send + Sync + 'static) -> Self {
        self.progress = Some(Arc::new(callback));
        self
    }
}

/// Progress callback: table, amount done, total.
pub type OptimizeProgress = Arc<dyn Fn(&str, u64, u64) + Send + Sync>;

/// Result of an optimization.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct OptimizeReport {
    /// Number of replaced files.
    pub files_before: u64,
    /// Number of new files.
    pub files_after: u64,
    /// Size of the replaced files in bytes.
    pub bytes_before: u64,
    /// Size of the new files in bytes.
    pub bytes_after: u64,
}

/// Rewrites the files of all tables: sorted, merged, and with maximum zstd compression. Optimized files are
/// skipped, unless new data is a fifth of the partition or more.
///
/// # Errors
/// Failures of the storage. The store is unchanged in that case.
pub async fn optimize(store: &Store, options: &OptimizeOptions) -> Result<OptimizeReport> {
    let mut total = OptimizeReport::default();
    for table in schema::tables()? {
        let Some(snapshot) = store.snapshot(&table.name).await? else {
            continue;
        };
        // Rows without an entry in the ingest log stay in separate files.
        let snapshot = store.hide_unacknowledged(&table.name, snapshot).await?;
        let mut at = RewriteProgress::new(table, &snapshot, options);
        let mut partitions: Vec<_> = snapshot
            .files()
            .iter()
            .map(|file| file.partition.clone())
            .collect();
        partitions.sort();
        partitions.dedup();
        if let Some(part) = options.part {
            partitions.retain(|partition| part.contains(&format!("{} {partition:?}", table.name)));
        }
        let before = total;
        for partition in partitions {
            let old = snapshot
                .files()
                .iter()
                .filter(|file| file.partition == partition);
            let old: Vec<DataFile> = old.cloned().collect();
            let rows = row_count(&old);
            let old = if options.again {
                old
            } else {
                files_to_rewrite(table, old)
            };
            if options.dry_run {
                total.add(OptimizeReport::of_replaced(&old));
            } else if !old.is_empty() {
                let only = snapshot.with_files(old.clone());
                rewrite(store, &only, old, &mut at, &mut total).await?;
            }
            at.rows += rows;
        }
        if total != before && !options.dry_run {
            store.checkpoint(&table.name).await?;
        }
    }
    Ok(total)
}

/// Merges small files if a partition has many of them, after streams and many ingests. It is fast, but no
/// replacement for [`optimize`]. [`ingest`](crate::ingest::ingest) and streams call it.
///
/// # Errors
/// Failures of the storage. The store is unchanged in that case. If another process has merged the same files,
/// nothing is left to do.
pub async fn merge_small_files(store: &Store) -> Result<OptimizeReport> {
    let mut total = OptimizeReport::default();
    for table in schema::tables()? {
        let Some(snapshot) = store.snapshot(&table.name).await? else {
            continue;
        };
        // Rows without an entry in the ingest log stay in separate files.
        let snapshot = store.hide_unacknowledged(&table.name, snapshot).await?;
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
            let only = snapshot.with_files(old.clone());
            let mut files = FileWriters::new(store, &only, table, partition, Effort::Ingest);
            let rows = row_count(&old);
            let between = None;
            files.write(KeyRange { between, rows }).await?;
            let new = files.finish().await?;
            replace(store, table, old, new, Rivals::Yield, &mut total).await?;
        }
    }
    Ok(total)
}

async fn rewrite(
    store: &Store,
    snapshot: &Snapshot,
    old: Vec<DataFile>,
    at: &mut RewriteProgress<'_>,
    total: &mut OptimizeReport,
) -> Result<()> {
    let table = at.table;
    let partition = old
        .first()
        .map(|file| file.partition.clone())
        .unwrap_or_default();
    at.advance(0);
    let mut files = FileWriters::new(store, snapshot, table, partition, Effort::Optimize);
    for range in files.key_ranges().await? {
        files.write(range).await?;
        at.advance(files.rows_written());
    }
    while files.join_next().await? {
        at.advance(files.rows_written());
    }
    let new = files.finish().await?;
    replace(store, table, old, new, Rivals::Tell, total).await
}

/// Commits the replacement of files by others with the same rows.
async fn replace(
    store: &Store,
    table: &Table,
    old: Vec<DataFile>,
    new: Vec<DataFile>,
    rivals: Rivals,
    total: &mut OptimizeReport,
) -> Result<()> {
    if row_count(&new) != row_count(&old) {
        let reason = format!(
            "only {} of {} rows could be read",
            row_count(&new),
            row_count(&old)
        );
        return Err(Error::damaged(&table.name, reason));
    }
    let done = OptimizeReport {
        files_after: new.len() as u64,
        bytes_after: size_bytes(&new),
        ..OptimizeReport::of_replaced(&old)
    };
    let change = Change {
        add: new,
        remove: old,
        rewrite: true,
        ..Change::default()
    };
    let mut lost = false;
    store
        .commit(&table.name, "optimize", async |snapshot: &Snapshot| {
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

/// Reaction to another process that has rewritten the same files.
#[derive(Clone, Copy)]
enum Rivals {
    /// Return an error.
    Tell,
    /// Ignore it.
    Yield,
}

fn size_bytes(files: &[DataFile]) -> u64 {
    files.iter().map(|file| file.size_bytes).sum()
}

impl OptimizeReport {
    /// Counts the files that are replaced.
    fn of_replaced(old: &[DataFile]) -> Self {
        Self {
            files_before: old.len() as u64,
            bytes_before: size_bytes(old),
            ..Self::default()
        }
    }

    fn add(&mut self, other: Self) {
        self.files_before += other.files_before;
        self.files_after += other.files_after;
        self.bytes_before += other.bytes_before;
        self.bytes_after += other.bytes_after;
    }
}

/// Progress of the rewriting of a table.
struct RewriteProgress<'a> {
    table: &'static Table,
    rows: u64,
    of_rows: u64,
    of_bytes: u64,
    options: &'a OptimizeOptions,
}

impl<'a> RewriteProgress<'a> {
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

    /// Reports the number of written rows of the current partition.
    fn advance(&self, rows: u64) {
        if let Some(progress) = &self.options.progress {
            let bytes = u128::from(self.of_bytes) * u128::from(self.rows + rows);
            let bytes = bytes / u128::from(self.of_rows.max(1));
            let bytes = u64::try_from(bytes).unwrap_or(self.of_bytes);
            progress(&self.table.name, bytes, self.of_bytes);
        }
    }
}

/// Concurrent file writers, one per core, because compression takes most of the time. Each file has the rows of one
/// range, so only the rows of a few files are in memory.
struct FileWriters<'a> {
    store: &'a Store,
    snapshot: &'a Snapshot,
    table: &'static Table,
    partition: Vec<(String, Option<String>)>,
    effort: Effort,
    running: JoinSet<Result<Vec<DataFile>>>,
    cores: usize,
    written: Vec<DataFile>,
}

impl<'a> FileWriters<'a> {
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

    /// Returns the rows of the partition.
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

    /// Returns the ranges of the files. Rows with the same value stay together.
    async fn key_ranges(&self) -> Result<Vec<KeyRange>> {
        let first = self.table.sort.first();
        let first = first.and_then(|name| self.table.column(name));
        let number = match first {
            Some(column) if !column.null && column.data_type()? == DataType::Int64 => column,
            _ => {
                let rows = self.frame()?.count().await.map_err(Error::Query)?;
                return Ok(vec![KeyRange {
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
        Ok(split_into_ranges(counted, file_rows))
    }

    /// Writes the rows of a range when a core is free.
    async fn write(&mut self, range: KeyRange) -> Result<()> {
        while self.running.len() >= self.cores {
            self.join_next().await?;
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
            .filter(|field| self.may_have_values(field.name()));
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
            let mut rows = file::fit_to_schema(table, &file::sort_rows(table, batches)?)?;
            if table.name == "configurations" && effort == Effort::Optimize {
                rows = respecialize(&rows)?;
            }
            let location = store.location();
            let written = file::write_sorted(location, table, &partition, &rows, effort);
            Ok(vec![runtime.block_on(written)?])
        });
        Ok(())
    }

    /// Returns whether a column may have non-NULL values. Columns that are always NULL would only take memory.
    fn may_have_values(&self, column: &str) -> bool {
        self.snapshot.files().iter().any(|file| {
            let nulls = file
                .stats
                .null_count
                .get(column)
                .and_then(StatValue::as_u64);
            !file.is_own() || nulls != Some(file.stats.num_records)
        })
    }

    /// Waits for one of the files that are being written. Returns false if there is none.
    async fn join_next(&mut self) -> Result<bool> {
        let Some(done) = self.running.join_next().await else {
            return Ok(false);
        };
        let written = done.map_err(|error| Error::damaged(&self.table.name, error.to_string()));
        self.written.extend(written??);
        Ok(true)
    }

    /// Returns the number of rows of the written files.
    fn rows_written(&self) -> u64 {
        row_count(&self.written)
    }

    /// Waits for all files and returns them.
    async fn finish(mut self) -> Result<Vec<DataFile>> {
        while self.join_next().await? {}
        Ok(self.written)
    }
}
