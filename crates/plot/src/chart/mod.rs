//! Charts of tables.

mod axis;
mod axis_labels;
mod bars;
mod colour_order;
mod data;
mod distribution;
mod forms;
mod frame;
mod groups;
mod heat;
mod legend;
mod limit;
mod lines;
mod marks;
mod plot_area;
mod points;
mod render;
mod roles;
mod row_sampler;
mod spec;
mod spread;
mod style;
mod table;
#[cfg(test)]
mod tests;
mod ticks;
mod unit;

pub use render::Chart;
pub use roles::{ColumnKind, Roles};
pub use row_sampler::RowSampler;
pub(crate) use row_sampler::{group_digits, row_count};
pub use spec::{ChartKind, LogAxes, PlotSpec};
pub use style::{Appearance, PlotSize};
pub use table::{Categories, Column, ColumnValues, PlotTable};
