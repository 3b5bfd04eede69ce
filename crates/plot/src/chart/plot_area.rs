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
    pub(crate) x_axis: &'a Axis,
    pub(crate) y_axis: &'a Axis,
}

impl PlotRect {
    pub(crate) fn width(&self) -> f64 {
        self.right - self.left
    }

    pub(crate) fn height(&self) -> f64 {
        self.bottom - self.top
    }

    pub(crate) fn x(&self, fraction: f64) -> f64 {
        self.left + fraction * self.width()
    }

    /// Names run from top to bottom, numbers from bottom to top.
    pub(crate) fn y(&self, y_axis: &Axis, fraction: f64) -> f64 {
        match y_axis.scale {
            AxisScale::Words(_) => self.top + fraction * self.height(),
            _ => self.bottom - fraction * self.height(),
        }
    }
}

impl PlotArea<'_> {
    pub(crate) fn x(&self, value: f64) -> Option<f64> {
        self.x_axis
            .fraction(value)
            .map(|fraction| self.field.x(fraction))
    }

    pub(crate) fn y(&self, value: f64) -> Option<f64> {
        self.y_axis
            .fraction(value)
            .map(|fraction| self.field.y(self.y_axis, fraction))
    }

    pub(crate) fn point(&self, x: f64, y: f64) -> Option<(f64, f64)> {
        self.x(x).zip(self.y(y))
    }

    /// Returns whether the names are on the vertical axis, so that bars are horizontal.
    pub(crate) fn is_horizontal(&self) -> bool {
        matches!(self.y_axis.scale, AxisScale::Words(_))
    }

    /// Axis of the values of bars, boxes and violins.
    pub(crate) fn value_axis(&self) -> &Axis {
        match self.is_horizontal() {
            true => self.x_axis,
            false => self.y_axis,
        }
    }

    /// Point at a fraction of the axis of names and a fraction of the axis of values.
    pub(crate) fn point_at_fractions(&self, names: f64, fraction: f64) -> (f64, f64) {
        let slot_fraction = |axis: &Axis| names / axis.ends.1.max(1.0);
        match self.is_horizontal() {
            true => (
                self.field.x(fraction),
                self.field.top + slot_fraction(self.y_axis) * self.field.height(),
            ),
            false => (
                self.field.x(slot_fraction(self.x_axis)),
                self.field.y(self.y_axis, fraction),
            ),
        }
    }

    /// Width of the slot of a name.
    pub(crate) fn slot(&self) -> f64 {
        match self.is_horizontal() {
            true => self.field.height() / self.y_axis.ends.1.max(1.0),
            false => self.field.width() / self.x_axis.ends.1.max(1.0),
        }
    }
}
