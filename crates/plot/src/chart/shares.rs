//! Histograms and cumulative distributions.

use tsql_metrics::stats::quantile;

use super::axis::Axis;
use super::data::{ChartData, Panel, Series};
use super::forms::stroke;
use super::marks::{ChartColumns, Marks, horizontal_axis, json_numbers, series_attributes};
use super::plot_area::PlotArea;
use super::row_sampler::row_count;
use super::spec::ChartKind;
use super::style::Style;
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
    bins: usize,
}

impl<'a> Distribution<'a> {
    pub(crate) fn new(data: &'a ChartData, columns: ChartColumns<'a>) -> Self {
        let mut shares = Self {
            data,
            columns,
            is_histogram: data.kind == ChartKind::Histogram,
            bins: 1,
        };
        shares.bins = bins(data, &shares.value_axis());
        shares
    }

    fn value_axis(&self) -> Axis {
        horizontal_axis(self.data, &self.columns)
    }

    /// Number of rows in each bin.
    fn counts(&self, series: &Series, across: &Axis) -> Vec<f64> {
        let mut counts = vec![0.0; self.bins];
        for point in &series.points {
            if let Some(share) = across.fraction(point.x) {
                let bin = round_to_count((share * float(self.bins)).floor()).min(self.bins - 1);
                if let Some(count) = counts.get_mut(bin) {
                    *count += point.weight;
                }
            }
        }
        counts
    }
}

/// Number of bins by the rule of Freedman and Diaconis.
fn bins(data: &ChartData, across: &Axis) -> usize {
    let mut shares: Vec<f64> = data
        .numbers(|point| point.x)
        .filter_map(|value| across.fraction(value))
        .collect();
    shares.sort_by(f64::total_cmp);
    let spread = quantile(&shares, 0.75) - quantile(&shares, 0.25);
    let width = 2.0 * spread / float(shares.len()).cbrt();
    let wanted = if width > 0.0 {
        (1.0 / width).ceil()
    } else {
        20.0
    };
    round_to_count(wanted.clamp(BINS.0, BINS.1))
}

impl Marks for Distribution<'_> {
    fn axes(&self) -> (Axis, Axis) {
        let across = self.value_axis();
        if !self.is_histogram {
            return (across, Axis::unitless("fraction of rows", (0.0, 1.02)));
        }
        let panels = self.data.panels.iter();
        let series = panels.flat_map(|panel| &panel.series);
        let counts = series.flat_map(|series| self.counts(series, &across));
        let most = counts.fold(1.0, f64::max);
        let is_log = self.columns.is_y_log() == Some(true);
        let up = match is_log {
            true => super::marks::NamedColumn {
                name: "rows",
                unit: None,
            }
            .axis([0.7, most].into_iter(), Some(true), false),
            false => Axis::unitless("rows", (0.0, 1.05 * most)),
        };
        (across, up)
    }

    fn has_lines(&self) -> bool {
        !self.is_histogram
    }

    fn draw(
        &self,
        scene: &mut Scene,
        style: &Style,
        place: &PlotArea<'_>,
        (_, panel): (usize, &Panel),
    ) {
        for series in &panel.series {
            match self.is_histogram {
                true => self.draw_histogram(scene, style, place, (series, panel.series.len())),
                false => draw_ecdf(scene, style, place, series),
            }
        }
    }
}

impl Distribution<'_> {
    fn draw_histogram(
        &self,
        scene: &mut Scene,
        style: &Style,
        place: &PlotArea<'_>,
        (series, beside): (&Series, usize),
    ) {
        let counts = self.counts(series, place.across);
        let edge = |bin: usize| place.across.value(float(bin) / float(self.bins));
        let lists = vec![
            ("data-from", json_numbers((0..self.bins).map(edge))),
            ("data-y", json_numbers(counts.iter().copied())),
        ];
        scene.open(series_attributes(&series.name, lists));
        let paint = Paint::series(series.place);
        let alpha = match beside {
            1 => 0.85,
            2 => 0.3,
            _ => 0.1,
        };
        let foot = place.field.bottom;
        let mut outline = Vec::new();
        for (bin, count) in counts.iter().enumerate() {
            let left = place.field.x(float(bin) / float(self.bins));
            let right = place.field.x(float(bin + 1) / float(self.bins));
            let top = place.y(*count).unwrap_or(foot).min(foot);
            outline.extend([(left, top), (right, top)]);
            if *count > 0.0 {
                let (from, to) = (
                    place.across.format_value(edge(bin)),
                    place.across.format_value(edge(bin + 1)),
                );
                scene.set_tooltip(format!(
                    "{}{from} to {to}\n{}",
                    bin_label(&series.name),
                    row_count(round_to_count(*count) as u64)
                ));
                let gap = if beside > 1 || style.is_terminal() {
                    0.0
                } else {
                    0.5
                };
                scene.rect(
                    (left + gap, top),
                    (right - gap, foot),
                    paint.with_alpha(alpha),
                );
            }
        }
        if beside > 1 {
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
fn draw_ecdf(scene: &mut Scene, style: &Style, place: &PlotArea<'_>, series: &Series) {
    let points = series.points.iter().map(|point| point.x);
    let mut values: Vec<f64> = points
        .filter(|value| place.across.fraction(*value).is_some())
        .collect();
    values.sort_by(f64::total_cmp);
    let count = float(values.len());
    let step = values.len().div_ceil(POINTS).max(1);
    let last = values.len().saturating_sub(1);
    let some = values.iter().enumerate();
    let some = some.filter(|(at, _)| (at + 1).is_multiple_of(step) || *at == last);
    let steps: Vec<(f64, f64)> = some
        .map(|(at, value)| (*value, float(at + 1) / count))
        .collect();
    let lists = vec![
        (
            "data-x",
            json_numbers(steps.iter().map(|(value, _)| *value)),
        ),
        (
            "data-y",
            json_numbers(steps.iter().map(|(_, share)| *share)),
        ),
    ];
    scene.open(series_attributes(&series.name, lists));
    let mut line: Vec<(f64, f64)> = Vec::new();
    let mut before = 0.0;
    for (value, share) in steps {
        let corners = [place.point(value, before), place.point(value, share)];
        line.extend(corners.into_iter().flatten());
        before = share;
    }
    if let Some((_, y)) = line.last().copied() {
        line.push((place.field.right, y));
    }
    stroke(scene, style, &line, (series.place, style.line));
    scene.close();
}
