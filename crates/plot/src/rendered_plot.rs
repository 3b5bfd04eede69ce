//! A plot rendered as SVG and as PNG.

use super::canvas::Drawable;
use crate::scene::{ColourMode, Scene, Theme, png, svg};

/// A rendered plot: SVG, and PNG of the requested width with the same aspect ratio.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RenderedPlot {
    /// SVG document.
    pub svg: String,
    /// PNG file.
    pub png: Vec<u8>,
}

/// Renders both formats.
pub(super) fn render_plot(
    drawing: &impl Drawable,
    title: &str,
    png_width: u32,
) -> Result<RenderedPlot, String> {
    let (width, height) = drawing.size();
    let mut scene = Scene::new(width, height, title);
    drawing.draw(&mut scene);
    Ok(RenderedPlot {
        svg: svg(&scene, ColourMode::Theme(Theme::Light)),
        png: png(&scene, Theme::Light, png_width)?,
    })
}
