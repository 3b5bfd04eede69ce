//! Canvas of report plots: 1600 by 900 units, on white.

use crate::scene::{Paint, Role, Scene};

/// Width and height of a plot.
pub(super) const WIDTH: f64 = 1600.0;
pub(super) const HEIGHT: f64 = 900.0;

pub(super) const INK: Paint = Paint::INK;
pub(super) const GREY: Paint = Paint::GREY;
pub(super) const RULE: Paint = Paint::RULE;
pub(super) const PAPER: Paint = Paint::PAPER;

/// Colour of the curve or violin at an index; repeats after twelve.
pub(super) fn series_colour(place: usize) -> Paint {
    Paint::series(place)
}

/// A colour that is the same in all themes.
pub(super) const fn fixed_colour(red: u8, green: u8, blue: u8) -> Paint {
    Paint::new(Role::Fixed((red, green, blue)))
}

/// Content of a plot.
pub(super) trait Drawable {
    fn draw(&self, canvas: &mut Scene);
}
