//! Plots of a report.

use tsql_error::{Error, Result};
use tsql_plot::{Curve, PlotOptions, RenderedPlot, ViolinGroup, curves, violins};

use super::scores::{self, Point, Report};

/// Tolerance from which errors may be tolerated, and its label.
const TOLERATED_FROM: (i32, &str) = (1, "errors are tolerated from here");

/// Draws the plots, with their names. The PNGs are `png_width` pixels wide.
///
///
/// # Errors
/// [`Error::Drawing`].
pub(super) fn draw_plots(
    report: &Report,
    png_width: u32,
) -> Result<Vec<(&'static str, RenderedPlot)>> {
    let page = |title, label| PlotOptions::new(title, label).with_png_width(png_width);
    let lines = |score: fn(&Point) -> f64| -> Vec<Curve> {
        let line = |curve: &scores::Curve| Curve {
            name: format!("{} ({})", curve.name, curve.runs),
            points: curve.points.iter().map(|at| (at.t, score(at))).collect(),
        };
        report.curves.iter().map(line).collect()
    };
    let groups = report
        .categories
        .iter()
        .map(|(name, speedups)| ViolinGroup {
            name: name.clone(),
            values: speedups.iter().map(|(_, speedup)| *speedup).collect(),
        });
    let groups: Vec<ViolinGroup> = groups.collect();
    let mark = Some(TOLERATED_FROM);
    let s = curves(page("Speedup score", "S(t)"), None, &lines(|at| at.s));
    let es = lines(|at| at.es);
    let es = curves(page("Error-aware speedup score", "ES(t)"), mark, &es);
    let speedups = violins(page("Speedup by category", "log2 of the speedup"), &groups);
    let pictures = [
        ("speedup_score", s),
        ("error_aware_speedup_score", es),
        ("speedups", speedups),
    ];
    let named = pictures.into_iter().map(|(name, picture)| {
        let picture = picture.map_err(|reason| Error::Drawing(format!("{name}: {reason}")))?;
        Ok((name, picture))
    });
    named.collect()
}
