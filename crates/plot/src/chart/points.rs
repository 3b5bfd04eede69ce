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
    most: f64,
}

impl<'a> Points<'a> {
    pub(crate) fn new(data: &'a ChartData, columns: ChartColumns<'a>) -> Self {
        let count: usize = data.panels.iter().map(|panel| panel.points().count()).sum();
        let mut points = Self {
            data,
            columns,
            is_dense: count > MAX_DOTS,
            most: 1.0,
        };
        if points.is_dense {
            let (across, up) = points.axes();
            let cells = data.panels.iter().flat_map(|panel| {
                let series = panel.series.iter();
                let counted =
                    series.flat_map(|series| count_per_cell(&series.points, &across, &up));
                counted.map(|(_, count)| count).collect::<Vec<f64>>()
            });
            points.most = cells.fold(1.0, f64::max);
        }
        points
    }
}

type Cell = (usize, usize);

/// Counts the dots in each cell. Cells are squares if the plot area is 8 by 5.
fn count_per_cell(points: &[super::data::Point], across: &Axis, up: &Axis) -> BTreeMap<Cell, f64> {
    let mut counts = BTreeMap::new();
    for point in points {
        let shares = across.fraction(point.x).zip(up.fraction(point.y));
        if let Some((x, y)) = shares {
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
        let across = horizontal_axis(self.data, &self.columns);
        let limits = self.data.panels.iter().filter_map(|panel| panel.limit);
        let values = self.data.numbers(|point| point.y).chain(limits);
        (
            across,
            self.columns.y.axis(values, self.columns.is_y_log(), false),
        )
    }

    fn ramp(&self) -> Option<Axis> {
        let is_one = self.data.names.len() < 2;
        (self.is_dense && is_one).then(|| {
            let named = NamedColumn {
                name: "rows",
                unit: None,
            };
            named.axis([1.0, self.most.max(2.0)].into_iter(), Some(true), false)
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
        place: &PlotArea<'_>,
        (_, panel): (usize, &Panel),
    ) {
        // Two columns of times with the same unit are compared along the diagonal.
        let is_square = place.across.unit == place.up.unit && !place.up.unit.is_empty();
        if is_square
            && place.across.scale == place.up.scale
            && self.columns.x.name != self.columns.y.name
        {
            draw_diagonal(scene, style, place);
        }
        for series in &panel.series {
            if self.is_dense {
                self.draw_density(scene, place, series);
                continue;
            }
            let points = &series.points;
            let is_told = points.len() <= MAX_TOOLTIPS;
            let lists = match is_told {
                true => vec![
                    ("data-x", json_numbers(points.iter().map(|point| point.x))),
                    ("data-y", json_numbers(points.iter().map(|point| point.y))),
                ],
                false => Vec::new(),
            };
            scene.open(series_attributes(&series.name, lists));
            let alpha = if points.len() > 200 { 0.55 } else { 0.8 };
            let paint = Paint::series(series.place).with_alpha(alpha);
            for point in points {
                if let Some(at) = place.point(point.x, point.y) {
                    if is_told {
                        scene.set_tooltip(point_tooltip(&series.name, place, point));
                    }
                    dot(scene, at, style.dot, (series.place, paint));
                }
            }
            scene.close();
        }
    }
}

impl Points<'_> {
    fn draw_density(&self, scene: &mut Scene, place: &PlotArea<'_>, series: &super::data::Series) {
        scene.open(series_attributes(&series.name, Vec::new()));
        let is_one = self.data.names.len() < 2;
        let field = place.field;
        for ((x, y), count) in count_per_cell(&series.points, place.across, place.up) {
            let share = match self.most > 1.0 {
                true => (count.ln() / self.most.ln()).clamp(0.0, 1.0),
                false => 0.0,
            };
            let paint = match is_one {
                true => Paint::new(Role::Ramp(ramp_index(share))),
                false => Paint::series(series.place).with_alpha(0.2 + 0.7 * share),
            };
            let left = field.x(float(x) / CELLS);
            let right = field.x(float(x + 1) / CELLS);
            let low = field.y(place.up, float(y) / CELLS / 0.625);
            let high = field.y(place.up, float(y + 1) / CELLS / 0.625);
            // A slight overlap, so that no gap is visible between cells.
            let over = if is_one { 0.3 } else { 0.0 };
            scene.rect((left, high), (right + over, low + over), paint);
        }
        scene.close();
    }
}

/// Index of a fraction in the colour ramp.
pub(crate) fn ramp_index(share: f64) -> u8 {
    u8::try_from(round_to_count(share.clamp(0.0, 1.0) * 255.0)).unwrap_or(u8::MAX)
}

/// Draws the line where both axes have the same value.
fn draw_diagonal(scene: &mut Scene, style: &Style, place: &PlotArea<'_>) {
    let ends = [
        (0.0, place.across),
        (1.0, place.across),
        (0.0, place.up),
        (1.0, place.up),
    ];
    let values = ends.map(|(share, axis)| axis.value(share));
    let inside = |value: &&f64| {
        let within =
            |share: Option<f64>| share.is_some_and(|at| (-1e-9..=1.0 + 1e-9).contains(&at));
        within(place.across.fraction(**value)) && within(place.up.fraction(**value))
    };
    let mut points: Vec<(f64, f64)> = values
        .iter()
        .filter(inside)
        .filter_map(|value| place.point(*value, *value))
        .collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    if let [first, .., last] = points.as_slice() {
        let dash = (0.4 * style.label, 0.3 * style.label);
        scene.dashes(&[*first, *last], Paint::GREY, 0.6 * style.line, dash);
    }
}
