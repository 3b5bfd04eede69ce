//! Box plots and violin plots.

use tsql_metrics::stats::quantile;

use super::axis::Axis;
use super::data::{ChartData, Panel, Series};
use super::groups::{GroupedAxis, slot_range};
use super::marks::{ChartColumns, Marks, json_names, json_numbers, series_attributes};
use super::plot_area::PlotArea;
use super::row_sampler::row_count;
use super::spec::ChartKind;
use super::style::Style;
use crate::density::density;
use crate::number::{float, round_to_count};
use crate::scene::{Paint, Scene};

/// Maximum number of outliers drawn for each box.
const MAX_OUTLIERS: usize = 40;

/// Minimum number of values for a violin; fewer values are drawn as dots.
const MIN_VIOLIN_VALUES: usize = 12;

/// Maximum number of values of a group for its density.
const MAX_DENSITY_VALUES: usize = 4_000;

pub(crate) struct Spread<'a> {
    data: &'a ChartData,
    columns: ChartColumns<'a>,
    groups: GroupedAxis,
    is_violin: bool,
}

/// Values of one name in ascending order.
struct SortedValues {
    name: f64,
    sorted: Vec<f64>,
}

fn values_by_name(series: &Series) -> Vec<SortedValues> {
    let mut found: Vec<SortedValues> = Vec::new();
    for point in series.points.iter().filter(|point| point.y.is_finite()) {
        let name = if point.x.is_nan() { 0.0 } else { point.x };
        let known = found
            .iter_mut()
            .find(|values| (values.name - name).abs() < 0.5);
        match known {
            Some(values) => values.sorted.push(point.y),
            None => found.push(SortedValues {
                name,
                sorted: vec![point.y],
            }),
        }
    }
    for values in &mut found {
        values.sorted.sort_by(f64::total_cmp);
    }
    found
}

impl<'a> Spread<'a> {
    pub(crate) fn new(data: &'a ChartData, columns: ChartColumns<'a>, style: &Style) -> Self {
        Self {
            data,
            columns,
            groups: GroupedAxis::new(data, style),
            is_violin: data.kind == ChartKind::Violin,
        }
    }
}

impl Marks for Spread<'_> {
    fn axes(&self) -> (Axis, Axis) {
        let limits = self.data.panels.iter().filter_map(|panel| panel.limit);
        let values = self.data.numbers(|point| point.y).chain(limits);
        let measured = self.columns.y.axis(values, self.columns.is_y_log(), false);
        self.groups.axes(self.columns.x.name, measured)
    }

    fn min_height(&self, style: &Style) -> f64 {
        self.groups.min_height(style) * if self.is_violin { 1.4 } else { 1.0 }
    }

    fn notes(&self) -> Vec<String> {
        let said = match self.is_violin {
            true => "outline: density · bar: quartiles · light line: median",
            false => "box: quartiles · line: median · whiskers: up to 1.5 times the box",
        };
        vec![said.to_owned()]
    }

    fn draw(
        &self,
        scene: &mut Scene,
        style: &Style,
        place: &PlotArea<'_>,
        (_, panel): (usize, &Panel),
    ) {
        let names = self.data.x_names.as_deref().unwrap_or_default();
        for (order, series) in panel.series.iter().enumerate() {
            let all = values_by_name(series);
            let named = all.iter().map(|values| {
                names
                    .get(round_to_count(values.name))
                    .map_or("", |n| n.as_str())
            });
            let at =
                |share: f64| json_numbers(all.iter().map(|values| quantile(&values.sorted, share)));
            let lists = vec![
                ("data-names", json_names(named)),
                ("data-low", at(0.25)),
                ("data-median", at(0.5)),
                ("data-high", at(0.75)),
                (
                    "data-n",
                    json_numbers(all.iter().map(|values| float(values.sorted.len()))),
                ),
            ];
            scene.open(series_attributes(&series.name, lists));
            for values in &all {
                let slot = slot_range(values.name, order, panel.series.len());
                let colour = match self.data.is_coloured_by_x {
                    true => round_to_count(values.name),
                    false => series.place,
                };
                let one = SpreadMark {
                    place,
                    style,
                    slot,
                    paint: Paint::series(colour),
                };
                let measured = place.value_axis();
                let said = format!(
                    "{}\nmedian {}\nquartiles {} and {}\n{}",
                    names
                        .get(round_to_count(values.name))
                        .map_or("", |n| n.as_str()),
                    measured.format_value(quantile(&values.sorted, 0.5)),
                    measured.format_value(quantile(&values.sorted, 0.25)),
                    measured.format_value(quantile(&values.sorted, 0.75)),
                    row_count(values.sorted.len() as u64)
                );
                match self.is_violin {
                    true => one.draw_violin(scene, &values.sorted, said),
                    false => one.draw_box(scene, &values.sorted, said),
                }
            }
            scene.close();
        }
    }
}

/// One box or violin.
struct SpreadMark<'a> {
    place: &'a PlotArea<'a>,
    style: &'a Style,
    slot: (f64, f64),
    paint: Paint,
}

