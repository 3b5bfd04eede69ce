//! Rows of a join by the numbers of the rows that they are made of.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions, UInt32Array, new_null_array};
use arrow::compute::{filter, take};
use arrow::datatypes::SchemaRef;
use datafusion::common::cast::as_boolean_array;
use datafusion::common::{JoinSide, JoinType, Result, exec_datafusion_err};
use datafusion::physical_plan::joins::utils::JoinFilter;

/// What a join returns.
#[derive(Clone, Debug)]
pub(super) struct Output {
    pub(super) schema: SchemaRef,
    pub(super) join_type: JoinType,
    pub(super) filter: JoinFilter,
    /// Which of the columns of both sides are returned.
    pub(super) projection: Option<Vec<usize>>,
}

impl Output {
    /// Whether pairs are returned, and not rows of one side only.
    pub(super) fn has_pairs(&self) -> bool {
        matches!(
            self.join_type,
            JoinType::Inner | JoinType::Left | JoinType::Right | JoinType::Full
        )
    }

    /// Of held rows: whether those with a match are returned at the end, or those without; `None` for neither.
    pub(super) fn held_rows(&self) -> Option<bool> {
        match self.join_type {
            JoinType::Left | JoinType::Full | JoinType::LeftAnti => Some(false),
            JoinType::LeftSemi => Some(true),
            _ => None,
        }
    }

    /// The same of rows of the other side, after each batch.
    pub(super) fn probe_rows(&self) -> Option<bool> {
        match self.join_type {
            JoinType::Right | JoinType::Full | JoinType::RightAnti => Some(false),
            JoinType::RightSemi => Some(true),
            _ => None,
        }
    }

    /// The pairs for which the condition is true.
    pub(super) fn matches(
        &self,
        held: &RecordBatch,
        probe: &RecordBatch,
        pairs: (UInt32Array, UInt32Array),
    ) -> Result<(UInt32Array, UInt32Array)> {
        let (held_rows, probe_rows) = pairs;
        let mut columns = Vec::with_capacity(self.filter.column_indices().len());
        for index in self.filter.column_indices() {
            columns.push(match index.side {
                JoinSide::Left => take(column(held, index.index)?, &held_rows, None)?,
                JoinSide::Right => take(column(probe, index.index)?, &probe_rows, None)?,
                JoinSide::None => return Err(exec_datafusion_err!("a join filter has a mark")),
            });
        }
        let rows = held_rows.len();
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let schema = Arc::clone(self.filter.schema());
        let both = RecordBatch::try_new_with_options(schema, columns, &options)?;
        let is_match = self.filter.expression().evaluate(&both)?.into_array(rows)?;
        let is_match = as_boolean_array(&is_match)?;
        let chosen = |rows: &UInt32Array| -> Result<UInt32Array> {
            let rows = filter(rows, is_match)?;
            Ok(datafusion::common::cast::as_uint32_array(&rows)?.clone())
        };
        Ok((chosen(&held_rows)?, chosen(&probe_rows)?))
    }

    /// Pairs as rows.
    pub(super) fn pairs(
        &self,
        held: &RecordBatch,
        probe: &RecordBatch,
        pairs: &(UInt32Array, UInt32Array),
    ) -> Result<RecordBatch> {
        let width = held.num_columns();
        self.rows(
            width + probe.num_columns(),
            pairs.0.len(),
            |index| match index.checked_sub(width) {
                None => Ok(take(column(held, index)?, &pairs.0, None)?),
                Some(index) => Ok(take(column(probe, index)?, &pairs.1, None)?),
            },
        )
    }

    /// Rows of the held side, with NULL for the other one in outer joins.
    pub(super) fn of_held(
        &self,
        held: &RecordBatch,
        probe: &SchemaRef,
        rows: &UInt32Array,
    ) -> Result<RecordBatch> {
        let width = held.num_columns();
        let all = if self.has_pairs() {
            width + probe.fields().len()
        } else {
            width
        };
        self.rows(all, rows.len(), |index| match index.checked_sub(width) {
            None => Ok(take(column(held, index)?, rows, None)?),
            Some(index) => Ok(new_null_array(probe.field(index).data_type(), rows.len())),
        })
    }

    /// Rows of the other side, with NULL for the held one in outer joins.
    pub(super) fn of_probe(
        &self,
        held: &SchemaRef,
        probe: &RecordBatch,
        rows: &UInt32Array,
    ) -> Result<RecordBatch> {
        let width = if self.has_pairs() {
            held.fields().len()
        } else {
            0
        };
        let all = width + probe.num_columns();
        self.rows(all, rows.len(), |index| match index.checked_sub(width) {
            None => Ok(new_null_array(held.field(index).data_type(), rows.len())),
            Some(index) => Ok(take(column(probe, index)?, rows, None)?),
        })
    }

    /// A batch of those of `width` columns that are returned.
    fn rows(
        &self,
        width: usize,
        rows: usize,
        column: impl Fn(usize) -> Result<ArrayRef>,
    ) -> Result<RecordBatch> {
        let columns = match &self.projection {
            Some(projection) => projection.iter().copied().map(column).collect(),
            None => (0..width).map(column).collect::<Result<Vec<_>>>(),
        };
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let schema = Arc::clone(&self.schema);
        Ok(RecordBatch::try_new_with_options(
            schema, columns?, &options,
        )?)
    }
}

fn column(batch: &RecordBatch, index: usize) -> Result<&ArrayRef> {
    let column = batch.columns().get(index);
    column.ok_or_else(|| exec_datafusion_err!("a join reads column {index}, which is not there"))
}
