//! The table for people: borders of box drawing characters, numbers to the right.
//!
//! The only format that leaves something out: the ends of long values, and, where it is told how much room
//! there is, columns and rows in the middle. It says how many.

use std::collections::VecDeque;
use std::io::Write;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use arrow::error::ArrowError;
use arrow::json::EncoderOptions;
use unicode_width::UnicodeWidthStr;

use super::cell::{shortened, wrapped};
use super::kind::is_number;
use super::layout::{Need, Slot, fitted, natural};
use super::sink::Sink;
use super::style::Style;
use super::value::Column;
use crate::query::text_values::json_options;

/// Rows that wait until the widths are known: about a second of scrolling, and 80 bytes a value.
const MEASURED_ROWS: usize = 10_000;

/// Terminal columns of the longest value; a longer one ends in `…`.
const VALUE_WIDTH: usize = 80;

/// Least width of a text, of a text that is wrapped, and of the name over numbers.
const TEXT_WIDTH: usize = 8;
const WRAPPED_WIDTH: usize = 16;

/// Stands in a column for rows that are left out, and for columns that are.
const ROWS_LEFT_OUT: &str = "⋮";
const COLUMNS_LEFT_OUT: &str = "…";

/// A bordered table and a line with the number of rows.
///
/// - The rows that are waited for fix the widths: all that are shown, or the first [`MEASURED_ROWS`]. A later value that is wider
///   pushes the border of its own row aside, unless a width of the table is given.
/// - Where rows are left out, no more are held than are shown.
pub(super) struct Table<O> {
    out: O,
    options: EncoderOptions,
    style: Style,
    headers: Vec<Header>,
    first: Vec<Vec<String>>,
    last: VecDeque<Vec<String>>,
    /// There are more rows than are to be shown.
    leaves_out: bool,
    /// `None` until the table has begun.
    layout: Option<Vec<Slot>>,
    /// Columns by number that are NULL in every row so far.
    are_null: Vec<bool>,
    /// Columns that are not shown because they are NULL in every row.
    hidden: usize,
}

struct Header {
    name: String,
    is_number: bool,
}

