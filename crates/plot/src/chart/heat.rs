//! A colour for each pair of names.

use super::axis::Axis;
use super::data::{Data, Panel, Point};
use super::marks::{Columns, Marks, Named, group, json, json_names};
use super::place::Place;
use super::points::byte;
use super::style::Style;
use crate::number::{float, whole};
use crate::scene::{Paint, Role, Scene, Text};

pub(crate) struct Heat<'a> {
    data: &'a Data,
    columns: Columns<'a>,
    is_count: bool,
}

impl<'a> Heat<'a> {
    pub(crate) fn new(data: &'a Data, columns: Columns<'a>) -> Self {
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
        let values = self.data.all(|point| self.value(point));
        let named = match self.is_count {
            true => Named {
                name: "rows",
                unit: None,
            },
            false => self.columns.value,
        };
        named.axis(values, None, false)
    }
}

impl Marks for Heat<'_> {
    fn axes(&self) -> (Axis, Axis) {
        let names = |names: &Option<Vec<String>>| names.clone().unwrap_or_default();
        (
            Axis::words(self.columns.x.name, names(&self.data.x_names)),
            Axis::words(self.columns.y.name, names(&self.data.y_names)),
        )
    }

    fn ramp(&self) -> Option<Axis> {
        Some(self.colours())
    }

    fn least(&self, style: &Style) -> f64 {
        let rows = self.data.y_names.as_ref().map_or(1, Vec::len);
        float(rows) * 1.35 * style.label
    }

    fn draw(
        &self,
        scene: &mut Scene,
        style: &Style,
        place: &Place<'_>,
        (_, panel): (usize, &Panel),
    ) {
        let colours = self.colours();
        let named = |names: &'_ Option<Vec<String>>, at: f64| {
            let found = names.as_ref().and_then(|names| names.get(whole(at)));
            found.cloned().unwrap_or_default()
        };
        let x = |point: &Point| named(&self.data.x_names, point.x);
        let y = |point: &Point| named(&self.data.y_names, point.y);
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
                    json(series.points.iter().map(|point| self.value(point))),
                ),
            ];
            scene.open(group(&series.name, lists));
            for point in &series.points {
                let value = self.value(point);
                let Some(share) = colours.share(value) else {
                    continue;
                };
                let part = |at: f64, axis: &Axis| at / axis.ends.1.max(1.0);
                let field = place.field;
                let left = field.x(part(point.x, place.across));
                let right = field.x(part(point.x + 1.0, place.across));
                let top = field.y(place.up, part(point.y, place.up));
                let bottom = field.y(place.up, part(point.y + 1.0, place.up));
                let shade = byte(share);
                scene.say(format!(
                    "{}\n{}\n{}",
                    x(point),
                    y(point),
                    colours.said(value)
                ));
                let paint = match style.is_terminal() {
                    // A terminal has letters for it.
                    true => Paint::of(Role::Ramp(shade)).with_alpha(if share < 0.34 {
                        0.4
                    } else {
                        1.0
                    }),
                    false => Paint::of(Role::Ramp(shade)),
                };
                scene.block((left, top), (right, bottom), paint);
                let text = short(value / colours.factor);
                let size = 0.85 * style.label;
                let is_roomy = style.width_of(&text, size) < 0.92 * (right - left);
                if is_roomy && bottom - top >= style.label {
                    let ink = if share > 0.6 {
                        (20, 20, 20)
                    } else {
                        (255, 255, 255)
                    };
                    let middle = f64::midpoint(top, bottom) - style.middle(size);
                    let at = Text::new(size, f64::midpoint(left, right), middle).centred();
                    let ink = if style.is_terminal() {
                        Paint::INK
                    } else {
                        Paint::of(Role::Fixed(ink))
                    };
                    scene.text(&text, at.coloured(ink));
                }
            }
            scene.close();
        }
    }
}

/// A number with three digits.
fn short(value: f64) -> String {
    let text = match value.abs() {
        0.0 => return "0".to_owned(),
        1e5.. | ..1e-3 => return format!("{value:.1e}"),
        100.0.. => return format!("{value:.0}"),
        10.0.. => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    };
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
