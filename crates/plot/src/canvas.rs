//! Canvas of report plots, on white.

use crate::scene::{Paint, Role, Scene};

/// Usual width and height of a plot.
pub(super) const WIDTH: f64 = 1600.0;
pub(super) const HEIGHT: f64 = 900.0;

pub(super) const INK: Paint = Paint::INK;
pub(super) const GREY: Paint = Paint::GREY;
pub(super) const RULE: Paint = Paint::RULE;
pub(super) const BACKGROUND: Paint = Paint::BACKGROUND;

/// Colour of the curve or violin at an index; repeats after twelve.
pub(super) fn series_colour(index: usize) -> Paint {
    Paint::series(index)
}

/// A colour that is the same in all themes.
pub(super) const fn fixed_colour(red: u8, green: u8, blue: u8) -> Paint {
    Paint::new(Role::Fixed((red, green, blue)))
}

/// Content of a plot.
pub(super) trait Drawable {
    /// Width and height.
    fn size(&self) -> (f64, f64) {
        (WIDTH, HEIGHT)
    }

    fn draw(&self, canvas: &mut Scene);
}
