#![doc = include_str!("../README.md")]
#![cfg_attr(
    test,
    allow(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::indexing_slicing,
        clippy::string_slice,
        reason = "a test fails by panicking"
    )
)]

mod canvas;
mod chart;
mod curves;
mod density;
mod graph;
mod html;
mod number;
mod plot_frame;
mod rendered_plot;
mod scene;
mod speedups;
mod text;
mod violins;

pub use chart::{
    Appearance, Categories, Chart, ChartKind, Column, ColumnKind, ColumnValues, LogAxes, PlotSize,
    PlotSpec, PlotTable, Roles, RowSampler,
};
pub use curves::{Curve, curves};
pub use graph::{Edge, Graph, Node};
pub use html::{Figure, HtmlDocument, HtmlTable, PLOT_SCRIPT, Section, theme_css};
pub use plot_frame::PlotOptions;
pub use rendered_plot::RenderedPlot;
pub use scene::Theme;
pub use speedups::{SpeedupBin, SpeedupRow, Speedups, speedups};
pub use violins::{ViolinGroup, violins};
