//! Rows are held until they can be sorted: to the end, or to where the first keys that they are sorted by already change.
//! If there is no memory for them before, they go to files, which are merged.

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

use super::super::streaming_window::differ;
use super::sort_key::order;

/// Rows from which a portion is sorted where the first keys change: four batches.
const PORTION_ROWS: usize = 1 << 16;

/// Bytes that are sorted at once at most: offsets of texts have 32 bits.
const MOST_BYTES: usize = 1 << 31;

/// Bytes by which a row is sorted: its number, twice, and its place.
const ROW_BYTES: usize = 2 * size_of::<u128>() + size_of::<u32>();

/// What rows are sorted by, and what of it they are sorted by already.
#[derive(Clone, Debug)]
pub(super) struct By {
    keys: LexOrdering,
    prefix: Arc<[Arc<dyn PhysicalExpr>]>,
}

impl By {
    pub(super) fn new(keys: LexOrdering, prefix: Vec<Arc<dyn PhysicalExpr>>) -> Self {
        let prefix = prefix.into();
        Self { keys, prefix }
    }

    /// The values of what rows come sorted by.
    fn prefix_of(&self, batch: &RecordBatch) -> Result<Vec<ArrayRef>> {
        let values = self.prefix.iter();
        let values = values.map(|expr| expr.evaluate(batch)?.into_array(batch.num_rows()));
        values.collect()
    }
}

