//! Buffers rows and sorts them in portions. A portion ends with the input, or where the keys change by which the input
//! is already sorted.

use std::fmt;
use std::sync::Arc;

use arrow::array::{
    Array as _, ArrayRef, AsArray as _, RecordBatch, RecordBatchOptions, UInt32Array,
};
use arrow::compute::{SortColumn, concat_batches, partition, take_arrays};
use arrow::error::ArrowError;
use datafusion::common::Result;
use datafusion::common::utils::memory::get_record_batch_memory_size;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{LexOrdering, PhysicalExpr};
use datafusion::physical_plan::SpillManager;
use datafusion::physical_plan::metrics::{BaselineMetrics, SpillMetrics};
use datafusion::physical_plan::sorts::streaming_merge::{SortedSpillFile, StreamingMergeBuilder};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use futures::stream::{self, BoxStream};
use futures::{StreamExt as _, TryStreamExt as _};

use crate::operators::streaming_window::differ;
use tsql_functions::sort_indices::sort_indices;

/// Minimum number of rows of a portion that ends before the input does: four batches.
const MIN_PORTION_ROWS: usize = 1 << 16;

/// Maximum number of bytes that are sorted at once: string offsets have 32 bits.
const MAX_SORT_BYTES: usize = 1 << 31;

/// Bytes of sort state per row: the encoded key, twice, and the row index.
const ROW_BYTES: usize = 2 * size_of::<u128>() + size_of::<u32>();

/// Sort keys, and the leading expressions by which the input is already sorted.
#[derive(Clone, Debug)]
pub(super) struct SortSpec {
    keys: LexOrdering,
    prefix: Arc<[Arc<dyn PhysicalExpr>]>,
}

impl SortSpec {
    pub(super) fn new(keys: LexOrdering, prefix: Vec<Arc<dyn PhysicalExpr>>) -> Self {
        let prefix = prefix.into();
        Self { keys, prefix }
    }

    /// Evaluates the expressions by which the input is already sorted.
    fn prefix_values(&self, batch: &RecordBatch) -> Result<Vec<ArrayRef>> {
        let values = self.prefix.iter();
        let values = values.map(|expr| expr.evaluate(batch)?.into_array(batch.num_rows()));
        values.collect()
    }
}

impl fmt::Display for SortSpec {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "expr=[{}]", self.keys)?;
        if self.prefix.is_empty() {
            return Ok(());
        }
        let prefix = self.prefix.iter().map(ToString::to_string);
        let prefix: Vec<String> = prefix.collect();
        write!(to, ", sorted=[{}]", prefix.join(", "))
    }
}

/// Metrics of the operator.
pub(super) struct SortMetrics {
    pub(super) baseline: BaselineMetrics,
    pub(super) spilled: SpillMetrics,
}

/// Returns the sorted rows.
pub(super) fn sort_portions(
    rows: SendableRecordBatchStream,
    by: SortSpec,
    metrics: SortMetrics,
    context: &TaskContext,
) -> SendableRecordBatchStream {
    let schema = rows.schema();
    let SortMetrics { baseline, spilled } = metrics;
    let metrics = Arc::new(baseline);
    let held = MemoryConsumer::new("FullSortExec").with_can_spill(true);
    let merging = MemoryConsumer::new("FullSortExec, merging");
    let pool = context.memory_pool();
    let options = context.session_config();
    let files = SpillManager::new(context.runtime_env(), spilled, Arc::clone(&schema));
    let state = SortState {
        held: BufferedRows {
            reservation: held.register(pool),
            batches: Vec::new(),
            rows: 0,
            bytes: 0,
        },
        by,
        rows: Some(rows),
        metrics: Arc::clone(&metrics),
        batch_rows: options.batch_size(),
        files: files.with_compression_type(options.spill_compression()),
        runs: Vec::new(),
        merging: merging.register(pool),
        merging_bytes: options.options().execution.sort_spill_reservation_bytes,
    };
    let portions = stream::try_unfold(state, SortState::next);
    let sorted = portions.try_flatten().inspect_ok(move |batch| {
        metrics.record_output(batch.num_rows());
    });
    Box::pin(RecordBatchStreamAdapter::new(schema, sorted))
}

