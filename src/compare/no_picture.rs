//! Replacement of the plot in a build without the feature `plot`.

use std::path::Path;

use super::comparison::Comparison;
use crate::error::{Error, Result};

impl Comparison {
    /// Not supported.
    ///
    ///
    /// # Errors
    /// [`Error::Drawing`], always.
    pub fn draw(&self, _: &Path, _: u32) -> Result<()> {
        let reason =
            "this build of tsql has no pictures\nhint: one with the feature `plot` draws them";
        Err(Error::Drawing(reason.to_owned()))
    }
}
