//! A bar for each name, beside each other where there are several series.

use super::axis::Axis;
use super::data::{Data, Panel, Point};
use super::groups::{Groups, slots};
use super::marks::{Columns, Marks, Named, group, json, json_names};
use super::place::Place;
use super::style::Style;
use crate::scene::{Paint, Scene, Text};

/// Up to so many bars have their number at their end.
const NUMBERED: usize = 12;

pub(crate) struct Bars<'a> {
    data: &'a Data,
    columns: Columns<'a>,
    groups: Groups,
    /// Are there no values, so that rows are counted?
    is_count: bool,
}

impl<'a> Bars<'a> {
    pub(crate) fn new(data: &'a Data, columns: Columns<'a>, style: &Style) -> Self {
        let is_count = columns.y.name.is_empty();
        Self {
            data,
            columns,
            groups: Groups::new(data, style),
            is_count,
        }
    }

    fn height(&self, point: &Point) -> f64 {
        if self.is_count { point.weight } else { point.y }
    }

    fn measured(&self) -> Axis {
        let values = self.data.all(|point| self.height(point));
        let limits = self.data.panels.iter().filter_map(|panel| panel.limit);
        let named = match self.is_count {
            true => Named {
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
        self.groups.axes(self.columns.x.name, self.measured())
    }

    fn least(&self, style: &Style) -> f64 {
        self.groups.least(style)
    }

    fn draw(
        &self,
        scene: &mut Scene,
        style: &Style,
        place: &Place<'_>,
        (_, panel): (usize, &Panel),
    ) {
        let names = self.data.x_names.as_deref().unwrap_or_default();
        let count: usize = panel.points().count();
        let measured = place.measured();
        // On a logarithmic axis a bar begins where the axis does.
        let foot = measured.share(0.0).unwrap_or(0.0).clamp(0.0, 1.0);
        for (order, series) in panel.series.iter().enumerate() {
            let named = |point: &Point| {
                names
                    .get(crate::number::whole(point.x))
                    .map_or("", |n| n.as_str())
            };
            let heights = series.points.iter().map(|point| self.height(point));
            let lists = vec![
                ("data-names", json_names(series.points.iter().map(named))),
                ("data-y", json(heights)),
            ];
            scene.open(group(&series.name, lists));
            for point in &series.points {
                let value = self.height(point);
                let Some(share) = measured.share(value) else {
                    continue;
                };
                let (from, to) = slots(point.x, order, panel.series.len());
                let place_of = match self.data.is_coloured_by_x {
                    true => crate::number::whole(point.x),
                    false => series.place,
                };
                let said = match series.name.as_str() {
                    "" => format!("{}\n{}", named(point), measured.said(value)),
                    name => format!("{}\n{name}\n{}", named(point), measured.said(value)),
                };
                scene.say(said);
                scene.block(
                    place.among(from, foot),
                    place.among(to, share),
                    Paint::series(place_of),
                );
                if count <= NUMBERED && !style.is_terminal() {
                    self.number(scene, style, place, ((from, to), share, value));
                }
            }
            scene.close();
        }
    }
}

impl Bars<'_> {
    /// The number at the end of a bar, if there is room in its part.
    fn number(
        &self,
        scene: &mut Scene,
        style: &Style,
        place: &Place<'_>,
        ((from, to), share, value): ((f64, f64), f64, f64),
    ) {
        let size = 0.85 * style.label;
        let number = value / place.measured().factor;
        let text = match number.abs() {
            0.0 => "0".to_owned(),
            1e5.. | ..1e-3 => format!("{number:.1e}"),
            100.0.. => format!("{number:.0}"),
            10.0.. => trimmed(format!("{number:.1}")),
            _ => trimmed(format!("{number:.2}")),
        };
        let (x, y) = place.among(f64::midpoint(from, to), share);
        let thick = (to - from) * place.slot();
        let field = place.field;
        let width = style.width_of(&text, size);
        if place.is_turned() {
            if thick < 0.75 * size {
                return;
            }
            let room = field.right - x;
            let y = y - style.middle(size);
            match room > width + 0.4 * style.label {
                true => scene.text(&text, Text::new(size, x + 0.25 * style.label, y)),
                false => {
                    let inside = Text::new(size, x - 0.25 * style.label, y).right();
                    scene.text(&text, inside.coloured(Paint::PAPER));
                }
            }
        } else if width <= 1.2 * thick && y - field.top > 1.1 * size {
            let above = if value < 0.0 {
                0.15 * size
            } else {
                -1.1 * size
            };
            scene.text(&text, Text::new(size, x, y + above).centred());
        } else if width <= thick && field.bottom - y > 1.5 * size {
            // What reaches the top has its number inside.
            let inside = Text::new(size, x, y + 0.25 * size).centred();
            scene.text(&text, inside.coloured(Paint::PAPER));
        }
    }
}

fn trimmed(text: String) -> String {
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}
