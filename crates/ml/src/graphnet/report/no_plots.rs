//! Replacement of the plots in a build without the feature `plot`.

use tsql_error::Result;

use super::scores::Report;
use crate::plot_file::cannot_draw;

/// Placeholder of a plot; never created.
pub(super) struct Image {
    pub(super) svg: String,
    pub(super) png: Vec<u8>,
}

/// Not supported.
///
/// # Errors
/// [`tsql_error::Error::Drawing`], always.
pub(super) fn draw_plots(_: &Report, _: u32) -> Result<Vec<(&'static str, Image)>> {
    Err(cannot_draw())
}
