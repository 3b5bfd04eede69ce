//! Ranges of a column with about equal numbers of rows.

/// Rows of a partition whose first sort column is between these values, both included. `None`: all rows.
pub(crate) struct KeyRange {
    pub(crate) between: Option<(i64, i64)>,
    pub(crate) rows: u64,
}

/// Splits sorted values, with their row counts, into ranges of about `rows_each` rows. Rows with the same value stay
/// together.
pub(crate) fn split_into_ranges(
    counted: impl IntoIterator<Item = (i64, u64)>,
    rows_each: u64,
) -> Vec<KeyRange> {
    let mut ranges: Vec<KeyRange> = Vec::new();
    for (value, rows) in counted {
        match ranges.last_mut() {
            Some(last) if last.rows + rows / 2 <= rows_each => {
                last.between = last.between.map(|(least, _)| (least, value));
                last.rows += rows;
            }
            _ => ranges.push(KeyRange {
                between: Some((value, value)),
                rows,
            }),
        }
    }
    ranges
}
