//! What is drawn on: the same primitives as SVG and as PNG.

use std::fmt::Display;

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::text;

/// Width and height of a picture.
pub(super) const WIDTH: f64 = 1600.0;
pub(super) const HEIGHT: f64 = 900.0;
pub(super) const SIZE: (u32, u32) = (1600, 900);

/// Dots across a pixel: places are whole numbers of dots.
pub(super) const ZOOM: u32 = 2;

/// The font is the first one; browsers without it take one that is about as wide.
const FONT: &str = "DejaVu Sans, Verdana, sans-serif";

/// Of the height of a line of `plotters`, how much the em is, and in ems how far the baseline is
/// below the top: what it writes into SVG.
pub(super) const LINE: f64 = 1.24;
pub(super) const BASELINE: f64 = 0.76;

pub(super) const INK: RGBAColor = RGBAColor(30, 30, 30, 1.0);
pub(super) const GREY: RGBAColor = RGBAColor(95, 95, 95, 1.0);
pub(super) const RULE: RGBAColor = RGBAColor(226, 226, 226, 1.0);
pub(super) const PAPER: RGBAColor = RGBAColor(255, 255, 255, 1.0);

/// Colours that people tell apart who see few: those of Okabe and Ito without yellow, then five that
/// are at least as far from them and from each other, as seen by all.
const COLOURS: [(u8, u8, u8); 12] = [
    (0, 114, 178),
    (213, 94, 0),
    (0, 158, 115),
    (204, 121, 167),
    (230, 159, 0),
    (86, 180, 233),
    (0, 0, 0),
    (135, 0, 240),
    (90, 45, 0),
    (0, 30, 135),
    (90, 75, 90),
    (150, 120, 255),
];

/// The colour of the curve or violin at a place, over again after twelve.
pub(super) fn colour(place: usize) -> RGBAColor {
    let found = COLOURS.get(place % COLOURS.len());
    let (red, green, blue) = found.copied().unwrap_or_default();
    RGBAColor(red, green, blue, 1.0)
}

/// The shape of the dots of a curve: differs where [`colour`] comes again.
pub(super) fn shape(place: usize) -> usize {
    place + place / COLOURS.len()
}

/// What is drawn on either kind of canvas.
pub(super) trait Drawing {
    fn draw<B: DrawingBackend>(&self, canvas: &Canvas<'_, B>) -> Result<(), String>;
}

/// Where and how text is written: `(x, y)` is the top of its line, at the left of the text unless
/// told otherwise.
#[derive(Clone)]
pub(super) struct Text {
    size: f64,
    at: (f64, f64),
    side: HPos,
    turn: FontTransform,
    colour: RGBAColor,
}

impl Text {
    pub(super) fn new(size: f64, x: f64, y: f64) -> Self {
        Self {
            size,
            at: (x, y),
            side: HPos::Left,
            turn: FontTransform::None,
            colour: INK,
        }
    }

    /// `x` is the middle of the text.
    pub(super) fn centred(self) -> Self {
        Self {
            side: HPos::Center,
            ..self
        }
    }

    /// `x` is the right end of the text.
    pub(super) fn right(self) -> Self {
        Self {
            side: HPos::Right,
            ..self
        }
    }

    /// The text reads upwards: `x` is the top of its line, `y` its place along it.
    pub(super) fn upwards(self) -> Self {
        Self {
            turn: FontTransform::Rotate270,
            ..self
        }
    }

    pub(super) fn coloured(self, colour: RGBAColor) -> Self {
        Self { colour, ..self }
    }
}

/// Draws in pixels of the picture.
pub(super) struct Canvas<'a, B: DrawingBackend> {
    pub(super) area: &'a DrawingArea<B, Shift>,
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "stops at the ends of the range"
)]
fn dot(length: f64) -> i32 {
    (length * f64::from(ZOOM)).round() as i32
}

fn dots(points: &[(f64, f64)]) -> Vec<(i32, i32)> {
    points.iter().map(|(x, y)| (dot(*x), dot(*y))).collect()
}

fn stroke(colour: RGBAColor, width: f64) -> ShapeStyle {
    Color::stroke_width(&colour, dot(width).unsigned_abs().max(1))
}

pub(super) fn failed(error: impl Display) -> String {
    error.to_string()
}

impl<B: DrawingBackend> Canvas<'_, B> {
    pub(super) fn line(
        &self,
        points: &[(f64, f64)],
        colour: RGBAColor,
        width: f64,
    ) -> Result<(), String> {
        let path = PathElement::new(dots(points), stroke(colour, width));
        self.area.draw(&path).map_err(failed)
    }

    /// A line with gaps: `on` drawn, `off` not.
    pub(super) fn dashes(
        &self,
        points: &[(f64, f64)],
        colour: RGBAColor,
        width: f64,
        (on, off): (f64, f64),
    ) -> Result<(), String> {
        // How much is left of the dash or gap that is being drawn.
        let (mut drawn, mut left) = (true, on);
        let mut dash: Vec<(f64, f64)> = points.first().copied().into_iter().collect();
        for (&from, &to) in points.iter().zip(points.iter().skip(1)) {
            let length = (to.0 - from.0).hypot(to.1 - from.1);
            let mut done = 0.0;
            while length - done > left {
                done += left;
                let part = done / length;
                let at = (
                    from.0 + part * (to.0 - from.0),
                    from.1 + part * (to.1 - from.1),
                );
                dash.push(at);
                if drawn {
                    self.line(&dash, colour, width)?;
                }
                drawn = !drawn;
                left = if drawn { on } else { off };
                dash = vec![at];
            }
            left -= length - done;
            dash.push(to);
        }
        if drawn {
            self.line(&dash, colour, width)
        } else {
            Ok(())
        }
    }

    pub(super) fn filled(&self, corners: &[(f64, f64)], colour: RGBAColor) -> Result<(), String> {
        let shape = Polygon::new(dots(corners), colour.filled());
        self.area.draw(&shape).map_err(failed)
    }

    pub(super) fn circle(
        &self,
        (x, y): (f64, f64),
        radius: f64,
        colour: RGBAColor,
    ) -> Result<(), String> {
        let circle = Circle::new((dot(x), dot(y)), dot(radius), colour.filled());
        self.area.draw(&circle).map_err(failed)
    }

    pub(super) fn text(&self, text: &str, how: Text) -> Result<(), String> {
        let size = f64::from(dot(how.size)) * LINE;
        let font = FontDesc::new(FontFamily::Name(FONT), size, FontStyle::Normal);
        let style = font.transform(how.turn).color(&how.colour);
        let style = style.pos(Pos::new(how.side, VPos::Top));
        let at = (dot(how.at.0), dot(how.at.1));
        self.area
            .draw_text(&text::clean(text), &style, at)
            .map_err(failed)
    }
}