/// Batches of sorted rows.
type SortedStream = BoxStream<'static, Result<RecordBatch>>;

struct SortState {
    /// Rows of the portion that are in memory.
    held: BufferedRows,
    by: SortSpec,
    /// Remaining input; `None` after its end.
    rows: Option<SendableRecordBatchStream>,
    metrics: Arc<BaselineMetrics>,
    batch_rows: usize,
    files: SpillManager,
    /// Spilled sorted runs of the portion.
    runs: Vec<SortedSpillFile>,
    /// Memory that is reserved for merging, and its size in bytes.
    merging: MemoryReservation,
    merging_bytes: usize,
}

impl SortState {
    /// Returns the next portion.
    async fn next(mut self) -> Result<Option<(SortedStream, Self)>> {
        loop {
            let Some(rows) = self.rows.as_mut() else {
                return Ok(None);
            };
            let Some(batch) = rows.next().await.transpose()? else {
                self.rows = None;
                let portion = self.finish_portion()?;
                return Ok(Some((portion, self)));
            };
            let Some(end) = self.end_of_portion(&batch)? else {
                self.buffer(batch)?;
                continue;
            };
            self.buffer(batch.slice(0, end))?;
            let portion = self.finish_portion()?;
            self.buffer(batch.slice(end, batch.num_rows() - end))?;
            return Ok(Some((portion, self)));
        }
    }

    /// Returns the row of `batch` at which the next portion starts; `None` if the portion does not end in this batch or
    /// is still small.
    fn end_of_portion(&self, batch: &RecordBatch) -> Result<Option<usize>> {
        let rows = batch.num_rows();
        let is_small = self.held.rows + rows < MIN_PORTION_ROWS && self.runs.is_empty();
        if self.by.prefix.is_empty() || rows == 0 || is_small {
            return Ok(None);
        }
        let prefix = self.by.prefix_values(batch)?;
        let start = partition(&prefix)?.ranges().last().map(|range| range.start);
        if start.is_some_and(|start| start > 0) {
            return Ok(start);
        }
        let Some(before) = self.held.batches.last() else {
            return Ok(None);
        };
        let last = before.slice(before.num_rows() - 1, 1);
        let begins = differ(&self.by.prefix_values(&last)?, &prefix)?;
        Ok(begins.then_some(0))
    }

    /// Buffers a batch. If there is not enough memory, spills the buffered rows first.
    ///
    /// # Errors
    /// If there is not enough memory even then.
    fn buffer(&mut self, batch: RecordBatch) -> Result<()> {
        if batch.num_rows() == 0 {
            return Ok(());
        }
        let size = BatchSize::from_batch(&batch);
        if !self.held.try_reserve(size) {
            if !self.held.batches.is_empty() {
                self.spill()?;
            }
            self.held.reservation.try_grow(size.sorting)?;
        }
        self.held.push(batch, size);
        Ok(())
    }

    /// Returns the sorted rows of the portion, and clears the buffer.
    fn finish_portion(&mut self) -> Result<SortedStream> {
        if !self.runs.is_empty() {
            self.spill()?;
            return self.merge_runs();
        }
        let sorted = self.sort_buffered()?;
        let starts = stream::iter((0..sorted.places.len()).step_by(self.batch_rows));
        let metrics = Arc::clone(&self.metrics);
        let batches = starts.map(move |start| {
            let _timer = metrics.elapsed_compute().timer();
            sorted.batch(start)
        });
        Ok(batches.boxed())
    }

    /// Sorts the buffered rows, and clears the buffer.
    fn sort_buffered(&mut self) -> Result<SortedRows> {
        let _timer = self.metrics.elapsed_compute().timer();
        let BufferedRows {
            reservation,
            batches,
            ..
        } = self.held.take();
        let rows = concat_batches(self.files.schema(), &batches)?;
        let keys = self.by.keys.iter();
        let keys = keys.map(|key| key.evaluate_to_sort_column(&rows));
        let keys: Vec<SortColumn> = keys.collect::<Result<_>>()?;
        Ok(SortedRows {
            places: sort_indices(&keys, rows.num_rows())?,
            rows,
            batch_rows: self.batch_rows,
            _reservation: reservation,
        })
    }

