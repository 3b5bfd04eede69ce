//! `count`, `sum`, `avg`, `min` and `max` of all rows of a partition up to this one, or up to the last of its rank, or of a
//! number of rows up to this one.

use std::sync::Arc;

use arrow::array::{Array as _, ArrayRef, AsArray as _, Float64Array, Int64Array, RecordBatch};
use arrow::datatypes::{ArrowNativeTypeOp, DataType, Float64Type, Int64Type, Schema};
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::{WindowFrame, WindowFrameBound, WindowFrameUnits};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::window::{
    PlainAggregateWindowExpr, SlidingAggregateWindowExpr, WindowExpr,
};

use super::keys::Starts;

/// What is made of the values.
#[derive(Clone, Copy, Debug, PartialEq)]
enum AggregateKind {
    Count,
    Sum,
    Mean,
    Least,
    Greatest,
}

/// What is computed of which rows.
#[derive(Clone, Debug)]
pub(super) struct RunningAggregate {
    made: AggregateKind,
    of: Arc<dyn PhysicalExpr>,
    /// Are they 64-bit floats? Else whole numbers of 64 bits; of a count it says nothing.
    is_float: bool,
    reach: Frame,
}

/// Of which rows, up to this one.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Frame {
    /// All of the partition.
    Rows,
    /// All of the partition, and the rest of this one's rank.
    Ranks,
    /// So many before, and this one.
    Last(usize),
}

/// What there is of a partition so far.
#[derive(Default)]
pub(super) struct SoFar {
    counts: Held<i64>,
    floats: Held<f64>,
    wholes: Held<i64>,
}

/// What was made of values; where they will be left behind, as two stacks, so that nothing is ever taken away from a sum (Tangwongsan,
/// Hirzel and Schneider, Low-latency sliding-window aggregation in worst-case constant time, 2017, section 3).
#[derive(Default)]
struct Held<N> {
    /// AggregateKind of those in `newer`, or of all.
    total: Option<N>,
    newer: Vec<Option<N>>,
    /// AggregateKind of each older value and all of these after it; the oldest is the last.
    older: Vec<Option<N>>,
}

impl RunningAggregate {
    /// `None` for other functions, types and frames.
    pub(super) fn of(expr: &dyn WindowExpr, input: &Schema) -> Option<Self> {
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
        let reach = Frame::of(expr.get_window_frame())?;
        let has_ranks = reach != Frame::Ranks || !expr.order_by().is_empty();
        // A FILTER is part of the argument: `upstream_workarounds::window_filters`.
        (has_ranks && !aggregate.is_distinct()).then(|| Self {
            made,
            of,
            is_float,
            reach,
        })
    }

    /// Must the last row of a rank be there?
    pub(super) fn waits(&self) -> bool {
        self.reach == Frame::Ranks
    }

    /// The next rows' values: all of their ranks are there if [`RunningAggregate::waits`].
    pub(super) fn next(
        &self,
        so_far: &mut SoFar,
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
            let values = values.iter().copied();
            let held = &mut so_far.wholes;
            let totals = self.totals(values, held, self.with(), counts, starts);
            return Ok(Arc::new(totals.into_iter().collect::<Int64Array>()));
        }
        let values = values.as_primitive::<Float64Type>().values();
        let values = values.iter().copied();
        let held = &mut so_far.floats;
        let mut totals = self.totals(values, held, self.with(), counts, starts);
        if self.made == AggregateKind::Mean {
            for (total, count) in totals.iter_mut().zip(numbers) {
                #[expect(clippy::cast_precision_loss, reason = "a count of rows")]
                let count = count as f64;
                *total = total.map(|total| total / count);
            }
        }
        Ok(Arc::new(totals.into_iter().collect::<Float64Array>()))
    }

    /// What is made of a value more.
    fn with<N: ArrowNativeTypeOp>(&self) -> impl Fn(Option<N>, N) -> N {
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
        held: &mut Held<N>,
        with: impl Fn(Option<N>, N) -> N,
        counts: impl Fn(usize) -> bool,
        starts: &Starts,
    ) -> Vec<Option<N>> {
        let rows = starts.each().zip(values).enumerate();
        let mut totals = Vec::with_capacity(starts.each().len());
        for (row, ((is_first, _), value)) in rows {
            if is_first {
                *held = Held::default();
            }
            let value = counts(row).then_some(value);
            held.total = both(held.total, value, &with);
            totals.push(match self.reach {
                Frame::Rows | Frame::Ranks => held.total,
                Frame::Last(before) => held.slid(value, before, &with),
            });
        }
        self.of_ranks(totals, starts)
    }

    /// Gives all rows of a rank what its last one has, where that is asked for.
    fn of_ranks<T: Copy>(&self, mut values: Vec<T>, starts: &Starts) -> Vec<T> {
        if self.waits() {
            let mut of_last = None;
            for (value, (_, begins_rank)) in values.iter_mut().zip(starts.each()).rev() {
                *value = of_last.unwrap_or(*value);
                of_last = (!begins_rank).then_some(*value);
            }
        }
        values
    }
}

impl<N: ArrowNativeTypeOp> Held<N> {
    /// Leaves behind what is more than so many rows before the newest value, which the total has; gives what is made of the others.
    fn slid(
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
                    made = both(value, made, &with);
                    self.older.push(made);
                }
                self.total = None;
            }
            self.older.pop();
        }
        both(self.older.last().copied().flatten(), self.total, with)
    }
}

/// What is made of two values, each of which may be missing.
fn both<N: Copy>(one: Option<N>, other: Option<N>, with: impl Fn(Option<N>, N) -> N) -> Option<N> {
    match other {
        Some(other) => Some(with(one, other)),
        None => one,
    }
}

impl Frame {
    /// `None` for other frames.
    fn of(frame: &WindowFrame) -> Option<Self> {
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
