//! Reading of tables row by row and of logs line by line.

use std::io::BufRead;

use crate::document::End;
use crate::error::Error;
use crate::model::Trial;
use crate::output::{FormatReader, Output};
use crate::text::{Line, LineStream, Row, TableStream};
use crate::value::{Number, Value};

/// A format of rows below a header.
pub(super) trait TableFormat {
    /// Takes a line before the header. Returns whether it was one.
    fn preamble(&mut self, _line: &str, _output: &mut Output) -> bool {
        false
    }

    /// Takes the header.
    fn header(&mut self, header: &[String], output: &mut Output) -> Result<(), String>;

    /// Takes one row. An error rejects it.
    fn row(&mut self, cells: &Cells<'_>, row: &Row, output: &mut Output) -> Result<(), String>;

    /// Takes the end of the file.
    fn finish(&mut self, _output: &mut Output) {}
}

/// Cells of a row with the names of their columns.
pub(super) struct Cells<'a> {
    header: &'a [String],
    cells: &'a [String],
}

impl<'a> Cells<'a> {
    /// Names and texts in order; a short row ends early.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&'a str, &'a str)> + use<'a> {
        let names = self.header.iter().map(String::as_str);
        names.zip(self.cells.iter().map(String::as_str))
    }

    /// Text of the first column of this name; `None` if it is missing or empty.
    pub(super) fn get(&self, name: &str) -> Option<&'a str> {
        let found = self.iter().find(|(column, _)| *column == name);
        found.map(|(_, cell)| cell).filter(|cell| !cell.is_empty())
    }

    /// Number of the first column of this name; `None` if it is missing or empty.
    pub(super) fn number(&self, name: &str) -> Result<Option<Number>, String> {
        self.get(name).map(|cell| number(name, cell)).transpose()
    }
}

/// Parses the number of a column.
pub(super) fn number(name: &str, cell: &str) -> Result<Number, String> {
    Number::parse(cell).ok_or_else(|| format!("`{cell}` in `{name}` is not a number"))
}

/// A trial at the position of a row.
pub(super) fn trial(row: &Row) -> Trial {
    Trial::at(row.line, row.bytes.clone())
}

/// Reads a table.
pub(super) struct Table<R, F> {
    stream: TableStream<R>,
    format: F,
    header: Option<Vec<String>>,
}

impl<R: BufRead, F: TableFormat> Table<R, F> {
    pub(super) fn new(input: R, format: F) -> Self {
        Self {
            stream: TableStream::new(input),
            format,
            header: None,
        }
    }
}

impl<R: BufRead, F: TableFormat> FormatReader for Table<R, F> {
    fn step(&mut self, output: &mut Output) -> Result<bool, Error> {
        if self.header.is_none() {
            while let Some(line) = self.stream.next_line()? {
                let is_preamble = line
                    .text()
                    .is_ok_and(|text| self.format.preamble(text, output));
                if !is_preamble {
                    self.stream.push_back(line);
                    break;
                }
            }
        }
        let Some(row) = self.stream.next_row()? else {
            self.format.finish(output);
            output.document.end = End::Closed;
            return Ok(false);
        };
        let cells = match (&row.cells, &self.header) {
            (Ok(cells), _) => cells,
            (Err(reason), None) => return Err(Error::header(row.line, reason.clone())),
            (Err(reason), Some(_)) => {
                output.reject(row.line, reason.clone());
                return Ok(true);
            }
        };
        let Some(header) = &self.header else {
            output.document.header.clone_from(cells);
            let result = self.format.header(cells, output);
            result.map_err(|reason| Error::header(row.line, reason))?;
            self.header = Some(cells.clone());
            return Ok(true);
        };
        if cells.len() > header.len() {
            let reason = format!("{} cells under a header of {}", cells.len(), header.len());
            output.reject(row.line, reason);
            return Ok(true);
        }
        if let Err(reason) = self.format.row(&Cells { header, cells }, &row, output) {
            output.reject(row.line, reason);
        }
        Ok(true)
    }
}

/// A format of lines.
pub(super) trait LineFormat {
    /// Takes one line that is not blank. An error rejects it.
    fn line(&mut self, text: &str, line: &Line, output: &mut Output) -> Result<(), String>;
}

/// Reads lines.
pub(super) struct Lines<R, F> {
    stream: LineStream<R>,
    format: F,
}

impl<R: BufRead, F: LineFormat> Lines<R, F> {
    pub(super) fn new(input: R, format: F) -> Self {
        Self {
            stream: LineStream::new(input),
            format,
        }
    }
}

impl<R: BufRead, F: LineFormat> FormatReader for Lines<R, F> {
    fn step(&mut self, output: &mut Output) -> Result<bool, Error> {
        let Some(line) = self.stream.next_line()? else {
            output.document.end = End::Closed;
            return Ok(false);
        };
        let result = line.text().and_then(|text| {
            if text.trim().is_empty() {
                return Ok(());
            }
            self.format.line(text, &line, output)
        });
        if let Err(reason) = result {
            output.reject(line.number, reason);
        }
        Ok(true)
    }
}

/// Value of a cell as text: tables do not distinguish text from numbers and booleans.
pub(super) fn cell_value(cell: &str) -> Value {
    Value::text(cell)
}
