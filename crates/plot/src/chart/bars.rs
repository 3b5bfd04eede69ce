//! Bar charts, with bars side by side if there are several series.

use super::axis::Axis;
use super::data::{ChartData, Panel, Point};
use super::groups::{GroupedAxis, slot_range};
use super::marks::{ChartColumns, Marks, NamedColumn, json_names, json_numbers, series_attributes};
use super::plot_area::PlotArea;
use super::style::Style;
use crate::scene::{Paint, Scene, Text};

/// Maximum number of bars with a number at their end.
const MAX_NUMBERED_BARS: usize = 12;

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
        let limits = self.data.panels.iter().filter_map(|panel| panel.limit);
        let named = match self.is_count {
            true => NamedColumn {
                name: "rows",
                unit: None,
            },
            false => self.columns.y,
        };
        let log = self.columns.is_y_log().unwrap_or(false);
        named.axis(values.chain(limits), Some(log), !log)
    }
}

impl Marks for Bars<'_> {
    fn axes(&self) -> (Axis, Axis) {
        self.groups.axes(self.columns.x.name, self.value_axis())
    }

    fn min_height(&self, style: &Style) -> f64 {
        self.groups.min_height(style)
    }

    fn draw(
        &self,
        scene: &mut Scene,
        style: &Style,
        place: &PlotArea<'_>,
        (_, panel): (usize, &Panel),
    ) {
        let names = self.data.x_names.as_deref().unwrap_or_default();
        let count: usize = panel.points().count();
        let measured = place.value_axis();
        // On a logarithmic axis a bar starts at the minimum of the axis.
        let foot = measured.fraction(0.0).unwrap_or(0.0).clamp(0.0, 1.0);
        for (order, series) in panel.series.iter().enumerate() {
            let named = |point: &Point| {
                names
                    .get(crate::number::round_to_count(point.x))
                    .map_or("", |n| n.as_str())
            };
            let heights = series.points.iter().map(|point| self.height(point));
            let lists = vec![
                ("data-names", json_names(series.points.iter().map(named))),
                ("data-y", json_numbers(heights)),
            ];
            scene.open(series_attributes(&series.name, lists));
            for point in &series.points {
                let value = self.height(point);
                let Some(share) = measured.fraction(value) else {
                    continue;
                };
                let (from, to) = slot_range(point.x, order, panel.series.len());
                let place_of = match self.data.is_coloured_by_x {
                    true => crate::number::round_to_count(point.x),
                    false => series.place,
                };
                let said = match series.name.as_str() {
                    "" => format!("{}\n{}", named(point), measured.format_value(value)),
                    name => format!("{}\n{name}\n{}", named(point), measured.format_value(value)),
                };
                scene.set_tooltip(said);
                scene.rect(
                    place.point_at_fractions(from, foot),
                    place.point_at_fractions(to, share),
                    Paint::series(place_of),
                );
                if count <= MAX_NUMBERED_BARS && !style.is_terminal() {
                    self.draw_number(scene, style, place, ((from, to), share, value));
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
        place: &PlotArea<'_>,
        ((from, to), share, value): ((f64, f64), f64, f64),
    ) {
        let size = 0.85 * style.label;
        let number = value / place.value_axis().factor;
        let text = match number.abs() {
            0.0 => "0".to_owned(),
            1e5.. | ..1e-3 => format!("{number:.1e}"),
            100.0.. => format!("{number:.0}"),
            10.0.. => trim_decimals(format!("{number:.1}")),
            _ => trim_decimals(format!("{number:.2}")),
        };
        let (x, y) = place.point_at_fractions(f64::midpoint(from, to), share);
        let thick = (to - from) * place.slot();
        let field = place.field;
        let width = style.width_of(&text, size);
        if place.is_horizontal() {
            if thick < 0.75 * size {
                return;
            }
            let room = field.right - x;
            let y = y - style.glyph_middle(size);
            match room > width + 0.4 * style.label {
                true => scene.text(&text, Text::new(size, x + 0.25 * style.label, y)),
                false => {
                    let inside = Text::new(size, x - 0.25 * style.label, y).align_right();
                    scene.text(&text, inside.with_paint(Paint::PAPER));
                }
            }
        } else if width <= 1.2 * thick && y - field.top > 1.1 * size {
            let above = if value < 0.0 {
                0.15 * size
            } else {
                -1.1 * size
            };
            scene.text(&text, Text::new(size, x, y + above).align_centre());
        } else if width <= thick && field.bottom - y > 1.5 * size {
            // A bar that reaches the top has its number inside.
            let inside = Text::new(size, x, y + 0.25 * size).align_centre();
            scene.text(&text, inside.with_paint(Paint::PAPER));
        }
    }
}

fn trim_decimals(text: String) -> String {
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}
