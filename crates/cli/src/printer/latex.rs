//! LaTeX tables for publications: `tabular` with the rules of `booktabs`.

use std::io::Write;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use arrow::error::ArrowError;
use arrow::json::EncoderOptions;
use tsql_engine::text_values::json_options;

use super::kind::is_number;
use super::sink::Sink;
use super::value::Column;

/// Text of NULL.
const NULL: &str = "--";

/// Writer of a LaTeX table for the package `booktabs`.
pub(super) struct Latex<O> {
    out: O,
    options: EncoderOptions,
    units: bool,
}

impl<O: Write> Latex<O> {
    /// Creates the writer, and writes the header.
    pub(super) fn new(schema: &SchemaRef, units: bool, mut out: O) -> Result<Self, ArrowError> {
        let fields = || schema.fields().iter();
        let aligned = fields().map(|field| match is_number(field.data_type()) {
            true => 'r',
            false => 'l',
        });
        let aligned: String = aligned.collect();
        let mut names = String::new();
        for (index, field) in fields().enumerate() {
            push_cell(index, field.name(), &mut names);
        }
        writeln!(out, "\\begin{{tabular}}{{{aligned}}}\n\\toprule")?;
        writeln!(out, "{names} \\\\\n\\midrule")?;
        Ok(Self {
            out,
            options: json_options(),
            units,
        })
    }
}

impl<O: Write> Sink for Latex<O> {
    fn write(&mut self, batch: &RecordBatch) -> Result<(), ArrowError> {
        let mut columns = match self.units {
            true => Column::readable(batch, &self.options, true)?,
            false => Column::from_batch(batch, &self.options, NULL)?,
        };
        let (mut line, mut value) = (String::new(), String::new());
        for row in 0..batch.num_rows() {
            line.clear();
            for (index, column) in columns.iter_mut().enumerate() {
                value.clear();
                column.write(row, &mut value)?;
                push_cell(index, &value, &mut line);
            }
            writeln!(self.out, "{line} \\\\")?;
        }
        Ok(self.out.flush()?)
    }

    fn finish(&mut self, _rows: u64) -> Result<(), ArrowError> {
        writeln!(self.out, "\\bottomrule\n\\end{{tabular}}")?;
        Ok(self.out.flush()?)
    }
}

/// Appends a cell, and escapes the special characters of LaTeX.
fn push_cell(index: usize, value: &str, line: &mut String) {
    if index > 0 {
        line.push_str(" & ");
    }
    for character in value.chars() {
        match character {
            '&' | '%' | '$' | '#' | '_' | '{' | '}' => {
                line.push('\\');
                line.push(character);
            }
            // LaTeX would read `[` or `*` at the beginning of a row as an argument of the preceding line break.
            '[' => line.push_str("{[}"),
            '*' => line.push_str("{*}"),
            '\\' => line.push_str("\\textbackslash{}"),
            '~' => line.push_str("\\textasciitilde{}"),
            '^' => line.push_str("\\textasciicircum{}"),
            '<' => line.push_str("\\textless{}"),
            '>' => line.push_str("\\textgreater{}"),
            '|' => line.push_str("\\textbar{}"),
            '"' => line.push_str("\\textquotedbl{}"),
            '\n' | '\r' | '\t' => line.push(' '),
            other => line.push(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Format;
    use super::super::fixture::{batch, printed};
    use super::push_cell;

    #[test]
    fn a_table_is_enclosed_by_rules() {
        let found = printed(Format::Latex, &[batch()]);
        let lines: Vec<&str> = found.lines().collect();
        assert_eq!(
            lines[..4],
            [
                "\\begin{tabular}{rrlllllr}",
                "\\toprule",
                "id & runtime\\_ns & name & tags & attributes & hash & at & price \\\\",
                "\\midrule",
            ]
        );
        assert_eq!(lines[5], "-- & -- & -- & -- & -- & -- & -- & -- \\\\");
        assert_eq!(lines[8..], ["\\bottomrule", "\\end{tabular}"]);
    }

    #[test]
    fn nothing_in_a_value_is_a_command() {
        let mut line = String::new();
        push_cell(1, "[a_b] 5% & c\\d {e}^2 ~ <f>\n\"g\"|#$*", &mut line);
        assert_eq!(
            line,
            " & {[}a\\_b] 5\\% \\& c\\textbackslash{}d \\{e\\}\\textasciicircum{}2 \\textasciitilde{} \
             \\textless{}f\\textgreater{} \\textquotedbl{}g\\textquotedbl{}\\textbar{}\\#\\${*}"
        );
    }
}
