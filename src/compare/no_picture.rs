//! What a build without pictures has in their place.

use std::path::Path;

use super::found::Comparison;
use crate::error::{Error, Result};

impl Comparison {
    /// Refuses.
    ///
    /// # Errors
    /// [`Error::Drawing`], always.
    pub fn draw(&self, _: &Path, _: u32) -> Result<()> {
        let reason =
            "this build of tsql has no pictures\nhint: one with the feature `plot` draws them";
        Err(Error::Drawing(reason.to_owned()))
    }
}
