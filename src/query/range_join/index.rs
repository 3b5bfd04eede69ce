//! Finds the held rows whose keys are in a range.
//!
//! ```text
//! first key, sorted       1   2   2   5 | 7   8   9  11      rows with first <= 8: those before 9
//! second key              3   9   4   6 | 8   8  10  12      of which second >= 9: blocks whose maximum is less are passed over
//! maximum of a block                9   |            12
//! ```

use std::ops::Range;

use arrow::array::{Array as _, ArrayRef, RecordBatch};
use arrow::row::{RowConverter, SortField};
use datafusion::common::{Result, exec_datafusion_err};
use datafusion::physical_expr::PhysicalExpr;

use super::terms::Term;
use crate::query::sort_keys::{prefix, with_equal_floats};

/// Rows of a block.
const BLOCK: usize = 16;

/// Held rows by their keys; rows in which a key is NULL are left out.
#[derive(Debug)]
pub(super) struct Index {
    is_at_most: bool,
    /// First keys, sorted.
    keys: Vec<u128>,
    /// The rows that they are of.
    rows: Vec<u32>,
    second: Option<Second>,
}

/// Second keys in the order of the first.
#[derive(Debug)]
struct Second {
    is_at_most: bool,
    /// Keys, inverted where small ones are searched.
    keys: Vec<u128>,
    /// The maxima of blocks as a tree: the children of node n are 2n and 2n + 1.
    maxima: Vec<u128>,
    leaves: usize,
}

impl Index {
    /// The index of a batch by one or two terms.
    pub(super) fn try_new(terms: &[Term], batch: &RecordBatch) -> Result<Self> {
        let rows = u32::try_from(batch.num_rows())
            .map_err(|_| exec_datafusion_err!("a join by range holds at most 2^32 rows"))?;
        let [first, others @ ..] = terms else {
            return Err(exec_datafusion_err!("a join by range has a term"));
        };
        let first_keys = keys(&first.held, batch)?;
        let second_keys = match others.first() {
            Some(second) => Some((second.is_at_most, keys(&second.held, batch)?)),
            None => None,
        };
        let second_at = |row: usize| match &second_keys {
            Some((_, keys)) => keys.get(row).copied().flatten(),
            None => Some(0),
        };
        let entries = (0..rows).zip(first_keys).enumerate();
        let entries =
            entries.filter_map(|(row, (number, key))| Some((key?, number, second_at(row)?)));
        let mut entries: Vec<(u128, u32, u128)> = entries.collect();
        entries.sort_unstable();
        let second = second_keys.as_ref().map(|(is_at_most, _)| {
            let keys = entries.iter().map(|(_, _, key)| *key);
            Second::new(*is_at_most, keys)
        });
        Ok(Self {
            is_at_most: first.is_at_most,
            keys: entries.iter().map(|(key, ..)| *key).collect(),
            rows: entries.iter().map(|(_, row, _)| *row).collect(),
            second,
        })
    }

    /// Calls `found` with each held row that fits to the keys of a row of the other side.
    pub(super) fn each(&self, first: u128, second: u128, found: &mut impl FnMut(u32)) {
        let range = if self.is_at_most {
            0..self.keys.partition_point(|key| *key <= first)
        } else {
            self.keys.partition_point(|key| *key < first)..self.keys.len()
        };
        match &self.second {
            None => {
                let rows = self.rows.get(range).unwrap_or_default();
                rows.iter().for_each(|row| found(*row));
            }
            Some(of_second) => of_second.each(range, second, &mut |position| {
                if let Some(row) = self.rows.get(position) {
                    found(*row);
                }
            }),
        }
    }

    pub(super) fn memory_bytes(&self) -> usize {
        let second = self.second.as_ref();
        let second = second.map_or(0, |second| {
            second.keys.capacity() + second.maxima.capacity()
        });
        (self.keys.capacity() + second) * size_of::<u128>()
            + self.rows.capacity() * size_of::<u32>()
    }
}

impl Second {
    fn new(is_at_most: bool, keys: impl Iterator<Item = u128>) -> Self {
        let keys: Vec<u128> = keys.map(|key| oriented(key, is_at_most)).collect();
        let leaves = keys.len().div_ceil(BLOCK).next_power_of_two();
        let blocks = keys.chunks(BLOCK);
        let blocks = blocks.map(|block| block.iter().copied().max().unwrap_or_default());
        let mut maxima = vec![0; 2 * leaves];
        for (node, maximum) in maxima.iter_mut().skip(leaves).zip(blocks) {
            *node = maximum;
        }
        for node in (1..leaves).rev() {
            let child = |child: usize| maxima.get(child).copied().unwrap_or_default();
            let maximum = child(2 * node).max(child(2 * node + 1));
            if let Some(node) = maxima.get_mut(node) {
                *node = maximum;
            }
        }
        Self {
            is_at_most,
            keys,
            maxima,
            leaves,
        }
    }

    fn each(&self, range: Range<usize>, key: u128, found: &mut impl FnMut(usize)) {
        let bound = oriented(key, self.is_at_most);
        self.visit(1, 0, self.leaves, &range, bound, found);
    }

    /// Visits a node, which has the blocks from `start` on.
    fn visit(
        &self,
        node: usize,
        start: usize,
        blocks: usize,
        range: &Range<usize>,
        bound: u128,
        found: &mut impl FnMut(usize),
    ) {
        let rows = start * BLOCK..(start + blocks) * BLOCK;
        let is_outside = rows.end <= range.start || rows.start >= range.end;
        if is_outside || self.maxima.get(node).is_none_or(|maximum| *maximum < bound) {
            return;
        }
        if blocks == 1 {
            let rows = rows.start.max(range.start)..rows.end.min(range.end);
            for (position, key) in rows.clone().zip(self.keys.get(rows).unwrap_or_default()) {
                if *key >= bound {
                    found(position);
                }
            }
            return;
        }
        let half = blocks / 2;
        self.visit(2 * node, start, half, range, bound, found);
        self.visit(2 * node + 1, start + half, half, range, bound, found);
    }
}

/// A key whose large values are searched.
fn oriented(key: u128, is_at_most: bool) -> u128 {
    if is_at_most { !key } else { key }
}

/// The values of an expression as numbers in the same order; `None` for NULL.
pub(super) fn keys(
    expr: &std::sync::Arc<dyn PhysicalExpr>,
    batch: &RecordBatch,
) -> Result<Vec<Option<u128>>> {
    let values = expr.evaluate(batch)?.into_array(batch.num_rows())?;
    let values: ArrayRef = with_equal_floats(values);
    let nulls = values.logical_nulls();
    let field = SortField::new(values.data_type().clone());
    let rows = RowConverter::new(vec![field])?.convert_columns(&[values])?;
    let keys = rows.iter().enumerate().map(|(row, key)| {
        let is_valid = nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row));
        is_valid.then(|| prefix(key.data()))
    });
    Ok(keys.collect())
}
