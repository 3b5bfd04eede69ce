//! `count`, `sum`, `avg`, `min` and `max` over the rows of a partition up to the current row, up to the end of its
//! rank, or over a number of rows up to the current row.

use std::sync::Arc;

use arrow::array::{Array as _, ArrayRef, AsArray as _, Float64Array, Int64Array, RecordBatch};
use arrow::datatypes::{ArrowNativeTypeOp, DataType, Float64Type, Int64Type, Schema};
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::{WindowFrame, WindowFrameBound, WindowFrameUnits};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::window::{
    PlainAggregateWindowExpr, SlidingAggregateWindowExpr, WindowExpr,
};
use tsql_functions::checked_total;

use super::keys::Starts;

/// An aggregate function.
#[derive(Clone, Copy, Debug, PartialEq)]
enum AggregateKind {
    Count,
    Sum,
    Mean,
    Least,
    Greatest,
}

/// A running aggregate: function, argument and frame.
#[derive(Clone, Debug)]
pub(super) struct RunningAggregate {
    made: AggregateKind,
    of: Arc<dyn PhysicalExpr>,
    /// Whether the argument is a 64-bit float rather than a 64-bit integer. Unused for counts.
    is_float: bool,
    reach: Frame,
}

/// Frame of a running aggregate.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Frame {
    /// Rows of the partition up to the current row.
    Rows,
    /// Rows of the partition up to the end of the current rank.
    Ranks,
    /// So many rows before the current row, and this row.
    Last(usize),
}

/// State of the current partition.
#[derive(Default)]
pub(super) struct RunningState {
    counts: SlidingTotal<i64>,
    floats: SlidingTotal<f64>,
    /// Sums of 64-bit integers may exceed 64 bits within a partition.
    wholes: SlidingTotal<i128>,
}

/// An aggregate of values. For sliding frames it has two stacks, so that nothing is ever subtracted from a sum
/// (Tangwongsan, Hirzel and Schneider, Low-latency sliding-window aggregation in worst-case constant time, 2017,
/// section 3).
#[derive(Default)]
struct SlidingTotal<N> {
    /// Aggregate of the values in `newer`, or of all values.
    total: Option<N>,
    newer: Vec<Option<N>>,
    /// Aggregate of each older value and all after it up to the newest of the stack; the oldest is the last.
    older: Vec<Option<N>>,
}

impl RunningAggregate {
    /// Returns `None` for other functions, types and frames.
    pub(super) fn try_from_expr(expr: &dyn WindowExpr, input: &Schema) -> Option<Self> {
        let expr_of_any = expr.as_any();
        let plain = expr_of_any.downcast_ref::<PlainAggregateWindowExpr>();
        let sliding = expr_of_any.downcast_ref::<SlidingAggregateWindowExpr>();
        let aggregate = match (plain, sliding) {
            (Some(plain), _) => plain.get_aggregate_expr(),
            (None, sliding) => sliding?.get_aggregate_expr(),
        };
        let made = match aggregate.fun().name() {
            "count" => AggregateKind::Count,
            "sum" => AggregateKind::Sum,
            "avg" => AggregateKind::Mean,
            "min" => AggregateKind::Least,
            "max" => AggregateKind::Greatest,
            _ => return None,
        };
        let [of] = <[_; 1]>::try_from(aggregate.expressions()).ok()?;
        let is_float = match of.data_type(input).ok()? {
            DataType::Float64 => true,
            DataType::Int64 if made != AggregateKind::Mean => false,
            _ if made == AggregateKind::Count => false,
            _ => return None,
        };
        let reach = Frame::try_from_frame(expr.get_window_frame())?;
        let has_ranks = reach != Frame::Ranks || !expr.order_by().is_empty();
        // A FILTER is already part of the argument: `workarounds::window_filters`.
        (has_ranks && !aggregate.is_distinct()).then(|| Self {
            made,
            of,
            is_float,
            reach,
        })
    }

    /// Returns whether the last row of a rank is needed for the result of its rows.
    pub(super) fn needs_whole_rank(&self) -> bool {
        self.reach == Frame::Ranks
    }

