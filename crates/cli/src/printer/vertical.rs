//! One line per value, for rows that are wider than the terminal. Values are not shortened.

use std::io::Write;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use arrow::error::ArrowError;
use arrow::json::EncoderOptions;
use tsql_engine::text_values::json_options;
use unicode_width::UnicodeWidthStr;

use super::sink::Sink;
use super::value::Column;

/// Writer of a block of `name | value` lines per row. Further lines of a value follow below its first one.
pub(super) struct Vertical<O> {
    out: O,
    options: EncoderOptions,
    units: bool,
    /// The names of the columns, padded to the same width.
    names: Vec<String>,
    /// Padding before the further lines of a value.
    blank: String,
    rows: u64,
}

impl<O: Write> Vertical<O> {
    pub(super) fn new(schema: &SchemaRef, units: bool, out: O) -> Self {
        let mut names: Vec<String> = schema
            .fields()
            .iter()
            .map(|field| on_one_line(field.name()))
            .collect();
        let width = names.iter().map(|name| name.width()).max().unwrap_or(0);
        for name in &mut names {
            name.push_str(&" ".repeat(width - name.width()));
        }
        Self {
            out,
            options: json_options(),
            units,
            names,
            blank: " ".repeat(width),
            rows: 0,
        }
    }
}

impl<O: Write> Sink for Vertical<O> {
    fn write(&mut self, batch: &RecordBatch) -> Result<(), ArrowError> {
        let mut columns = Column::readable(batch, &self.options, self.units)?;
        let mut value = String::new();
        for row in 0..batch.num_rows() {
            self.rows += 1;
            writeln!(self.out, "-[ row {} ]-----", self.rows)?;
            for (name, column) in self.names.iter().zip(&mut columns) {
                value.clear();
                column.write(row, &mut value)?;
                let mut before = name;
                for line in value.split('\n') {
                    writeln!(self.out, "{before} | {}", line.trim_end_matches('\r'))?;
                    before = &self.blank;
                }
            }
        }
        Ok(self.out.flush()?)
    }

    fn finish(&mut self, _rows: u64) -> Result<(), ArrowError> {
        Ok(self.out.flush()?)
    }
}

/// Replaces control characters by spaces. The name of a computed column is its expression, which may contain line ends.
fn on_one_line(name: &str) -> String {
    name.chars()
        .map(|character| {
            if character.is_control() {
                ' '
            } else {
                character
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::Format;
    use super::super::fixture::{batch, printed};

    #[test]
    fn vertical_is_a_block_per_row() {
        let rows = batch().slice(0, 3);
        let wanted = concat!(
            "-[ row 1 ]-----\n",
            "id         | 1\n",
            "runtime_ns | 13671200.0\n",
            "name       | conv2d\n",
            "tags       | [1,null]\n",
            "attributes | {\"a\":1.5,\"b\":\"x\"}\n",
            "hash       | 00ff\n",
            "at         | 2024-02-29T12:30:00.000250Z\n",
            "price      | 12.50\n",
            "-[ row 2 ]-----\n",
            "id         | NULL\n",
            "runtime_ns | NULL\n",
            "name       | NULL\n",
            "tags       | NULL\n",
            "attributes | NULL\n",
            "hash       | NULL\n",
            "at         | NULL\n",
            "price      | NULL\n",
            "-[ row 3 ]-----\n",
            "id         | 3\n",
            "runtime_ns | NaN\n",
            "name       | a,\"b\"\tc|d\\\n",
            "           | e\n",
            "tags       | []\n",
            "attributes | {\"a\":null,\"b\":null}\n",
            "hash       | \n",
            "at         | 1970-01-01T00:00:00Z\n",
            "price      | -0.05\n",
        );
        assert_eq!(printed(Format::Vertical, &[rows]), wanted);
    }

    #[test]
    fn rows_are_counted_over_all_batches() {
        let text = printed(
            Format::Vertical,
            &[batch().slice(0, 2), batch().slice(2, 1)],
        );
        assert!(text.contains("-[ row 3 ]-----\nid         | 3\n"), "{text}");
    }
}
