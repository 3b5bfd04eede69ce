//! Pixels in memory, with smooth edges: what `plotters` itself draws into pixels is jagged, and its
//! text takes fonts of the system, or leaves out the space to the left of each letter.

use std::convert::Infallible;
use std::io::Write as _;

use ab_glyph::{Font, FontRef};
use ab_glyph_rasterizer::{Point, Rasterizer, point};
use flate2::{Compression, Crc, write::ZlibEncoder};
use plotters_backend::text_anchor::HPos;
use plotters_backend::{BackendColor, BackendStyle, BackendTextStyle};
use plotters_backend::{DrawingBackend, DrawingErrorKind};

use super::canvas::{BASELINE, LINE, SIZE, ZOOM};
use super::text;

/// Corners that stand for a circle.
const CORNERS: u16 = 32;

type Done = Result<(), DrawingErrorKind<Infallible>>;

/// A picture of three bytes a pixel that is drawn in dots, of which [`ZOOM`] are across a pixel of
/// the usual size.
pub(super) struct Bitmap<'a> {
    pixels: &'a mut [u8],
    /// Pixels across and down.
    size: (u32, u32),
    font: &'a FontRef<'a>,
}

/// White pixels of a picture.
pub(super) fn blank((width, height): (u32, u32)) -> Vec<u8> {
    vec![255; width as usize * height as usize * 3]
}

/// The whole number at or below a place of a pixel.
fn whole(place: f32) -> i32 {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "stops at the ends of the range"
    )]
    let whole = place.floor() as i32;
    whole
}

fn disc(centre: Point, radius: f32) -> Vec<Point> {
    let turn = |corner| f32::from(corner) * std::f32::consts::TAU / f32::from(CORNERS);
    let at = |angle: f32| {
        point(
            centre.x + radius * angle.cos(),
            centre.y + radius * angle.sin(),
        )
    };
    (0..CORNERS).map(turn).map(at).collect()
}

impl<'a> Bitmap<'a> {
    pub(super) fn new(pixels: &'a mut [u8], size: (u32, u32)) -> Result<Self, String> {
        let font = text::font().ok_or("the font is not understood")?;
        Ok(Self { pixels, size, font })
    }

    /// Dots as pixels.
    fn length(&self, dots: f64) -> f32 {
        let dots_across = f64::from(SIZE.0 * ZOOM);
        #[expect(
            clippy::cast_possible_truncation,
            reason = "pixels need no more digits"
        )]
        let pixels = (dots / dots_across * f64::from(self.size.0)) as f32;
        pixels
    }

    fn place(&self, (x, y): (i32, i32)) -> Point {
        point(self.length(f64::from(x)), self.length(f64::from(y)))
    }

    /// Lays a colour over a pixel, as much of it as is covered.
    fn lay(&mut self, (x, y): (i32, i32), colour: BackendColor, covered: f32) {
        let (Ok(x), Ok(y)) = (u32::try_from(x), u32::try_from(y)) else {
            return;
        };
        if x >= self.size.0 || y >= self.size.1 {
            return;
        }
        let start = (y as usize * self.size.0 as usize + x as usize) * 3;
        let part = colour.alpha * f64::from(covered.clamp(0.0, 1.0));
        let (red, green, blue) = colour.rgb;
        let pixel = self.pixels.iter_mut().skip(start);
        for (below, over) in pixel.zip([red, green, blue]) {
            let mixed = f64::from(*below) * (1.0 - part) + f64::from(over) * part;
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "between two bytes"
            )]
            let mixed = mixed.round() as u8;
            *below = mixed;
        }
    }

    /// Fills a polygon.
    fn cover(&mut self, corners: &[Point], colour: BackendColor) {
        let (Some(first), Some(last)) = (corners.first(), corners.last()) else {
            return;
        };
        let least = |a: Point, b: &Point| point(a.x.min(b.x), a.y.min(b.y));
        let most = |a: Point, b: &Point| point(a.x.max(b.x), a.y.max(b.y));
        let low = corners.iter().fold(*first, least);
        let high = corners.iter().fold(*first, most);
        let (left, top) = (whole(low.x), whole(low.y));
        let across = usize::try_from(whole(high.x).saturating_sub(left).saturating_add(2));
        let down = usize::try_from(whole(high.y).saturating_sub(top).saturating_add(2));
        let (Ok(across), Ok(down)) = (across, down) else {
            return;
        };
        // What is far outside was not meant to be drawn.
        if across > 2 * self.size.0 as usize || down > 2 * self.size.1 as usize {
            return;
        }
        let corner = point(low.x.floor(), low.y.floor());
        let mut shape = Rasterizer::new(across, down);
        for (from, to) in [last].into_iter().chain(corners).zip(corners) {
            shape.draw_line(*from - corner, *to - corner);
        }
        shape.for_each_pixel_2d(|x, y, covered| {
            if covered > 0.0 {
                let at = (
                    left.saturating_add_unsigned(x),
                    top.saturating_add_unsigned(y),
                );
                self.lay(at, colour, covered);
            }
        });
    }

    /// Draws a straight line with square ends.
    fn stroke(&mut self, from: Point, to: Point, width: f32, colour: BackendColor) {
        let along = to - from;
        let length = along.x.hypot(along.y);
        if length > 0.0 {
            let (x, y) = (
                along.y / length * width / 2.0,
                -along.x / length * width / 2.0,
            );
            let aside = |at: Point, sign: f32| point(at.x + sign * x, at.y + sign * y);
            let corners = [
                aside(from, 1.0),
                aside(to, 1.0),
                aside(to, -1.0),
                aside(from, -1.0),
            ];
            self.cover(&corners, colour);
        }
    }
}

