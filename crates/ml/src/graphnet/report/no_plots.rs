//! Replacement of the plots in a build without the feature `plot`.

use tsql_error::{Error, Result};

use super::scores::Report;

/// Placeholder of a plot; never created.
pub(super) struct Image {
    pub(super) svg: String,
    pub(super) png: Vec<u8>,
}

/// Not supported.
///
/// # Errors
/// [`Error::Drawing`], always.
pub(super) fn draw_plots(_: &Report, _: u32) -> Result<Vec<(&'static str, Image)>> {
    let reason = "this build of tsql cannot draw plots\nhint: use a build with the feature `plot`";
    Err(Error::Drawing(reason.to_owned()))
}
