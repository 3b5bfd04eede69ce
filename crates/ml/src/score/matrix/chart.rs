//! Heat map of a matrix of scores.

use std::path::Path;

use tsql_error::Result;
use tsql_plot::{Categories, ChartKind, Column, ColumnValues, PlotSpec, PlotTable};

use super::ScoreMatrix;
use crate::plot_file::draw;

impl ScoreMatrix {
    /// Draws the scores of a metric into a file: models against platforms. The extension selects SVG, or PNG of
    /// `png_width` pixels across. Cells without a score are empty.
    ///
    /// # Errors
    /// [`tsql_error::Error::Unknown`] for another metric, [`tsql_error::Error::Argument`] for another extension,
    /// [`tsql_error::Error::Io`] if the file cannot be written, [`tsql_error::Error::Drawing`] in a build without the
    /// feature `plot`.
    pub fn draw(&self, metric: Option<&str>, path: &Path, png_width: u32) -> Result<()> {
        let place = self.metric(metric)?;
        let name = self.metrics.get(place).map(String::as_str);
        let spec = PlotSpec {
            kind: Some(ChartKind::Heat),
            x: Some("platform".to_owned()),
            y: Some("model".to_owned()),
            value: Some("score".to_owned()),
            title: name.map(str::to_owned),
            ..PlotSpec::default()
        };
        draw(self.table(place), &spec, path, png_width)
    }

    /// A row for each cell with a score of a metric.
    fn table(&self, metric: usize) -> PlotTable {
        let (mut models, mut platforms) = (Categories::default(), Categories::default());
        let mut scores = Vec::new();
        for cell in &self.cells {
            if let Some(value) = cell.scores.get(metric).and_then(|score| score.value) {
                models.push(Some(cell.model.as_str()));
                platforms.push(Some(cell.platform.as_str()));
                scores.push(value);
            }
        }
        let column = |name: &str, values| Column {
            name: name.to_owned(),
            unit: None,
            values,
        };
        PlotTable {
            columns: vec![
                column("model", ColumnValues::Words(models)),
                column("platform", ColumnValues::Words(platforms)),
                column("score", ColumnValues::Numbers(scores)),
            ],
            ..PlotTable::default()
        }
    }
}
