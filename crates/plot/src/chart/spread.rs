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
    let mut groups: Vec<SortedValues> = Vec::new();
    for point in series.points.iter().filter(|point| point.y.is_finite()) {
        let name = if point.x.is_nan() { 0.0 } else { point.x };
        let existing = groups
            .iter_mut()
            .find(|values| (values.name - name).abs() < 0.5);
        match existing {
            Some(values) => values.sorted.push(point.y),
            None => groups.push(SortedValues {
                name,
                sorted: vec![point.y],
            }),
        }
    }
    for values in &mut groups {
        values.sorted.sort_by(f64::total_cmp);
    }
    groups
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
        let limits = self.data.limits();
        let values = self.data.numbers(|point| point.y).chain(limits);
        let value_axis = self.columns.y.axis(values, self.columns.is_y_log(), false);
        self.groups.axes(self.columns.x, value_axis)
    }

    fn min_height(&self, style: &Style) -> f64 {
        self.groups.min_height(style) * if self.is_violin { 1.4 } else { 1.0 }
    }

    fn notes(&self) -> Vec<String> {
        let note = match self.is_violin {
            true => "outline: density · bar: quartiles · light line: median",
            false => "box: quartiles · line: median · whiskers: up to 1.5 times the box",
        };
        vec![note.to_owned()]
    }

    fn draw(
        &self,
        scene: &mut Scene,
        style: &Style,
        area: &PlotArea<'_>,
        (_, panel): (usize, &Panel),
    ) {
        let names = self.data.x_names.as_deref().unwrap_or_default();
        for (order, series) in panel.series.iter().enumerate() {
            let all = values_by_name(series);
            let value_names = all.iter().map(|values| {
                names
                    .get(round_to_count(values.name))
                    .map_or("", |n| n.as_str())
            });
            let quantiles = |probability: f64| {
                json_numbers(
                    all.iter()
                        .map(|values| quantile(&values.sorted, probability)),
                )
            };
            let lists = vec![
                ("data-names", json_names(value_names)),
                ("data-low", quantiles(0.25)),
                ("data-median", quantiles(0.5)),
                ("data-high", quantiles(0.75)),
                (
                    "data-n",
                    json_numbers(all.iter().map(|values| float(values.sorted.len()))),
                ),
            ];
            scene.open(series_attributes(&series.name, lists));
            for values in &all {
                let slot = slot_range(values.name, order, panel.series.len());
                let colour = self.data.colour_index(series, values.name);
                let mark = SpreadMark {
                    area,
                    style,
                    slot,
                    paint: Paint::series(colour),
                };
                let value_axis = area.value_axis();
                let tooltip = format!(
                    "{}\nmedian {}\nquartiles {} and {}\n{}",
                    names
                        .get(round_to_count(values.name))
                        .map_or("", |n| n.as_str()),
                    value_axis.format_value(quantile(&values.sorted, 0.5)),
                    value_axis.format_value(quantile(&values.sorted, 0.25)),
                    value_axis.format_value(quantile(&values.sorted, 0.75)),
                    row_count(values.sorted.len() as u64)
                );
                match self.is_violin {
                    true => mark.draw_violin(scene, &values.sorted, tooltip),
                    false => mark.draw_box(scene, &values.sorted, tooltip),
                }
            }
            scene.close();
        }
    }
}

/// One box or violin.
struct SpreadMark<'a> {
    area: &'a PlotArea<'a>,
    style: &'a Style,
    slot: (f64, f64),
    paint: Paint,
}

