//! Finds the build rows whose keys are in a range.
//!
//! ```text
//! first key, sorted       1   2   2   5 | 7   8   9  11      rows with first <= 8: those before 9
//! second key              3   9   4   6 | 8   8  10  12      rows with second >= 9: skips blocks with a smaller maximum
//! maximum of a block                9   |            12
//! ```

use std::ops::Range;

use arrow::array::{Array as _, ArrayRef, RecordBatch};
use arrow::row::{RowConverter, SortField};
use datafusion::common::{Result, exec_datafusion_err};
use datafusion::physical_expr::PhysicalExpr;

use super::terms::RangeTerm;
use tsql_functions::sort_keys::{key_prefix, normalize_floats};

/// Number of rows of a block.
const BLOCK_ROWS: usize = 16;

/// Build rows by their keys. Rows with a NULL key are left out.
#[derive(Debug)]
pub(super) struct RangeIndex {
    is_at_most: bool,
    /// First keys, sorted.
    keys: Vec<u128>,
    /// Row number of each key.
    rows: Vec<u32>,
    second: Option<SecondKeys>,
}

/// Second keys, in the order of the first keys.
#[derive(Debug)]
struct SecondKeys {
    is_at_most: bool,
    /// Keys, inverted if small ones are searched.
    keys: Vec<u128>,
    /// Maxima of blocks as a binary tree: the children of node n are 2n and 2n + 1.
    maxima: Vec<u128>,
    leaves: usize,
}

impl RangeIndex {
    /// Builds the index of a batch by one or two range terms.
    pub(super) fn try_new(terms: &[RangeTerm], batch: &RecordBatch) -> Result<Self> {
        let rows = u32::try_from(batch.num_rows())
            .map_err(|_| exec_datafusion_err!("a join by range holds at most 2^32 rows"))?;
        let [first, others @ ..] = terms else {
            return Err(exec_datafusion_err!("a join by range has a term"));
        };
        let first_keys = encode_keys(&first.held, batch)?;
        let second_keys = match others.first() {
            Some(second) => Some((second.is_at_most, encode_keys(&second.held, batch)?)),
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
            SecondKeys::new(*is_at_most, keys)
        });
        Ok(Self {
            is_at_most: first.is_at_most,
            keys: entries.iter().map(|(key, ..)| *key).collect(),
            rows: entries.iter().map(|(_, row, _)| *row).collect(),
            second,
        })
    }

    /// Calls `found` with each build row that matches the keys of a probe row.
    pub(super) fn for_each_match(&self, first: u128, second: u128, found: &mut impl FnMut(u32)) {
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
            Some(of_second) => of_second.for_each_match(range, second, &mut |position| {
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

impl SecondKeys {
    fn new(is_at_most: bool, keys: impl Iterator<Item = u128>) -> Self {
        let keys: Vec<u128> = keys.map(|key| orient(key, is_at_most)).collect();
        let leaves = keys.len().div_ceil(BLOCK_ROWS).next_power_of_two();
        let blocks = keys.chunks(BLOCK_ROWS);
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

    fn for_each_match(&self, range: Range<usize>, key: u128, found: &mut impl FnMut(usize)) {
        let bound = orient(key, self.is_at_most);
        self.visit(1, 0, self.leaves, &range, bound, found);
    }

    /// Visits a node of the tree, which covers `blocks` blocks from `start` on.
    fn visit(
        &self,
        node: usize,
        start: usize,
        blocks: usize,
        range: &Range<usize>,
        bound: u128,
        found: &mut impl FnMut(usize),
    ) {
        let rows = start * BLOCK_ROWS..(start + blocks) * BLOCK_ROWS;
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

/// Inverts a key if small values are searched, so that large ones always match.
fn orient(key: u128, is_at_most: bool) -> u128 {
    if is_at_most { !key } else { key }
}

/// Encodes the values of an expression as integers with the same order; `None` for NULL.
pub(super) fn encode_keys(
    expr: &std::sync::Arc<dyn PhysicalExpr>,
    batch: &RecordBatch,
) -> Result<Vec<Option<u128>>> {
    let values = expr.evaluate(batch)?.into_array(batch.num_rows())?;
    let values: ArrayRef = normalize_floats(values);
    let nulls = values.logical_nulls();
    let field = SortField::new(values.data_type().clone());
    let rows = RowConverter::new(vec![field])?.convert_columns(&[values])?;
    let keys = rows.iter().enumerate().map(|(row, key)| {
        let is_valid = nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row));
        is_valid.then(|| key_prefix(key.data()))
    });
    Ok(keys.collect())
}
