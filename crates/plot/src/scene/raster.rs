//! Rasterization of a scene with `tiny-skia`. Glyph outlines are filled at subpixel positions, as in a browser.

use ab_glyph::{Font as _, OutlineCurve};
use tiny_skia::{
    Color, FillRule, LineCap, LineJoin, Paint as Ink, Path, PathBuilder, Pixmap, Rect, Stroke,
    StrokeDash, Transform,
};

use super::png::file;
use super::shapes::{Paint, Scene, SceneItem, Shape, Text, TextAnchor};
use super::svg::BASELINE;
use super::theme::Theme;
use crate::text;

/// Maximum width or height in pixels.
const MAX_PIXELS: u32 = 16_384;

/// Renders a PNG file, `width` pixels wide.
///
/// # Errors
/// Without pixels, with too many, or if the font cannot be parsed.
pub(crate) fn png(scene: &Scene, theme: Theme, width: u32) -> Result<Vec<u8>, String> {
    let scale = f64::from(width) / scene.size.0;
    let height = scene.size.1 * scale;
    if width == 0 || width > MAX_PIXELS || height > f64::from(MAX_PIXELS) {
        return Err(format!(
            "the image has {width} by {height:.0} pixels, expected 1 to {MAX_PIXELS} each"
        ));
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "between 1 and the most"
    )]
    let height = height.round().max(1.0) as u32;
    let mut pixels = Pixmap::new(width, height).ok_or("not enough memory for the pixels")?;
    let (red, green, blue) = theme.colour(Paint::BACKGROUND.role);
    pixels.fill(Color::from_rgba8(red, green, blue, 255));
    let mut canvas = RasterCanvas {
        pixels,
        theme,
        scale: to_f32(scale),
    };
    for item in &scene.items {
        if let SceneItem::Shape { shape, .. } = item {
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
fn to_f32(length: f64) -> f32 {
    length as f32
}

struct RasterCanvas {
    pixels: Pixmap,
    theme: Theme,
    scale: f32,
}

impl RasterCanvas {
    fn ink(&self, paint: Paint) -> Ink<'static> {
        let (red, green, blue) = self.theme.colour(paint.role);
        let mut ink = Ink::default();
        let mut colour = Color::from_rgba8(red, green, blue, 255);
        colour.set_alpha(to_f32(paint.alpha.clamp(0.0, 1.0)));
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
                    width: to_f32(*width),
                    line_cap: LineCap::Butt,
                    line_join: LineJoin::Round,
                    dash: dash
                        .and_then(|(on, off)| StrokeDash::new(vec![to_f32(on), to_f32(off)], 0.0)),
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
                    Rect::from_ltrb(to_f32(from.0), to_f32(from.1), to_f32(to.0), to_f32(to.1));
                self.fill(block.map(PathBuilder::from_rect), *paint);
            }
            Shape::Circle {
                centre,
                radius,
                paint,
            } => {
                let (x, y) = (to_f32(centre.0), to_f32(centre.1));
                self.fill(PathBuilder::from_circle(x, y, to_f32(*radius)), *paint);
            }
            Shape::Text { text, placement } => {
                let outlines = text_path(text, placement).ok_or("the font cannot be parsed")?;
                self.fill(outlines, placement.paint);
            }
        }
        Ok(())
    }
}

fn outline(points: &[(f64, f64)], is_closed: bool) -> Option<Path> {
    let mut path = PathBuilder::new();
    let mut points = points.iter();
    let (x, y) = points.next()?;
    path.move_to(to_f32(*x), to_f32(*y));
    for (x, y) in points {
        path.line_to(to_f32(*x), to_f32(*y));
    }
    if is_closed {
        path.close();
    }
    path.finish()
}

/// Returns the outlines of a text; an inner `None` if nothing is visible.
fn text_path(text: &str, placement: &Text) -> Option<Option<Path>> {
    let font = text::font()?;
    let (glyphs, width) = text::layout_glyphs(font, text, to_f32(placement.size));
    let start = match placement.anchor {
        TextAnchor::Left => 0.0,
        TextAnchor::Middle => width / 2.0,
        TextAnchor::Right => width,
    };
    let zoom = to_f32(placement.size) / font.units_per_em()?;
    let down = to_f32(BASELINE * placement.size);
    let (left, top) = (to_f32(placement.position.0), to_f32(placement.position.1));
    let mut path = PathBuilder::new();
    for glyph in glyphs {
        let Some(outline) = font.outline(glyph.id) else {
            continue;
        };
        let along = glyph.position.x - start;
        let to_pixel = |point: ab_glyph::Point| {
            let (x, y) = (along + point.x * zoom, down - point.y * zoom);
            match placement.is_upwards {
                false => (left + x, top + y),
                true => (left + y, top - x),
            }
        };
        push_contours(&mut path, &outline.curves, to_pixel);
    }
    Some(path.finish())
}

/// Appends the curves of a glyph. A new contour begins where a curve does not start at the end of the previous one.
fn push_contours(
    path: &mut PathBuilder,
    curves: &[OutlineCurve],
    to_pixel: impl Fn(ab_glyph::Point) -> (f32, f32),
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
            let (x, y) = to_pixel(from);
            path.move_to(x, y);
        }
        let (x, y) = to_pixel(to);
        match curve {
            OutlineCurve::Line(..) => path.line_to(x, y),
            OutlineCurve::Quad(_, control, _) => {
                let (a, b) = to_pixel(*control);
                path.quad_to(a, b, x, y);
            }
            OutlineCurve::Cubic(_, first, second, _) => {
                let ((a, b), (c, d)) = (to_pixel(*first), to_pixel(*second));
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

    fn render_png(scene: &Scene, width: u32) -> Vec<u8> {
        png(scene, Theme::Light, width).unwrap()
    }

    #[test]
    fn an_image_has_the_requested_size() {
        let mut scene = Scene::new(40.0, 20.0, "t");
        scene.text("Text", Text::new(10.0, 4.0, 0.0));
        let file = render_png(&scene, 80);
        assert!(file.starts_with(b"\x89PNG\r\n\x1a\n") && file.ends_with(b"IEND\xae\x42\x60\x82"));
        assert_eq!(file.get(16..24), Some(&[0, 0, 0, 80, 0, 0, 0, 40][..]));
        assert_eq!(render_png(&scene, 80), file);
        assert_ne!(render_png(&Scene::new(40.0, 20.0, "t"), 80), file);
        assert!(png(&scene, Theme::Light, 0).is_err());
        assert!(png(&scene, Theme::Light, 100_000).is_err());
    }

    #[test]
    fn glyphs_have_the_computed_positions() {
        let text = |placement: Text| text_path("il", &placement).unwrap().unwrap().bounds();
        let plain = text(Text::new(100.0, 50.0, 10.0));
        assert!(plain.left() > 50.0 && plain.bottom() < 110.0, "{plain:?}");
        // The letters have no descenders, so their lower edge is the baseline.
        assert!((plain.bottom() - (10.0 + 76.0)).abs() < 1.0, "{plain:?}");
        let right = text(Text::new(100.0, 50.0, 10.0).align_right());
        assert!(right.right() < 50.0);
        let up = text(Text::new(100.0, 50.0, 10.0).rotate_up());
        assert!(up.left() > 50.0 && up.bottom() < 10.0);
    }
}
