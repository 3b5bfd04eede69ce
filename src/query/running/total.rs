//! `count`, `sum`, `avg`, `min` and `max` of all rows of a partition up to this one, or up to the last of its rank.

use std::sync::Arc;

use arrow::array::{
    Array as _, ArrayRef, ArrowPrimitiveType, AsArray as _, Float64Array, Int64Array,
    PrimitiveArray, RecordBatch,
};
use arrow::datatypes::{ArrowNativeTypeOp, DataType, Float64Type, Int64Type, Schema};
use datafusion::common::Result;
use datafusion::logical_expr::{WindowFrame, WindowFrameBound, WindowFrameUnits};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::window::{PlainAggregateWindowExpr, WindowExpr};

use super::keys::Starts;

/// What is made of the values.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Made {
    Count,
    Sum,
    Mean,
    Least,
    Greatest,
}

/// What is computed of which rows.
#[derive(Clone, Debug)]
pub(super) struct Total {
    made: Made,
    of: Arc<dyn PhysicalExpr>,
    /// Are they 64-bit floats? Else whole numbers of 64 bits; of a count it says nothing.
    is_float: bool,
    /// Do rows of the same rank have the same?
    by_rank: bool,
}

/// What there is of a partition so far.
#[derive(Clone, Copy, Default)]
pub(super) struct SoFar {
    count: i64,
    float: Option<f64>,
    whole: Option<i64>,
}

impl Total {
    /// `None` for other functions, types and frames.
    pub(super) fn of(expr: &dyn WindowExpr, input: &Schema) -> Option<Self> {
        let plain = expr.as_any().downcast_ref::<PlainAggregateWindowExpr>()?;
        let aggregate = plain.get_aggregate_expr();
        let made = match aggregate.fun().name() {
            "count" => Made::Count,
            "sum" => Made::Sum,
            "avg" => Made::Mean,
            "min" => Made::Least,
            "max" => Made::Greatest,
            _ => return None,
        };
        let [of] = <[_; 1]>::try_from(aggregate.expressions()).ok()?;
        let is_float = match of.data_type(input).ok()? {
            DataType::Float64 => true,
            DataType::Int64 if made != Made::Mean => false,
            _ if made == Made::Count => false,
            _ => return None,
        };
        let by_rank = by_rank(expr.get_window_frame())?;
        let fits = !aggregate.is_distinct()
            && !(by_rank && expr.order_by().is_empty())
            && !is_filtered(plain);
        fits.then(|| Self {
            made,
            of,
            is_float,
            by_rank,
        })
    }

    /// Must the last row of a rank be there?
    pub(super) fn waits(&self) -> bool {
        self.by_rank
    }

    /// The next rows' values: all of their ranks are there if [`Total::waits`].
    pub(super) fn next(
        &self,
        so_far: &mut SoFar,
        rows: &RecordBatch,
        starts: &Starts,
    ) -> Result<ArrayRef> {
        let values = self.of.evaluate(rows)?.into_array(rows.num_rows())?;
        let nulls = values.logical_nulls();
        let counts = |row| nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row));
        let numbers = self.counts(&mut so_far.count, counts, starts);
        if self.made == Made::Count {
            return Ok(Arc::new(Int64Array::from(numbers)));
        }
        if !self.is_float {
            let values = values.as_primitive::<Int64Type>();
            let totals = self.totals(values, &mut so_far.whole, counts, starts);
            return Ok(Arc::new(totals.into_iter().collect::<Int64Array>()));
        }
        let values = values.as_primitive::<Float64Type>();
        let mut totals = self.totals(values, &mut so_far.float, counts, starts);
        if self.made == Made::Mean {
            for (total, count) in totals.iter_mut().zip(numbers) {
                #[expect(clippy::cast_precision_loss, reason = "a count of rows")]
                let count = count as f64;
                *total = total.map(|total| total / count);
            }
        }
        Ok(Arc::new(totals.into_iter().collect::<Float64Array>()))
    }

    fn counts(
        &self,
        so_far: &mut i64,
        counts: impl Fn(usize) -> bool,
        starts: &Starts,
    ) -> Vec<i64> {
        let numbers = starts.each().enumerate().map(|(row, (is_first, _))| {
            let before = if is_first { 0 } else { *so_far };
            *so_far = before + i64::from(counts(row));
            *so_far
        });
        self.of_ranks(numbers.collect(), starts)
    }

    fn totals<T>(
        &self,
        values: &PrimitiveArray<T>,
        so_far: &mut Option<T::Native>,
        counts: impl Fn(usize) -> bool,
        starts: &Starts,
    ) -> Vec<Option<T::Native>>
    where
        T: ArrowPrimitiveType,
        T::Native: ArrowNativeTypeOp,
    {
        let with = |total: Option<T::Native>, value: T::Native| match (self.made, total) {
            (Made::Least, Some(least)) if !value.is_lt(least) => least,
            (Made::Greatest, Some(most)) if !value.is_gt(most) => most,
            (Made::Least | Made::Greatest, _) => value,
            (_, total) => total.unwrap_or_default().add_wrapping(value),
        };
        let rows = starts.each().zip(values.values()).enumerate();
        let totals = rows.map(|(row, ((is_first, _), value))| {
            if is_first {
                *so_far = None;
            }
            if counts(row) {
                *so_far = Some(with(*so_far, *value));
            }
            *so_far
        });
        self.of_ranks(totals.collect(), starts)
    }

    /// Gives all rows of a rank what its last one has, where that is asked for.
    fn of_ranks<T: Copy>(&self, mut values: Vec<T>, starts: &Starts) -> Vec<T> {
        if self.by_rank {
            let mut of_last = None;
            for (value, (_, begins_rank)) in values.iter_mut().zip(starts.each()).rev() {
                *value = of_last.unwrap_or(*value);
                of_last = (!begins_rank).then_some(*value);
            }
        }
        values
    }
}

/// Has it a `FILTER (WHERE ...)`? It is to be seen in its last field only, which DataFusion shows nobody.
fn is_filtered(expr: &PlainAggregateWindowExpr) -> bool {
    !format!("{expr:?}").ends_with("filter: None }")
}

/// Does a frame from the first row end at the last row of a rank? `None` for other frames.
fn by_rank(frame: &WindowFrame) -> Option<bool> {
    let from_first =
        matches!(&frame.start_bound, WindowFrameBound::Preceding(rows) if rows.is_null());
    let to_this = frame.end_bound == WindowFrameBound::CurrentRow;
    (from_first && to_this).then_some(frame.units != WindowFrameUnits::Rows)
}
