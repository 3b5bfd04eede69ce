//! Histograms and cumulative distributions.

use tsql_metrics::stats::quantile;

use super::axis::{Axis, AxisScale};
use super::data::{ChartData, Panel, Series};
use super::forms::stroke;
use super::marks::{
    ChartColumns, Marks, NamedColumn, horizontal_axis, json_numbers, series_attributes,
};
use super::plot_area::PlotArea;
use super::row_sampler::row_count;
use super::spec::ChartKind;
use super::style::Style;
use super::ticks::round_step;
use crate::number::{float, round_to_count};
use crate::scene::{Paint, Scene};

/// Minimum and maximum number of bins of a histogram.
const BINS: (f64, f64) = (8.0, 60.0);

/// Maximum number of points of a cumulative distribution.
const POINTS: usize = 600;

pub(crate) struct Distribution<'a> {
    data: &'a ChartData,
    columns: ChartColumns<'a>,
    is_histogram: bool,
    x_axis: Axis,
    /// Number of bins; they divide the axis evenly.
    bins: usize,
}

impl<'a> Distribution<'a> {
    pub(crate) fn new(data: &'a ChartData, columns: ChartColumns<'a>) -> Self {
        let is_histogram = data.kind == ChartKind::Histogram;
        let x_axis = horizontal_axis(data, &columns);
        let (x_axis, bins) = match is_histogram {
            true => binned_axis(data, x_axis),
            false => (x_axis, 1),
        };
        Self {
            data,
            columns,
            is_histogram,
            x_axis,
            bins,
        }
    }

    /// Number of rows in each bin.
    fn counts(&self, series: &Series, x_axis: &Axis) -> Vec<f64> {
        let mut counts = vec![0.0; self.bins];
        for point in &series.points {
            if let Some(fraction) = x_axis.fraction(point.x) {
                let bin = round_to_count((fraction * float(self.bins)).floor()).min(self.bins - 1);
                if let Some(count) = counts.get_mut(bin) {
                    *count += point.weight;
                }
            }
        }
        counts
    }
}

/// Ends the axis at the edges of bins: at round values if it is linear, and at the minimum and maximum otherwise.
/// Returns the axis, and the number of bins.
fn binned_axis(data: &ChartData, mut axis: Axis) -> (Axis, usize) {
    let coordinates = data.numbers(|point| point.x);
    let mut sorted: Vec<f64> = coordinates
        .filter_map(|value| axis.coordinate(value))
        .collect();
    sorted.sort_by(f64::total_cmp);
    let (low, high) = match (sorted.first(), sorted.last()) {
        (Some(low), Some(high)) if low < high => (*low, *high),
        _ => return (axis, round_to_count(BINS.0)),
    };
    let count = bin_count(&sorted);
    if axis.scale != AxisScale::Linear {
        axis.ends = (low, high);
        return (axis, count);
    }
    let is_whole = axis.min_step > 0.0;
    let minimum = 0.6 * (high - low) / axis.factor / float(count);
    let step = round_step(minimum.max(axis.min_step), &[1.0, 2.0, 2.5, 5.0, 10.0]);
    let step = if is_whole { step.ceil() } else { step } * axis.factor;
    // Whole numbers are in the middle of bins of width 1, and at the lower ends of wider ones.
    let shift = if is_whole && step < 1.5 { 0.5 } else { 0.0 };
    let first = ((low + shift) / step).floor();
    let last = match is_whole {
        true => ((high + shift) / step).floor() + 1.0,
        false => (high / step - 1e-9).ceil(),
    };
    let ends = (first * step - shift, last * step - shift);
    if !ends.0.is_finite() || !ends.1.is_finite() || ends.0 >= ends.1 {
        return (axis, count);
    }
    axis.ends = ends;
    (axis, round_to_count(last - first).max(1))
}

/// Number of bins by the rule of Freedman and Diaconis.
fn bin_count(sorted: &[f64]) -> usize {
    let range = match (sorted.first(), sorted.last()) {
        (Some(low), Some(high)) => high - low,
        _ => 0.0,
    };
    let spread = quantile(sorted, 0.75) - quantile(sorted, 0.25);
    let width = 2.0 * spread / float(sorted.len()).cbrt();
    let count = if width > 0.0 {
        (range / width).ceil()
    } else {
        20.0
    };
    round_to_count(count.clamp(BINS.0, BINS.1))
}

