//! Ranges of a number that so many rows each lie in.

/// Rows of a partition whose first sort column lies between these values, both included; all rows where there are none.
pub(crate) struct Range {
    pub(crate) between: Option<(i64, i64)>,
    pub(crate) rows: u64,
}

/// Ranges with about so many rows each, of values in order and how many rows have them. Rows with the same value stay together.
pub(crate) fn ranges(counted: impl IntoIterator<Item = (i64, u64)>, rows_each: u64) -> Vec<Range> {
    let mut ranges: Vec<Range> = Vec::new();
    for (value, rows) in counted {
        match ranges.last_mut() {
            Some(last) if last.rows + rows / 2 <= rows_each => {
                last.between = last.between.map(|(least, _)| (least, value));
                last.rows += rows;
            }
            _ => ranges.push(Range {
                between: Some((value, value)),
                rows,
            }),
        }
    }
    ranges
}