impl DrawingBackend for Bitmap<'_> {
    type ErrorType = Infallible;

    fn get_size(&self) -> (u32, u32) {
        (SIZE.0 * ZOOM, SIZE.1 * ZOOM)
    }

    fn ensure_prepared(&mut self) -> Done {
        Ok(())
    }

    fn present(&mut self) -> Done {
        Ok(())
    }

    fn draw_pixel(&mut self, at: (i32, i32), colour: BackendColor) -> Done {
        let Point { x, y } = self.place(at);
        self.lay((whole(x), whole(y)), colour, 1.0);
        Ok(())
    }

    fn draw_path<S: BackendStyle, I: IntoIterator<Item = (i32, i32)>>(
        &mut self,
        path: I,
        style: &S,
    ) -> Done {
        let (width, colour) = (self.length(f64::from(style.stroke_width())), style.color());
        let points = path.into_iter().map(|at| self.place(at));
        let points: Vec<Point> = points.collect();
        let mut points = points.into_iter().peekable();
        let Some(mut from) = points.next() else {
            return Ok(());
        };
        while let Some(to) = points.next() {
            self.stroke(from, to, width, colour);
            // Round where the next line starts.
            if points.peek().is_some() && width > 1.0 {
                self.cover(&disc(to, width / 2.0), colour);
            }
            from = to;
        }
        Ok(())
    }

    fn draw_circle<S: BackendStyle>(
        &mut self,
        centre: (i32, i32),
        radius: u32,
        style: &S,
        _fill: bool,
    ) -> Done {
        let corners = disc(self.place(centre), self.length(f64::from(radius)));
        self.cover(&corners, style.color());
        Ok(())
    }

    fn fill_polygon<S: BackendStyle, I: IntoIterator<Item = (i32, i32)>>(
        &mut self,
        corners: I,
        style: &S,
    ) -> Done {
        let corners: Vec<Point> = corners.into_iter().map(|at| self.place(at)).collect();
        self.cover(&corners, style.color());
        Ok(())
    }

    fn draw_text<S: BackendTextStyle>(&mut self, text: &str, style: &S, at: (i32, i32)) -> Done {
        let em = style.size() / LINE;
        let (glyphs, width) = text::laid(self.font, text, self.length(em));
        let start = match style.anchor().h_pos {
            HPos::Left => 0.0,
            HPos::Center => width / 2.0,
            HPos::Right => width,
        };
        let Point { x, y } = self.place(at);
        let (left, top) = (whole(x), whole(y));
        for mut glyph in glyphs {
            glyph.position.x -= start;
            glyph.position.y += self.length(BASELINE * em);
            let Some(outline) = self.font.outline_glyph(glyph) else {
                continue;
            };
            let corner = outline.px_bounds().min;
            let (corner_x, corner_y) = (whole(corner.x), whole(corner.y));
            outline.draw(|x, y, covered| {
                let x = corner_x.saturating_add_unsigned(x);
                let y = corner_y.saturating_add_unsigned(y);
                let (x, y) = style.transform().transform(x, y);
                let at = (left.saturating_add(x), top.saturating_add(y));
                self.lay(at, style.color(), covered);
            });
        }
        Ok(())
    }
}

/// Pixels of three bytes as PNG (RFC 2083). The `png` crate would put a second deflate next to the
/// one that is linked already.
pub(super) fn png(pixels: &[u8], (width, height): (u32, u32)) -> std::io::Result<Vec<u8>> {
    let mut header = Vec::new();
    header.extend_from_slice(&width.to_be_bytes());
    header.extend_from_slice(&height.to_be_bytes());
    // Eight bits, RGB, deflate, the only filter method, not interlaced.
    header.extend_from_slice(&[8, 2, 0, 0, 0]);
    let mut rows = ZlibEncoder::new(Vec::new(), Compression::default());
    for row in pixels.chunks((width as usize * 3).max(1)) {
        rows.write_all(&[0])?;
        rows.write_all(row)?;
    }
    let mut png = b"\x89PNG\r\n\x1a\n".to_vec();
    let chunks = [
        (b"IHDR", header),
        (b"IDAT", rows.finish()?),
        (b"IEND", Vec::new()),
    ];
    for (kind, data) in chunks {
        let length = u32::try_from(data.len()).unwrap_or(u32::MAX);
        png.extend_from_slice(&length.to_be_bytes());
        let mut crc = Crc::new();
        crc.update(kind);
        crc.update(&data);
        png.extend_from_slice(kind);
        png.extend_from_slice(&data);
        png.extend_from_slice(&crc.sum().to_be_bytes());
    }
    Ok(png)
}
