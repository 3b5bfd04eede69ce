//! A picture as shapes, before it is written as SVG, filled as pixels or set as letters.

mod png;
mod raster;
mod shapes;
mod svg;
mod terminal;
mod theme;

pub(crate) use raster::png;
pub(crate) use shapes::{Paint, Scene, Text};
pub(crate) use svg::{Dress, attribute, svg};
pub(crate) use terminal::terminal;
pub use theme::Theme;
pub(crate) use theme::{Role, is_dashed, shape};