    /// Returns the values of the next rows. These must end with a complete rank if
    /// [`RunningAggregate::needs_whole_rank`].
    pub(super) fn next(
        &self,
        so_far: &mut RunningState,
        rows: &RecordBatch,
        starts: &Starts,
    ) -> Result<ArrayRef> {
        let values = self.of.evaluate(rows)?.into_array(rows.num_rows())?;
        let nulls = values.logical_nulls();
        let counts = |row| nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row));
        let ones = std::iter::repeat_n(1, rows.num_rows());
        let number = |total: Option<i64>, one| total.unwrap_or_default() + one;
        let numbers = self.totals(ones, &mut so_far.counts, number, counts, starts);
        let numbers = numbers.into_iter().map(Option::unwrap_or_default);
        if self.made == AggregateKind::Count {
            return Ok(Arc::new(Int64Array::from_iter_values(numbers)));
        }
        if !self.is_float {
            let values = values.as_primitive::<Int64Type>().values();
            let values = values.iter().copied().map(i128::from);
            let held = &mut so_far.wholes;
            let totals = self.totals(values, held, self.accumulate_fn(), counts, starts);
            let totals = totals
                .into_iter()
                .map(|total| total.map(checked_total).transpose());
            return Ok(Arc::new(totals.collect::<Result<Int64Array>>()?));
        }
        let values = values.as_primitive::<Float64Type>().values();
        let values = values.iter().copied();
        let held = &mut so_far.floats;
        let mut totals = self.totals(values, held, self.accumulate_fn(), counts, starts);
        if self.made == AggregateKind::Mean {
            for (total, count) in totals.iter_mut().zip(numbers) {
                #[expect(clippy::cast_precision_loss, reason = "a count of rows")]
                let count = count as f64;
                *total = total.map(|total| total / count);
            }
        }
        Ok(Arc::new(totals.into_iter().collect::<Float64Array>()))
    }

    /// Returns a function that adds a value to a total.
    fn accumulate_fn<N: ArrowNativeTypeOp>(&self) -> impl Fn(Option<N>, N) -> N {
        let made = self.made;
        move |total, value| match (made, total) {
            (AggregateKind::Least, Some(least)) if !value.is_lt(least) => least,
            (AggregateKind::Greatest, Some(most)) if !value.is_gt(most) => most,
            (AggregateKind::Least | AggregateKind::Greatest, _) => value,
            (_, total) => total.unwrap_or_default().add_wrapping(value),
        }
    }

    fn totals<N: ArrowNativeTypeOp>(
        &self,
        values: impl Iterator<Item = N>,
        held: &mut SlidingTotal<N>,
        with: impl Fn(Option<N>, N) -> N,
        counts: impl Fn(usize) -> bool,
        starts: &Starts,
    ) -> Vec<Option<N>> {
        let rows = starts.per_row().zip(values).enumerate();
        let mut totals = Vec::with_capacity(starts.per_row().len());
        for (row, ((is_first, _), value)) in rows {
            if is_first {
                *held = SlidingTotal::default();
            }
            let value = counts(row).then_some(value);
            held.total = combine(held.total, value, &with);
            totals.push(match self.reach {
                Frame::Rows | Frame::Ranks => held.total,
                Frame::Last(before) => held.slide(value, before, &with),
            });
        }
        self.spread_over_ranks(totals, starts)
    }

    /// Copies the value of the last row of a rank to all of its rows, if the frame ends with the rank.
    fn spread_over_ranks<T: Copy>(&self, mut values: Vec<T>, starts: &Starts) -> Vec<T> {
        if self.needs_whole_rank() {
            let mut of_last = None;
            for (value, (_, begins_rank)) in values.iter_mut().zip(starts.per_row()).rev() {
                *value = of_last.unwrap_or(*value);
                of_last = (!begins_rank).then_some(*value);
            }
        }
        values
    }
}

impl<N: ArrowNativeTypeOp> SlidingTotal<N> {
    /// Appends the newest value, which the total already has, and drops values more than `before` rows older. Returns
    /// the aggregate of the remaining values.
    fn slide(
        &mut self,
        newest: Option<N>,
        before: usize,
        with: impl Fn(Option<N>, N) -> N,
    ) -> Option<N> {
        self.newer.push(newest);
        if self.newer.len() + self.older.len() > before.saturating_add(1) {
            if self.older.is_empty() {
                let mut made = None;
                while let Some(value) = self.newer.pop() {
                    made = combine(value, made, &with);
                    self.older.push(made);
                }
                self.total = None;
            }
            self.older.pop();
        }
        combine(self.older.last().copied().flatten(), self.total, with)
    }
}

/// Combines two values, each of which may be missing.
fn combine<N: Copy>(
    one: Option<N>,
    other: Option<N>,
    with: impl Fn(Option<N>, N) -> N,
) -> Option<N> {
    match other {
        Some(other) => Some(with(one, other)),
        None => one,
    }
}

impl Frame {
    /// Returns `None` for other frames.
    fn try_from_frame(frame: &WindowFrame) -> Option<Self> {
        let WindowFrameBound::Preceding(before) = &frame.start_bound else {
            return None;
        };
        let is_rows = frame.units == WindowFrameUnits::Rows;
        match before {
            _ if frame.end_bound != WindowFrameBound::CurrentRow => None,
            before if before.is_null() && is_rows => Some(Self::Rows),
            before if before.is_null() => Some(Self::Ranks),
            ScalarValue::UInt64(Some(before)) if is_rows => {
                Some(Self::Last(usize::try_from(*before).ok()?))
            }
            _ => None,
        }
    }
}
