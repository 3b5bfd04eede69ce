//! Computes window functions over a stream of sorted batches.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch};
use arrow::compute::concat_batches;
use arrow::datatypes::{Schema, SchemaRef};
use datafusion::common::Result;
use datafusion::physical_expr::window::WindowExpr;

use super::keys::{By, Keys};
use super::lag::Lag;
use super::rank::{Counts, Ranking};
use super::running_aggregate::{RunningAggregate, SoFar};

/// What is computed.
#[derive(Clone, Debug)]
pub(super) enum Function {
    Rank(Ranking),
    Lag(Lag),
    RunningAggregate(RunningAggregate),
}

impl Function {
    pub(super) fn of(expr: &dyn WindowExpr, input: &Schema) -> Option<Self> {
        let place = Ranking::of(expr).map(Self::Rank);
        place
            .or_else(|| Lag::of(expr).map(Self::Lag))
            .or_else(|| RunningAggregate::of(expr, input).map(Self::RunningAggregate))
    }
}

/// A function, and what it knows of the rows before.
enum State {
    Rank(Ranking, Counts),
    Lag(Lag, Option<ArrayRef>),
    RunningAggregate(RunningAggregate, Box<SoFar>),
}

/// Computes batch by batch.
pub(super) struct WindowStream {
    functions: Vec<State>,
    by: By,
    schema: SchemaRef,
    /// The last row of what was computed.
    last: Option<Keys>,
    /// Rows whose last rank may go on, if any function waits for its end.
    held: Vec<RecordBatch>,
    waits: bool,
}

impl WindowStream {
    pub(super) fn new(functions: &[Function], by: By, schema: SchemaRef) -> Self {
        let waits = |function: &Function| matches!(function, Function::RunningAggregate(total) if total.waits());
        Self {
            waits: functions.iter().any(waits),
            functions: functions
                .iter()
                .map(|function| match function {
                    Function::Rank(place) => State::Rank(*place, Counts::default()),
                    Function::Lag(before) => State::Lag(before.clone(), None),
                    Function::RunningAggregate(total) => {
                        State::RunningAggregate(total.clone(), Box::default())
                    }
                })
                .collect(),
            by,
            schema,
            last: None,
            held: Vec::new(),
        }
    }

    /// Takes the next rows; gives those that are done.
    pub(super) fn add(&mut self, rows: RecordBatch) -> Result<Option<RecordBatch>> {
        if !self.waits {
            return self.computed(&rows).map(Some);
        }
        if rows.num_rows() == 0 {
            return Ok(None);
        }
        let Some(held) = self.held.last() else {
            self.held.push(rows);
            return Ok(None);
        };
        let before = Keys::of(&self.by, held)?.row(held.num_rows() - 1);
        let keys = Keys::of(&self.by, &rows)?;
        // Most often the first row is of another rank.
        let next = match keys.first_begins(Some(&before))? {
            (_, true) => Some(0),
            (_, false) => {
                let starts = keys.starts(Some(&before), rows.num_rows())?;
                starts.each().position(|(_, begins_rank)| begins_rank)
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

    /// The rows that are held, when no more come.
    pub(super) fn finish(&mut self) -> Result<Option<RecordBatch>> {
        let held = std::mem::take(&mut self.held);
        match held.as_slice() {
            [] => Ok(None),
            [one] => self.computed(one).map(Some),
            [first, ..] => {
                let rows = concat_batches(first.schema_ref(), &held)?;
                self.computed(&rows).map(Some)
            }
        }
    }

    /// The rows with a column more for each function.
    fn computed(&mut self, rows: &RecordBatch) -> Result<RecordBatch> {
        let keys = Keys::of(&self.by, rows)?;
        let starts = keys.starts(self.last.as_ref(), rows.num_rows())?;
        let mut columns = rows.columns().to_vec();
        for function in &mut self.functions {
            columns.push(match function {
                State::Rank(place, counts) => place.next(counts, &starts),
                State::Lag(before, last) => before.next(last, rows, &starts)?,
                State::RunningAggregate(total, so_far) => total.next(so_far, rows, &starts)?,
            });
        }
        if let Some(last) = rows.num_rows().checked_sub(1) {
            self.last = Some(keys.row(last));
        }
        Ok(RecordBatch::try_new(Arc::clone(&self.schema), columns)?)
    }
}
