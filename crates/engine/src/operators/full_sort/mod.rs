//! Sorts all rows of a partition at once, by integers that encode their sort keys (`tsql_functions::sort_indices`).
//!
//! DataFusion sorts each batch, then merges hundreds of batches with comparisons that read each column. That took more
//! than half of the time of a query with ranks. If the input is already sorted by the first keys, it is sorted section
//! by section. If memory runs out, sorted runs are written to files, which DataFusion merges.

mod portion;
#[cfg(test)]
mod tests;

pub(crate) use portion::compact_views;

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::limit::LimitStream;
use datafusion::physical_plan::metrics::{BaselineMetrics, ExecutionPlanMetricsSet, SpillMetrics};
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::statistics::{StatisticsArgs, StatisticsContext};
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties as _};

use crate::operators::operator_substitution::{OperatorSubstitute, OutputContext};

/// Minimum number of fetched rows. For fewer rows, a top-k heap is used.
const MIN_SORTED_ROWS: usize = 1 << 14;

/// The same if the number of input rows is unknown.
const MIN_SORTED_ROWS_IF_UNKNOWN: usize = 1 << 17;

/// A top-k heap is used if it returns less than one of this many rows.
const HEAP_FRACTION: usize = 128;

/// Sorts the rows of each partition.
#[derive(Debug)]
pub(crate) struct FullSort {
    by: portion::SortSpec,
    /// Number of rows to return; `None` for all rows.
    fetch: Option<usize>,
}

impl OperatorSubstitute for FullSort {
    const NAME: &'static str = "FullSortExec";

    /// Replaces sorts without a limit, or with a limit too large for a heap. Nested sort keys are not supported.
    fn try_from_plan(node: &Arc<dyn ExecutionPlan>) -> Result<Option<Self>> {
        let Some(sort) = node.downcast_ref::<SortExec>() else {
            return Ok(None);
        };
        let input = sort.input();
        let known = input.equivalence_properties();
        let (prefix, is_sorted) = known.extract_common_sort_prefix(sort.expr().clone())?;
        let is_small = sort
            .fetch()
            .is_some_and(|fetch| prefers_heap(fetch, sort.input()));
        if is_small || is_sorted {
            return Ok(None);
        }
        let schema = input.schema();
        for by in sort.expr().iter() {
            if by.expr.data_type(&schema)?.is_nested() {
                return Ok(None);
            }
        }
        let prefix = prefix.into_iter().map(|by| by.expr);
        Ok(Some(Self {
            by: portion::SortSpec::new(sort.expr().clone(), prefix.collect()),
            fetch: sort.fetch(),
        }))
    }

    fn describe(&self, _: &str) -> String {
        match self.fetch {
            Some(fetch) => format!("{}, fetch={fetch}", self.by),
            None => self.by.to_string(),
        }
    }

    fn execute(
        &self,
        rows: SendableRecordBatchStream,
        made: OutputContext,
        context: &Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let metrics = portion::SortMetrics {
            baseline: BaselineMetrics::new(&made.metrics, made.part),
            spilled: SpillMetrics::new(&made.metrics, made.part),
        };
        let sorted = portion::sort_portions(rows, self.by.clone(), metrics, context);
        let Some(fetch) = self.fetch else {
            return Ok(sorted);
        };
        let metrics = BaselineMetrics::new(&ExecutionPlanMetricsSet::new(), made.part);
        Ok(Box::pin(LimitStream::new(sorted, 0, Some(fetch), metrics)))
    }
}

/// Returns whether a heap finds the first `fetch` rows faster than a sort of all rows.
fn prefers_heap(fetch: usize, input: &Arc<dyn ExecutionPlan>) -> bool {
    if fetch < MIN_SORTED_ROWS {
        return true;
    }
    let statistics = StatisticsContext::new().compute(input.as_ref(), &StatisticsArgs::new());
    let rows = statistics.map(|statistics| statistics.num_rows);
    match rows.ok().and_then(|rows| rows.get_value().copied()) {
        Some(rows) => fetch < rows / HEAP_FRACTION,
        None => fetch < MIN_SORTED_ROWS_IF_UNKNOWN,
    }
}
