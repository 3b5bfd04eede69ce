//! `lag(x)`: the value of the row before.

use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, RecordBatch, new_null_array};
use arrow::compute::{concat, nullif};
use datafusion::common::Result;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::window::{
    StandardWindowExpr, StandardWindowFunctionExpr as _, WindowExpr,
};
use datafusion::physical_plan::windows::WindowUDFExpr;

use super::keys::Starts;

/// Of which values.
#[derive(Clone, Debug)]
pub(super) struct Lag {
    of: Arc<dyn PhysicalExpr>,
}

impl Lag {
    /// `None` for other functions, rows further away, and another value in the place of NULL.
    pub(super) fn of(expr: &dyn WindowExpr) -> Option<Self> {
        let standard = expr.as_any().downcast_ref::<StandardWindowExpr>()?;
        let function = standard.get_standard_func_expr().as_any();
        let function = function.downcast_ref::<WindowUDFExpr>()?;
        let [of] = function.args() else { return None };
        if !matches!(function.fun().name(), "lag" | "lead") {
            return None;
        }
        // `lead` of rows in the other order looks back, too. One that ignores NULL reads all rows before.
        let evaluator = function.create_evaluator().ok()?;
        let reads_one_before = evaluator.is_causal() && evaluator.get_range(2, 3).ok()? == (1..3);
        reads_one_before.then(|| Self { of: Arc::clone(of) })
    }

    /// The values before the next rows; `last` is that of the row before them.
    pub(super) fn next(
        &self,
        last: &mut Option<ArrayRef>,
        rows: &RecordBatch,
        starts: &Starts,
    ) -> Result<ArrayRef> {
        let values = self.of.evaluate(rows)?.into_array(rows.num_rows())?;
        let Some(others) = rows.num_rows().checked_sub(1) else {
            return Ok(values);
        };
        let first = last.replace(values.slice(others, 1));
        let first = first.unwrap_or_else(|| new_null_array(values.data_type(), 1));
        let before = concat(&[first.as_ref(), values.slice(0, others).as_ref()])?;
        let begins_partition = starts.each().map(|(partition, _)| partition);
        let begins_partition: BooleanArray = begins_partition.map(Some).collect();
        Ok(nullif(&before, &begins_partition)?)
    }
}
