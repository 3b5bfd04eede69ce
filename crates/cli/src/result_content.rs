//! Content of a printed result: its rows, and whether they have values.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arrow::array::{ArrayRef, AsArray as _, RecordBatch};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Float64Type};
use datafusion::execution::SendableRecordBatchStream;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use futures::TryStreamExt as _;

/// A printed result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PrintedResult {
    /// Number of rows.
    pub(super) rows: u64,
    /// Whether no condition was met: there is no row, or one row of NULL, 0 and false, such as a count of nothing.
    pub(super) is_blank: bool,
}

/// Observer of the values of a result.
pub(super) struct ContentObserver {
    has_values: Arc<AtomicBool>,
}

impl ContentObserver {
    /// Returns the stream with an observer of its values.
    pub(super) fn observe(stream: SendableRecordBatchStream) -> (SendableRecordBatchStream, Self) {
        let has_values = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&has_values);
        let schema = stream.schema();
        let observed = stream.inspect_ok(move |batch| {
            if !seen.load(Ordering::Relaxed) && !is_blank(batch) {
                seen.store(true, Ordering::Relaxed);
            }
        });
        let observed = RecordBatchStreamAdapter::new(schema, observed);
        (Box::pin(observed), Self { has_values })
    }

    /// Returns the content of the result after its `rows` were printed.
    pub(super) fn content(&self, rows: u64) -> PrintedResult {
        let has_values = self.has_values.load(Ordering::Relaxed);
        PrintedResult {
            rows,
            is_blank: rows <= 1 && !has_values,
        }
    }
}

/// Returns whether a batch has no row, or one row without values.
fn is_blank(batch: &RecordBatch) -> bool {
    match batch.num_rows() {
        0 => true,
        1 => batch.columns().iter().all(is_blank_value),
        _ => false,
    }
}

fn is_blank_value(column: &ArrayRef) -> bool {
    let is_number = column.data_type().is_numeric() || *column.data_type() == DataType::Boolean;
    let is_zero = || {
        let number = cast(column, &DataType::Float64).ok()?;
        let first = number.as_primitive::<Float64Type>().iter().next()?;
        first.map(|number| number == 0.0)
    };
    column.logical_null_count() == 1 || is_number && is_zero() == Some(true)
}

#[cfg(test)]
mod tests {
    use arrow::array::{BooleanArray, Float64Array, Int64Array, StringArray};

    use super::*;

    #[test]
    fn counts_of_nothing_are_blank() {
        let batch = |columns: Vec<ArrayRef>| {
            let columns = columns.into_iter().enumerate();
            let columns = columns.map(|(at, column)| (at.to_string(), column, true));
            RecordBatch::try_from_iter_with_nullable(columns).unwrap()
        };
        let count = |counts: &[i64]| Arc::new(Int64Array::from(counts.to_vec())) as ArrayRef;
        let mean = |mean| Arc::new(Float64Array::from(vec![mean])) as ArrayRef;
        let exists: ArrayRef = Arc::new(BooleanArray::from(vec![false]));
        let text: ArrayRef = Arc::new(StringArray::from(vec![""]));
        assert!(is_blank(&batch(vec![count(&[0]), mean(None), exists])));
        assert!(is_blank(&batch(vec![count(&[])])));
        assert!(!is_blank(&batch(vec![count(&[0]), mean(Some(0.5))])));
        assert!(!is_blank(&batch(vec![count(&[0, 0])])));
        assert!(!is_blank(&batch(vec![text])));
    }
}
