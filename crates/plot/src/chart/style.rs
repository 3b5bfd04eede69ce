//! Sizes of text and lines.

use crate::scene::Theme;
use crate::text::TextMetrics;

/// Size of a chart, in units. A label is 18 units high.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PlotSize {
    /// 640 by 400: text of 6 to 7.5 points at the width of a paper column (84 mm).
    #[default]
    Column,
    /// 1280 by 720: a slide.
    Slide,
    /// Custom size, with the text size of a column.
    Units {
        /// Width in units.
        width: u32,
        /// Minimum height in units; extended if required.
        height: u32,
    },
}

/// Appearance of a chart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Appearance {
    /// Colour theme.
    pub theme: Theme,
    /// Size.
    pub size: PlotSize,
}

/// Lengths in units of the chart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Style {
    pub(crate) width: f64,
    /// Minimum height; extended if required.
    pub(crate) height: f64,
    pub(crate) metrics: TextMetrics,
    pub(crate) title: f64,
    pub(crate) axis: f64,
    pub(crate) label: f64,
    pub(crate) remark: f64,
    /// Line height relative to the text size.
    pub(crate) leading: f64,
    pub(crate) line: f64,
    pub(crate) dot: f64,
    pub(crate) margin: f64,
}

impl Style {
    pub(crate) fn for_size(size: PlotSize) -> Self {
        let (width, height, label) = match size {
            PlotSize::Column => (640, 400, 18.0),
            PlotSize::Slide => (1280, 720, 22.0),
            PlotSize::Units { width, height } => (width.max(240), height.max(160), 18.0),
        };
        Self {
            width: f64::from(width),
            height: f64::from(height),
            metrics: TextMetrics::Font,
            title: 1.2 * label,
            axis: label,
            label,
            remark: 0.9 * label,
            leading: 1.3,
            line: 0.13 * label,
            dot: 0.22 * label,
            margin: 0.7 * label,
        }
    }

    /// Style for a terminal: a unit is a dot, and a character is two dots wide and four dots high.
    pub(crate) fn for_terminal(columns: usize, rows: usize) -> Self {
        Self {
            width: 2.0 * crate::number::float(columns),
            height: 4.0 * crate::number::float(rows),
            metrics: TextMetrics::Cells,
            title: 4.0,
            axis: 4.0,
            label: 4.0,
            remark: 4.0,
            leading: 1.0,
            line: 1.0,
            dot: 0.5,
            margin: 0.0,
        }
    }

    pub(crate) fn is_terminal(&self) -> bool {
        self.metrics == TextMetrics::Cells
    }

    pub(crate) fn width_of(&self, text: &str, size: f64) -> f64 {
        self.metrics.width(text, size)
    }

    /// Breaks text into at most `max_lines` lines of width `room`.
    pub(crate) fn lines(&self, text: &str, size: f64, room: f64, max_lines: usize) -> Vec<String> {
        self.metrics.wrap(text, size, room, max_lines)
    }

    /// Shortens names to one line each; different names stay different.
    pub(crate) fn names(&self, names: &[String], size: f64, room: f64) -> Vec<String> {
        self.metrics.distinct_lines(names, size, room)
    }

    /// Breaks names into at most `max_lines` lines each; different names stay different.
    pub(crate) fn name_lines(
        &self,
        names: &[String],
        (size, room): (f64, f64),
        max_lines: usize,
    ) -> Vec<Vec<String>> {
        if max_lines > 1 && !self.is_terminal() {
            return crate::text::wrap_names(names, size, room, max_lines);
        }
        let lines = self.names(names, size, room).into_iter();
        lines.map(|line| vec![line]).collect()
    }

    /// Distance between the tops of two lines.
    pub(crate) fn line_height(&self, size: f64) -> f64 {
        self.leading * size
    }

    /// Distance from the top of a line to the middle of its characters.
    pub(crate) fn glyph_middle(&self, size: f64) -> f64 {
        match self.is_terminal() {
            true => 0.5 * size,
            false => 0.41 * size,
        }
    }
}
