//! The table for people, with borders of box drawing characters and right-aligned numbers.
//!
//! It is the only format that leaves out data: the ends of long values and, if the [`Style`] limits them, columns and
//! rows in the middle, and digits of floats. The footer has their numbers.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::io::Write;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use arrow::error::ArrowError;
use arrow::json::EncoderOptions;
use tsql_engine::text_values::json_options;
use unicode_width::UnicodeWidthStr;

use super::cell::{shorten, wrap};
use super::kind::{is_float, is_number};
use super::layout::{Need, Slot, fit_widths, natural};
use super::rounding::round_float;
use super::sink::Sink;
use super::style::Style;
use super::value::Column;

/// Number of rows that are buffered to measure the widths: about a second of scrolling, and 80 bytes a value.
const MEASURED_ROWS: usize = 10_000;

/// Maximum width of a value in terminal columns; a longer one ends in `…`.
const VALUE_WIDTH: usize = 80;

/// Minimum width of a text, and of the name of a numeric column.
const TEXT_WIDTH: usize = 8;

/// Minimum width of a wrapped text.
const WRAPPED_WIDTH: usize = 16;

/// Value of each column in place of omitted rows.
const ROWS_LEFT_OUT: &str = "⋮";

/// Value in place of omitted columns.
const COLUMNS_LEFT_OUT: &str = "…";

/// A bordered table and a line with the number of rows.
///
/// - The buffered rows determine the widths: all shown rows, or the first [`MEASURED_ROWS`]. A wider value that comes
///   later pushes the border of its own row aside, unless the width of the table is limited.
/// - If the number of rows is limited, no other rows are buffered than those to show.
pub(super) struct Table<O> {
    out: O,
    options: EncoderOptions,
    style: Style,
    headers: Vec<Header>,
    first: Vec<Vec<String>>,
    last: VecDeque<Vec<String>>,
    /// Set if there are more rows than are shown.
    leaves_out: bool,
    /// `None` until the header is written.
    layout: Option<Vec<Slot>>,
    /// For each column, whether it is NULL in every row so far.
    are_null: Vec<bool>,
    /// Number of columns that are not shown because they are NULL in every row.
    hidden: usize,
    /// Whether floats are rounded, so that more columns fit.
    rounds: bool,
}

struct Header {
    name: String,
    is_number: bool,
    is_float: bool,
    /// Rank of an important column of a table.
    rank: Option<usize>,
}

impl<O: Write> Table<O> {
    pub(super) fn new(schema: &SchemaRef, style: Style, out: O) -> Self {
        let wraps = style.wraps && style.width.is_some();
        let style = Style { wraps, ..style };
        let headers = schema.fields().iter().map(|field| Header {
            name: shorten(field.name(), style.width.unwrap_or(VALUE_WIDTH)).into_owned(),
            is_number: is_number(field.data_type()),
            is_float: is_float(field.data_type()),
            rank: tsql_schema::column_rank(field.name()),
        });
        Self {
            out,
            options: json_options(),
            style,
            headers: headers.collect(),
            first: Vec::new(),
            last: VecDeque::new(),
            leaves_out: false,
            layout: None,
            are_null: vec![true; schema.fields().len()],
            hidden: 0,
            rounds: false,
        }
    }

    /// Returns the number of last rows that are shown if rows are left out.
    fn ending(&self) -> Option<usize> {
        self.style.max_rows.map(|rows| rows / 2)
    }

    /// Returns whether a row is not shown if `more` rows of the same batch follow it.
    fn is_passed_over(&self, more: usize) -> bool {
        let full = self
            .style
            .max_rows
            .is_some_and(|rows| self.first.len() >= rows);
        full && self.ending().is_some_and(|rows| more >= rows.max(1))
    }

    fn take(&mut self, row: Vec<String>) -> Result<(), ArrowError> {
        if let Some(layout) = self.layout.take() {
            let written = self.write_row(&layout, &row);
            self.layout = Some(layout);
            return written;
        }
        let most = self.style.max_rows.unwrap_or(MEASURED_ROWS);
        if self.first.len() < most {
            self.first.push(row);
        } else if let Some(ending) = self.ending() {
            self.leaves_out = true;
            self.last.push_back(row);
            if self.last.len() > ending {
                self.last.pop_front();
            }
        } else {
            // Later rows may have values where these are NULL.
            self.are_null.fill(false);
            self.begin()?;
            return self.take(row);
        }
        Ok(())
    }

