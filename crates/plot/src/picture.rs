//! A drawing in both forms, as SVG and as PNG.

use super::canvas::{Drawing, HEIGHT, WIDTH};
use crate::scene::{Dress, Scene, Theme, png, svg};

/// A picture in both forms: 1600 by 900, the PNG as many times larger or smaller as is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    /// The picture as an SVG document.
    pub svg: String,
    /// The picture as a PNG file.
    pub png: Vec<u8>,
}

/// Draws in both forms.
pub(super) fn picture(
    drawing: &impl Drawing,
    title: &str,
    png_width: u32,
) -> Result<Picture, String> {
    let mut scene = Scene::new(WIDTH, HEIGHT, title);
    drawing.draw(&mut scene);
    Ok(Picture {
        svg: svg(&scene, Dress::Theme(Theme::Light)),
        png: png(&scene, Theme::Light, png_width)?,
    })
}
