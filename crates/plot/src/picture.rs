//! A drawing in both forms, as SVG and as PNG.

use plotters::coord::Shift;
use plotters::prelude::*;

use super::bitmap::{self, Bitmap};
use super::canvas::{Canvas, Drawing, SIZE, ZOOM, failed};

/// A picture in both forms: 1600 by 900, the PNG as many times larger or smaller as is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    /// The picture as an SVG document.
    pub svg: String,
    /// The picture as a PNG file.
    pub png: Vec<u8>,
}

/// Draws on both kinds of canvas.
pub(super) fn picture(drawing: &impl Drawing, png_width: u32) -> Result<Picture, String> {
    let (width, height) = (SIZE.0 * ZOOM, SIZE.1 * ZOOM);
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, (width, height)).into_drawing_area();
        area.fill(&WHITE).map_err(failed)?;
        drawn(drawing, &area)?;
    }
    // The dots stay fine: only the size that is shown changes.
    let large = format!("<svg width=\"{width}\" height=\"{height}\"");
    let shown = format!("<svg width=\"{}\" height=\"{}\"", SIZE.0, SIZE.1);
    let svg = svg.replacen(&large, &shown, 1);
    let png_size = (png_width, png_width.saturating_mul(SIZE.1) / SIZE.0);
    let mut pixels = bitmap::blank(png_size);
    drawn(
        drawing,
        &Bitmap::new(&mut pixels, png_size)?.into_drawing_area(),
    )?;
    let png = bitmap::png(&pixels, png_size).map_err(failed)?;
    Ok(Picture { svg, png })
}

fn drawn<B: DrawingBackend>(
    drawing: &impl Drawing,
    area: &DrawingArea<B, Shift>,
) -> Result<(), String> {
    drawing.draw(&Canvas { area })?;
    area.present().map_err(failed)
}
