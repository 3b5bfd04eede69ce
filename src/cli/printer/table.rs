//! The table for people: borders of box drawing characters, numbers to the right.
//!
//! The only format that shortens values. It never cuts a row.

use std::io::Write;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use arrow::error::ArrowError;
use arrow::json::EncoderOptions;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::sink::Sink;
use super::value::{Column, NULL, is_number, json_options};

/// Rows that wait until the widths are known: about a second of scrolling, and 80 bytes a value.
const MEASURED_ROWS: usize = 10_000;

/// Terminal columns of the longest value; a longer one ends in `…`.
const VALUE_WIDTH: usize = 80;

/// A bordered table and a line with the number of rows.
///
/// - The first [`MEASURED_ROWS`] rows fix the widths. A later value that is wider pushes the border
///   of its own row aside.
pub(super) struct Table<O> {
    out: O,
    options: EncoderOptions,
    headers: Vec<Header>,
    /// The rows that wait for the widths; `None` once the table has begun.
    waiting: Option<Vec<Vec<String>>>,
}

struct Header {
    name: String,
    width: usize,
    to_the_right: bool,
}

impl<O: Write> Table<O> {
    pub(super) fn new(schema: &SchemaRef, out: O) -> Self {
        let headers = schema.fields().iter().map(|field| {
            let name = shortened(field.name());
            Header {
                width: name.width(),
                name,
                to_the_right: is_number(field.data_type()),
            }
        });
        Self {
            out,
            options: json_options(),
            headers: headers.collect(),
            waiting: Some(Vec::new()),
        }
    }

    /// Writes the header and the rows that waited.
    fn begin(&mut self) -> Result<(), ArrowError> {
        let Some(rows) = self.waiting.take() else {
            return Ok(());
        };
        for row in &rows {
            for (header, value) in self.headers.iter_mut().zip(row) {
                header.width = header.width.max(value.width());
            }
        }
        self.write_border('┌', '┬', '┐')?;
        let names: Vec<String> = self
            .headers
            .iter()
            .map(|header| header.name.clone())
            .collect();
        self.write_row(&names)?;
        self.write_border('├', '┼', '┤')?;
        rows.iter().try_for_each(|row| self.write_row(row))
    }

    fn write_border(&mut self, left: char, between: char, right: char) -> Result<(), ArrowError> {
        let dashes: Vec<String> = self
            .headers
            .iter()
            .map(|header| "─".repeat(header.width + 2))
            .collect();
        let dashes = dashes.join(between.encode_utf8(&mut [0; 4]));
        Ok(writeln!(self.out, "{left}{dashes}{right}")?)
    }

    fn write_row(&mut self, row: &[String]) -> Result<(), ArrowError> {
        for (header, value) in self.headers.iter().zip(row) {
            let space = header.width.saturating_sub(value.width());
            let (before, after) = if header.to_the_right {
                (space, 0)
            } else {
                (0, space)
            };
            write!(self.out, "│ {:before$}{value}{:after$} ", "", "")?;
        }
        Ok(writeln!(self.out, "│")?)
    }
}

impl<O: Write> Sink for Table<O> {
    fn write(&mut self, batch: &RecordBatch) -> Result<(), ArrowError> {
        let options = self.options.clone();
        let mut columns = Column::of(batch, &options, NULL)?;
        let mut text = String::new();
        for index in 0..batch.num_rows() {
            let mut row = Vec::with_capacity(columns.len());
            for column in &mut columns {
                text.clear();
                column.write(index, &mut text)?;
                row.push(shortened(&text));
            }
            match &mut self.waiting {
                Some(rows) if rows.len() < MEASURED_ROWS => rows.push(row),
                _ => {
                    self.begin()?;
                    self.write_row(&row)?;
                }
            }
        }
        Ok(self.out.flush()?)
    }

    fn finish(&mut self, rows: u64) -> Result<(), ArrowError> {
        if !self.headers.is_empty() {
            self.begin()?;
            self.write_border('└', '┴', '┘')?;
        }
        let noun = if rows == 1 { "row" } else { "rows" };
        writeln!(self.out, "({rows} {noun})")?;
        Ok(self.out.flush()?)
    }
}

