//! Replacement of the plot in a build without the feature `plot`.

use std::path::Path;

use tsql_error::Result;

use super::options::ReplayAxis;
use super::report::Replay;
use crate::plot_file::cannot_draw;

impl Replay {
    /// Not supported.
    ///
    /// # Errors
    /// [`tsql_error::Error::Drawing`], always.
    pub fn draw(&self, _: &Path, _: ReplayAxis, _: u32) -> Result<()> {
        Err(cannot_draw())
    }
}
