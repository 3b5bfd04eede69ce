//! Boundaries of partitions and ranks.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch};
use arrow::compute::{concat, partition};
use arrow::error::ArrowError;
use datafusion::common::Result;
use datafusion::physical_expr::PhysicalExpr;

/// Partition and order expressions of a window.
#[derive(Clone, Debug)]
pub(super) struct WindowKeys {
    pub(super) partition: Vec<Arc<dyn PhysicalExpr>>,
    pub(super) order: Vec<Arc<dyn PhysicalExpr>>,
}

/// Values of the window keys.
pub(super) struct KeyValues {
    partition: Vec<ArrayRef>,
    order: Vec<ArrayRef>,
}

impl KeyValues {
    pub(super) fn evaluate(by: &WindowKeys, batch: &RecordBatch) -> Result<Self> {
        let values = |exprs: &[Arc<dyn PhysicalExpr>]| {
            let rows = batch.num_rows();
            let values = exprs.iter();
            let values = values.map(|expr| expr.evaluate(batch)?.into_array(rows));
            values.collect::<Result<Vec<ArrayRef>>>()
        };
        let (partition, order) = (values(&by.partition)?, values(&by.order)?);
        Ok(Self { partition, order })
    }

    /// Returns the keys of one row.
    pub(super) fn row(&self, row: usize) -> Self {
        let one = |keys: &[ArrayRef]| keys.iter().map(|key| key.slice(row, 1)).collect();
        Self {
            partition: one(&self.partition),
            order: one(&self.order),
        }
    }

    /// Returns whether the first row begins a partition, and whether it begins a rank. `before` has the keys of the
    /// previous row.
    pub(super) fn first_begins(&self, before: Option<&Self>) -> Result<(bool, bool)> {
        let Some(before) = before else {
            return Ok((true, true));
        };
        let partition = differ(&before.partition, &self.partition)?;
        Ok((partition, partition || differ(&before.order, &self.order)?))
    }

    /// Returns which rows begin a partition or a rank. `before` has the keys of the row before the first.
    pub(super) fn starts(&self, before: Option<&Self>, rows: usize) -> Result<Starts> {
        let (partition, rank) = match rows {
            0 => (true, true),
            _ => self.first_begins(before)?,
        };
        let both = self.partition.iter().chain(&self.order);
        Ok(Starts {
            ranks: starts(both, rows, rank)?,
            partitions: starts(self.partition.iter(), rows, partition)?,
        })
    }
}

/// For each row, whether it begins a partition or a rank.
pub(super) struct Starts {
    partitions: Vec<bool>,
    ranks: Vec<bool>,
}

impl Starts {
    /// Returns for each row whether it begins a partition, and whether it begins a rank.
    pub(super) fn per_row(
        &self,
    ) -> impl ExactSizeIterator<Item = (bool, bool)> + DoubleEndedIterator {
        let each = self.partitions.iter().zip(&self.ranks);
        each.map(|(partition, rank)| (*partition, *rank))
    }
}

/// Returns which rows differ from the row before; `first` is the result for the first row.
fn starts<'a>(
    keys: impl Iterator<Item = &'a ArrayRef>,
    rows: usize,
    first: bool,
) -> Result<Vec<bool>> {
    let keys: Vec<ArrayRef> = keys.cloned().collect();
    let mut starts = vec![false; rows];
    let ranges = match keys.is_empty() {
        true => Vec::new(),
        false => partition(&keys)?.ranges(),
    };
    for range in ranges {
        if let Some(start) = starts.get_mut(range.start) {
            *start = true;
        }
    }
    if let Some(start) = starts.first_mut() {
        *start = first;
    }
    Ok(starts)
}

/// Returns whether the single row `last` differs from the first row of `next` in any column. NULL equals NULL.
pub(crate) fn differ(last: &[ArrayRef], next: &[ArrayRef]) -> Result<bool> {
    if last.is_empty() {
        return Ok(false);
    }
    let two = last.iter().zip(next);
    let two = two.map(|(last, next)| concat(&[last.as_ref(), next.slice(0, 1).as_ref()]));
    let two = two.collect::<Result<Vec<ArrayRef>, ArrowError>>()?;
    Ok(partition(&two)?.len() > 1)
}
