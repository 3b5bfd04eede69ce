//! Result rows that are buffered until their last reader has finished.

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use arrow::array::{Array as _, ArrayData, RecordBatch};
use arrow::datatypes::SchemaRef;
use datafusion::common::Result;
use datafusion::execution::memory_pool::MemoryReservation;
use datafusion::execution::{SendableRecordBatchStream, SpillFile};
use datafusion::physical_plan::spill::SpillManager;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use futures::TryStreamExt as _;

/// Name of the buffered rows in plans.
pub(super) const NAME: &str = "computed_once";

/// Output of one partition of a plan: in memory if there is enough, otherwise completely in a temporary file.
pub(super) enum MaterializedRows {
    /// Batches and their memory reservation.
    Memory(Vec<RecordBatch>, MemoryReservation),
    /// `None` if there were no rows.
    File(SpillManager, Option<Arc<dyn SpillFile>>),
}

impl MaterializedRows {
    /// Reads all rows. If the reservation cannot grow, writes all rows to a file instead.
    pub(super) async fn collect(
        mut rows: SendableRecordBatchStream,
        memory: MemoryReservation,
        spilling: SpillManager,
    ) -> Result<Self> {
        let (mut batches, mut known) = (Vec::new(), HashSet::new());
        while let Some(batch) = rows.try_next().await? {
            let bytes = batch.columns().iter().map(|column| {
                // Aggregates emit slices of one large batch, which share its buffers.
                new_buffer_bytes(&column.to_data(), &mut known)
            });
            let bytes = bytes.sum();
            batches.push(batch);
            if memory.try_grow(bytes).is_ok() {
                continue;
            }
            let mut file = spilling.create_in_progress_file(NAME)?;
            for batch in batches {
                file.append_batch(&batch)?;
            }
            memory.free();
            while let Some(batch) = rows.try_next().await? {
                file.append_batch(&batch)?;
            }
            return Ok(Self::File(spilling, file.finish()?));
        }
        Ok(Self::Memory(batches, memory))
    }

    pub(super) fn rows(&self, schema: SchemaRef) -> Result<SendableRecordBatchStream> {
        let batches = match self {
            Self::Memory(batches, _) => batches.clone(),
            Self::File(_, None) => Vec::new(),
            Self::File(spilling, Some(file)) => {
                return spilling.read_spill_as_stream(Arc::clone(file), None);
            }
        };
        let rows = futures::stream::iter(batches.into_iter().map(Ok));
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, rows)))
    }
}

impl fmt::Debug for MaterializedRows {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Memory(batches, memory) => {
                write!(to, "{} batches, {} bytes", batches.len(), memory.size())
            }
            Self::File(..) => to.write_str("in a file"),
        }
    }
}

/// Returns the bytes of the buffers that are not in `known` yet, and adds them to it.
fn new_buffer_bytes(data: &ArrayData, known: &mut HashSet<usize>) -> usize {
    let nulls = data.nulls().map(|nulls| nulls.buffer());
    let buffers = data.buffers().iter().chain(nulls);
    let new = buffers.filter(|buffer| known.insert(buffer.data_ptr().addr().get()));
    let own: usize = new.map(arrow::buffer::Buffer::capacity).sum();
    let below = data.child_data().iter();
    own + below
        .map(|child| new_buffer_bytes(child, known))
        .sum::<usize>()
}

#[cfg(test)]
mod tests {
    use datafusion::execution::memory_pool::{GreedyMemoryPool, MemoryConsumer, MemoryPool};
    use datafusion::physical_plan::metrics::{ExecutionPlanMetricsSet, SpillMetrics};

    use super::*;
    use crate::context::new_context;
    use crate::test_queries::collect;

    #[tokio::test]
    async fn rows_that_do_not_fit_lie_in_a_file() {
        let rows =
            "SELECT x, 'text ' || x AS t FROM (SELECT unnest(range(0, 1000)) AS x) ORDER BY x";
        let context = new_context(None).unwrap();
        let batches = collect(&context, rows).await.unwrap();
        let (all, schema) = (&batches[0], batches[0].schema());
        // Copies, because slices would share their buffers.
        let tens = (0..100_u64).map(|ten| {
            let rows = arrow::array::UInt64Array::from_iter_values(10 * ten..10 * ten + 10);
            arrow::compute::take_record_batch(all, &rows).unwrap()
        });
        let tens: Vec<RecordBatch> = tens.collect();
        for (bytes, is_in_file) in [(4096, true), (1 << 20, false)] {
            let pool: Arc<dyn MemoryPool> = Arc::new(GreedyMemoryPool::new(bytes));
            let memory = MemoryConsumer::new("test").register(&pool);
            let metrics = ExecutionPlanMetricsSet::new();
            let told = SpillMetrics::new(&metrics, 0);
            let spilling = SpillManager::new(context.runtime_env(), told, schema.clone());
            let rows = futures::stream::iter(tens.clone().into_iter().map(Ok));
            let rows = Box::pin(RecordBatchStreamAdapter::new(schema.clone(), rows));
            let held = MaterializedRows::collect(rows, memory, spilling)
                .await
                .unwrap();
            assert_eq!(matches!(held, MaterializedRows::File(..)), is_in_file);
            assert_eq!(pool.reserved() == 0, is_in_file);
            for _ in 0..2 {
                let rows = held.rows(schema.clone()).unwrap();
                let rows: Vec<RecordBatch> = rows.try_collect().await.unwrap();
                let rows = arrow::compute::concat_batches(&schema, &rows).unwrap();
                assert_eq!(rows, *all);
            }
        }
    }

    #[tokio::test]
    async fn pieces_of_one_batch_count_once() {
        let rows = "SELECT x, 2 * x AS y FROM (SELECT unnest(range(0, 1000)) AS x)";
        let batches = collect(&new_context(None).unwrap(), rows).await.unwrap();
        let mut known = HashSet::new();
        let mut bytes = |batch: &RecordBatch| -> usize {
            let columns = batch.columns().iter().map(|column| column.to_data());
            columns
                .map(|data| new_buffer_bytes(&data, &mut known))
                .sum()
        };
        assert!(bytes(&batches[0]) >= 2 * 8 * batches[0].num_rows());
        assert_eq!(bytes(&batches[0].slice(100, 200)), 0);
    }
}
