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

/// Shows the name as the tooltip of the next text, if its lines are shortened.
pub(crate) fn set_full_name(scene: &mut Scene, lines: &[String], name: &str) {
    let without_spaces = |text: &str| text.split_whitespace().collect::<String>();
    if without_spaces(&lines.concat()) != without_spaces(name) {
        scene.set_tooltip(name.to_owned());
    }
}