    /// Writes the header and the buffered rows.
    fn begin(&mut self) -> Result<(), ArrowError> {
        if self.layout.is_some() {
            return Ok(());
        }
        let ending = self.ending().unwrap_or(0);
        let mut rows = std::mem::take(&mut self.first);
        let mut last = Vec::new();
        if self.leaves_out {
            rows.extend(std::mem::take(&mut self.last));
            last = rows.split_off(rows.len().saturating_sub(ending));
            rows.truncate(self.style.max_rows.unwrap_or(0) - ending);
        }
        let shown = rows.iter().chain(&last);
        let layout = match self.style.width {
            Some(width) => self.fit(shown, width),
            None => natural(&self.needs(shown, false)),
        };
        self.write_border(&layout, ['┌', '┬', '┐'])?;
        let names = self.headers.iter().map(|header| header.name.clone());
        let names: Vec<String> = names.collect();
        self.write_line(&layout, |index| names.get(index).map(String::as_str))?;
        self.write_border(&layout, ['├', '┼', '┤'])?;
        rows.iter()
            .try_for_each(|row| self.write_row(&layout, row))?;
        if self.leaves_out {
            self.write_line(&layout, |_| Some(ROWS_LEFT_OUT))?;
        }
        last.iter()
            .try_for_each(|row| self.write_row(&layout, row))?;
        self.layout = Some(layout);
        Ok(())
    }

    /// Returns the columns for lines of `width`. If not all fit, columns that are NULL in every row are left out. If
    /// the others do not fit, floats are rounded.
    fn fit<'a>(
        &mut self,
        rows: impl Iterator<Item = &'a Vec<String>> + Clone,
        width: usize,
    ) -> Vec<Slot> {
        let needs = self.needs(rows.clone(), false);
        let layout = fit_widths(&needs, width);
        let is_null = |index: usize| self.are_null.get(index).copied().unwrap_or(false);
        let with_values: Vec<usize> = (0..needs.len()).filter(|index| !is_null(*index)).collect();
        if !layout.contains(&Slot::LeftOut) || with_values.is_empty() {
            return layout;
        }
        self.hidden = needs.len() - with_values.len();
        let exact = fit_columns(&needs, &with_values, width);
        let rounded = fit_columns(&self.needs(rows, true), &with_values, width);
        self.rounds = count_columns(&rounded) > count_columns(&exact);
        if self.rounds { rounded } else { exact }
    }

    /// Returns the widths that each column needs for these rows, with or without rounded floats.
    fn needs<'a>(&self, rows: impl Iterator<Item = &'a Vec<String>>, rounds: bool) -> Vec<Need> {
        let mut widest = vec![0; self.headers.len()];
        for row in rows {
            for ((widest, value), header) in widest.iter_mut().zip(row).zip(&self.headers) {
                let width = match rounds && header.is_float {
                    true => Some(round_float(value).len()),
                    false => value.lines().map(UnicodeWidthStr::width).max(),
                };
                *widest = width.unwrap_or(0).max(*widest);
            }
        }
        let least_text = if self.style.wraps {
            WRAPPED_WIDTH
        } else {
            TEXT_WIDTH
        };
        let needs = self.headers.iter().zip(widest).map(|(header, widest)| {
            let name = header.name.width();
            let natural = name.max(widest);
            let least = match (header.is_number, header.rank) {
                (true, Some(_)) => natural,
                (true, None) => widest.max(name.min(TEXT_WIDTH)),
                (false, _) => natural.min(least_text),
            };
            Need {
                natural,
                least,
                rank: header.rank,
            }
        });
        needs.collect()
    }

    /// Returns the row with rounded floats.
    fn rounded(&self, row: &[String]) -> Vec<String> {
        let values = row.iter().zip(&self.headers);
        let values = values.map(|(value, header)| match header.is_float {
            true => round_float(value).into_owned(),
            false => value.clone(),
        });
        values.collect()
    }

    fn write_border(&mut self, layout: &[Slot], corners: [char; 3]) -> Result<(), ArrowError> {
        let [left, between, right] = corners;
        let dashes = layout.iter().map(|slot| "─".repeat(slot.width() + 2));
        let dashes = dashes.collect::<Vec<_>>();
        let dashes = dashes.join(between.encode_utf8(&mut [0; 4]));
        Ok(writeln!(self.out, "{left}{dashes}{right}")?)
    }

    fn write_row(&mut self, layout: &[Slot], row: &[String]) -> Result<(), ArrowError> {
        let row = match self.rounds {
            true => Cow::Owned(self.rounded(row)),
            false => Cow::Borrowed(row),
        };
        if !self.style.wraps {
            return self.write_line(layout, |index| row.get(index).map(String::as_str));
        }
        let cell = |slot: &Slot| match slot {
            Slot::Column { index, width } => row
                .get(*index)
                .map_or(Vec::new(), |value| wrap(value, *width)),
            Slot::LeftOut => vec![COLUMNS_LEFT_OUT.to_owned()],
        };
        let cells: Vec<Vec<String>> = layout.iter().map(cell).collect();
        for line in 0..cells.iter().map(Vec::len).max().unwrap_or(1) {
            for (slot, cell) in layout.iter().zip(&cells) {
                let value = cell.get(line).map_or("", String::as_str);
                self.write_cell(*slot, value)?;
            }
            writeln!(self.out, "│")?;
        }
        Ok(())
    }

    /// Writes a line of the table with the values of its columns.
    fn write_line<'a>(
        &mut self,
        layout: &[Slot],
        value: impl Fn(usize) -> Option<&'a str>,
    ) -> Result<(), ArrowError> {
        for slot in layout {
            let value = match slot {
                Slot::Column { index, .. } => value(*index).unwrap_or_default(),
                Slot::LeftOut => COLUMNS_LEFT_OUT,
            };
            match self.style.width {
                Some(_) => self.write_cell(*slot, &shorten(value, slot.width()))?,
                None => self.write_cell(*slot, value)?,
            }
        }
        Ok(writeln!(self.out, "│")?)
    }

    fn write_cell(&mut self, slot: Slot, value: &str) -> Result<(), ArrowError> {
        let is_number = match slot {
            Slot::Column { index, .. } => self
                .headers
                .get(index)
                .is_some_and(|header| header.is_number),
            Slot::LeftOut => false,
        };
        let space = slot.width().saturating_sub(value.width());
        let (before, after) = if is_number { (space, 0) } else { (0, space) };
        Ok(write!(self.out, "│ {:before$}{value}{:after$} ", "", "")?)
    }

    /// Returns the number of rows, with the numbers of shown rows and columns if some are left out.
    fn footer(&self, rows: u64) -> String {
        let noun = if rows == 1 { "row" } else { "rows" };
        let mut footer = format!("{rows} {noun}");
        let shown = self
            .style
            .max_rows
            .map_or(rows, |shown| rows.min(shown as u64));
        if shown < rows {
            footer.push_str(&format!(", {shown} shown"));
        }
        let columns = count_columns(self.layout.as_deref().unwrap_or_default());
        let all = self.headers.len();
        let mut reduced = Vec::new();
        if columns < all {
            let null = match self.hidden {
                0 => String::new(),
                hidden => format!(" ({hidden} are NULL)"),
            };
            reduced.push(format!("{columns} of {all} columns{null}"));
        }
        if self.rounds {
            reduced.push("floats rounded".to_owned());
        }
        if !reduced.is_empty() {
            let reduced = reduced.join(", ");
            footer.push_str(&format!("; {reduced}, --format vertical shows all"));
        }
        footer
    }
}

