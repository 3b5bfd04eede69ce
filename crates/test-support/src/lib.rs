#![doc = include_str!("../README.md")]
#![allow(
    clippy::unwrap_used,
    clippy::string_slice,
    reason = "a test fails by panicking"
)]

use arrow::array::RecordBatch;
use arrow::util::pretty::pretty_format_batches;
use datafusion::prelude::SessionContext;

/// Returns the rows of a query as [`row_texts`].
///
/// # Panics
/// The query fails.
pub async fn rows(context: &SessionContext, sql: &str) -> Vec<String> {
    let batches = context.sql(sql).await.unwrap().collect().await.unwrap();
    row_texts(&batches)
}

/// Returns each row as text without blanks, with `|` between columns.
///
/// # Panics
/// A column cannot be printed.
pub fn row_texts(batches: &[RecordBatch]) -> Vec<String> {
    let text = pretty_format_batches(batches).unwrap().to_string();
    let lines = text.lines().filter(|line| line.starts_with('|')).skip(1);
    let lines = lines.map(|line| line.replace(' ', ""));
    lines
        .map(|line| line[1..line.len() - 1].to_owned())
        .collect()
}

/// Returns the lines of a printed result in sorted order. Floats are rounded to ten digits, because sums are added in
/// another order. Borders are shortened, because their width depends on the digits.
///
/// # Panics
/// A column cannot be printed.
pub fn sorted_lines(batches: &[RecordBatch]) -> Vec<String> {
    let text = pretty_format_batches(batches).unwrap().to_string();
    let mut lines: Vec<String> = text.lines().map(round_floats).collect();
    lines.sort();
    lines
}

fn round_floats(line: &str) -> String {
    if line.starts_with('+') {
        return "+".to_owned();
    }
    let word = |word: &str| match word.parse::<f64>() {
        Ok(number) if word.contains('.') => format!("{number:.9e}"),
        _ => word.to_owned(),
    };
    line.split_whitespace().map(word).collect()
}