    /// Sorts the buffered rows and writes them to a file.
    fn spill(&mut self) -> Result<()> {
        let sorted = self.sort_buffered()?;
        let mut file = self.files.create_in_progress_file("FullSortExec")?;
        let mut most = 0;
        for start in (0..sorted.places.len()).step_by(self.batch_rows) {
            most = most.max(file.append_batch(&sorted.batch(start)?)?);
        }
        if let Some(file) = file.finish()? {
            self.runs.push(SortedSpillFile {
                file,
                max_record_batch_memory: most,
            });
        }
        drop(sorted);
        if self.merging.size() < self.merging_bytes {
            // If the memory is in use elsewhere, merging works with less.
            let _ = self.merging.try_resize(self.merging_bytes);
        }
        Ok(())
    }

    /// Merges the spilled runs of a portion.
    fn merge_runs(&mut self) -> Result<SortedStream> {
        let merged = StreamingMergeBuilder::new()
            .with_sorted_spill_files(std::mem::take(&mut self.runs))
            .with_spill_manager(self.files.clone())
            .with_schema(Arc::clone(self.files.schema()))
            .with_expressions(&self.by.keys)
            .with_metrics(self.metrics.intermediate())
            .with_batch_size(self.batch_rows)
            .with_reservation(self.merging.take())
            .build()?;
        Ok(merged.boxed())
    }
}

/// Rows, and their indices in sort order.
struct SortedRows {
    rows: RecordBatch,
    places: UInt32Array,
    batch_rows: usize,
    _reservation: MemoryReservation,
}

impl SortedRows {
    /// Returns the output batch that begins at position `start`.
    fn batch(&self, start: usize) -> Result<RecordBatch> {
        let rows = self.batch_rows.min(self.places.len() - start);
        let places = self.places.slice(start, rows);
        let columns = take_arrays(self.rows.columns(), &places, None)?;
        let columns = columns.into_iter().map(compact_views).collect();
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let schema = self.rows.schema();
        Ok(RecordBatch::try_new_with_options(
            schema, columns, &options,
        )?)
    }
}

/// Copies a view array without the data of other rows. Otherwise each output batch would retain the data buffers of the
/// whole input.
pub(crate) fn compact_views(column: ArrayRef) -> ArrayRef {
    if let Some(texts) = column.as_string_view_opt() {
        return match texts.data_buffers().is_empty() {
            true => column,
            false => Arc::new(texts.gc()),
        };
    }
    match column.as_binary_view_opt() {
        Some(bytes) if !bytes.data_buffers().is_empty() => Arc::new(bytes.gc()),
        _ => column,
    }
}

/// Memory sizes of a batch in bytes: its own, and the total during a sort.
#[derive(Clone, Copy)]
struct BatchSize {
    bytes: usize,
    sorting: usize,
}

impl BatchSize {
    fn from_batch(batch: &RecordBatch) -> Self {
        let bytes = get_record_batch_memory_size(batch);
        let columns = batch.columns().iter();
        let copied = columns.map(|column| column.to_data().get_slice_memory_size());
        let copied = copied.sum::<Result<usize, ArrowError>>().unwrap_or(bytes);
        let words = ROW_BYTES.saturating_mul(batch.num_rows());
        let sorting = bytes.saturating_add(copied).saturating_add(words);
        Self { bytes, sorting }
    }
}

/// Unsorted rows. No batch is empty.
struct BufferedRows {
    reservation: MemoryReservation,
    batches: Vec<RecordBatch>,
    rows: usize,
    bytes: usize,
}

impl BufferedRows {
    /// Reserves memory for a batch; returns whether there was enough.
    fn try_reserve(&self, size: BatchSize) -> bool {
        self.bytes.saturating_add(size.bytes) <= MAX_SORT_BYTES
            && self.reservation.try_grow(size.sorting).is_ok()
    }

    fn push(&mut self, batch: RecordBatch, size: BatchSize) {
        self.rows += batch.num_rows();
        self.bytes = self.bytes.saturating_add(size.bytes);
        self.batches.push(batch);
    }

    fn take(&mut self) -> Self {
        let none = Self {
            reservation: self.reservation.new_empty(),
            batches: Vec::new(),
            rows: 0,
            bytes: 0,
        };
        std::mem::replace(self, none)
    }
}
