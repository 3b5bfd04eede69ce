//! Replacement of the plots in a build without the feature `plot`.

use super::scores::Report;
use crate::error::{Error, Result};

/// Placeholder of a plot; never created.
pub(super) struct Picture {
    pub(super) svg: String,
    pub(super) png: Vec<u8>,
}

/// Not supported.
///
///
/// # Errors
/// [`Error::Drawing`], always.
pub(super) fn draw_plots(_: &Report, _: u32) -> Result<Vec<(&'static str, Picture)>> {
    let reason = "this build of tsql has no pictures\nhint: one with the feature `plot` draws them";
    Err(Error::Drawing(reason.to_owned()))
}
