//! The rows of each partition that may be among its first k.

use std::cmp::Ordering;

use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions, UInt32Array};
use arrow::compute::{interleave_record_batch, take_arrays};
use arrow::row::Rows;
use datafusion::common::utils::memory::get_record_batch_memory_size;
use datafusion::common::{Result, exec_datafusion_err};

use super::keys::{Function, Key};
use crate::query::full_sort::compacted;

/// Rows beyond twice those that were left by the last compaction, at which the next one follows.
const SLACK_ROWS: usize = 1 << 16;

/// Batches at which rows are put together.
const MAX_BATCHES: usize = 1 << 12;

/// A row that is held.
#[derive(Clone)]
struct Entry<K> {
    key: K,
    partition: usize,
    batch: u32,
    row: u32,
}

/// Rows that are held, and per partition what a further row must be below.
pub(super) struct Selection<K> {
    function: Function,
    k: usize,
    batch_rows: usize,
    /// Of each partition the key of its k-th row, once k rows are known.
    limits: Vec<Option<K>>,
    /// Of each partition the entry with the lowest key, where one row of each is wanted.
    best: Vec<usize>,
    entries: Vec<Entry<K>>,
    batches: Vec<RecordBatch>,
    batch_bytes: usize,
    key_bytes: usize,
    /// Entries after the last compaction.
    compacted: usize,
}

impl<K: Key> Selection<K> {
    pub(super) fn new(function: Function, k: usize, batch_rows: usize) -> Self {
        Self {
            function,
            k,
            batch_rows,
            limits: Vec::new(),
            best: Vec::new(),
            entries: Vec::new(),
            batches: Vec::new(),
            batch_bytes: 0,
            key_bytes: 0,
            compacted: 0,
        }
    }

    /// Whether exactly one row of each partition is wanted.
    fn is_single(&self) -> bool {
        self.k == 1 && self.function == Function::RowNumber
    }

    /// Adds the rows of a batch that may be among the first; `partitions` is the partition of each row, of `count` in all, `keys`
    /// its sort key, `None` if all keys are equal.
    pub(super) fn add(
        &mut self,
        batch: &RecordBatch,
        partitions: &[usize],
        count: usize,
        keys: Option<&Rows>,
    ) -> Result<()> {
        self.limits.resize(count.max(self.limits.len()), None);
        if self.is_single() {
            self.best.resize(self.limits.len(), 0);
        }
        let batch_index = position(self.batches.len())?;
        let mut taken: Vec<u32> = Vec::new();
        for (row, &partition) in partitions.iter().enumerate() {
            let key: &[u8] = match keys {
                Some(keys) => keys.row(row).data(),
                None => &[],
            };
            let Some(limit) = self.limits.get_mut(partition) else {
                return Err(exec_datafusion_err!("a partition has no number"));
            };
            let is_below = limit.as_ref().is_none_or(|limit| match limit.compare(key) {
                Ordering::Greater => true,
                Ordering::Equal => self.function != Function::RowNumber,
                Ordering::Less => false,
            });
            if !is_below {
                continue;
            }
            let key = K::from_bytes(key);
            self.key_bytes += key.heap_bytes();
            if self.k == 1 {
                *limit = Some(key.clone());
                if let Some(best) = self.best.get_mut(partition) {
                    *best = self.entries.len();
                }
            }
            self.entries.push(Entry {
                key,
                partition,
                batch: batch_index,
                row: position(taken.len())?,
            });
            taken.push(position(row)?);
        }
        if taken.is_empty() {
            return Ok(());
        }
        self.push(taken_rows(batch, taken)?);
        let is_large = self.entries.len() > 2 * self.compacted + SLACK_ROWS;
        if is_large || self.is_scattered() {
            self.compact()?;
        }
        Ok(())
    }

    /// Whether rows lie in many small batches.
    fn is_scattered(&self) -> bool {
        self.batches.len() > MAX_BATCHES + 2 * self.compacted / self.batch_rows
    }

    fn push(&mut self, batch: RecordBatch) {
        self.batch_bytes += get_record_batch_memory_size(&batch);
        self.batches.push(batch);
    }

