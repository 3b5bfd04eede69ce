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
        let across = horizontal_axis(self.data, &self.columns);
        let limits = self.data.panels.iter().filter_map(|panel| panel.limit);
        let values = self.data.numbers(|point| point.y);
        let bands = self
            .data
            .numbers(|point| point.low)
            .chain(self.data.numbers(|point| point.high));
        let all = values.chain(bands).chain(limits);
        let up = self.columns.y.axis(all, self.columns.is_y_log(), false);
        (across, up)
    }

    fn has_lines(&self) -> bool {
        true
    }

    fn draw(
        &self,
        scene: &mut Scene,
        style: &Style,
        place: &PlotArea<'_>,
        (_, panel): (usize, &Panel),
    ) {
        for series in &panel.series {
            let mut points = series.points.clone();
            points.sort_by(|a, b| a.x.total_cmp(&b.x));
            let told = match points.len() <= MAX_TOOLTIPS {
                true => vec![
                    ("data-x", json_numbers(points.iter().map(|point| point.x))),
                    ("data-y", json_numbers(points.iter().map(|point| point.y))),
                ],
                false => Vec::new(),
            };
            scene.open(series_attributes(&series.name, told));
            self.band(scene, place, series.place, &points);
            self.line(scene, style, place, (series, &points));
            scene.close();
        }
    }
}

impl Lines<'_> {
    fn band(&self, scene: &mut Scene, place: &PlotArea<'_>, series: usize, points: &[Point]) {
        let within = |point: &Point| {
            place
                .point(point.x, point.low)
                .zip(place.point(point.x, point.high))
        };
        let ends: Vec<((f64, f64), (f64, f64))> = points.iter().filter_map(within).collect();
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
        place: &PlotArea<'_>,
        (series, points): (&Series, &[Point]),
    ) {
        let paint = Paint::series(series.place);
        // A missing point leaves a gap.
        for part in points.split(|point| place.point(point.x, point.y).is_none()) {
            let at: Vec<(f64, f64)> = part
                .iter()
                .filter_map(|point| place.point(point.x, point.y))
                .collect();
            let thin = downsample(&at);
            stroke(
                scene,
                style,
                &self.step_points(&thin),
                (series.place, style.line),
            );
            let is_dotted = part.len() <= MAX_DOTS && !style.is_terminal() || part.len() == 1;
            for (point, at) in part.iter().zip(&at).filter(|_| is_dotted) {
                let said = point_tooltip(&series.name, place, point);
                scene.set_tooltip(said).circle(*at, 0.8 * style.dot, paint);
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
pub(crate) fn point_tooltip(series: &str, place: &PlotArea<'_>, point: &Point) -> String {
    let (x, y) = (
        place.across.format_value(point.x),
        place.up.format_value(point.y),
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
        let mut kept: Vec<usize> = vec![0, same.len() - 1];
        let by = |a: &(usize, &(f64, f64)), b: &(usize, &(f64, f64))| a.1.1.total_cmp(&b.1.1);
        let places = same.iter().enumerate();
        kept.extend(places.clone().min_by(by).map(|(place, _)| place));
        kept.extend(places.max_by(by).map(|(place, _)| place));
        kept.sort_unstable();
        kept.dedup();
        out.extend(kept.into_iter().filter_map(|place| same.get(place)));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_keep_their_ends_and_peaks() {
        let mut points: Vec<(f64, f64)> = (0..10_000)
            .map(|place| (f64::from(place) / 100.0, 1.0))
            .collect();
        points[5_003].1 = 9.0;
        points[5_004].1 = -9.0;
        let thin = downsample(&points);
        assert!(thin.len() < 900, "{}", thin.len());
        assert_eq!((thin.first(), thin.last()), (points.first(), points.last()));
        assert!(thin.contains(&points[5_003]) && thin.contains(&points[5_004]));
    }
}