impl<O: Write> Table<O> {
    pub(super) fn new(schema: &SchemaRef, style: Style, out: O) -> Self {
        let wraps = style.wraps && style.width.is_some();
        let style = Style { wraps, ..style };
        let headers = schema.fields().iter().map(|field| Header {
            name: shortened(field.name(), style.width.unwrap_or(VALUE_WIDTH)).into_owned(),
            is_number: is_number(field.data_type()),
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
        }
    }

    /// Rows at the end that may be shown, where some are left out.
    fn ending(&self) -> Option<usize> {
        self.style.max_rows.map(|rows| rows / 2)
    }

    /// Is a row of no interest that is followed by `more` of the same batch?
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

    /// Writes the header and the rows that waited.
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
        let needs = self.needs(rows.iter().chain(&last));
        let layout = match self.style.width {
            Some(width) => self.fitted(&needs, width),
            None => natural(&needs),
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

    /// Columns on lines of `width`: where there is no room for all, those that are NULL in every row give way first.
    fn fitted(&mut self, needs: &[Need], width: usize) -> Vec<Slot> {
        let layout = fitted(needs, width);
        let with_values = needs.iter().copied().enumerate();
        let is_null = |index: usize| self.are_null.get(index).copied().unwrap_or(false);
        let (indexes, needs): (Vec<usize>, Vec<Need>) =
            with_values.filter(|(index, _)| !is_null(*index)).unzip();
        if !layout.contains(&Slot::LeftOut) || needs.is_empty() {
            return layout;
        }
        self.hidden = self.headers.len() - needs.len();
        let slots = fitted(&needs, width).into_iter();
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

    fn needs<'a>(&self, rows: impl Iterator<Item = &'a Vec<String>>) -> Vec<Need> {
        let mut widest = vec![0; self.headers.len()];
        for row in rows {
            for (widest, value) in widest.iter_mut().zip(row) {
                let width = value.lines().map(UnicodeWidthStr::width).max();
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
            let least = if header.is_number {
                widest.max(name.min(TEXT_WIDTH))
            } else {
                natural.min(least_text)
            };
            Need { natural, least }
        });
        needs.collect()
    }

    fn write_border(&mut self, layout: &[Slot], corners: [char; 3]) -> Result<(), ArrowError> {
        let [left, between, right] = corners;
        let dashes = layout.iter().map(|slot| "─".repeat(slot.width() + 2));
        let dashes = dashes.collect::<Vec<_>>();
        let dashes = dashes.join(between.encode_utf8(&mut [0; 4]));
        Ok(writeln!(self.out, "{left}{dashes}{right}")?)
    }

    fn write_row(&mut self, layout: &[Slot], row: &[String]) -> Result<(), ArrowError> {
        if !self.style.wraps {
            return self.write_line(layout, |index| row.get(index).map(String::as_str));
        }
        let cell = |slot: &Slot| match slot {
            Slot::Column { index, width } => row
                .get(*index)
                .map_or(Vec::new(), |value| wrapped(value, *width)),
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

    /// A line of the table, of the values of its columns.
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
                Some(_) => self.write_cell(*slot, &shortened(value, slot.width()))?,
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

    /// How many rows there are, and what of all that is not to be seen.
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
        let slots = self.layout.as_deref().unwrap_or_default();
        let columns = slots.iter().filter(|slot| **slot != Slot::LeftOut).count();
        let all = self.headers.len();
        if columns < all {
            let null = match self.hidden {
                0 => String::new(),
                hidden => format!(" ({hidden} are NULL)"),
            };
            footer.push_str(&format!(
                "; {columns} of {all} columns{null}, --format vertical shows all"
            ));
        }
        footer
    }
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
                    shortened(&text, widest).into_owned()
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
mod tests {
    use std::sync::Arc;

    use arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray};

    use super::super::Format;
    use super::super::fixture::{batch, printed, printed_as, styled_bytes};
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

    /// Names that are wide, joined, marked and long, a number, and nothing.
    fn odd() -> RecordBatch {
        let names = [
            "日本語",
            "👩\u{200d}🔬 lab",
            "e\u{301}te\u{301}",
            &"long ".repeat(60),
            "\u{1b}[2J",
        ];
        let numbers = (0..5).map(|number| (number != 1).then_some(number * 123_456_789));
        let columns: [(&str, ArrayRef); 3] = [
            ("name", Arc::new(StringArray::from(names.to_vec()))),
            ("runtime_ns", Arc::new(numbers.collect::<Int64Array>())),
            ("note", Arc::new(StringArray::from(names.to_vec()))),
        ];
        RecordBatch::try_from_iter_with_nullable(columns.map(|(name, column)| (name, column, true)))
            .unwrap()
    }

    fn styled(style: Style, batches: &[RecordBatch]) -> String {
        let schema = batches[0].schema();
        String::from_utf8(styled_bytes(Format::Table, style, schema, batches).unwrap()).unwrap()
    }

    fn width(width: usize) -> Style {
        Style {
            width: Some(width),
            ..Style::default()
        }
    }

    #[test]
    fn no_line_is_wider_than_the_screen_and_no_number_is_cut() {
        for columns in [80, 120, 200] {
            for wraps in [false, true] {
                let style = Style {
                    wraps,
                    ..width(columns)
                };
                for batches in [
                    vec![odd()],
                    vec![odd().slice(0, 0)],
                    vec![odd().slice(0, 1)],
                    vec![batch()],
                ] {
                    let text = styled(style, &batches);
                    let widest = text.lines().map(UnicodeWidthStr::width).max().unwrap();
                    assert!(widest <= columns, "{text}");
                    let borders = text.lines().filter(|line| !line.starts_with('('));
                    let mut widths: Vec<usize> = borders.map(UnicodeWidthStr::width).collect();
                    widths.dedup();
                    assert_eq!(widths.len(), 1, "{text}");
                }
                let text = styled(style, &[odd()]);
                assert!(text.contains(" 493827156 │"), "{text}");
                assert_eq!(wraps, text.matches("long").count() == 120, "{text}");
            }
        }
    }

    #[test]
    fn columns_beyond_the_screen_are_counted() {
        let column = |name: String| {
            (
                name,
                Arc::new(Int64Array::from(vec![1_234_567_890])) as ArrayRef,
            )
        };
        let columns = (0..20).map(|number| column(format!("c{number}")));
        let batch = RecordBatch::try_from_iter(columns).unwrap();
        let wanted = "\
┌────────────┬────────────┬────────────┬───┬────────────┬────────────┐
│         c0 │         c1 │         c2 │ … │        c18 │        c19 │
├────────────┼────────────┼────────────┼───┼────────────┼────────────┤
│ 1234567890 │ 1234567890 │ 1234567890 │ … │ 1234567890 │ 1234567890 │
└────────────┴────────────┴────────────┴───┴────────────┴────────────┘
(1 row; 5 of 20 columns, --format vertical shows all)
";
        assert_eq!(styled(width(80), &[batch]), wanted);
    }

    #[test]
    fn null_columns_give_way_to_columns_with_values() {
        let column = |number: i64| {
            let value = (number % 5 == 4).then_some(1_234_567_890 + number);
            let values = Arc::new(Int64Array::from(vec![value])) as ArrayRef;
            (format!("column_{number}"), values, true)
        };
        let batch = RecordBatch::try_from_iter_with_nullable((0..20).map(column)).unwrap();
        let text = styled(width(80), std::slice::from_ref(&batch));
        for number in [4, 9, 14, 19] {
            assert!(text.contains(&format!("column_{number} │")), "{text}");
        }
        let footer = "(1 row; 4 of 20 columns (16 are NULL), --format vertical shows all)";
        assert!(text.contains(footer), "{text}");
        // Where all columns fit, all are shown.
        let few = batch.project(&[0, 4]).unwrap();
        assert!(styled(width(80), &[few]).contains("column_0"));
    }

    #[test]
    fn rows_in_the_middle_are_counted() {
        let batch = |rows: std::ops::Range<i64>| {
            let column = Arc::new(Int64Array::from_iter_values(rows)) as ArrayRef;
            RecordBatch::try_from_iter([("n", column)]).unwrap()
        };
        let shown = |rows: usize, batches: &[RecordBatch]| {
            let style = Style {
                max_rows: Some(rows),
                ..Style::default()
            };
            let text = styled(style, batches);
            let lines = text.lines().skip(3).filter(|line| !line.starts_with('└'));
            lines
                .map(|line| line.trim_matches(['│', ' ']).to_owned())
                .collect::<Vec<_>>()
        };
        let wanted = ["0", "1", "2", "⋮", "998", "999", "(1000 rows, 5 shown)"];
        assert_eq!(shown(5, &[batch(0..1000)]), wanted);
        assert_eq!(
            shown(5, &[batch(0..3), batch(3..500), batch(500..1000)]),
            wanted
        );
        assert_eq!(
            shown(4, &[batch(0..5)]),
            ["0", "1", "⋮", "3", "4", "(5 rows, 4 shown)"]
        );
        assert_eq!(shown(2, &[batch(0..2)]), ["0", "1", "(2 rows)"]);
        assert_eq!(shown(1, &[batch(0..9)]), ["0", "⋮", "(9 rows, 1 shown)"]);
        assert_eq!(shown(0, &[batch(0..9)]), ["⋮", "(9 rows, 0 shown)"]);
    }

    #[test]
    fn times_are_shown_in_units() {
        let style = Style {
            units: true,
            ..Style::default()
        };
        let text = styled(style, &[odd().slice(1, 2)]);
        assert!(
            text.contains("│       NULL │") && text.contains("│   246.9 ms │"),
            "{text}"
        );
    }
}
