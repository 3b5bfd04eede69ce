//! Rows are sorted as they are gathered: all of a thread at once, by numbers that hold their sort keys ([`words`]).
//!
//! DataFusion sorts each batch, then merges hundreds of them row by row with comparisons that look into each column: more than
//! half of a question about ranks. What comes in order of the first keys is sorted portion by portion. Where memory ends,
//! sorted rows go to files, which DataFusion merges.

mod portion;
mod sort_key;
#[cfg(test)]
mod tests;

pub(super) use portion::compacted;
pub(super) use sort_key::order;

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::limit::LimitStream;
use datafusion::physical_plan::metrics::{BaselineMetrics, ExecutionPlanMetricsSet, SpillMetrics};
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::statistics::{StatisticsArgs, StatisticsContext};
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties as _};

use super::operator_substitution::{Made, Operator};

/// Rows below which a heap always does.
const MIN_SORTED_ROWS: usize = 1 << 14;

/// The same where nothing is known of the number of all rows.
const MIN_SORTED_ROWS_OF_UNKNOWN: usize = 1 << 17;

/// A heap does where it finds fewer than one of so many rows.
const MAX_PART: usize = 128;

/// Sorts the rows of each thread.
#[derive(Debug)]
pub(super) struct FullSort {
    by: portion::By,
    /// The number of rows that are returned; all of them without one.
    fetch: Option<usize>,
}

impl Operator for FullSort {
    const NAME: &'static str = "FullSortExec";

    /// For sorts of all rows, or of more than a heap does well with, by values that are no lists.
    fn of(node: &Arc<dyn ExecutionPlan>) -> Result<Option<Self>> {
        let Some(sort) = node.downcast_ref::<SortExec>() else {
            return Ok(None);
        };
        let input = sort.input();
        let known = input.equivalence_properties();
        let (prefix, is_sorted) = known.extract_common_sort_prefix(sort.expr().clone())?;
        let is_small = sort
            .fetch()
            .is_some_and(|fetch| is_small_part(fetch, sort.input()));
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
            by: portion::By::new(sort.expr().clone(), prefix.collect()),
            fetch: sort.fetch(),
        }))
    }

    fn shown(&self, _: &str) -> String {
        match self.fetch {
            Some(fetch) => format!("{}, fetch={fetch}", self.by),
            None => self.by.to_string(),
        }
    }

    fn execute(
        &self,
        rows: SendableRecordBatchStream,
        made: Made,
        context: &Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let metrics = portion::Metrics {
            baseline: BaselineMetrics::new(&made.metrics, made.part),
            spilled: SpillMetrics::new(&made.metrics, made.part),
        };
        let sorted = portion::sorted(rows, self.by.clone(), metrics, context);
        let Some(fetch) = self.fetch else {
            return Ok(sorted);
        };
        let metrics = BaselineMetrics::new(&ExecutionPlanMetricsSet::new(), made.part);
        Ok(Box::pin(LimitStream::new(sorted, 0, Some(fetch), metrics)))
    }
}

/// Whether a heap finds the first `fetch` rows faster than a sort of all rows does.
fn is_small_part(fetch: usize, input: &Arc<dyn ExecutionPlan>) -> bool {
    if fetch < MIN_SORTED_ROWS {
        return true;
    }
    let statistics = StatisticsContext::new().compute(input.as_ref(), &StatisticsArgs::new());
    let rows = statistics.map(|statistics| statistics.num_rows);
    match rows.ok().and_then(|rows| rows.get_value().copied()) {
        Some(rows) => fetch < rows / MAX_PART,
        None => fetch < MIN_SORTED_ROWS_OF_UNKNOWN,
    }
}
