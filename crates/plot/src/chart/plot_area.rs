//! Mapping from values to positions in a chart.

use super::axis::{Axis, AxisScale};

/// Rectangle of the data in a chart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct PlotRect {
    pub(crate) left: f64,
    pub(crate) right: f64,
    pub(crate) top: f64,
    pub(crate) bottom: f64,
}

/// A rectangle with its axes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PlotArea<'a> {
    pub(crate) field: PlotRect,
    pub(crate) across: &'a Axis,
    pub(crate) up: &'a Axis,
}

impl PlotRect {
    pub(crate) fn width(&self) -> f64 {
        self.right - self.left
    }

    pub(crate) fn height(&self) -> f64 {
        self.bottom - self.top
    }

    pub(crate) fn x(&self, share: f64) -> f64 {
        self.left + share * self.width()
    }

    /// Names run from top to bottom, numbers from bottom to top.
    pub(crate) fn y(&self, up: &Axis, share: f64) -> f64 {
        match up.scale {
            AxisScale::Words(_) => self.top + share * self.height(),
            _ => self.bottom - share * self.height(),
        }
    }
}

impl PlotArea<'_> {
    pub(crate) fn x(&self, value: f64) -> Option<f64> {
        self.across.fraction(value).map(|share| self.field.x(share))
    }

    pub(crate) fn y(&self, value: f64) -> Option<f64> {
        self.up
            .fraction(value)
            .map(|share| self.field.y(self.up, share))
    }

    pub(crate) fn point(&self, x: f64, y: f64) -> Option<(f64, f64)> {
        self.x(x).zip(self.y(y))
    }

    /// Returns whether the names are on the vertical axis, so that bars are horizontal.
    pub(crate) fn is_horizontal(&self) -> bool {
        matches!(self.up.scale, AxisScale::Words(_))
    }

    /// Axis of the values of bars, boxes and violins.
    pub(crate) fn value_axis(&self) -> &Axis {
        match self.is_horizontal() {
            true => self.across,
            false => self.up,
        }
    }

    /// Point at a fraction of the axis of names and a fraction of the axis of values.
    pub(crate) fn point_at_fractions(&self, names: f64, share: f64) -> (f64, f64) {
        let of = |axis: &Axis| names / axis.ends.1.max(1.0);
        match self.is_horizontal() {
            true => (
                self.field.x(share),
                self.field.top + of(self.up) * self.field.height(),
            ),
            false => (self.field.x(of(self.across)), self.field.y(self.up, share)),
        }
    }

    /// Width of the slot of a name.
    pub(crate) fn slot(&self) -> f64 {
        match self.is_horizontal() {
            true => self.field.height() / self.up.ends.1.max(1.0),
            false => self.field.width() / self.across.ends.1.max(1.0),
        }
    }
}
