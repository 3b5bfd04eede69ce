//! A picture as pixels: `tiny-skia` fills what is drawn, and the outlines of the letters at the fractions of a pixel where
//! they belong, as a browser does.

use ab_glyph::{Font as _, OutlineCurve};
use tiny_skia::{
    Color, FillRule, LineCap, LineJoin, Paint as Ink, Path, PathBuilder, Pixmap, Rect, Stroke,
    StrokeDash, Transform,
};

use super::png::file;
use super::shapes::{Item, Paint, Scene, Shape, Side, Text};
use super::svg::BASELINE;
use super::theme::Theme;
use crate::text;

/// The most pixels across or down.
const MOST: u32 = 16_384;

/// The picture as a PNG file of so many pixels across.
///
/// # Errors
/// Without pixels, with too many, or where the font is not understood.
pub(crate) fn png(scene: &Scene, theme: Theme, width: u32) -> Result<Vec<u8>, String> {
    let scale = f64::from(width) / scene.size.0;
    let height = scene.size.1 * scale;
    if width == 0 || width > MOST || height > f64::from(MOST) {
        return Err(format!(
            "a picture of {width} by {height:.0} pixels is none that can be drawn: 1 to {MOST} each"
        ));
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "between 1 and the most"
    )]
    let height = height.round().max(1.0) as u32;
    let mut pixels = Pixmap::new(width, height).ok_or("there is no memory for the pixels")?;
    let (red, green, blue) = theme.colour(Paint::PAPER.role);
    pixels.fill(Color::from_rgba8(red, green, blue, 255));
    let mut canvas = Canvas {
        pixels,
        theme,
        scale: single(scale),
    };
    for item in &scene.items {
        if let Item::Shape { shape, .. } = item {
            canvas.draw(shape)?;
        }
    }
    let rows = canvas.pixels.pixels().iter();
    let rows: Vec<u8> = rows
        .flat_map(|pixel| [pixel.red(), pixel.green(), pixel.blue()])
        .collect();
    file(&rows, (width, height)).map_err(|error| error.to_string())
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "pixels need no more digits"
)]
fn single(length: f64) -> f32 {
    length as f32
}

struct Canvas {
    pixels: Pixmap,
    theme: Theme,
    scale: f32,
}

impl Canvas {
    fn ink(&self, paint: Paint) -> Ink<'static> {
        let (red, green, blue) = self.theme.colour(paint.role);
        let mut ink = Ink::default();
        let mut colour = Color::from_rgba8(red, green, blue, 255);
        colour.set_alpha(single(paint.alpha.clamp(0.0, 1.0)));
        ink.set_color(colour);
        ink.anti_alias = true;
        ink
    }

    fn zoom(&self) -> Transform {
        Transform::from_scale(self.scale, self.scale)
    }

    fn fill(&mut self, path: Option<Path>, paint: Paint) {
        if let Some(path) = path {
            let (ink, zoom) = (self.ink(paint), self.zoom());
            self.pixels
                .fill_path(&path, &ink, FillRule::Winding, zoom, None);
        }
    }

    fn draw(&mut self, shape: &Shape) -> Result<(), String> {
        match shape {
            Shape::Line {
                points,
                width,
                paint,
                dash,
            } => {
                let stroke = Stroke {
                    width: single(*width),
                    line_cap: LineCap::Butt,
                    line_join: LineJoin::Round,
                    dash: dash
                        .and_then(|(on, off)| StrokeDash::new(vec![single(on), single(off)], 0.0)),
                    ..Stroke::default()
                };
                if let Some(path) = outline(points, false) {
                    let (ink, zoom) = (self.ink(*paint), self.zoom());
                    self.pixels.stroke_path(&path, &ink, &stroke, zoom, None);
                }
            }
            Shape::Area { corners, paint } => self.fill(outline(corners, true), *paint),
            Shape::Box { from, to, paint } => {
                let block =
                    Rect::from_ltrb(single(from.0), single(from.1), single(to.0), single(to.1));
                self.fill(block.map(PathBuilder::from_rect), *paint);
            }
            Shape::Circle {
                centre,
                radius,
                paint,
            } => {
                let (x, y) = (single(centre.0), single(centre.1));
                self.fill(PathBuilder::from_circle(x, y, single(*radius)), *paint);
            }
            Shape::Text { text, how } => {
                let letters = letters(text, how).ok_or("the font is not understood")?;
                self.fill(letters, how.paint);
            }
        }
        Ok(())
    }
}

