//! Windows of rows as JSON.

use arrow::array::{Array as _, RecordBatch};
use arrow::util::display::{ArrayFormatter, FormatOptions};
use serde_json::{Value, json};
use tsql_error::{Error, Result};

use super::result_file::ResultFile;

/// Maximum number of rows of a window.
pub(super) const MAX_WINDOW_ROWS: u64 = 1000;

/// Maximum number of characters of a value in a window. A single value is returned up to [`MAX_VALUE_CHARACTERS`].
const MAX_CELL_CHARACTERS: usize = 200;

/// Maximum number of characters of a single value.
const MAX_VALUE_CHARACTERS: usize = 1 << 20;

/// Returns `{"from": 0, "rows": [["a", null], ...], "row_count": 1000000}`, with values as text. Truncated values end in `…`.
pub(super) fn window(stored: &ResultFile, from: u64, count: u64) -> Result<Value> {
    let mut rows: Vec<Value> = Vec::new();
    for batch in stored.window(from, count.min(MAX_WINDOW_ROWS))? {
        let texts = texts(&batch, MAX_CELL_CHARACTERS)?;
        rows.extend(texts.into_iter().map(Value::from));
    }
    Ok(json!({"from": from, "rows": rows, "row_count": stored.rows()}))
}

/// Returns one complete value.
pub(super) fn value(stored: &ResultFile, row: u64, column: usize) -> Result<Value> {
    let batch = stored.window(row, 1)?.into_iter().next();
    let batch = batch.and_then(|batch| batch.project(&[column]).ok());
    let missing = || Error::Empty("the result has no value in this row and column".to_owned());
    let batch = batch.ok_or_else(missing)?;
    let text = texts(&batch, MAX_VALUE_CHARACTERS)?
        .into_iter()
        .flatten()
        .next();
    Ok(json!({"value": text}))
}

/// Formats values as text, truncated after `most` characters.
pub(super) fn texts(batch: &RecordBatch, most: usize) -> Result<Vec<Vec<Option<String>>>> {
    let options = FormatOptions::default()
        .with_timestamp_format(Some("%Y-%m-%d %H:%M:%S%.f"))
        .with_timestamp_tz_format(Some("%Y-%m-%d %H:%M:%S%.f"));
    let columns = batch.columns().iter();
    let columns =
        columns.map(|array| Ok((array, ArrayFormatter::try_new(array.as_ref(), &options)?)));
    let columns: std::result::Result<Vec<_>, arrow::error::ArrowError> = columns.collect();
    let columns = columns.map_err(|error| Error::Query(error.into()))?;
    let row = |row: usize| {
        let values = columns.iter().map(|(array, spelled)| {
            array
                .is_valid(row)
                .then(|| truncate_text(spelled.value(row).to_string(), most))
        });
        values.collect()
    };
    Ok((0..batch.num_rows()).map(row).collect())
}

fn truncate_text(text: String, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text,
        Some((end, _)) => {
            let mut text = text;
            text.truncate(end);
            text.push('…');
            text
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_cut_between_characters() {
        assert_eq!(truncate_text("ärger".to_owned(), 2), "är…");
        assert_eq!(truncate_text("är".to_owned(), 2), "är");
    }
}
