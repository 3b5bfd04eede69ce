//! `lag(x)`: the value of the previous row.

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

/// A `lag` of one row, or an equivalent `lead`.
#[derive(Clone, Debug)]
pub(super) struct Lag {
    of: Arc<dyn PhysicalExpr>,
}

impl Lag {
    /// Returns `None` for other functions, other offsets, and defaults other than NULL.
    pub(super) fn try_from_expr(expr: &dyn WindowExpr) -> Option<Self> {
        let standard = expr.as_any().downcast_ref::<StandardWindowExpr>()?;
        let function = standard.get_standard_func_expr().as_any();
        let function = function.downcast_ref::<WindowUDFExpr>()?;
        let [of] = function.args() else { return None };
        if !matches!(function.fun().name(), "lag" | "lead") {
            return None;
        }
        // `lead` over the reverse order looks back, too. With IGNORE NULLS, it reads all previous rows.
        let evaluator = function.create_evaluator().ok()?;
        let reads_one_before = evaluator.is_causal() && evaluator.get_range(2, 3).ok()? == (1..3);
        reads_one_before.then(|| Self { of: Arc::clone(of) })
    }

    /// Returns the previous value of each row. `last` is the value of the row before this batch, and is updated.
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
        let begins_partition = starts.per_row().map(|(partition, _)| partition);
        let begins_partition: BooleanArray = begins_partition.map(Some).collect();
        Ok(nullif(&before, &begins_partition)?)
    }
}
