//! Replacement of the plot in a build without the feature `plot`.

use std::path::Path;

use tsql_error::{Error, Result};

use super::comparison::Comparison;

impl Comparison {
    /// Not supported.
    ///
    ///
    /// # Errors
    /// [`Error::Drawing`], always.
    pub fn draw(&self, _: &Path, _: u32) -> Result<()> {
        let reason =
            "this build of tsql cannot draw plots\nhint: use a build with the feature `plot`";
        Err(Error::Drawing(reason.to_owned()))
    }
}
