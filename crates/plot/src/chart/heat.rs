//! Heat maps: a colour for each pair of names.

use super::axis::Axis;
use super::data::{ChartData, Panel, Point};
use super::marks::{ChartColumns, Marks, NamedColumn, json_names, json_numbers, series_attributes};
use super::plot_area::PlotArea;
use super::points::ramp_index;
use super::style::Style;
use crate::number::{float, round_to_count};
use crate::scene::{Paint, Role, Scene, Text};

pub(crate) struct Heat<'a> {
    data: &'a ChartData,
    columns: ChartColumns<'a>,
    is_count: bool,
}

impl<'a> Heat<'a> {
    pub(crate) fn new(data: &'a ChartData, columns: ChartColumns<'a>) -> Self {
        let is_count = columns.value.name.is_empty();
        Self {
            data,
            columns,
            is_count,
        }
    }

    fn value(&self, point: &Point) -> f64 {
        if self.is_count {
            point.weight
        } else {
            point.value
        }
    }

    fn colours(&self) -> Axis {
        let values = self.data.numbers(|point| self.value(point));
        let column = match self.is_count {
            true => NamedColumn::rows(None),
            false => self.columns.value,
        };
        column.axis(values, None, false)
    }
}

impl Marks for Heat<'_> {
    fn axes(&self) -> (Axis, Axis) {
        let names = |names: &Option<Vec<String>>| names.clone().unwrap_or_default();
        (
            self.columns.x.categorical(names(&self.data.x_names)),
            self.columns.y.categorical(names(&self.data.y_names)),
        )
    }

    fn ramp(&self) -> Option<Axis> {
        Some(self.colours())
    }

    fn min_height(&self, style: &Style) -> f64 {
        let rows = self.data.y_names.as_ref().map_or(1, Vec::len);
        float(rows) * 1.35 * style.label
    }

    fn draw(
        &self,
        scene: &mut Scene,
        style: &Style,
        area: &PlotArea<'_>,
        (_, panel): (usize, &Panel),
    ) {
        let colours = self.colours();
        let name_of = |names: &'_ Option<Vec<String>>, code: f64| {
            let name = names
                .as_ref()
                .and_then(|names| names.get(round_to_count(code)));
            name.cloned().unwrap_or_default()
        };
        let x = |point: &Point| name_of(&self.data.x_names, point.x);
        let y = |point: &Point| name_of(&self.data.y_names, point.y);
        for series in &panel.series {
            let (xs, ys): (Vec<String>, Vec<String>) = series
                .points
                .iter()
                .map(|point| (x(point), y(point)))
                .unzip();
            let lists = vec![
                ("data-x", json_names(xs.iter().map(String::as_str))),
                ("data-y", json_names(ys.iter().map(String::as_str))),
                (
                    "data-value",
                    json_numbers(series.points.iter().map(|point| self.value(point))),
                ),
            ];
            scene.open(series_attributes(&series.name, lists));
            for point in &series.points {
                let value = self.value(point);
                let Some(fraction) = colours.fraction(value) else {
                    continue;
                };
                let part = |code: f64, axis: &Axis| code / axis.ends.1.max(1.0);
                let field = area.field;
                let left = field.x(part(point.x, area.x_axis));
                let right = field.x(part(point.x + 1.0, area.x_axis));
                let top = field.y(area.y_axis, part(point.y, area.y_axis));
                let bottom = field.y(area.y_axis, part(point.y + 1.0, area.y_axis));
                let shade = ramp_index(fraction);
                scene.set_tooltip(format!(
                    "{}\n{}\n{}",
                    x(point),
                    y(point),
                    colours.format_value(value)
                ));
                let paint = match style.is_terminal() {
                    // A terminal shows shades as characters.
                    true => Paint::new(Role::Ramp(shade)).with_alpha(if fraction < 0.34 {
                        0.4
                    } else {
                        1.0
                    }),
                    false => Paint::new(Role::Ramp(shade)),
                };
                scene.rect((left, top), (right, bottom), paint);
                let text = format_short(value / colours.factor);
                let size = 0.85 * style.label;
                let is_roomy = style.width_of(&text, size) < 0.92 * (right - left);
                if is_roomy && bottom - top >= style.label {
                    let ink = if fraction > 0.6 {
                        (20, 20, 20)
                    } else {
                        (255, 255, 255)
                    };
                    let middle = f64::midpoint(top, bottom) - style.glyph_middle(size);
                    let placement =
                        Text::new(size, f64::midpoint(left, right), middle).align_centre();
                    let ink = if style.is_terminal() {
                        Paint::INK
                    } else {
                        Paint::new(Role::Fixed(ink))
                    };
                    scene.text(&text, placement.with_paint(ink));
                }
            }
            scene.close();
        }
    }
}

/// Formats a number with three digits.
fn format_short(value: f64) -> String {
    let text = match value.abs() {
        0.0 => return "0".to_owned(),
        1e5.. | ..1e-3 => return format!("{value:.1e}"),
        100.0.. => return format!("{value:.0}"),
        10.0.. => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    };
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
