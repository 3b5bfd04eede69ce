//! How large letters and lines are.

use crate::scene::Theme;
use crate::text::Letters;

/// How large a picture is, in units of which a label has 18 across its height.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Size {
    /// 640 by 400: letters of 6 to 7.5 points where it is as wide as the column of a paper (84 mm).
    #[default]
    Column,
    /// 1280 by 720: the page of a slide.
    Slide,
    /// Others, with the letters of a column.
    Units {
        /// Units across.
        width: u32,
        /// Units down, at least: what needs more gets more.
        height: u32,
    },
}

/// What a picture looks like.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Look {
    /// Its paper.
    pub theme: Theme,
    /// Its size.
    pub size: Size,
}

/// Lengths in units of the picture.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Style {
    pub(crate) width: f64,
    /// More where there is more to be shown.
    pub(crate) height: f64,
    pub(crate) letters: Letters,
    pub(crate) title: f64,
    pub(crate) axis: f64,
    pub(crate) label: f64,
    pub(crate) remark: f64,
    /// From line to line, by the size of the letters.
    pub(crate) leading: f64,
    pub(crate) line: f64,
    pub(crate) dot: f64,
    pub(crate) margin: f64,
}

impl Style {
    pub(crate) fn of(size: Size) -> Self {
        let (width, height, label) = match size {
            Size::Column => (640, 400, 18.0),
            Size::Slide => (1280, 720, 22.0),
            Size::Units { width, height } => (width.max(240), height.max(160), 18.0),
        };
        Self {
            width: f64::from(width),
            height: f64::from(height),
            letters: Letters::Font,
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

    /// Of a terminal: a unit is a dot, two across and four down a letter.
    pub(crate) fn of_terminal(columns: usize, rows: usize) -> Self {
        Self {
            width: 2.0 * crate::number::float(columns),
            height: 4.0 * crate::number::float(rows),
            letters: Letters::Cells,
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
        self.letters == Letters::Cells
    }

    pub(crate) fn width_of(&self, text: &str, size: f64) -> f64 {
        self.letters.width(text, size)
    }

    /// At most `most` lines in the `room` that there is.
    pub(crate) fn lines(&self, text: &str, size: f64, room: f64, most: usize) -> Vec<String> {
        self.letters.wrap(text, size, room, most)
    }

    /// Names on one line each, no two different ones alike.
    pub(crate) fn names(&self, names: &[String], size: f64, room: f64) -> Vec<String> {
        self.letters.distinct(names, size, room)
    }

    /// From the top of a line to that of the next.
    pub(crate) fn lead(&self, size: f64) -> f64 {
        self.leading * size
    }

    /// How far below the top of its line the middle of a letter is.
    pub(crate) fn middle(&self, size: f64) -> f64 {
        match self.is_terminal() {
            true => 0.5 * size,
            false => 0.41 * size,
        }
    }
}
