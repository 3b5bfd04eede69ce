//! Reads the rows of an npz file in batches.

use std::io::{Read, Seek};
use std::sync::Arc;

use arrow::array::{
    Array as _, ArrayRef, FixedSizeListArray, RecordBatch, RecordBatchOptions, UInt64Array,
};
use arrow::compute::take;
use arrow::datatypes::{Field, SchemaRef};
use tsql_formats::npz::{ArrayRows, Npz};

use super::column_selection::{ArrayColumn, ColumnSelection};

/// Maximum size of a batch in bytes, unless a single row is larger.
const BATCH_BYTES: usize = 4 << 20;

/// Maximum number of rows of a batch.
const BATCH_ROWS: u64 = 1 << 13;

/// Passes all rows to `hand` until it returns false. Each of `files` is the same file, opened once per column.
///
/// # Errors
/// The reason why an array is invalid.
pub(super) fn read_batches<R: Read + Seek>(
    files: &mut [Npz<R>],
    chosen: &ColumnSelection,
    schema: &SchemaRef,
    mut hand: impl FnMut(RecordBatch) -> bool,
) -> Result<(), String> {
    let columns = files.iter_mut().zip(&chosen.columns);
    let mut columns: Vec<ColumnReader<'_, R>> = columns
        .map(|(file, column)| {
            let rows = file.rows(&column.name, column.element.bytes);
            let rows = rows.map_err(|reason| format!("array `{}`: {reason}", column.name))?;
            Ok(ColumnReader {
                column,
                rows,
                only: None,
            })
        })
        .collect::<Result<_, String>>()?;
    let row_bytes: usize = chosen.columns.iter().map(row_bytes).sum();
    let most = (BATCH_BYTES / row_bytes.max(1)).max(1) as u64;
    let mut left = chosen.rows;
    while left > 0 {
        let count = left.min(most).min(BATCH_ROWS);
        left -= count;
        let count = usize::try_from(count).map_err(|error| error.to_string())?;
        let arrays = columns.iter_mut().map(|column| column.next_array(count));
        let arrays: Vec<ArrayRef> = arrays.collect::<Result<_, _>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(count));
        let batch = RecordBatch::try_new_with_options(Arc::clone(schema), arrays, &options);
        if !hand(batch.map_err(|error| error.to_string())?) {
            return Ok(());
        }
    }
    columns.into_iter().try_for_each(ColumnReader::finish)
}

fn row_bytes(column: &ArrayColumn) -> usize {
    match column.is_scalar {
        true => 0,
        false => column.row_elements().unwrap_or(1) * column.element.bytes,
    }
}

/// Reader of one column.
struct ColumnReader<'a, R: Read + Seek> {
    column: &'a ArrayColumn,
    rows: ArrayRows<'a, R>,
    /// The value of a scalar array.
    only: Option<ArrayRef>,
}

impl<R: Read + Seek> ColumnReader<'_, R> {
    /// Reads the next rows.
    fn next_array(&mut self, count: usize) -> Result<ArrayRef, String> {
        let values = if self.column.is_scalar {
            self.next_scalars(count)
        } else {
            self.next_lists(count)
        };
        values.map_err(|reason| format!("array `{}`: {reason}", self.column.name))
    }

    fn next_scalars(&mut self, count: usize) -> Result<ArrayRef, String> {
        let only = match &self.only {
            Some(only) => Arc::clone(only),
            None => self.next_lists(1)?,
        };
        self.only = Some(Arc::clone(&only));
        let places = UInt64Array::from(vec![0; count]);
        take(&only, &places, None).map_err(|error| error.to_string())
    }

    fn next_lists(&mut self, count: usize) -> Result<ArrayRef, String> {
        let numbers = self
            .column
            .row_elements()
            .and_then(|numbers| numbers.checked_mul(count));
        let numbers = numbers.ok_or("too large")?;
        let bytes = numbers.checked_mul(self.column.element.bytes);
        let bytes = self.rows.take(bytes.ok_or("too large")?)?;
        let mut values = self.column.element.decode(bytes, numbers)?;
        for (depth, &size) in self.column.inner.iter().enumerate().rev() {
            let mut outer = self.column.inner.iter().take(depth);
            let lists = outer.try_fold(count, |lists, &size| {
                lists.checked_mul(usize::try_from(size).ok()?)
            });
            let field = Arc::new(Field::new_list_field(values.data_type().clone(), true));
            let list = FixedSizeListArray::try_new_with_length(
                field,
                size,
                values,
                None,
                lists.ok_or("too large")?,
            );
            values = Arc::new(list.map_err(|error| error.to_string())?);
        }
        Ok(values)
    }

    fn finish(mut self) -> Result<(), String> {
        if self.column.is_scalar && self.only.is_none() {
            // The table has no row for the value.
            return Ok(());
        }
        let ended = self.rows.check_end();
        ended.map_err(|reason| format!("array `{}`: {reason}", self.column.name))
    }
}