/// The first line of `text`, at most [`VALUE_WIDTH`] wide, with `…` where something is left out.
/// Control characters are spelled out: they would move the cursor.
fn shortened(text: &str) -> String {
    let line = text.split(['\n', '\r']).next().unwrap_or_default();
    let mut left_out = line.len() < text.len();
    let (mut shown, mut width) = (String::new(), 0);
    for character in line.chars() {
        if character.is_control() {
            shown.extend(character.escape_default());
            width += character.escape_default().len();
        } else {
            shown.push(character);
            width += character.width().unwrap_or(0);
        }
        if width > VALUE_WIDTH {
            left_out = true;
            break;
        }
    }
    if left_out {
        while width >= VALUE_WIDTH {
            width -= shown.pop().and_then(UnicodeWidthChar::width).unwrap_or(0);
        }
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray};

    use super::super::Format;
    use super::super::fixture::{batch, printed, printed_as};
    use super::*;

    #[test]
    fn table_aligns_every_type() {
        let wanted = "\
┌──────┬────────────┬──────────────┬──────────┬────────────────────────────┬──────┬─────────────────────────────┬───────┐
│   id │ runtime_ns │ name         │ tags     │ attributes                 │ hash │ at                          │ price │
├──────┼────────────┼──────────────┼──────────┼────────────────────────────┼──────┼─────────────────────────────┼───────┤
│    1 │ 13671200.0 │ conv2d       │ [1,null] │ {\"a\":1.5,\"b\":\"x\"}          │ 00ff │ 2024-02-29T12:30:00.000250Z │ 12.50 │
│ NULL │       NULL │ NULL         │ NULL     │ NULL                       │ NULL │ NULL                        │  NULL │
│    3 │        NaN │ a,\"b\"\\tc|d\\… │ []       │ {\"a\":null,\"b\":null}        │      │ 1970-01-01T00:00:00Z        │ -0.05 │
│    4 │       1e22 │              │ [7]      │ {\"a\":15000000000.0,\"b\":\"\"} │ 0a   │ 1969-12-31T23:59:59Z        │  0.00 │
└──────┴────────────┴──────────────┴──────────┴────────────────────────────┴──────┴─────────────────────────────┴───────┘
(4 rows)
";
        assert_eq!(printed(Format::Table, &[batch()]), wanted);
    }

    #[test]
    fn table_without_rows_shows_the_columns() {
        let wanted = "\
┌────┬────────────┬──────┬──────┬────────────┬──────┬────┬───────┐
│ id │ runtime_ns │ name │ tags │ attributes │ hash │ at │ price │
├────┼────────────┼──────┼──────┼────────────┼──────┼────┼───────┤
└────┴────────────┴──────┴──────┴────────────┴──────┴────┴───────┘
(0 rows)
";
        assert_eq!(printed(Format::Table, &[]), wanted);
    }

    #[test]
    fn wide_characters_count_as_two_columns() {
        let names = StringArray::from(vec!["日本", "é"]);
        let batch = RecordBatch::try_from_iter([("n", Arc::new(names) as ArrayRef)]).unwrap();
        let wanted = "┌──────┐\n│ n    │\n├──────┤\n│ 日本 │\n│ é    │\n└──────┘\n(2 rows)\n";
        assert_eq!(printed_as(Format::Table, batch.schema(), &[batch]), wanted);
    }

    #[test]
    fn rows_beyond_the_measured_ones_are_kept_whole() {
        let limit = i64::try_from(MEASURED_ROWS).unwrap();
        let first = Int64Array::from_iter_values(0..limit);
        let rest = Int64Array::from_iter_values([7, 123_456_789]);
        let batches = [first, rest].map(|column| {
            RecordBatch::try_from_iter([("n", Arc::new(column) as ArrayRef)]).unwrap()
        });
        let text = printed_as(Format::Table, batches[0].schema(), &batches);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), MEASURED_ROWS + 2 + 5);
        assert_eq!(
            lines[lines.len() - 5..],
            [
                "│ 9999 │",
                "│    7 │",
                "│ 123456789 │",
                "└──────┘",
                "(10002 rows)"
            ]
        );
    }

    #[test]
    fn long_values_end_in_an_ellipsis() {
        assert_eq!(shortened(&"x".repeat(80)), "x".repeat(80));
        assert_eq!(shortened(&"x".repeat(81)), "x".repeat(79) + "…");
        assert_eq!(shortened(&"日".repeat(41)), "日".repeat(39) + "…");
        assert_eq!(shortened("one\r\ntwo"), "one…");
        assert_eq!(shortened(&("x".repeat(80) + "\n")), "x".repeat(79) + "…");
        assert_eq!(shortened("\u{1b}[2J"), "\\u{1b}[2J");
    }
}