impl SpreadMark<'_> {
    fn middle(&self) -> f64 {
        f64::midpoint(self.slot.0, self.slot.1)
    }

    /// Half of the width, limited to a readable maximum.
    fn half(&self, most: f64) -> f64 {
        let own = (self.slot.1 - self.slot.0) / 2.0 * 0.9;
        own.min(most * self.style.label / self.place.slot())
    }

    fn share(&self, value: f64) -> Option<f64> {
        self.place.value_axis().fraction(value)
    }

    /// Draws a line across the box at a value.
    fn draw_crossbar(
        &self,
        scene: &mut Scene,
        value: f64,
        half: f64,
        (paint, width): (Paint, f64),
    ) {
        if let Some(share) = self.share(value) {
            let ends = [self.middle() - half, self.middle() + half];
            let ends = ends.map(|at| self.place.point_at_fractions(at, share));
            scene.line(&ends, paint, width);
        }
    }

    fn draw_box(&self, scene: &mut Scene, sorted: &[f64], said: String) {
        let at = |share: f64| quantile(sorted, share);
        let (low, high) = (at(0.25), at(0.75));
        let reach = 1.5 * (high - low);
        let mut inside = sorted
            .iter()
            .filter(|value| **value >= low - reach && **value <= high + reach);
        let first = inside.next().copied().unwrap_or(low);
        let last = inside.next_back().copied().unwrap_or(first).max(high);
        let half = self.half(1.6);
        for (from, to) in [(first.min(low), low), (high, last)] {
            if let Some((from, to)) = self.share(from).zip(self.share(to)) {
                let ends =
                    [from, to].map(|share| self.place.point_at_fractions(self.middle(), share));
                scene.line(&ends, self.paint, 0.6 * self.style.line);
            }
        }
        for end in [first.min(low), last] {
            self.draw_crossbar(scene, end, 0.5 * half, (self.paint, 0.6 * self.style.line));
        }
        if let Some((from, to)) = self.share(low).zip(self.share(high)) {
            let corner =
                |at: f64, share: f64| self.place.point_at_fractions(self.middle() + at, share);
            scene.set_tooltip(said);
            scene.rect(
                corner(-half, from),
                corner(half, to),
                self.paint.with_alpha(0.45),
            );
        }
        self.draw_crossbar(scene, at(0.5), half, (self.paint, 1.4 * self.style.line));
        let outside: Vec<f64> = sorted
            .iter()
            .copied()
            .filter(|value| *value < first.min(low) || *value > last)
            .collect();
        let step = outside.len().div_ceil(MAX_OUTLIERS).max(1);
        // The farthest outliers are always drawn, the others are sampled.
        let ends = [outside.first(), outside.last()];
        let some = outside
            .iter()
            .step_by(step)
            .chain(ends.into_iter().flatten());
        for value in some {
            if let Some(share) = self.share(*value) {
                let at = self.place.point_at_fractions(self.middle(), share);
                scene.circle(at, 0.5 * self.style.dot, self.paint.with_alpha(0.7));
            }
        }
    }

    fn draw_violin(&self, scene: &mut Scene, sorted: &[f64], said: String) {
        let shares: Vec<f64> = sorted
            .iter()
            .filter_map(|value| self.share(*value))
            .collect();
        let half = self.half(3.0);
        let step = shares.len().div_ceil(MAX_DENSITY_VALUES).max(1);
        let some: Vec<f64> = shares.iter().copied().step_by(step).collect();
        let outline = match shares.len() < MIN_VIOLIN_VALUES {
            true => Vec::new(),
            false => density(&some),
        };
        if outline.is_empty() {
            let alpha = if shares.len() < MIN_VIOLIN_VALUES {
                0.9
            } else {
                0.2
            };
            for share in shares.iter().take(200) {
                let at = self.place.point_at_fractions(self.middle(), *share);
                scene.circle(at, 0.7 * self.style.dot, self.paint.with_alpha(alpha));
            }
            scene.set_tooltip(said);
            self.draw_crossbar(
                scene,
                quantile(sorted, 0.5),
                0.6 * half,
                (self.paint, self.style.line),
            );
            return;
        }
        let most = outline.iter().map(|(_, width)| *width).fold(0.0, f64::max);
        let side = |sign: f64| {
            let points = outline.iter();
            points.map(move |(share, width)| {
                self.place
                    .point_at_fractions(self.middle() + sign * half * width / most, *share)
            })
        };
        let mut around: Vec<(f64, f64)> = side(-1.0).chain(side(1.0).rev()).collect();
        scene.set_tooltip(said);
        scene.area(&around, self.paint.with_alpha(0.35));
        around.extend(around.first().copied());
        scene.line(&around, self.paint, 0.6 * self.style.line);
        let quartiles = self
            .share(quantile(sorted, 0.25))
            .zip(self.share(quantile(sorted, 0.75)));
        if let Some((from, to)) = quartiles {
            let thick = (0.16 * half).min(0.5);
            let corner =
                |at: f64, share: f64| self.place.point_at_fractions(self.middle() + at, share);
            scene.rect(corner(-thick, from), corner(thick, to), self.paint);
        }
        self.draw_crossbar(
            scene,
            quantile(sorted, 0.5),
            0.3 * half,
            (Paint::PAPER, 0.8 * self.style.line),
        );
    }
}
