//! What a build without pictures has in their place.

use super::scores::Report;
use crate::error::{Error, Result};

/// A picture; there is none.
pub(super) struct Picture {
    pub(super) svg: String,
    pub(super) png: Vec<u8>,
}

/// Refuses.
///
/// # Errors
/// [`Error::Drawing`], always.
pub(super) fn drawn(_: &Report, _: u32) -> Result<Vec<(&'static str, Picture)>> {
    let reason = "this build of tsql has no pictures\nhint: one with the feature `plot` draws them";
    Err(Error::Drawing(reason.to_owned()))
}
