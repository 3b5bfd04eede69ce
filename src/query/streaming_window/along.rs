//! Rows as they pass, and what is computed of them.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch};
use arrow::compute::concat_batches;
use arrow::datatypes::{Schema, SchemaRef};
use datafusion::common::Result;
use datafusion::physical_expr::window::WindowExpr;

use super::before::Before;
use super::keys::{By, Keys};
use super::place::{Counts, Place};
use super::total::{SoFar, Total};

/// What is computed.
#[derive(Clone, Debug)]
pub(super) enum Function {
    Place(Place),
    Before(Before),
    Total(Total),
}

impl Function {
    pub(super) fn of(expr: &dyn WindowExpr, input: &Schema) -> Option<Self> {
        let place = Place::of(expr).map(Self::Place);
        place
            .or_else(|| Before::of(expr).map(Self::Before))
            .or_else(|| Total::of(expr, input).map(Self::Total))
    }
}

/// A function, and what it knows of the rows before.
enum State {
    Place(Place, Counts),
    Before(Before, Option<ArrayRef>),
    Total(Total, Box<SoFar>),
}

/// Computes batch by batch.
pub(super) struct Along {
    functions: Vec<State>,
    by: By,
    schema: SchemaRef,
    /// The last row of what was computed.
    last: Option<Keys>,
    /// Rows whose last rank may go on, if any function waits for its end.
    held: Vec<RecordBatch>,
    waits: bool,
}

impl Along {
    pub(super) fn new(functions: &[Function], by: By, schema: SchemaRef) -> Self {
        let waits =
            |function: &Function| matches!(function, Function::Total(total) if total.waits());
        Self {
            waits: functions.iter().any(waits),
            functions: functions
                .iter()
                .map(|function| match function {
                    Function::Place(place) => State::Place(*place, Counts::default()),
                    Function::Before(before) => State::Before(before.clone(), None),
                    Function::Total(total) => State::Total(total.clone(), Box::default()),
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
                State::Place(place, counts) => place.next(counts, &starts),
                State::Before(before, last) => before.next(last, rows, &starts)?,
                State::Total(total, so_far) => total.next(so_far, rows, &starts)?,
            });
        }
        if let Some(last) = rows.num_rows().checked_sub(1) {
            self.last = Some(keys.row(last));
        }
        Ok(RecordBatch::try_new(Arc::clone(&self.schema), columns)?)
    }
}
