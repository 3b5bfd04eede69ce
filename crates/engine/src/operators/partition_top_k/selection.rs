//! Retains the rows of each partition that may be among its first k.

use std::cmp::Ordering;

use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions, UInt32Array};
use arrow::compute::{interleave_record_batch, take_arrays};
use arrow::row::Rows;
use datafusion::common::utils::memory::get_record_batch_memory_size;
use datafusion::common::{Result, exec_datafusion_err};

use super::keys::{EncodedKey, RankFunction};
use crate::operators::full_sort::compact_views;

/// Number of rows beyond twice those of the last compaction at which the next compaction runs.
const SLACK_ROWS: usize = 1 << 16;

/// Number of batches at which rows are compacted.
const MAX_BATCHES: usize = 1 << 12;

/// A retained row.
#[derive(Clone)]
struct Entry<K> {
    key: K,
    partition: usize,
    batch: u32,
    row: u32,
}

/// Retained rows, and for each partition the upper bound for further rows.
pub(super) struct Selection<K> {
    function: RankFunction,
    k: usize,
    batch_rows: usize,
    /// For each partition, the key of its k-th row, if at least k rows were seen.
    limits: Vec<Option<K>>,
    /// For each partition, the entry with the lowest key, if one row per partition is selected.
    best: Vec<usize>,
    entries: Vec<Entry<K>>,
    batches: Vec<RecordBatch>,
    batch_bytes: usize,
    key_bytes: usize,
    /// Number of entries after the last compaction.
    compacted: usize,
}

impl<K: EncodedKey> Selection<K> {
    pub(super) fn new(function: RankFunction, k: usize, batch_rows: usize) -> Self {
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

    /// Returns whether exactly one row per partition is selected.
    fn is_single(&self) -> bool {
        self.k == 1 && self.function == RankFunction::RowNumber
    }

    /// Adds the rows of a batch that may be among the first k. `partitions` is the partition number of each row,
    /// `count` the number of partitions, and `keys` the sort keys (`None` if all are equal).
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
        let batch_index = to_u32(self.batches.len())?;
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
                Ordering::Equal => self.function != RankFunction::RowNumber,
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
                row: to_u32(taken.len())?,
            });
            taken.push(to_u32(row)?);
        }
        if taken.is_empty() {
            return Ok(());
        }
        self.push(take_rows(batch, taken)?);
        let is_large = self.entries.len() > 2 * self.compacted + SLACK_ROWS;
        if is_large || self.is_scattered() {
            self.compact()?;
        }
        Ok(())
    }

    /// Returns whether the rows are scattered over many small batches.
    fn is_scattered(&self) -> bool {
        self.batches.len() > MAX_BATCHES + 2 * self.compacted / self.batch_rows
    }

    fn push(&mut self, batch: RecordBatch) {
        self.batch_bytes += get_record_batch_memory_size(&batch);
        self.batches.push(batch);
    }

    /// Drops rows that are no more among the first k.
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

    /// Returns the entries of rank k or less in arrival order, and updates the limits of their partitions.
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
                RankFunction::RowNumber | RankFunction::Rank => partition.get(self.k - 1),
                RankFunction::DenseRank => partition
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
                RankFunction::RowNumber => self.k,
                RankFunction::Rank | RankFunction::DenseRank => {
                    partition.partition_point(|entry| entry.key <= last.key)
                }
            };
            live.extend(partition.iter().take(rows).cloned());
        }
        live.sort_unstable_by_key(arrival);
        live
    }

    /// Copies the rows of these entries into new batches.
    fn gather(&mut self, entries: &mut [Entry<K>]) -> Result<()> {
        let batches = std::mem::take(&mut self.batches);
        let sources: Vec<&RecordBatch> = batches.iter().collect();
        self.batch_bytes = 0;
        for entries in entries.chunks_mut(self.batch_rows) {
            let rows = entries.iter();
            let rows = rows.map(|entry| (entry.batch as usize, entry.row as usize));
            let rows: Vec<(usize, usize)> = rows.collect();
            let gathered = interleave_record_batch(&sources, &rows)?;
            let batch = to_u32(self.batches.len())?;
            for (row, entry) in entries.iter_mut().enumerate() {
                entry.batch = batch;
                entry.row = to_u32(row)?;
            }
            let columns = gathered
                .columns()
                .iter()
                .cloned()
                .map(compact_views)
                .collect();
            self.push(with_columns(&gathered, columns, entries.len())?);
        }
        Ok(())
    }

    /// Number of retained rows.
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Memory in bytes. Rows count twice, because compaction copies them.
    pub(super) fn memory_bytes(&self) -> usize {
        2 * self.batch_bytes
            + self.key_bytes
            + self.limits.capacity() * size_of::<Option<K>>()
            + self.best.capacity() * size_of::<usize>()
            + self.entries.capacity() * size_of::<Entry<K>>()
    }

    /// Returns the retained rows in arrival order.
    pub(super) fn into_batches(self) -> Vec<RecordBatch> {
        self.batches
    }
}

/// Converts a position to 32 bits.
fn to_u32(index: usize) -> Result<u32> {
    u32::try_from(index)
        .map_err(|_| exec_datafusion_err!("{index} rows are too many for one batch"))
}

/// Copies rows of a batch, without the string data of other rows.
fn take_rows(batch: &RecordBatch, rows: Vec<u32>) -> Result<RecordBatch> {
    if rows.len() == batch.num_rows() {
        return Ok(batch.clone());
    }
    let count = rows.len();
    let columns = take_arrays(batch.columns(), &UInt32Array::from(rows), None)?;
    let columns = columns.into_iter().map(compact_views).collect();
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
