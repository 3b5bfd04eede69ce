//! Builds output rows of a join from row numbers of both sides.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions, UInt32Array, new_null_array};
use arrow::compute::{filter, take};
use arrow::datatypes::SchemaRef;
use datafusion::common::cast::as_boolean_array;
use datafusion::common::{JoinSide, JoinType, Result, exec_datafusion_err};
use datafusion::physical_plan::joins::utils::JoinFilter;

/// Output of a join: type, filter and columns.
#[derive(Clone, Debug)]
pub(super) struct JoinOutput {
    pub(super) schema: SchemaRef,
    pub(super) join_type: JoinType,
    pub(super) filter: JoinFilter,
    /// Returned columns of both sides.
    pub(super) projection: Option<Vec<usize>>,
}

impl JoinOutput {
    /// Returns whether the join returns pairs, rather than rows of one side.
    pub(super) fn has_pairs(&self) -> bool {
        matches!(
            self.join_type,
            JoinType::Inner | JoinType::Left | JoinType::Right | JoinType::Full
        )
    }

    /// Returns which build rows are emitted at the end: those with a match (true) or those without (false); `None` for
    /// neither.
    pub(super) fn held_rows(&self) -> Option<bool> {
        match self.join_type {
            JoinType::Left | JoinType::Full | JoinType::LeftAnti => Some(false),
            JoinType::LeftSemi => Some(true),
            _ => None,
        }
    }

    /// Returns which probe rows are emitted after each batch: those with a match (true) or those without (false);
    /// `None` for neither.
    pub(super) fn probe_rows(&self) -> Option<bool> {
        match self.join_type {
            JoinType::Right | JoinType::Full | JoinType::RightAnti => Some(false),
            JoinType::RightSemi => Some(true),
            _ => None,
        }
    }

    /// Returns the pairs for which the condition is true.
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

    /// Returns the output rows of pairs.
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

    /// Returns rows of the build side, with NULL for the probe side in outer joins.
    pub(super) fn build_only_rows(
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

    /// Returns rows of the probe side, with NULL for the build side in outer joins.
    pub(super) fn probe_only_rows(
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

    /// Builds a batch of the projected columns, out of `width` columns.
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