/// Returns the layout of the columns at `indexes`.
fn fit_columns(needs: &[Need], indexes: &[usize], width: usize) -> Vec<Slot> {
    let needs = indexes
        .iter()
        .filter_map(|index| needs.get(*index).copied());
    let needs: Vec<Need> = needs.collect();
    let slots = fit_widths(&needs, width).into_iter();
    slots
        .map(|slot| match slot {
            Slot::Column { index, width } => Slot::Column {
                index: indexes.get(index).copied().unwrap_or(index),
                width,
            },
            Slot::LeftOut => Slot::LeftOut,
        })
        .collect()
}

fn count_columns(slots: &[Slot]) -> usize {
    slots.iter().filter(|slot| **slot != Slot::LeftOut).count()
}

impl<O: Write> Sink for Table<O> {
    fn write(&mut self, batch: &RecordBatch) -> Result<(), ArrowError> {
        for (is_null, column) in self.are_null.iter_mut().zip(batch.columns()) {
            *is_null &= column.logical_null_count() == batch.num_rows();
        }
        let options = self.options.clone();
        let mut columns = Column::readable(batch, &options, self.style.units)?;
        let widest = self.style.width.unwrap_or(VALUE_WIDTH);
        let mut text = String::new();
        for index in 0..batch.num_rows() {
            if self.is_passed_over(batch.num_rows() - index - 1) {
                continue;
            }
            let mut row = Vec::with_capacity(columns.len());
            for column in &mut columns {
                text.clear();
                column.write(index, &mut text)?;
                row.push(if self.style.wraps {
                    text.clone()
                } else {
                    shorten(&text, widest).into_owned()
                });
            }
            self.take(row)?;
        }
        Ok(self.out.flush()?)
    }

    fn finish(&mut self, rows: u64) -> Result<(), ArrowError> {
        if !self.headers.is_empty() {
            self.begin()?;
            let layout = self.layout.take().unwrap_or_default();
            self.write_border(&layout, ['└', '┴', '┘'])?;
            self.layout = Some(layout);
        }
        writeln!(self.out, "({})", self.footer(rows))?;
        Ok(self.out.flush()?)
    }
}

#[cfg(test)]
mod tests;
