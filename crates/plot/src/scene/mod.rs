//! Scenes: shapes that are rendered as SVG, as pixels or as terminal text.

mod png;
mod raster;
mod shapes;
mod svg;
mod terminal;
mod theme;

pub(crate) use raster::png;
pub(crate) use shapes::{Paint, Scene, Text};
pub(crate) use svg::{ColourMode, attribute, svg};
pub(crate) use terminal::terminal;
pub use theme::Theme;
pub(crate) use theme::{Role, dot_shape, is_dashed};
