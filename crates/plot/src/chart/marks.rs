//! What all kinds of pictures have in common.

use super::axis::{Axis, Measured};
use super::data::{Data, Panel};
use super::place::Place;
use super::spec::Log;
use super::style::Style;
use crate::scene::Scene;

/// The data of one kind of picture, as they are drawn.
pub(crate) trait Marks {
    /// The horizontal and the vertical axis.
    fn axes(&self) -> (Axis, Axis);

    /// What the colours of a range are.
    fn ramp(&self) -> Option<Axis> {
        None
    }

    /// The least height of a panel.
    fn least(&self, _: &Style) -> f64 {
        0.0
    }

    /// Draws a panel.
    fn draw(&self, scene: &mut Scene, style: &Style, place: &Place<'_>, panel: (usize, &Panel));

    /// Is it lines that have colours, not areas?
    fn has_lines(&self) -> bool {
        false
    }

    /// What is to be said of the marks.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }
}

/// A column that an axis is made for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Named<'a> {
    pub(crate) name: &'a str,
    pub(crate) unit: Option<&'a str>,
}

/// The columns of a picture.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Columns<'a> {
    pub(crate) x: Named<'a>,
    pub(crate) y: Named<'a>,
    pub(crate) value: Named<'a>,
    pub(crate) log: Option<Log>,
}

impl Columns<'_> {
    pub(crate) fn is_x_log(&self) -> Option<bool> {
        self.log.map(|log| matches!(log, Log::X | Log::Xy))
    }

    pub(crate) fn is_y_log(&self) -> Option<bool> {
        self.log.map(|log| matches!(log, Log::Y | Log::Xy))
    }
}

impl Named<'_> {
    /// An axis for such values.
    pub(crate) fn axis(
        &self,
        values: impl Iterator<Item = f64>,
        log: Option<bool>,
        has_zero: bool,
    ) -> Axis {
        let (mut low, mut high, mut above) = (f64::MAX, f64::MIN, f64::MAX);
        for value in values.filter(|value| value.is_finite()) {
            (low, high) = (low.min(value), high.max(value));
            if value > 0.0 {
                above = above.min(value);
            }
        }
        let (low, high) = if low <= high { (low, high) } else { (0.0, 1.0) };
        Axis::numbers(&Measured {
            name: self.name,
            unit: self.unit,
            range: (low, high),
            above,
            log,
            has_zero,
        })
    }
}

/// The horizontal axis of what runs along it.
pub(crate) fn along(data: &Data, columns: &Columns<'_>) -> Axis {
    if let Some(names) = &data.x_names {
        return Axis::words(columns.x.name, names.clone());
    }
    let values = data.all(|point| point.x);
    if data.is_x_time {
        let (low, high) = values.fold((f64::MAX, f64::MIN), |(low, high), value| {
            (low.min(value), high.max(value))
        });
        let (low, high) = if low <= high { (low, high) } else { (0.0, 0.0) };
        return Axis::times(columns.x.name, (low, high));
    }
    columns.x.axis(values, columns.is_x_log(), false)
}

/// Numbers as a list of JSON.
pub(crate) fn json(values: impl Iterator<Item = f64>) -> String {
    let text = |value: f64| match value.is_finite() {
        false => "null".to_owned(),
        true if value != 0.0 && !(1e-5..1e16).contains(&value.abs()) => format!("{value:e}"),
        true => value.to_string(),
    };
    let all: Vec<String> = values.map(text).collect();
    format!("[{}]", all.join(","))
}

/// Names as a list of JSON.
pub(crate) fn json_names<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let text = |name: &str| {
        let mut out = String::from("\"");
        for letter in name.chars() {
            match letter {
                '"' | '\\' => out.extend(['\\', letter]),
                letter if letter.is_control() => out.push(' '),
                letter => out.push(letter),
            }
        }
        out.push('"');
        out
    };
    let all: Vec<String> = names.map(text).collect();
    format!("[{}]", all.join(","))
}

/// The group of a series, with its data where they are few.
pub(crate) fn group(name: &str, lists: Vec<(&'static str, String)>) -> Vec<(&'static str, String)> {
    let mut all = vec![
        ("class", "series".to_owned()),
        ("data-series", name.to_owned()),
    ];
    all.extend(lists);
    all
}
