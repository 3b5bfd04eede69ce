//! Plot of a comparison.

use std::path::Path;

use tsql_error::{Error, Result};
use tsql_plot::{PlotOptions, SpeedupBin, SpeedupRow, Speedups, speedups};
use tsql_store::atomic_output::write_output;

use super::comparison::{Comparison, PairGroup, Summary};
use crate::plot_file::is_png;

impl Comparison {
    /// Draws the distribution of speedups, and the mean of each operator and network with its interval, into a file.
    /// The extension selects SVG, or PNG of `png_width` pixels across.
    ///
    /// # Errors
    /// [`Error::Argument`] for another extension, [`Error::Io`] if the file cannot be written, [`Error::Drawing`] in a
    /// build without the feature `plot`.
    pub fn draw(&self, path: &Path, png_width: u32) -> Result<()> {
        let is_png = is_png(path)?;
        let title = format!("{} against {}", self.b.name, self.a.name);
        let page = PlotOptions::new(&title, "pairs").with_png_width(png_width);
        let bins = self.histogram.iter().map(|bin| SpeedupBin {
            from: bin.speedup_from,
            to: bin.speedup_to,
            counts: [bin.slower, bin.unclear, bin.same, bin.faster],
        });
        let drawing = Speedups {
            bins: bins.collect(),
            noise: self.minimum_change,
            rows: self.rows(),
        };
        let picture = speedups(page, &drawing).map_err(Error::Drawing)?;
        let bytes = if is_png {
            picture.png
        } else {
            picture.svg.into_bytes()
        };
        write_output(path, bytes)
    }

    /// All pairs, then the operators, then the networks.
    fn rows(&self) -> Vec<SpeedupRow> {
        let row = |name: String, group: usize, found: &Summary| {
            found.speedup.map(|speedup| SpeedupRow {
                name,
                group,
                pairs: found.pairs,
                speedup,
                interval: found.speedup_low.zip(found.speedup_high),
            })
        };
        let named = |part: &PairGroup, group| {
            let name = part
                .name
                .clone()
                .unwrap_or_else(|| "(unknown operator)".to_owned());
            row(name, group, &part.summary)
        };
        let all = row("all".to_owned(), 0, &self.all);
        let operators = self.operators.iter().filter_map(|part| named(part, 1));
        let networks = self.networks.iter().filter_map(|part| named(part, 2));
        all.into_iter().chain(operators).chain(networks).collect()
    }
}