impl Marks for Distribution<'_> {
    fn axes(&self) -> (Axis, Axis) {
        let x_axis = self.x_axis.clone();
        let title = self.columns.y.title;
        if !self.is_histogram {
            let title = title.unwrap_or("fraction of rows");
            return (x_axis, Axis::unitless(title, (0.0, 1.02)));
        }
        let panels = self.data.panels.iter();
        let series = panels.flat_map(|panel| &panel.series);
        let counts = series.flat_map(|series| self.counts(series, &x_axis));
        let max_count = counts.fold(1.0, f64::max);
        let is_log = self.columns.is_y_log() == Some(true);
        let y_axis = match is_log {
            true => NamedColumn::rows(title).axis([0.7, max_count].into_iter(), Some(true), false),
            false => Axis::count(title.unwrap_or("rows"), (0.0, 1.05 * max_count)),
        };
        (x_axis, y_axis)
    }

    fn has_lines(&self) -> bool {
        !self.is_histogram
    }

    fn draw(
        &self,
        scene: &mut Scene,
        style: &Style,
        area: &PlotArea<'_>,
        (_, panel): (usize, &Panel),
    ) {
        for series in &panel.series {
            match self.is_histogram {
                true => self.draw_histogram(scene, style, area, (series, panel.series.len())),
                false => draw_ecdf(scene, style, area, series),
            }
        }
    }
}

impl Distribution<'_> {
    fn draw_histogram(
        &self,
        scene: &mut Scene,
        style: &Style,
        area: &PlotArea<'_>,
        (series, series_count): (&Series, usize),
    ) {
        let counts = self.counts(series, area.x_axis);
        let edge = |bin: usize| area.x_axis.value(float(bin) / float(self.bins));
        let lists = vec![
            ("data-from", json_numbers((0..self.bins).map(edge))),
            ("data-y", json_numbers(counts.iter().copied())),
        ];
        scene.open(series_attributes(&series.name, lists));
        let paint = Paint::series(series.index);
        let alpha = match series_count {
            1 => 0.85,
            2 => 0.3,
            _ => 0.1,
        };
        let base = area.field.bottom;
        let mut outline = Vec::new();
        for (bin, count) in counts.iter().enumerate() {
            let left = area.field.x(float(bin) / float(self.bins));
            let right = area.field.x(float(bin + 1) / float(self.bins));
            let top = area.y(*count).unwrap_or(base).min(base);
            outline.extend([(left, top), (right, top)]);
            if *count > 0.0 {
                let (from, to) = (
                    area.x_axis.format_value(edge(bin)),
                    area.x_axis.format_value(edge(bin + 1)),
                );
                scene.set_tooltip(format!(
                    "{}{from} to {to}\n{}",
                    bin_label(&series.name),
                    row_count(round_to_count(*count) as u64)
                ));
                let gap = if series_count > 1 || style.is_terminal() {
                    0.0
                } else {
                    0.5
                };
                scene.rect(
                    (left + gap, top),
                    (right - gap, base),
                    paint.with_alpha(alpha),
                );
            }
        }
        if series_count > 1 {
            scene.line(&outline, paint, 0.7 * style.line);
        }
        scene.close();
    }
}

fn bin_label(name: &str) -> String {
    match name {
        "" => String::new(),
        name => format!("{name}\n"),
    }
}

/// Draws the empirical cumulative distribution: the fraction of rows with at most a value.
fn draw_ecdf(scene: &mut Scene, style: &Style, area: &PlotArea<'_>, series: &Series) {
    let points = series.points.iter().map(|point| point.x);
    let mut values: Vec<f64> = points
        .filter(|value| area.x_axis.fraction(*value).is_some())
        .collect();
    values.sort_by(f64::total_cmp);
    let count = float(values.len());
    let step = values.len().div_ceil(POINTS).max(1);
    let last = values.len().saturating_sub(1);
    let selected = values.iter().enumerate();
    let selected = selected.filter(|(index, _)| (index + 1).is_multiple_of(step) || *index == last);
    let steps: Vec<(f64, f64)> = selected
        .map(|(index, value)| (*value, float(index + 1) / count))
        .collect();
    let lists = vec![
        (
            "data-x",
            json_numbers(steps.iter().map(|(value, _)| *value)),
        ),
        (
            "data-y",
            json_numbers(steps.iter().map(|(_, fraction)| *fraction)),
        ),
    ];
    scene.open(series_attributes(&series.name, lists));
    let mut line: Vec<(f64, f64)> = Vec::new();
    let mut previous = 0.0;
    for (value, fraction) in steps {
        let corners = [area.point(value, previous), area.point(value, fraction)];
        line.extend(corners.into_iter().flatten());
        previous = fraction;
    }
    if let Some((_, y)) = line.last().copied() {
        line.push((area.field.right, y));
    }
    stroke(scene, style, &line, (series.index, style.line));
    scene.close();
}
