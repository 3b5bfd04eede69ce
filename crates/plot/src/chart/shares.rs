//! Histograms, and shares of rows up to a value.

use tsql_metrics::stats::quantile;

use super::axis::Axis;
use super::data::{Data, Panel, Series};
use super::forms::stroke;
use super::gather::rows;
use super::marks::{Columns, Marks, along, group, json};
use super::place::Place;
use super::spec::Kind;
use super::style::Style;
use crate::number::{float, whole};
use crate::scene::{Paint, Scene};

/// Ranges of a histogram at least and at most.
const BINS: (f64, f64) = (8.0, 60.0);

/// Points of a line of shares at most.
const POINTS: usize = 600;

pub(crate) struct Shares<'a> {
    data: &'a Data,
    columns: Columns<'a>,
    is_histogram: bool,
    bins: usize,
}

impl<'a> Shares<'a> {
    pub(crate) fn new(data: &'a Data, columns: Columns<'a>) -> Self {
        let mut shares = Self {
            data,
            columns,
            is_histogram: data.kind == Kind::Histogram,
            bins: 1,
        };
        shares.bins = bins(data, &shares.across());
        shares
    }

    fn across(&self) -> Axis {
        along(self.data, &self.columns)
    }

    /// Rows in each range of the axis.
    fn counts(&self, series: &Series, across: &Axis) -> Vec<f64> {
        let mut counts = vec![0.0; self.bins];
        for point in &series.points {
            if let Some(share) = across.share(point.x) {
                let bin = whole((share * float(self.bins)).floor()).min(self.bins - 1);
                if let Some(count) = counts.get_mut(bin) {
                    *count += point.weight;
                }
            }
        }
        counts
    }
}

/// As many ranges as Freedman and Diaconis have.
fn bins(data: &Data, across: &Axis) -> usize {
    let mut shares: Vec<f64> = data
        .all(|point| point.x)
        .filter_map(|value| across.share(value))
        .collect();
    shares.sort_by(f64::total_cmp);
    let spread = quantile(&shares, 0.75) - quantile(&shares, 0.25);
    let width = 2.0 * spread / float(shares.len()).cbrt();
    let wanted = if width > 0.0 {
        (1.0 / width).ceil()
    } else {
        20.0
    };
    whole(wanted.clamp(BINS.0, BINS.1))
}

impl Marks for Shares<'_> {
    fn axes(&self) -> (Axis, Axis) {
        let across = self.across();
        if !self.is_histogram {
            return (across, Axis::plain("share of rows", (0.0, 1.02)));
        }
        let panels = self.data.panels.iter();
        let series = panels.flat_map(|panel| &panel.series);
        let counts = series.flat_map(|series| self.counts(series, &across));
        let most = counts.fold(1.0, f64::max);
        let is_log = self.columns.is_y_log() == Some(true);
        let up = match is_log {
            true => super::marks::Named {
                name: "rows",
                unit: None,
            }
            .axis([0.7, most].into_iter(), Some(true), false),
            false => Axis::plain("rows", (0.0, 1.05 * most)),
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
        place: &Place<'_>,
        (_, panel): (usize, &Panel),
    ) {
        for series in &panel.series {
            match self.is_histogram {
                true => self.histogram(scene, style, place, (series, panel.series.len())),
                false => ecdf(scene, style, place, series),
            }
        }
    }
}

impl Shares<'_> {
    fn histogram(
        &self,
        scene: &mut Scene,
        style: &Style,
        place: &Place<'_>,
        (series, beside): (&Series, usize),
    ) {
        let counts = self.counts(series, place.across);
        let edge = |bin: usize| place.across.value(float(bin) / float(self.bins));
        let lists = vec![
            ("data-from", json((0..self.bins).map(edge))),
            ("data-y", json(counts.iter().copied())),
        ];
        scene.open(group(&series.name, lists));
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
                    place.across.said(edge(bin)),
                    place.across.said(edge(bin + 1)),
                );
                scene.say(format!(
                    "{}{from} to {to}\n{}",
                    head(&series.name),
                    rows(whole(*count) as u64)
                ));
                let gap = if beside > 1 || style.is_terminal() {
                    0.0
                } else {
                    0.5
                };
                scene.block(
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

fn head(name: &str) -> String {
    match name {
        "" => String::new(),
        name => format!("{name}\n"),
    }
}

/// The share of rows that have at most a value.
fn ecdf(scene: &mut Scene, style: &Style, place: &Place<'_>, series: &Series) {
    let points = series.points.iter().map(|point| point.x);
    let mut values: Vec<f64> = points
        .filter(|value| place.across.share(*value).is_some())
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
        ("data-x", json(steps.iter().map(|(value, _)| *value))),
        ("data-y", json(steps.iter().map(|(_, share)| *share))),
    ];
    scene.open(group(&series.name, lists));
    let mut line: Vec<(f64, f64)> = Vec::new();
    let mut before = 0.0;
    for (value, share) in steps {
        let corners = [place.at(value, before), place.at(value, share)];
        line.extend(corners.into_iter().flatten());
        before = share;
    }
    if let Some((_, y)) = line.last().copied() {
        line.push((place.field.right, y));
    }
    stroke(scene, style, &line, (series.place, style.line));
    scene.close();
}
