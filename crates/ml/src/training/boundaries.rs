//! Finds group boundaries: rows at which the values of some columns change, across batches.

use arrow::array::{ArrayRef, RecordBatch};
use arrow::compute::{concat, partition};
use tsql_error::Result;

use super::file::arrow_error;

/// Finds the first row of each group of consecutive equal rows.
#[derive(Debug)]
pub(super) struct Boundaries {
    columns: Vec<usize>,
    /// Values of the last row of the previous batch.
    last: Option<Vec<ArrayRef>>,
}

impl Boundaries {
    /// Groups by the columns at these indices; without columns all rows are one group.
    pub(super) fn new(columns: Vec<usize>) -> Self {
        Self {
            columns,
            last: None,
        }
    }

    /// Returns the row indices in the next batch at which a group begins.
    pub(super) fn find(&mut self, batch: &RecordBatch) -> Result<Vec<usize>> {
        if batch.num_rows() == 0 {
            return Ok(Vec::new());
        }
        let own = self.columns.iter();
        let own: Vec<ArrayRef> = own.map(|&column| batch.column(column).clone()).collect();
        let begins = match self.last.take() {
            None => true,
            Some(last) => {
                let both = last.iter().zip(&own).map(|(last, own)| {
                    let first = own.slice(0, 1);
                    concat(&[last.as_ref(), first.as_ref()])
                });
                let both: Vec<ArrayRef> = both.collect::<Result<_, _>>().map_err(arrow_error)?;
                !both.is_empty() && partition(&both).map_err(arrow_error)?.len() > 1
            }
        };
        let mut starts: Vec<usize> = begins.then_some(0).into_iter().collect();
        if !own.is_empty() {
            let ranges = partition(&own).map_err(arrow_error)?.ranges();
            starts.extend(ranges.iter().skip(1).map(|range| range.start));
        }
        let end = batch.num_rows() - 1;
        self.last = Some(own.iter().map(|values| values.slice(end, 1)).collect());
        Ok(starts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{Int64Array, StringArray};
    use std::sync::Arc;

    fn batch(numbers: &[Option<i64>], texts: &[&str]) -> RecordBatch {
        let numbers: ArrayRef = Arc::new(Int64Array::from(numbers.to_vec()));
        let texts: ArrayRef = Arc::new(StringArray::from(texts.to_vec()));
        RecordBatch::try_from_iter([("n", numbers), ("t", texts)]).unwrap()
    }

    #[test]
    fn groups_go_on_in_the_next_batch() {
        let first = batch(&[Some(1), Some(1), None], &["a", "b", "b"]);
        let second = batch(&[None, None, Some(2)], &["b", "c", "c"]);
        for (columns, expected) in [
            (vec![0], [vec![0, 2], vec![2], vec![0]]),
            (vec![1], [vec![0, 1], vec![1], vec![]]),
            (vec![0, 1], [vec![0, 1, 2], vec![1, 2], vec![0]]),
            (vec![], [vec![0], vec![], vec![]]),
        ] {
            let mut boundaries = Boundaries::new(columns.clone());
            let third = batch(&[Some(3)], &["c"]);
            let found = [&first, &second, &third].map(|batch| boundaries.find(batch).unwrap());
            assert_eq!(found, expected, "{columns:?}");
            assert_eq!(boundaries.find(&first.slice(0, 0)).unwrap(), [0; 0]);
        }
    }
}
