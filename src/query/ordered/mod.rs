//! Rows are sorted as they are gathered: all of a thread at once, by numbers that hold their sort keys ([`words`]).
//!
//! DataFusion sorts each batch, then merges hundreds of them row by row with comparisons that look into each column: more than
//! half of a question about ranks. What comes in order of the first keys is sorted portion by portion. Where memory ends,
//! sorted rows go to files, which DataFusion merges.

mod portion;
#[cfg(test)]
mod tests;
mod words;

pub(super) use portion::compacted;
pub(super) use words::order;

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::metrics::{BaselineMetrics, SpillMetrics};
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties as _};

use super::in_place::{Made, Operator};

/// Sorts the rows of each thread.
#[derive(Debug)]
pub(super) struct Ordered {
    by: portion::By,
}

impl Operator for Ordered {
    const NAME: &'static str = "OrderedExec";

    /// For sorts of all rows by values that are no lists.
    fn of(node: &Arc<dyn ExecutionPlan>) -> Result<Option<Self>> {
        let Some(sort) = node.downcast_ref::<SortExec>() else {
            return Ok(None);
        };
        let input = sort.input();
        let known = input.equivalence_properties();
        let (prefix, is_sorted) = known.extract_common_sort_prefix(sort.expr().clone())?;
        if sort.fetch().is_some() || is_sorted {
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
        }))
    }

    fn shown(&self, _: &str) -> String {
        self.by.to_string()
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
        Ok(portion::sorted(rows, self.by.clone(), metrics, context))
    }
}
