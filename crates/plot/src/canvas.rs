//! What the pictures of reports are drawn on: 1600 by 900, on white.

use crate::scene::{Paint, Role, Scene};

/// Width and height of a picture.
pub(super) const WIDTH: f64 = 1600.0;
pub(super) const HEIGHT: f64 = 900.0;

pub(super) const INK: Paint = Paint::INK;
pub(super) const GREY: Paint = Paint::GREY;
pub(super) const RULE: Paint = Paint::RULE;
pub(super) const PAPER: Paint = Paint::PAPER;

/// The colour of the curve or violin at a place, over again after twelve.
pub(super) fn colour(place: usize) -> Paint {
    Paint::series(place)
}

/// A colour that is the same on all paper.
pub(super) const fn fixed(red: u8, green: u8, blue: u8) -> Paint {
    Paint::of(Role::Fixed((red, green, blue)))
}

/// What is drawn.
pub(super) trait Drawing {
    fn draw(&self, canvas: &mut Scene);
}
