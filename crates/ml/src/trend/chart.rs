//! Plot of the largest changes.

use std::path::Path;

use tsql_error::{Error, Result};
use tsql_plot::{Categories, ChartKind, Column, ColumnValues, LogAxes, PlotSpec, PlotTable};

use super::report::{PlottedSeries, ProgramChange, Trend};
use crate::plot_file::{draw, is_png};

/// Maximum number of characters of a program in the title of a panel.
const MAX_NAME_CHARS: usize = 60;

impl Trend {
    /// Draws the programs with the largest changes into a file: values and levels over the places, as ratios to the first
    /// level. The extension selects SVG, or PNG of `png_width` pixels across.
    ///
    /// # Errors
    /// [`Error::Empty`] without changes, [`Error::Argument`] for another extension, [`Error::Io`] if the file cannot be
    /// written, [`Error::Drawing`] in a build without the feature `plot`.
    pub fn draw(&self, path: &Path, png_width: u32) -> Result<()> {
        is_png(path)?;
        if self.largest.is_empty() {
            return Err(Error::Empty("no change to plot".to_owned()));
        }
        draw(self.table(), &self.spec(), path, png_width)
    }

    fn spec(&self) -> PlotSpec {
        PlotSpec {
            kind: Some(ChartKind::Line),
            x: Some("place".to_owned()),
            y: Some("relative_time".to_owned()),
            by: Some("line".to_owned()),
            facet: Some("program".to_owned()),
            log: Some(LogAxes::None),
            title: Some("Largest changes".to_owned()),
            x_title: Some(format!("{}, oldest first", self.order)),
            y_title: Some("time over first level".to_owned()),
            ..PlotSpec::default()
        }
    }

    /// A row for each value and each level.
    fn table(&self) -> PlotTable {
        let (mut places, mut times) = (Vec::new(), Vec::new());
        let (mut lines, mut programs) = (Categories::default(), Categories::default());
        for series in &self.largest {
            let name = self.name(series);
            let first = series.levels_ns.first().copied().unwrap_or(f64::NAN);
            for (line, values) in [
                ("measured", &series.values_ns),
                ("level", &series.levels_ns),
            ] {
                for (place, value) in series.places.iter().zip(values) {
                    places.push(f64::from(u32::try_from(*place + 1).unwrap_or(u32::MAX)));
                    times.push(*value / first);
                    lines.push(Some(line));
                    programs.push(Some(&name));
                }
            }
        }
        let column = |name: &str, values| Column {
            name: name.to_owned(),
            unit: None,
            values,
        };
        PlotTable {
            columns: vec![
                column("place", ColumnValues::Numbers(places)),
                column("relative_time", ColumnValues::Numbers(times)),
                column("line", ColumnValues::Words(lines)),
                column("program", ColumnValues::Words(programs)),
            ],
            ..PlotTable::default()
        }
    }

    /// Name of a panel: workload key, configuration and platform.
    fn name(&self, series: &PlottedSeries) -> String {
        let is_of = |change: &&ProgramChange| {
            (change.graph_id, change.config_id) == (series.graph_id, series.config_id)
        };
        let change = self.changes.iter().find(is_of);
        let key = change.map_or("", |change| change.workload_key.as_str());
        let steps = change
            .and_then(|change| change.steps.as_deref())
            .unwrap_or_default();
        let mut name: String = format!("{key} {steps}")
            .chars()
            .take(MAX_NAME_CHARS)
            .collect();
        name.push_str(" on ");
        name.push_str(&series.platform);
        name
    }
}
