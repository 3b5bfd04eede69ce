//! Limit of a panel, such as the peak of a machine.

use super::plot_area::PlotArea;
use super::spec::ChartKind;
use super::style::Style;
use crate::scene::{Paint, Scene};

/// A line across the panel, or a curve if the limit depends on x.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Limit {
    maximum: Option<f64>,
    /// Limits by x, in ascending order of x; empty if all are equal, or if x has names.
    pub(crate) curve: Vec<(f64, f64)>,
}

impl Limit {
    /// Creates the limit of a panel from the coordinates and limits of its rows.
    pub(crate) fn new(kind: ChartKind, mut rows: Vec<(f64, f64)>) -> Self {
        let limits = rows.iter().map(|(_, limit)| *limit);
        let maximum = limits.clone().reduce(f64::max);
        let is_constant = limits.reduce(f64::min) == maximum;
        let has_numbers = matches!(kind, ChartKind::Line | ChartKind::Step | ChartKind::Scatter);
        rows.retain(|(x, _)| has_numbers && !is_constant && x.is_finite());
        rows.sort_by(|left, right| left.0.total_cmp(&right.0));
        rows.dedup();
        Self {
            maximum,
            curve: rows,
        }
    }

    /// Values that the axis must contain.
    pub(crate) fn values(&self) -> impl Iterator<Item = f64> {
        let curve = self.curve.iter().map(|(_, limit)| *limit);
        self.maximum.into_iter().chain(curve)
    }

    /// Draws the limit, dashed.
    pub(crate) fn draw(&self, scene: &mut Scene, style: &Style, area: &PlotArea<'_>) {
        let dash = (0.5 * style.label, 0.35 * style.label);
        let width = 0.7 * style.line;
        if !self.curve.is_empty() {
            let points = self.curve.iter().filter_map(|(x, y)| area.point(*x, *y));
            let points: Vec<(f64, f64)> = points.collect();
            return scene.dashes(&points, Paint::INK, width, dash);
        }
        let Some(limit) = self.maximum else {
            return;
        };
        let fraction = area.value_axis().fraction(limit);
        let Some(fraction) = fraction.filter(|fraction| (0.0..=1.0).contains(fraction)) else {
            return;
        };
        let field = area.field;
        let ends = match area.is_horizontal() {
            true => [
                (field.x(fraction), field.top),
                (field.x(fraction), field.bottom),
            ],
            false => {
                let y = field.y(area.y_axis, fraction);
                [(field.left, y), (field.right, y)]
            }
        };
        scene.set_tooltip(area.value_axis().format_value(limit));
        scene.dashes(&ends, Paint::INK, width, dash);
    }
}
