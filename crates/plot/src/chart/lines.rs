//! Line and step charts, with bands.

use super::axis::Axis;
use super::data::{ChartData, Panel, Point, Series};
use super::forms::stroke;
use super::marks::{ChartColumns, Marks, horizontal_axis, json_numbers, series_attributes};
use super::plot_area::PlotArea;
use super::spec::ChartKind;
use super::style::Style;
use crate::scene::{Paint, Scene};

/// Maximum number of points for a line with dots.
const MAX_DOTS: usize = 24;

/// Maximum number of points with tooltips.
const MAX_TOOLTIPS: usize = 2_000;

pub(crate) struct Lines<'a> {
    data: &'a ChartData,
    columns: ChartColumns<'a>,
    is_step: bool,
}

impl<'a> Lines<'a> {
    pub(crate) fn new(data: &'a ChartData, columns: ChartColumns<'a>) -> Self {
        let is_step = data.kind == ChartKind::Step;
        Self {
            data,
            columns,
            is_step,
        }
    }
}

impl Marks for Lines<'_> {
    fn axes(&self) -> (Axis, Axis) {
        let x_axis = horizontal_axis(self.data, &self.columns);
        let limits = self.data.limits();
        let values = self.data.numbers(|point| point.y);
        let bands = self
            .data
            .numbers(|point| point.low)
            .chain(self.data.numbers(|point| point.high));
        let all = values.chain(bands).chain(limits);
        let y_axis = self.columns.y.axis(all, self.columns.is_y_log(), false);
        (x_axis, y_axis)
    }

    fn has_lines(&self) -> bool {
        true
    }

    fn draw(
        &self,
        scene: &mut Scene,
        style: &Style,
        area: &PlotArea<'_>,
        (_, panel): (usize, &Panel),
    ) {
        for series in &panel.series {
            let mut points = series.points.clone();
            points.sort_by(|a, b| a.x.total_cmp(&b.x));
            let attributes = match points.len() <= MAX_TOOLTIPS {
                true => vec![
                    ("data-x", json_numbers(points.iter().map(|point| point.x))),
                    ("data-y", json_numbers(points.iter().map(|point| point.y))),
                ],
                false => Vec::new(),
            };
            scene.open(series_attributes(&series.name, attributes));
            self.band(scene, area, series.index, &points);
            self.line(scene, style, area, (series, &points));
            scene.close();
        }
    }
}

impl Lines<'_> {
    fn band(&self, scene: &mut Scene, area: &PlotArea<'_>, series: usize, points: &[Point]) {
        let bounds = |point: &Point| {
            area.point(point.x, point.low)
                .zip(area.point(point.x, point.high))
        };
        let ends: Vec<((f64, f64), (f64, f64))> = points.iter().filter_map(bounds).collect();
        if ends.len() < 2 {
            return;
        }
        let low: Vec<(f64, f64)> = ends.iter().map(|(low, _)| *low).collect();
        let high: Vec<(f64, f64)> = ends.iter().map(|(_, high)| *high).collect();
        let mut corners = self.step_points(&low);
        let mut over = self.step_points(&high);
        over.reverse();
        corners.extend(over);
        scene.area(&corners, Paint::series(series).with_alpha(0.2));
    }

    fn line(
        &self,
        scene: &mut Scene,
        style: &Style,
        area: &PlotArea<'_>,
        (series, points): (&Series, &[Point]),
    ) {
        let paint = Paint::series(series.index);
        // A missing point leaves a gap.
        for part in points.split(|point| area.point(point.x, point.y).is_none()) {
            let positions: Vec<(f64, f64)> = part
                .iter()
                .filter_map(|point| area.point(point.x, point.y))
                .collect();
            let reduced = downsample(&positions);
            stroke(
                scene,
                style,
                &self.step_points(&reduced),
                (series.index, style.line),
            );
            let is_dotted = part.len() <= MAX_DOTS && !style.is_terminal() || part.len() == 1;
            for (point, position) in part.iter().zip(&positions).filter(|_| is_dotted) {
                let tooltip = point_tooltip(&series.name, area, point);
                scene
                    .set_tooltip(tooltip)
                    .circle(*position, 0.8 * style.dot, paint);
            }
        }
    }

    fn step_points(&self, points: &[(f64, f64)]) -> Vec<(f64, f64)> {
        if !self.is_step {
            return points.to_vec();
        }
        let mut out: Vec<(f64, f64)> = Vec::with_capacity(2 * points.len());
        for (x, y) in points {
            if let Some((_, before)) = out.last().copied() {
                out.push((*x, before));
            }
            out.push((*x, *y));
        }
        out
    }
}

/// Tooltip of a point.
pub(crate) fn point_tooltip(series: &str, area: &PlotArea<'_>, point: &Point) -> String {
    let (x, y) = (
        area.x_axis.format_value(point.x),
        area.y_axis.format_value(point.y),
    );
    match series {
        "" => format!("{x}\n{y}"),
        series => format!("{series}\n{x}\n{y}"),
    }
}

/// Reduces a line to its visible points: the first, lowest, highest and last in each half unit.
fn downsample(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    if points.len() < 4_000 {
        return points.to_vec();
    }
    let column = |(x, _): &(f64, f64)| (x * 2.0).floor();
    let mut out = Vec::new();
    for same in points.chunk_by(|a, b| (column(a) - column(b)).abs() < 0.5) {
        let mut selected: Vec<usize> = vec![0, same.len() - 1];
        let by = |a: &(usize, &(f64, f64)), b: &(usize, &(f64, f64))| a.1.1.total_cmp(&b.1.1);
        let indexed = same.iter().enumerate();
        selected.extend(indexed.clone().min_by(by).map(|(index, _)| index));
        selected.extend(indexed.max_by(by).map(|(index, _)| index));
        selected.sort_unstable();
        selected.dedup();
        out.extend(selected.into_iter().filter_map(|index| same.get(index)));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_keep_their_ends_and_peaks() {
        let mut points: Vec<(f64, f64)> = (0..10_000)
            .map(|index| (f64::from(index) / 100.0, 1.0))
            .collect();
        points[5_003].1 = 9.0;
        points[5_004].1 = -9.0;
        let reduced = downsample(&points);
        assert!(reduced.len() < 900, "{}", reduced.len());
        assert_eq!(
            (reduced.first(), reduced.last()),
            (points.first(), points.last())
        );
        assert!(reduced.contains(&points[5_003]) && reduced.contains(&points[5_004]));
    }
}
