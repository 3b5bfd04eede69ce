//! Computes window functions over a stream of sorted batches.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch};
use arrow::compute::concat_batches;
use arrow::datatypes::{Schema, SchemaRef};
use datafusion::common::Result;
use datafusion::physical_expr::window::WindowExpr;

use super::keys::{KeyValues, WindowKeys};
use super::lag::Lag;
use super::rank::{RankCounts, Ranking};
use super::running_aggregate::{RunningAggregate, RunningState};

/// A window function that can be streamed.
#[derive(Clone, Debug)]
pub(super) enum StreamFunction {
    Rank(Ranking),
    Lag(Lag),
    RunningAggregate(RunningAggregate),
}

impl StreamFunction {
    pub(super) fn try_from_expr(expr: &dyn WindowExpr, input: &Schema) -> Option<Self> {
        let place = Ranking::try_from_expr(expr).map(Self::Rank);
        place
            .or_else(|| Lag::try_from_expr(expr).map(Self::Lag))
            .or_else(|| RunningAggregate::try_from_expr(expr, input).map(Self::RunningAggregate))
    }
}

/// A function and its state after the previous rows.
enum FunctionState {
    Rank(Ranking, RankCounts),
    Lag(Lag, Option<ArrayRef>),
    RunningAggregate(RunningAggregate, Box<RunningState>),
}

/// Computes window functions batch by batch.
pub(super) struct WindowStream {
    functions: Vec<FunctionState>,
    by: WindowKeys,
    schema: SchemaRef,
    /// Keys of the last computed row.
    last: Option<KeyValues>,
    /// Rows whose last rank may continue, if any function needs complete ranks.
    held: Vec<RecordBatch>,
    waits: bool,
}

impl WindowStream {
    pub(super) fn new(functions: &[StreamFunction], by: WindowKeys, schema: SchemaRef) -> Self {
        let waits = |function: &StreamFunction| matches!(function, StreamFunction::RunningAggregate(total) if total.needs_whole_rank());
        Self {
            waits: functions.iter().any(waits),
            functions: functions
                .iter()
                .map(|function| match function {
                    StreamFunction::Rank(place) => {
                        FunctionState::Rank(*place, RankCounts::default())
                    }
                    StreamFunction::Lag(before) => FunctionState::Lag(before.clone(), None),
                    StreamFunction::RunningAggregate(total) => {
                        FunctionState::RunningAggregate(total.clone(), Box::default())
                    }
                })
                .collect(),
            by,
            schema,
            last: None,
            held: Vec::new(),
        }
    }

    /// Adds rows; returns those that are complete.
    pub(super) fn add(&mut self, rows: RecordBatch) -> Result<Option<RecordBatch>> {
        if !self.waits {
            return self.compute(&rows).map(Some);
        }
        if rows.num_rows() == 0 {
            return Ok(None);
        }
        let Some(held) = self.held.last() else {
            self.held.push(rows);
            return Ok(None);
        };
        let before = KeyValues::evaluate(&self.by, held)?.row(held.num_rows() - 1);
        let keys = KeyValues::evaluate(&self.by, &rows)?;
        // Usually the first row has another rank.
        let next = match keys.first_begins(Some(&before))? {
            (_, true) => Some(0),
            (_, false) => {
                let starts = keys.starts(Some(&before), rows.num_rows())?;
                starts.per_row().position(|(_, begins_rank)| begins_rank)
            }
        };
        let Some(next) = next else {
            self.held.push(rows);
            return Ok(None);
        };
        if next > 0 {
            self.held.push(rows.slice(0, next));
        }
        let done = self.finish()?;
        self.held.push(rows.slice(next, rows.num_rows() - next));
        Ok(done)
    }

    /// Computes the buffered rows at the end of the input.
    pub(super) fn finish(&mut self) -> Result<Option<RecordBatch>> {
        let held = std::mem::take(&mut self.held);
        match held.as_slice() {
            [] => Ok(None),
            [one] => self.compute(one).map(Some),
            [first, ..] => {
                let rows = concat_batches(first.schema_ref(), &held)?;
                self.compute(&rows).map(Some)
            }
        }
    }

    /// Appends a column per function.
    fn compute(&mut self, rows: &RecordBatch) -> Result<RecordBatch> {
        let keys = KeyValues::evaluate(&self.by, rows)?;
        let starts = keys.starts(self.last.as_ref(), rows.num_rows())?;
        let mut columns = rows.columns().to_vec();
        for function in &mut self.functions {
            columns.push(match function {
                FunctionState::Rank(place, counts) => place.next(counts, &starts),
                FunctionState::Lag(before, last) => before.next(last, rows, &starts)?,
                FunctionState::RunningAggregate(total, so_far) => {
                    total.next(so_far, rows, &starts)?
                }
            });
        }
        if let Some(last) = rows.num_rows().checked_sub(1) {
            self.last = Some(keys.row(last));
        }
        Ok(RecordBatch::try_new(Arc::clone(&self.schema), columns)?)
    }
}
