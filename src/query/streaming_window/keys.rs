//! Where partitions and ranks begin.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch};
use arrow::compute::{concat, partition};
use arrow::error::ArrowError;
use datafusion::common::Result;
use datafusion::physical_expr::PhysicalExpr;

/// What rows are parted and ordered by.
#[derive(Clone, Debug)]
pub(super) struct By {
    pub(super) partition: Vec<Arc<dyn PhysicalExpr>>,
    pub(super) order: Vec<Arc<dyn PhysicalExpr>>,
}

/// The values of that.
pub(super) struct Keys {
    partition: Vec<ArrayRef>,
    order: Vec<ArrayRef>,
}

impl Keys {
    pub(super) fn of(by: &By, batch: &RecordBatch) -> Result<Self> {
        let values = |exprs: &[Arc<dyn PhysicalExpr>]| {
            let rows = batch.num_rows();
            let values = exprs.iter();
            let values = values.map(|expr| expr.evaluate(batch)?.into_array(rows));
            values.collect::<Result<Vec<ArrayRef>>>()
        };
        let (partition, order) = (values(&by.partition)?, values(&by.order)?);
        Ok(Self { partition, order })
    }

    /// One row of them.
    pub(super) fn row(&self, row: usize) -> Self {
        let one = |keys: &[ArrayRef]| keys.iter().map(|key| key.slice(row, 1)).collect();
        Self {
            partition: one(&self.partition),
            order: one(&self.order),
        }
    }

    /// Does the first row begin a partition, and a rank? `before` is the row before it.
    pub(super) fn first_begins(&self, before: Option<&Self>) -> Result<(bool, bool)> {
        let Some(before) = before else {
            return Ok((true, true));
        };
        let partition = differ(&before.partition, &self.partition)?;
        Ok((partition, partition || differ(&before.order, &self.order)?))
    }

    /// Where partitions and ranks begin; `before` is the row before the first.
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

/// Of which rows partitions and ranks begin.
pub(super) struct Starts {
    partitions: Vec<bool>,
    ranks: Vec<bool>,
}

impl Starts {
    /// Of each row, whether it begins a partition, and whether it begins a rank.
    pub(super) fn each(&self) -> impl ExactSizeIterator<Item = (bool, bool)> + DoubleEndedIterator {
        let each = self.partitions.iter().zip(&self.ranks);
        each.map(|(partition, rank)| (*partition, *rank))
    }
}

/// Where other values begin than those of the row before; `first` of the first row.
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

/// Is one of the single values of `last` another than the first of `next`? NULL is NULL.
pub(in crate::query) fn differ(last: &[ArrayRef], next: &[ArrayRef]) -> Result<bool> {
    if last.is_empty() {
        return Ok(false);
    }
    let two = last.iter().zip(next);
    let two = two.map(|(last, next)| concat(&[last.as_ref(), next.slice(0, 1).as_ref()]));
    let two = two.collect::<Result<Vec<ArrayRef>, ArrowError>>()?;
    Ok(partition(&two)?.len() > 1)
}