fn outline(points: &[(f64, f64)], is_closed: bool) -> Option<Path> {
    let mut path = PathBuilder::new();
    let mut points = points.iter();
    let (x, y) = points.next()?;
    path.move_to(single(*x), single(*y));
    for (x, y) in points {
        path.line_to(single(*x), single(*y));
    }
    if is_closed {
        path.close();
    }
    path.finish()
}

/// The outlines of a text, `None` of it where nothing is to be seen.
fn letters(text: &str, how: &Text) -> Option<Option<Path>> {
    let font = text::font()?;
    let (glyphs, width) = text::laid(font, text, single(how.size));
    let start = match how.side {
        Side::Left => 0.0,
        Side::Middle => width / 2.0,
        Side::Right => width,
    };
    let zoom = single(how.size) / font.units_per_em()?;
    let down = single(BASELINE * how.size);
    let (left, top) = (single(how.at.0), single(how.at.1));
    let mut path = PathBuilder::new();
    for glyph in glyphs {
        let Some(outline) = font.outline(glyph.id) else {
            continue;
        };
        let along = glyph.position.x - start;
        let at = |point: ab_glyph::Point| {
            let (x, y) = (along + point.x * zoom, down - point.y * zoom);
            match how.is_upwards {
                false => (left + x, top + y),
                true => (left + y, top - x),
            }
        };
        contours(&mut path, &outline.curves, at);
    }
    Some(path.finish())
}

/// The curves of a glyph, of which one begins where another one than the last ended.
fn contours(
    path: &mut PathBuilder,
    curves: &[OutlineCurve],
    at: impl Fn(ab_glyph::Point) -> (f32, f32),
) {
    let mut end: Option<ab_glyph::Point> = None;
    for curve in curves {
        let (from, to) = match curve {
            OutlineCurve::Line(from, to)
            | OutlineCurve::Quad(from, _, to)
            | OutlineCurve::Cubic(from, _, _, to) => (*from, *to),
        };
        if end != Some(from) {
            if end.is_some() {
                path.close();
            }
            let (x, y) = at(from);
            path.move_to(x, y);
        }
        let (x, y) = at(to);
        match curve {
            OutlineCurve::Line(..) => path.line_to(x, y),
            OutlineCurve::Quad(_, control, _) => {
                let (a, b) = at(*control);
                path.quad_to(a, b, x, y);
            }
            OutlineCurve::Cubic(_, first, second, _) => {
                let ((a, b), (c, d)) = (at(*first), at(*second));
                path.cubic_to(a, b, c, d, x, y);
            }
        }
        end = Some(to);
    }
    if end.is_some() {
        path.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(scene: &Scene, width: u32) -> Vec<u8> {
        png(scene, Theme::Light, width).unwrap()
    }

    #[test]
    fn a_picture_has_the_pixels_that_are_asked_for() {
        let mut scene = Scene::new(40.0, 20.0, "t");
        scene.text("Text", Text::new(10.0, 4.0, 0.0));
        let found = drawn(&scene, 80);
        assert!(
            found.starts_with(b"\x89PNG\r\n\x1a\n") && found.ends_with(b"IEND\xae\x42\x60\x82")
        );
        assert_eq!(found.get(16..24), Some(&[0, 0, 0, 80, 0, 0, 0, 40][..]));
        assert_eq!(drawn(&scene, 80), found);
        assert_ne!(drawn(&Scene::new(40.0, 20.0, "t"), 80), found);
        assert!(png(&scene, Theme::Light, 0).is_err());
        assert!(png(&scene, Theme::Light, 100_000).is_err());
    }

    #[test]
    fn letters_lie_where_they_are_said_to() {
        let text = |how: Text| letters("il", &how).unwrap().unwrap().bounds();
        let plain = text(Text::new(100.0, 50.0, 10.0));
        assert!(plain.left() > 50.0 && plain.bottom() < 110.0, "{plain:?}");
        // The baseline is below the dots of the letters, the letters above it.
        assert!((plain.bottom() - (10.0 + 76.0)).abs() < 1.0, "{plain:?}");
        let right = text(Text::new(100.0, 50.0, 10.0).right());
        assert!(right.right() < 50.0);
        let up = text(Text::new(100.0, 50.0, 10.0).upwards());
        assert!(up.left() > 50.0 && up.bottom() < 10.0);
    }
}
