//! Scatter plots: a dot for each row, or density cells for many rows.

use std::collections::BTreeMap;

use super::axis::Axis;
use super::data::{ChartData, Panel};
use super::forms::dot;
use super::lines::point_tooltip;
use super::marks::{
    ChartColumns, Marks, NamedColumn, horizontal_axis, json_numbers, series_attributes,
};
use super::plot_area::PlotArea;
use super::style::Style;
use crate::number::{float, round_to_count};
use crate::scene::{Paint, Role, Scene};

/// Maximum number of single dots.
const MAX_DOTS: usize = 5_000;

/// Maximum number of dots with tooltips.
const MAX_TOOLTIPS: usize = 1_000;

/// Number of density cells across the plot.
const CELLS: f64 = 96.0;

pub(crate) struct Points<'a> {
    data: &'a ChartData,
    columns: ChartColumns<'a>,
    is_dense: bool,
    /// Maximum count in a cell.
    max_count: f64,
}

impl<'a> Points<'a> {
    pub(crate) fn new(data: &'a ChartData, columns: ChartColumns<'a>) -> Self {
        let count: usize = data.panels.iter().map(|panel| panel.points().count()).sum();
        let mut points = Self {
            data,
            columns,
            is_dense: count > MAX_DOTS,
            max_count: 1.0,
        };
        if points.is_dense {
            let (x_axis, y_axis) = points.axes();
            let cells = data.panels.iter().flat_map(|panel| {
                let series = panel.series.iter();
                let counts =
                    series.flat_map(|series| count_per_cell(&series.points, &x_axis, &y_axis));
                counts.map(|(_, count)| count).collect::<Vec<f64>>()
            });
            points.max_count = cells.fold(1.0, f64::max);
        }
        points
    }
}

type Cell = (usize, usize);

/// Counts the dots in each cell. Cells are squares if the plot area is 8 by 5.
fn count_per_cell(
    points: &[super::data::Point],
    x_axis: &Axis,
    y_axis: &Axis,
) -> BTreeMap<Cell, f64> {
    let mut counts = BTreeMap::new();
    for point in points {
        let fractions = x_axis.fraction(point.x).zip(y_axis.fraction(point.y));
        if let Some((x, y)) = fractions {
            let cell = (
                round_to_count((x * CELLS).floor()),
                round_to_count((y * CELLS * 0.625).floor()),
            );
            *counts.entry(cell).or_insert(0.0) += point.weight;
        }
    }
    counts
}

impl Marks for Points<'_> {
    fn axes(&self) -> (Axis, Axis) {
        let x_axis = horizontal_axis(self.data, &self.columns);
        let limits = self.data.limits();
        let values = self.data.numbers(|point| point.y).chain(limits);
        (
            x_axis,
            self.columns.y.axis(values, self.columns.is_y_log(), false),
        )
    }

    fn ramp(&self) -> Option<Axis> {
        let has_one_series = self.data.names.len() < 2;
        (self.is_dense && has_one_series).then(|| {
            let column = NamedColumn::rows(None);
            column.axis(
                [1.0, self.max_count.max(2.0)].into_iter(),
                Some(true),
                false,
            )
        })
    }

    fn notes(&self) -> Vec<String> {
        match self.is_dense {
            true => vec!["colors show the number of dots at a position".to_owned()],
            false => Vec::new(),
        }
    }

    fn draw(
        &self,
        scene: &mut Scene,
        style: &Style,
        area: &PlotArea<'_>,
        (_, panel): (usize, &Panel),
    ) {
        // Two columns of times with the same unit are compared along the diagonal.
        let is_square = area.x_axis.unit == area.y_axis.unit && !area.y_axis.unit.is_empty();
        if is_square
            && area.x_axis.scale == area.y_axis.scale
            && self.columns.x.name != self.columns.y.name
        {
            draw_diagonal(scene, style, area);
        }
        for series in &panel.series {
            if self.is_dense {
                self.draw_density(scene, area, series);
                continue;
            }
            let points = &series.points;
            let has_tooltips = points.len() <= MAX_TOOLTIPS;
            let lists = match has_tooltips {
                true => vec![
                    ("data-x", json_numbers(points.iter().map(|point| point.x))),
                    ("data-y", json_numbers(points.iter().map(|point| point.y))),
                ],
                false => Vec::new(),
            };
            scene.open(series_attributes(&series.name, lists));
            let alpha = if points.len() > 200 { 0.55 } else { 0.8 };
            let paint = Paint::series(series.index).with_alpha(alpha);
            for point in points {
                if let Some(position) = area.point(point.x, point.y) {
                    if has_tooltips {
                        scene.set_tooltip(point_tooltip(&series.name, area, point));
                    }
                    dot(scene, position, style.dot, (series.index, paint));
                }
            }
            scene.close();
        }
    }
}

impl Points<'_> {
    fn draw_density(&self, scene: &mut Scene, area: &PlotArea<'_>, series: &super::data::Series) {
        scene.open(series_attributes(&series.name, Vec::new()));
        let has_one_series = self.data.names.len() < 2;
        let field = area.field;
        for ((x, y), count) in count_per_cell(&series.points, area.x_axis, area.y_axis) {
            let fraction = match self.max_count > 1.0 {
                true => (count.ln() / self.max_count.ln()).clamp(0.0, 1.0),
                false => 0.0,
            };
            let paint = match has_one_series {
                true => Paint::new(Role::Ramp(ramp_index(fraction))),
                false => Paint::series(series.index).with_alpha(0.2 + 0.7 * fraction),
            };
            let left = field.x(float(x) / CELLS);
            let right = field.x(float(x + 1) / CELLS);
            let low = field.y(area.y_axis, float(y) / CELLS / 0.625);
            let high = field.y(area.y_axis, float(y + 1) / CELLS / 0.625);
            // A slight overlap, so that no gap is visible between cells.
            let overlap = if has_one_series { 0.3 } else { 0.0 };
            scene.rect((left, high), (right + overlap, low + overlap), paint);
        }
        scene.close();
    }
}

/// Index of a fraction in the colour ramp.
pub(crate) fn ramp_index(fraction: f64) -> u8 {
    u8::try_from(round_to_count(fraction.clamp(0.0, 1.0) * 255.0)).unwrap_or(u8::MAX)
}

/// Draws the line where both axes have the same value.
fn draw_diagonal(scene: &mut Scene, style: &Style, area: &PlotArea<'_>) {
    let ends = [
        (0.0, area.x_axis),
        (1.0, area.x_axis),
        (0.0, area.y_axis),
        (1.0, area.y_axis),
    ];
    let values = ends.map(|(fraction, axis)| axis.value(fraction));
    let is_inside = |value: &&f64| {
        let is_within = |fraction: Option<f64>| {
            fraction.is_some_and(|fraction| (-1e-9..=1.0 + 1e-9).contains(&fraction))
        };
        is_within(area.x_axis.fraction(**value)) && is_within(area.y_axis.fraction(**value))
    };
    let mut points: Vec<(f64, f64)> = values
        .iter()
        .filter(is_inside)
        .filter_map(|value| area.point(*value, *value))
        .collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    if let [first, .., last] = points.as_slice() {
        let dash = (0.4 * style.label, 0.3 * style.label);
        scene.dashes(&[*first, *last], Paint::GREY, 0.6 * style.line, dash);
    }
}
