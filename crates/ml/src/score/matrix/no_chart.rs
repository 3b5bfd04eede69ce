//! Replacement of the heat map in a build without the feature `plot`.

use std::path::Path;

use tsql_error::Result;

use super::ScoreMatrix;
use crate::plot_file::cannot_draw;

impl ScoreMatrix {
    /// Not supported.
    ///
    /// # Errors
    /// [`tsql_error::Error::Drawing`], always.
    pub fn draw(&self, _: Option<&str>, _: &Path, _: u32) -> Result<()> {
        Err(cannot_draw())
    }
}
