//! Where in a picture a value is.

use super::axis::{Axis, Scale};

/// Where the data of a picture are drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Field {
    pub(crate) left: f64,
    pub(crate) right: f64,
    pub(crate) top: f64,
    pub(crate) bottom: f64,
}

/// A field with its axes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place<'a> {
    pub(crate) field: Field,
    pub(crate) across: &'a Axis,
    pub(crate) up: &'a Axis,
}

impl Field {
    pub(crate) fn width(&self) -> f64 {
        self.right - self.left
    }

    pub(crate) fn height(&self) -> f64 {
        self.bottom - self.top
    }

    pub(crate) fn x(&self, share: f64) -> f64 {
        self.left + share * self.width()
    }

    /// Names run down, numbers up.
    pub(crate) fn y(&self, up: &Axis, share: f64) -> f64 {
        match up.scale {
            Scale::Words(_) => self.top + share * self.height(),
            _ => self.bottom - share * self.height(),
        }
    }
}

impl Place<'_> {
    pub(crate) fn x(&self, value: f64) -> Option<f64> {
        self.across.share(value).map(|share| self.field.x(share))
    }

    pub(crate) fn y(&self, value: f64) -> Option<f64> {
        self.up
            .share(value)
            .map(|share| self.field.y(self.up, share))
    }

    pub(crate) fn at(&self, x: f64, y: f64) -> Option<(f64, f64)> {
        self.x(x).zip(self.y(y))
    }

    /// Are the names beside each other, or below?
    pub(crate) fn is_turned(&self) -> bool {
        matches!(self.up.scale, Scale::Words(_))
    }

    /// The axis of the values of bars, boxes and violins.
    pub(crate) fn measured(&self) -> &Axis {
        match self.is_turned() {
            true => self.across,
            false => self.up,
        }
    }

    /// A point by how far it is among the names, and by a share of the axis of values.
    pub(crate) fn among(&self, names: f64, share: f64) -> (f64, f64) {
        let of = |axis: &Axis| names / axis.ends.1.max(1.0);
        match self.is_turned() {
            true => (
                self.field.x(share),
                self.field.top + of(self.up) * self.field.height(),
            ),
            false => (self.field.x(of(self.across)), self.field.y(self.up, share)),
        }
    }

    /// How wide the part of a name is.
    pub(crate) fn slot(&self) -> f64 {
        match self.is_turned() {
            true => self.field.height() / self.up.ends.1.max(1.0),
            false => self.field.width() / self.across.ends.1.max(1.0),
        }
    }
}