    /// Drops rows that are not among the first any more.
    pub(super) fn compact(&mut self) -> Result<()> {
        let entries = std::mem::take(&mut self.entries);
        let before = entries.len();
        let mut live: Vec<Entry<K>> = if self.is_single() {
            let entries = entries.into_iter().enumerate();
            let live = entries.filter(|(index, entry)| {
                self.best
                    .get(entry.partition)
                    .is_some_and(|best| best == index)
            });
            live.map(|(_, entry)| entry).collect()
        } else if self.k == 1 {
            let live = entries.into_iter().filter(|entry| {
                let limit = self.limits.get(entry.partition);
                limit.is_some_and(|limit| limit.as_ref() == Some(&entry.key))
            });
            live.collect()
        } else {
            self.first_of_each(entries)
        };
        if live.len() < before || self.is_scattered() {
            self.gather(&mut live)?;
        }
        if self.is_single() {
            for (index, entry) in live.iter().enumerate() {
                if let Some(best) = self.best.get_mut(entry.partition) {
                    *best = index;
                }
            }
        }
        self.key_bytes = live.iter().map(|entry| entry.key.heap_bytes()).sum();
        self.compacted = live.len();
        self.entries = live;
        Ok(())
    }

    /// The entries of rank k or less in the order in which they came; sets the limits of their partitions.
    fn first_of_each(&mut self, mut entries: Vec<Entry<K>>) -> Vec<Entry<K>> {
        let arrival = |entry: &Entry<K>| (entry.batch, entry.row);
        entries.sort_unstable_by(|one, other| {
            let by_key = one.partition.cmp(&other.partition);
            let by_key = by_key.then_with(|| one.key.cmp(&other.key));
            by_key.then_with(|| arrival(one).cmp(&arrival(other)))
        });
        let mut live = Vec::with_capacity(entries.len());
        for partition in entries.chunk_by(|one, next| one.partition == next.partition) {
            let last = match self.function {
                Function::RowNumber | Function::Rank => partition.get(self.k - 1),
                Function::DenseRank => partition
                    .chunk_by(|one, next| one.key == next.key)
                    .nth(self.k - 1)
                    .and_then(<[Entry<K>]>::first),
            };
            let Some(last) = last else {
                live.extend_from_slice(partition);
                continue;
            };
            if let Some(limit) = self.limits.get_mut(last.partition) {
                *limit = Some(last.key.clone());
            }
            let rows = match self.function {
                Function::RowNumber => self.k,
                Function::Rank | Function::DenseRank => {
                    partition.partition_point(|entry| entry.key <= last.key)
                }
            };
            live.extend(partition.iter().take(rows).cloned());
        }
        live.sort_unstable_by_key(arrival);
        live
    }

    /// Puts the rows of these entries into batches of their own.
    fn gather(&mut self, entries: &mut [Entry<K>]) -> Result<()> {
        let batches = std::mem::take(&mut self.batches);
        let sources: Vec<&RecordBatch> = batches.iter().collect();
        self.batch_bytes = 0;
        for entries in entries.chunks_mut(self.batch_rows) {
            let rows = entries.iter();
            let rows = rows.map(|entry| (entry.batch as usize, entry.row as usize));
            let rows: Vec<(usize, usize)> = rows.collect();
            let gathered = interleave_record_batch(&sources, &rows)?;
            let batch = position(self.batches.len())?;
            for (row, entry) in entries.iter_mut().enumerate() {
                entry.batch = batch;
                entry.row = position(row)?;
            }
            let columns = gathered.columns().iter().cloned().map(compacted).collect();
            self.push(with_columns(&gathered, columns, entries.len())?);
        }
        Ok(())
    }

    /// Rows that are held.
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Bytes of all that is held; rows twice, as compaction copies them.
    pub(super) fn memory_bytes(&self) -> usize {
        2 * self.batch_bytes
            + self.key_bytes
            + self.limits.capacity() * size_of::<Option<K>>()
            + self.best.capacity() * size_of::<usize>()
            + self.entries.capacity() * size_of::<Entry<K>>()
    }

    /// The rows that are held, in the order in which they came.
    pub(super) fn into_batches(self) -> Vec<RecordBatch> {
        self.batches
    }
}

/// A position in 32 bits.
fn position(index: usize) -> Result<u32> {
    u32::try_from(index)
        .map_err(|_| exec_datafusion_err!("{index} rows are too many for one batch"))
}

/// These rows of a batch, without the text of others.
fn taken_rows(batch: &RecordBatch, rows: Vec<u32>) -> Result<RecordBatch> {
    if rows.len() == batch.num_rows() {
        return Ok(batch.clone());
    }
    let count = rows.len();
    let columns = take_arrays(batch.columns(), &UInt32Array::from(rows), None)?;
    let columns = columns.into_iter().map(compacted).collect();
    with_columns(batch, columns, count)
}

fn with_columns(batch: &RecordBatch, columns: Vec<ArrayRef>, rows: usize) -> Result<RecordBatch> {
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    Ok(RecordBatch::try_new_with_options(
        batch.schema(),
        columns,
        &options,
    )?)
}
