//! Markdown tables, for example for issues. Values are not shortened, so no widths are needed.

use std::io::Write;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use arrow::error::ArrowError;
use arrow::json::EncoderOptions;
use tsql_engine::text_values::json_options;

use super::kind::is_number;
use super::sink::Sink;
use super::value::Column;

/// Writer of a table in GitHub's Markdown.
pub(super) struct Markdown<O> {
    out: O,
    options: EncoderOptions,
    units: bool,
}

impl<O: Write> Markdown<O> {
    /// Creates the writer, and writes the header.
    pub(super) fn new(schema: &SchemaRef, units: bool, mut out: O) -> Result<Self, ArrowError> {
        let (mut names, mut rule) = (String::from("|"), String::from("|"));
        for field in schema.fields() {
            push_cell(field.name(), &mut names);
            rule.push_str(if is_number(field.data_type()) {
                " --: |"
            } else {
                " --- |"
            });
        }
        writeln!(out, "{names}\n{rule}")?;
        Ok(Self {
            out,
            options: json_options(),
            units,
        })
    }
}

impl<O: Write> Sink for Markdown<O> {
    fn write(&mut self, batch: &RecordBatch) -> Result<(), ArrowError> {
        let mut columns = Column::readable(batch, &self.options, self.units)?;
        let (mut line, mut value) = (String::new(), String::new());
        for row in 0..batch.num_rows() {
            line.clear();
            line.push('|');
            for column in &mut columns {
                value.clear();
                column.write(row, &mut value)?;
                push_cell(&value, &mut line);
            }
            writeln!(self.out, "{line}")?;
        }
        Ok(self.out.flush()?)
    }

    fn finish(&mut self, _rows: u64) -> Result<(), ArrowError> {
        Ok(self.out.flush()?)
    }
}

/// Appends ` value |`, and replaces characters that would end the cell or the row.
fn push_cell(value: &str, line: &mut String) {
    line.push(' ');
    let mut characters = value.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '|' => line.push_str("\\|"),
            '\r' if characters.peek() == Some(&'\n') => {}
            '\n' | '\r' => line.push_str("<br>"),
            other => line.push(other),
        }
    }
    line.push_str(" |");
}

#[cfg(test)]
mod tests {
    use super::super::Format;
    use super::super::fixture::{batch, printed};
    use super::push_cell;

    #[test]
    fn markdown_keeps_a_row_on_a_line() {
        let wanted = concat!(
            "| id | runtime_ns | name | tags | attributes | hash | at | price |\n",
            "| --: | --: | --- | --- | --- | --- | --- | --: |\n",
            "| 1 | 13671200.0 | conv2d | [1,null] | {\"a\":1.5,\"b\":\"x\"} | 00ff | 2024-02-29T12:30:00.000250Z | 12.50 |\n",
            "| NULL | NULL | NULL | NULL | NULL | NULL | NULL | NULL |\n",
            "| 3 | NaN | a,\"b\"\tc\\|d\\<br>e | [] | {\"a\":null,\"b\":null} |  | 1970-01-01T00:00:00Z | -0.05 |\n",
            "| 4 | 1e22 |  | [7] | {\"a\":15000000000.0,\"b\":\"\"} | 0a | 1969-12-31T23:59:59Z | 0.00 |\n",
        );
        assert_eq!(printed(Format::Markdown, &[batch()]), wanted);
    }

    #[test]
    fn every_line_end_is_one_break() {
        let mut line = String::new();
        push_cell("a\r\nb\rc\nd", &mut line);
        assert_eq!(line, " a<br>b<br>c<br>d |");
    }

    #[test]
    fn markdown_never_shortens() {
        let mut line = String::new();
        push_cell(&"x".repeat(500), &mut line);
        assert_eq!(line, format!(" {} |", "x".repeat(500)));
    }
}
