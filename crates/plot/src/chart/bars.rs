//! Bar charts, with bars side by side if there are several series.

use super::axis::Axis;
use super::data::{ChartData, Panel, Point};
use super::groups::{GroupedAxis, bar_room, slot_range_in};
use super::marks::{ChartColumns, Marks, NamedColumn, json_names, json_numbers, series_attributes};
use super::plot_area::PlotArea;
use super::style::Style;
use crate::scene::{Paint, Scene, Text};

/// Maximum number of bars with a number at their end.
const MAX_NUMBERED_BARS: usize = 12;

/// Fraction of the axis for the number of a bar.
const NUMBER_ROOM: f64 = 0.06;

pub(crate) struct Bars<'a> {
    data: &'a ChartData,
    columns: ChartColumns<'a>,
    groups: GroupedAxis,
    /// Whether the chart shows row counts, for lack of values.
    is_count: bool,
}

impl<'a> Bars<'a> {
    pub(crate) fn new(data: &'a ChartData, columns: ChartColumns<'a>, style: &Style) -> Self {
        let is_count = columns.y.name.is_empty();
        Self {
            data,
            columns,
            groups: GroupedAxis::new(data, style),
            is_count,
        }
    }

    fn height(&self, point: &Point) -> f64 {
        if self.is_count { point.weight } else { point.y }
    }

    fn value_axis(&self) -> Axis {
        let values = self.data.numbers(|point| self.height(point));
        let limits = self.data.limits();
        let column = match self.is_count {
            true => NamedColumn::rows(self.columns.y.title),
            false => self.columns.y,
        };
        let log = self.columns.is_y_log().unwrap_or(false);
        let mut axis = column.axis(values.chain(limits), Some(log), !log);
        let panels = self.data.panels.iter();
        let count: usize = panels.map(|panel| panel.points().count()).sum();
        let (low, high) = axis.ends;
        if count <= MAX_NUMBERED_BARS && !log && high > 0.0 {
            // Space for the number above the highest bar.
            axis.ends.1 = high + NUMBER_ROOM * (high - low);
        }
        axis
    }
}

impl Marks for Bars<'_> {
    fn axes(&self) -> (Axis, Axis) {
        self.groups.axes(self.columns.x, self.value_axis())
    }

    fn min_height(&self, style: &Style) -> f64 {
        self.groups.min_height(style)
    }

    fn draw(
        &self,
        scene: &mut Scene,
        style: &Style,
        area: &PlotArea<'_>,
        (_, panel): (usize, &Panel),
    ) {
        let names = self.data.x_names.as_deref().unwrap_or_default();
        let count: usize = panel.points().count();
        let value_axis = area.value_axis();
        // On a logarithmic axis a bar starts at the minimum of the axis.
        let base = value_axis.fraction(0.0).unwrap_or(0.0).clamp(0.0, 1.0);
        let slots = panel.series.len();
        let room = bar_room(style, area.slot(), slots);
        for (order, series) in panel.series.iter().enumerate() {
            let name_of = |point: &Point| {
                names
                    .get(crate::number::round_to_count(point.x))
                    .map_or("", |n| n.as_str())
            };
            let heights = series.points.iter().map(|point| self.height(point));
            let lists = vec![
                ("data-names", json_names(series.points.iter().map(name_of))),
                ("data-y", json_numbers(heights)),
            ];
            scene.open(series_attributes(&series.name, lists));
            for point in &series.points {
                let value = self.height(point);
                let Some(fraction) = value_axis.fraction(value) else {
                    continue;
                };
                let (from, to) = slot_range_in(room, point.x, (order, slots));
                let colour_index = self.data.colour_index(series, point.x);
                let tooltip = match series.name.as_str() {
                    "" => format!("{}\n{}", name_of(point), value_axis.format_value(value)),
                    name => format!(
                        "{}\n{name}\n{}",
                        name_of(point),
                        value_axis.format_value(value)
                    ),
                };
                scene.set_tooltip(tooltip);
                scene.rect(
                    area.point_at_fractions(from, base),
                    area.point_at_fractions(to, fraction),
                    Paint::series(colour_index),
                );
                if count <= MAX_NUMBERED_BARS && !style.is_terminal() {
                    self.draw_number(scene, style, area, ((from, to), fraction, value));
                }
            }
            scene.close();
        }
    }
}

impl Bars<'_> {
    /// Draws the number at the end of a bar, if it fits into the slot.
    fn draw_number(
        &self,
        scene: &mut Scene,
        style: &Style,
        area: &PlotArea<'_>,
        ((from, to), fraction, value): ((f64, f64), f64, f64),
    ) {
        let size = 0.85 * style.label;
        let number = value / area.value_axis().factor;
        let text = match number.abs() {
            0.0 => "0".to_owned(),
            1e5.. | ..1e-3 => format!("{number:.1e}"),
            100.0.. => format!("{number:.0}"),
            10.0.. => trim_decimals(format!("{number:.1}")),
            _ => trim_decimals(format!("{number:.2}")),
        };
        let (x, y) = area.point_at_fractions(f64::midpoint(from, to), fraction);
        let thickness = (to - from) * area.slot();
        let field = area.field;
        let width = style.width_of(&text, size);
        if area.is_horizontal() {
            if thickness < 0.75 * size {
                return;
            }
            let space = field.right - x;
            let y = y - style.glyph_middle(size);
            match space > width + 0.4 * style.label {
                true => scene.text(&text, Text::new(size, x + 0.25 * style.label, y)),
                false => {
                    let inside = Text::new(size, x - 0.25 * style.label, y).align_right();
                    scene.text(&text, inside.with_paint(Paint::BACKGROUND));
                }
            }
        } else if width <= 0.95 * thickness && y - field.top > 1.1 * size {
            let above = if value < 0.0 {
                0.15 * size
            } else {
                -1.1 * size
            };
            scene.text(&text, Text::new(size, x, y + above).align_centre());
        } else if width <= 0.95 * thickness && field.bottom - y > 1.5 * size {
            // A bar that reaches the top has its number inside.
            let inside = Text::new(size, x, y + 0.25 * size).align_centre();
            scene.text(&text, inside.with_paint(Paint::BACKGROUND));
        }
    }
}

fn trim_decimals(text: String) -> String {
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}
