//! Computes windows over sorted rows in a stream: `row_number()`, `rank()`, `lag(x)`, and running aggregates as the
//! best value so far.
//!
//! DataFusion's window operator buffers the rows of each partition, and evaluates an accumulator for each row. These
//! functions need only the boundaries of partitions and ranks, and the state of the previous row.

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

use crate::operators::operator_substitution::{OperatorSubstitute, OutputContext};
use keys::WindowKeys;
pub(crate) use keys::differ;
use stream::{StreamFunction, WindowStream};

/// Appends a column per function to rows that are sorted by partition and order keys.
#[derive(Debug)]
pub(crate) struct StreamingWindow {
    functions: Vec<StreamFunction>,
    by: WindowKeys,
}

impl OperatorSubstitute for StreamingWindow {
    const NAME: &'static str = "StreamingWindowExec";

    /// Replaces windows with only such functions.
    fn try_from_plan(node: &Arc<dyn ExecutionPlan>) -> Result<Option<Self>> {
        let window = node.downcast_ref::<BoundedWindowAggExec>();
        let window = window.filter(|window| window.input_order_mode == InputOrderMode::Sorted);
        Ok(window.and_then(Self::try_from_window))
    }

    fn execute(
        &self,
        rows: SendableRecordBatchStream,
        made: OutputContext,
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
    fn try_from_window(window: &BoundedWindowAggExec) -> Option<Self> {
        let exprs = window.window_expr();
        let schema = window.input().schema();
        let functions = exprs
            .iter()
            .map(|expr| StreamFunction::try_from_expr(expr.as_ref(), &schema));
        let functions = functions.collect::<Option<Vec<StreamFunction>>>()?;
        let first = exprs.first()?;
        let is_like_first = |expr: &Arc<dyn WindowExpr>| {
            expr.partition_by() == first.partition_by() && expr.order_by() == first.order_by()
        };
        let order = first.order_by().iter().map(|by| Arc::clone(&by.expr));
        exprs.iter().all(is_like_first).then(|| Self {
            functions,
            by: WindowKeys {
                partition: first.partition_by().to_vec(),
                order: order.collect(),
            },
        })
    }
}
