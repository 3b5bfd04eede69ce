//! Windows that go on from row to row are computed where the sorted rows lie: `row_number()`, `rank()`, `lag(x)`, and what the best was so
//! far.
//!
//! DataFusion's operator of windows gathers the rows of each partition, and asks an accumulator for each row. These functions need no
//! more than where partitions and rows of equal rank begin, and what there was of the row before.

mod keys;
mod lag;
mod rank;
mod running_aggregate;
mod stream;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::window::WindowExpr;
use datafusion::physical_plan::metrics::BaselineMetrics;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::windows::BoundedWindowAggExec;
use datafusion::physical_plan::{ExecutionPlan, InputOrderMode};
use futures::StreamExt as _;

use super::operator_substitution::{Made, Operator};
use keys::By;
pub(super) use keys::differ;
use stream::{Function, WindowStream};

/// Adds a column for each function to rows that are sorted by partition and order.
#[derive(Debug)]
pub(super) struct StreamingWindow {
    functions: Vec<Function>,
    by: By,
}

impl Operator for StreamingWindow {
    const NAME: &'static str = "StreamingWindowExec";

    /// For windows of such functions alone.
    fn of(node: &Arc<dyn ExecutionPlan>) -> Result<Option<Self>> {
        let window = node.downcast_ref::<BoundedWindowAggExec>();
        let window = window.filter(|window| window.input_order_mode == InputOrderMode::Sorted);
        Ok(window.and_then(Self::of_window))
    }

    fn execute(
        &self,
        rows: SendableRecordBatchStream,
        made: Made,
        _: &Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let metrics = BaselineMetrics::new(&made.metrics, made.part);
        let along = WindowStream::new(&self.functions, self.by.clone(), Arc::clone(&made.schema));
        let computed = futures::stream::try_unfold(Some((rows, along)), move |state| {
            let metrics = metrics.clone();
            async move {
                let Some((mut rows, mut along)) = state else {
                    return Ok(None);
                };
                while let Some(batch) = rows.next().await {
                    let batch = batch?;
                    let timer = metrics.elapsed_compute().timer();
                    let done = along.add(batch)?;
                    timer.done();
                    if let Some(done) = done {
                        metrics.record_output(done.num_rows());
                        return Ok(Some((done, Some((rows, along)))));
                    }
                }
                let last = along.finish()?;
                metrics.record_output(last.as_ref().map_or(0, |last| last.num_rows()));
                metrics.done();
                Ok(last.map(|last| (last, None)))
            }
        });
        let schema = made.schema;
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, computed)))
    }
}

impl StreamingWindow {
    fn of_window(window: &BoundedWindowAggExec) -> Option<Self> {
        let exprs = window.window_expr();
        let schema = window.input().schema();
        let functions = exprs
            .iter()
            .map(|expr| Function::of(expr.as_ref(), &schema));
        let functions = functions.collect::<Option<Vec<Function>>>()?;
        let first = exprs.first()?;
        let is_like_first = |expr: &Arc<dyn WindowExpr>| {
            expr.partition_by() == first.partition_by() && expr.order_by() == first.order_by()
        };
        let order = first.order_by().iter().map(|by| Arc::clone(&by.expr));
        exprs.iter().all(is_like_first).then(|| Self {
            functions,
            by: By {
                partition: first.partition_by().to_vec(),
                order: order.collect(),
            },
        })
    }
}
