//! What is to be drawn, as it was typed.

use clap::Args;

use crate::plot::{Kind, Log, Spec};

/// Which column is what.
#[derive(Args, Debug)]
#[command(next_help_heading = "What is drawn")]
pub(super) struct Specified {
    /// The kind of picture: line, step, scatter, bar, histogram, ecdf, box, violin or heat
    #[arg(long, value_name = "KIND", value_parser = kind_names())]
    kind: Option<String>,
    /// The horizontal axis; of bars, boxes and violins the names
    #[arg(short, value_name = "COLUMN")]
    x: Option<String>,
    /// The vertical axis
    #[arg(short, value_name = "COLUMN")]
    y: Option<String>,
    /// A colour for each value of this
    #[arg(long, value_name = "COLUMN")]
    by: Option<String>,
    /// A picture for each value of this, side by side
    #[arg(long, value_name = "COLUMN")]
    facet: Option<String>,
    /// Of lines: where their band begins
    #[arg(long, value_name = "COLUMN", requires = "high")]
    low: Option<String>,
    /// Of lines: where their band ends
    #[arg(long, value_name = "COLUMN", requires = "low")]
    high: Option<String>,
    /// Of a heat map: what the colours are
    #[arg(long, value_name = "COLUMN")]
    value: Option<String>,
    /// A value that is drawn as a line across, such as a peak
    #[arg(long, value_name = "COLUMN")]
    limit: Option<String>,
    /// A column of which each picture says the first value, such as a correlation
    #[arg(long, value_name = "COLUMN")]
    note: Option<String>,
    /// Logarithmic axes [default: those of times over more than two decades]
    #[arg(long, value_name = "AXES", value_parser = ["none", "x", "y", "xy"])]
    log: Option<String>,
    /// What stands above the picture
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
}

fn kind_names() -> [&'static str; 9] {
    Kind::ALL.map(Kind::name)
}

impl Specified {
    pub(super) fn spec(&self) -> Spec {
        let log = self.log.as_deref().and_then(|log| log.parse::<Log>().ok());
        let kind = self.kind.as_deref().and_then(|kind| kind.parse().ok());
        Spec {
            kind,
            x: self.x.clone(),
            y: self.y.clone(),
            by: self.by.clone(),
            facet: self.facet.clone(),
            low: self.low.clone(),
            high: self.high.clone(),
            value: self.value.clone(),
            limit: self.limit.clone(),
            note: self.note.clone(),
            log,
            title: self.title.clone(),
        }
    }
}