impl fmt::Display for By {
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

/// Where figures of the operator go.
pub(super) struct Metrics {
    pub(super) baseline: BaselineMetrics,
    pub(super) spilled: SpillMetrics,
}

/// The same rows in order.
pub(super) fn sorted(
    rows: SendableRecordBatchStream,
    by: By,
    metrics: Metrics,
    context: &TaskContext,
) -> SendableRecordBatchStream {
    let schema = rows.schema();
    let Metrics { baseline, spilled } = metrics;
    let metrics = Arc::new(baseline);
    let held = MemoryConsumer::new("FullSortExec").with_can_spill(true);
    let merging = MemoryConsumer::new("FullSortExec, merging");
    let pool = context.memory_pool();
    let options = context.session_config();
    let files = SpillManager::new(context.runtime_env(), spilled, Arc::clone(&schema));
    let state = State {
        held: Held {
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
    let portions = stream::try_unfold(state, State::next);
    let sorted = portions.try_flatten().inspect_ok(move |batch| {
        metrics.record_output(batch.num_rows());
    });
    Box::pin(RecordBatchStreamAdapter::new(schema, sorted))
}

/// Rows in order that come one batch after the other.
type Sorted = BoxStream<'static, Result<RecordBatch>>;

struct State {
    /// Rows of the portion that are in no file yet.
    held: Held,
    by: By,
    /// What is to come; `None` after the end.
    rows: Option<SendableRecordBatchStream>,
    metrics: Arc<BaselineMetrics>,
    batch_rows: usize,
    files: SpillManager,
    /// Sorted rows of the portion for which there was no memory.
    runs: Vec<SortedSpillFile>,
    /// What is kept free to merge them, and how much that is.
    merging: MemoryReservation,
    merging_bytes: usize,
}

impl State {
    /// The next portion.
    async fn next(mut self) -> Result<Option<(Sorted, Self)>> {
        loop {
            let Some(rows) = self.rows.as_mut() else {
                return Ok(None);
            };
            let Some(batch) = rows.next().await.transpose()? else {
                self.rows = None;
                let portion = self.portion()?;
                return Ok(Some((portion, self)));
            };
            let Some(end) = self.end_of_portion(&batch)? else {
                self.hold(batch)?;
                continue;
            };
            self.hold(batch.slice(0, end))?;
            let portion = self.portion()?;
            self.hold(batch.slice(end, batch.num_rows() - end))?;
            return Ok(Some((portion, self)));
        }
    }

    /// The row of `batch` before which the portion ends, if it is large enough.
    fn end_of_portion(&self, batch: &RecordBatch) -> Result<Option<usize>> {
        let rows = batch.num_rows();
        let is_small = self.held.rows + rows < PORTION_ROWS && self.runs.is_empty();
        if self.by.prefix.is_empty() || rows == 0 || is_small {
            return Ok(None);
        }
        let prefix = self.by.prefix_of(batch)?;
        let start = partition(&prefix)?.ranges().last().map(|range| range.start);
        if start.is_some_and(|start| start > 0) {
            return Ok(start);
        }
        let Some(before) = self.held.batches.last() else {
            return Ok(None);
        };
        let last = before.slice(before.num_rows() - 1, 1);
        let begins = differ(&self.by.prefix_of(&last)?, &prefix)?;
        Ok(begins.then_some(0))
    }

    /// Holds these rows, too. If there is no memory for that, those before go to a file; it is an error if there is
    /// none then, either.
    fn hold(&mut self, batch: RecordBatch) -> Result<()> {
        if batch.num_rows() == 0 {
            return Ok(());
        }
        let size = Size::of(&batch);
        if !self.held.has_room(size) {
            if !self.held.batches.is_empty() {
                self.spill()?;
            }
            self.held.reservation.try_grow(size.sorting)?;
        }
        self.held.push(batch, size);
        Ok(())
    }

    /// All of the portion, in order; nothing is held then.
    fn portion(&mut self) -> Result<Sorted> {
        if !self.runs.is_empty() {
            self.spill()?;
            return self.merged();
        }
        let sorted = self.sorted()?;
        let starts = stream::iter((0..sorted.places.len()).step_by(self.batch_rows));
        let metrics = Arc::clone(&self.metrics);
        let batches = starts.map(move |start| {
            let _timer = metrics.elapsed_compute().timer();
            sorted.batch(start)
        });
        Ok(batches.boxed())
    }

    /// What is held, in order; nothing is held then.
    fn sorted(&mut self) -> Result<SortedRows> {
        let _timer = self.metrics.elapsed_compute().timer();
        let Held {
            reservation,
            batches,
            ..
        } = self.held.take();
        let rows = concat_batches(self.files.schema(), &batches)?;
        let keys = self.by.keys.iter();
        let keys = keys.map(|key| key.evaluate_to_sort_column(&rows));
        let keys: Vec<SortColumn> = keys.collect::<Result<_>>()?;
        Ok(SortedRows {
            places: order(&keys, rows.num_rows())?,
            rows,
            batch_rows: self.batch_rows,
            _reservation: reservation,
        })
    }

    /// Writes what is held to a file, in order.
    fn spill(&mut self) -> Result<()> {
        let sorted = self.sorted()?;
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
            // If others have it, merging takes what there is then.
            let _ = self.merging.try_resize(self.merging_bytes);
        }
        Ok(())
    }

    /// The files of a portion, in order.
    fn merged(&mut self) -> Result<Sorted> {
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

/// Rows, and the order of their places.
struct SortedRows {
    rows: RecordBatch,
    places: UInt32Array,
    batch_rows: usize,
    _reservation: MemoryReservation,
}

impl SortedRows {
    /// The batch whose first row comes at `start`.
    fn batch(&self, start: usize) -> Result<RecordBatch> {
        let rows = self.batch_rows.min(self.places.len() - start);
        let places = self.places.slice(start, rows);
        let columns = take_arrays(self.rows.columns(), &places, None)?;
        let columns = columns.into_iter().map(compacted).collect();
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let schema = self.rows.schema();
        Ok(RecordBatch::try_new_with_options(
            schema, columns, &options,
        )?)
    }
}

/// The same, without the texts of other rows: whoever puts batches together would have all of them once a batch.
pub(in crate::query) fn compacted(column: ArrayRef) -> ArrayRef {
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

/// Bytes of a batch: as it is, and what sorting takes.
#[derive(Clone, Copy)]
struct Size {
    bytes: usize,
    sorting: usize,
}

impl Size {
    fn of(batch: &RecordBatch) -> Self {
        let bytes = get_record_batch_memory_size(batch);
        let columns = batch.columns().iter();
        let copied = columns.map(|column| column.to_data().get_slice_memory_size());
        let copied = copied.sum::<Result<usize, ArrowError>>().unwrap_or(bytes);
        let words = ROW_BYTES.saturating_mul(batch.num_rows());
        let sorting = bytes.saturating_add(copied).saturating_add(words);
        Self { bytes, sorting }
    }
}

/// Rows that are not sorted yet, none of the batches empty.
struct Held {
    reservation: MemoryReservation,
    batches: Vec<RecordBatch>,
    rows: usize,
    bytes: usize,
}

impl Held {
    /// Is there room for so many bytes? They are reserved then.
    fn has_room(&self, size: Size) -> bool {
        self.bytes.saturating_add(size.bytes) <= MOST_BYTES
            && self.reservation.try_grow(size.sorting).is_ok()
    }

    fn push(&mut self, batch: RecordBatch, size: Size) {
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
