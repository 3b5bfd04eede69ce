//! Files for plots.

#[cfg(feature = "plot")]
use std::path::Path;

use tsql_error::Error;
#[cfg(feature = "plot")]
use tsql_error::Result;
#[cfg(feature = "plot")]
use tsql_plot::{Appearance, Chart, PlotSpec, PlotTable};
#[cfg(feature = "plot")]
use tsql_store::atomic_output::write_output;

/// Draws a chart into a file. The extension selects SVG, or PNG of `png_width` pixels across.
///
/// # Errors
/// [`Error::Argument`] for another extension, [`Error::Drawing`] for a table that does not fit the chart, [`Error::Io`]
/// if the file cannot be written.
#[cfg(feature = "plot")]
pub(crate) fn draw(table: PlotTable, spec: &PlotSpec, path: &Path, png_width: u32) -> Result<()> {
    let is_png = is_png(path)?;
    let chart = Chart::new(table, spec).map_err(Error::Drawing)?;
    let appearance = Appearance::default();
    let bytes = match is_png {
        true => chart.png(appearance, png_width).map_err(Error::Drawing)?,
        false => chart.svg(appearance).into_bytes(),
    };
    write_output(path, bytes)
}

/// Returns whether the extension of a path selects PNG; otherwise it selects SVG.
///
/// # Errors
/// [`Error::Argument`] for another extension.
#[cfg(feature = "plot")]
pub(crate) fn is_png(path: &Path) -> Result<bool> {
    let extension = path.extension().and_then(|extension| extension.to_str());
    match extension.map(str::to_ascii_lowercase).as_deref() {
        Some("png") => Ok(true),
        Some("svg") => Ok(false),
        _ => Err(Error::Argument {
            name: "path",
            reason: format!(
                "`{}` has no known extension\nhint: FILE.svg or FILE.png",
                path.display()
            ),
        }),
    }
}

/// Returns the error of a build without the feature `plot`.
#[cfg(not(feature = "plot"))]
pub(crate) fn cannot_draw() -> Error {
    let reason = "this build of tsql cannot draw plots\nhint: use a build with the feature `plot`";
    Error::Drawing(reason.to_owned())
}