impl SpreadMark<'_> {
    fn middle(&self) -> f64 {
        f64::midpoint(self.slot.0, self.slot.1)
    }

    /// Half of the width, limited to a readable maximum.
    fn half(&self, max_labels: f64) -> f64 {
        let half_slot = (self.slot.1 - self.slot.0) / 2.0 * 0.9;
        half_slot.min(max_labels * self.style.label / self.area.slot())
    }

    fn fraction(&self, value: f64) -> Option<f64> {
        self.area.value_axis().fraction(value)
    }

    /// Draws a line across the box at a value.
    fn draw_crossbar(
        &self,
        scene: &mut Scene,
        value: f64,
        half: f64,
        (paint, width): (Paint, f64),
    ) {
        if let Some(fraction) = self.fraction(value) {
            let ends = [self.middle() - half, self.middle() + half];
            let ends = ends.map(|name| self.area.point_at_fractions(name, fraction));
            scene.line(&ends, paint, width);
        }
    }

    fn draw_box(&self, scene: &mut Scene, sorted: &[f64], tooltip: String) {
        let value_at = |fraction: f64| quantile(sorted, fraction);
        let (low, high) = (value_at(0.25), value_at(0.75));
        let reach = 1.5 * (high - low);
        let mut inside = sorted
            .iter()
            .filter(|value| **value >= low - reach && **value <= high + reach);
        let first = inside.next().copied().unwrap_or(low);
        let last = inside.next_back().copied().unwrap_or(first).max(high);
        let half = self.half(1.6);
        for (from, to) in [(first.min(low), low), (high, last)] {
            if let Some((from, to)) = self.fraction(from).zip(self.fraction(to)) {
                let ends = [from, to]
                    .map(|fraction| self.area.point_at_fractions(self.middle(), fraction));
                scene.line(&ends, self.paint, 0.6 * self.style.line);
            }
        }
        for end in [first.min(low), last] {
            self.draw_crossbar(scene, end, 0.5 * half, (self.paint, 0.6 * self.style.line));
        }
        if let Some((from, to)) = self.fraction(low).zip(self.fraction(high)) {
            let corner = |name_offset: f64, fraction: f64| {
                self.area
                    .point_at_fractions(self.middle() + name_offset, fraction)
            };
            scene.set_tooltip(tooltip);
            scene.rect(
                corner(-half, from),
                corner(half, to),
                self.paint.with_alpha(0.45),
            );
        }
        self.draw_crossbar(
            scene,
            value_at(0.5),
            half,
            (self.paint, 1.4 * self.style.line),
        );
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
            if let Some(fraction) = self.fraction(*value) {
                let position = self.area.point_at_fractions(self.middle(), fraction);
                scene.circle(position, 0.5 * self.style.dot, self.paint.with_alpha(0.7));
            }
        }
    }

    fn draw_violin(&self, scene: &mut Scene, sorted: &[f64], tooltip: String) {
        let fractions: Vec<f64> = sorted
            .iter()
            .filter_map(|value| self.fraction(*value))
            .collect();
        let half = self.half(3.0);
        let step = fractions.len().div_ceil(MAX_DENSITY_VALUES).max(1);
        let sample: Vec<f64> = fractions.iter().copied().step_by(step).collect();
        let outline = match fractions.len() < MIN_VIOLIN_VALUES {
            true => Vec::new(),
            false => density(&sample),
        };
        if outline.is_empty() {
            let alpha = if fractions.len() < MIN_VIOLIN_VALUES {
                0.9
            } else {
                0.2
            };
            for fraction in fractions.iter().take(200) {
                let position = self.area.point_at_fractions(self.middle(), *fraction);
                scene.circle(position, 0.7 * self.style.dot, self.paint.with_alpha(alpha));
            }
            scene.set_tooltip(tooltip);
            self.draw_crossbar(
                scene,
                quantile(sorted, 0.5),
                0.6 * half,
                (self.paint, self.style.line),
            );
            return;
        }
        let max_width = outline.iter().map(|(_, width)| *width).fold(0.0, f64::max);
        let side = |sign: f64| {
            let points = outline.iter();
            points.map(move |(fraction, width)| {
                self.area
                    .point_at_fractions(self.middle() + sign * half * width / max_width, *fraction)
            })
        };
        let mut around: Vec<(f64, f64)> = side(-1.0).chain(side(1.0).rev()).collect();
        scene.set_tooltip(tooltip);
        scene.area(&around, self.paint.with_alpha(0.35));
        around.extend(around.first().copied());
        scene.line(&around, self.paint, 0.6 * self.style.line);
        let quartiles = self
            .fraction(quantile(sorted, 0.25))
            .zip(self.fraction(quantile(sorted, 0.75)));
        if let Some((from, to)) = quartiles {
            let thickness = (0.16 * half).min(0.5);
            let corner = |position: f64, fraction: f64| {
                self.area
                    .point_at_fractions(self.middle() + position, fraction)
            };
            scene.rect(corner(-thickness, from), corner(thickness, to), self.paint);
        }
        self.draw_crossbar(
            scene,
            quantile(sorted, 0.5),
            0.3 * half,
            (Paint::BACKGROUND, 0.8 * self.style.line),
        );
    }
}
