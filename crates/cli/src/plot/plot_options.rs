//! Options that define a plot.

use clap::Args;
use tsql_server::plot::{ChartKind, LogAxes, PlotSpec};

/// Kind, columns and axes of a plot.
#[derive(Args, Debug)]
#[command(next_help_heading = "Plot")]
pub(super) struct Specified {
    /// Kind of plot [default: chosen by the columns]
    #[arg(long, value_name = "KIND", value_parser = kind_names())]
    kind: Option<String>,
    /// Column of the horizontal axis; the names of bars, boxes and violins
    #[arg(short, long, value_name = "COLUMN")]
    x: Option<String>,
    /// Column of the vertical axis
    #[arg(short, long, value_name = "COLUMN")]
    y: Option<String>,
    /// Column with one color per value
    #[arg(long, value_name = "COLUMN")]
    by: Option<String>,
    /// Column with one panel per value
    #[arg(long, value_name = "COLUMN")]
    facet: Option<String>,
    /// Column with the lower bound of the band of a line
    #[arg(long, value_name = "COLUMN", requires = "high")]
    low: Option<String>,
    /// Column with the upper bound of the band of a line
    #[arg(long, value_name = "COLUMN", requires = "low")]
    high: Option<String>,
    /// Column with the colors of a heat map
    #[arg(long, value_name = "COLUMN")]
    value: Option<String>,
    /// Column with a value to mark by a line, such as the peak, or by a curve if it depends on x
    #[arg(long, value_name = "COLUMN")]
    limit: Option<String>,
    /// Column whose first value annotates each panel, such as a correlation
    #[arg(long, alias = "note", value_name = "COLUMN")]
    annotate: Option<String>,
    /// Logarithmic axes [default: axes of times over more than two decades]
    #[arg(long, value_name = "AXES", value_parser = ["none", "x", "y", "xy"])]
    log: Option<String>,
    /// Title above the plot
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    /// Title of the horizontal axis, without the unit [default: the words of the column name]
    #[arg(long, value_name = "TEXT")]
    x_title: Option<String>,
    /// Title of the vertical axis, without the unit [default: the words of the column name]
    #[arg(long, value_name = "TEXT")]
    y_title: Option<String>,
}

fn kind_names() -> [&'static str; 9] {
    ChartKind::ALL.map(ChartKind::name)
}

impl Specified {
    pub(super) fn spec(&self) -> PlotSpec {
        let log = self
            .log
            .as_deref()
            .and_then(|log| log.parse::<LogAxes>().ok());
        let kind = self.kind.as_deref().and_then(|kind| kind.parse().ok());
        PlotSpec {
            kind,
            x: self.x.clone(),
            y: self.y.clone(),
            by: self.by.clone(),
            facet: self.facet.clone(),
            low: self.low.clone(),
            high: self.high.clone(),
            value: self.value.clone(),
            limit: self.limit.clone(),
            annotate: self.annotate.clone(),
            log,
            title: self.title.clone(),
            x_title: self.x_title.clone(),
            y_title: self.y_title.clone(),
        }
    }
}
