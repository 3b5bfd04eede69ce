//! Common interface of all chart kinds.

use super::axis::{Axis, AxisColumn};
use super::data::{ChartData, Panel, Point};
use super::plot_area::PlotArea;
use super::spec::{ChartKind, LogAxes};
use super::style::Style;
use crate::scene::Scene;

/// Data of a chart kind, as drawn.
pub(crate) trait Marks {
    /// Horizontal and vertical axis.
    fn axes(&self) -> (Axis, Axis);

    /// Axis of the colour range, if any.
    fn ramp(&self) -> Option<Axis> {
        None
    }

    /// Minimum height of a panel.
    fn min_height(&self, _: &Style) -> f64 {
        0.0
    }

    /// Draws a panel.
    fn draw(&self, scene: &mut Scene, style: &Style, area: &PlotArea<'_>, panel: (usize, &Panel));

    /// Whether colours apply to lines, not to areas.
    fn has_lines(&self) -> bool {
        false
    }

    /// Notes on the marks.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }
}

/// A column with its name and unit, for an axis.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NamedColumn<'a> {
    pub(crate) name: &'a str,
    pub(crate) unit: Option<&'a str>,
    /// Words of the axis title instead of those of the name.
    pub(crate) title: Option<&'a str>,
}

/// Columns of a chart.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ChartColumns<'a> {
    pub(crate) x: NamedColumn<'a>,
    pub(crate) y: NamedColumn<'a>,
    pub(crate) value: NamedColumn<'a>,
    pub(crate) log: Option<LogAxes>,
}

impl ChartColumns<'_> {
    pub(crate) fn is_x_log(&self) -> Option<bool> {
        self.log.map(|log| matches!(log, LogAxes::X | LogAxes::Xy))
    }

    pub(crate) fn is_y_log(&self) -> Option<bool> {
        self.log.map(|log| matches!(log, LogAxes::Y | LogAxes::Xy))
    }
}

impl<'a> NamedColumn<'a> {
    /// Number of rows, with the title of another column if that has one.
    pub(crate) fn rows(title: Option<&'a str>) -> Self {
        Self {
            name: "rows",
            unit: None,
            title,
        }
    }

    /// Creates an axis of names.
    pub(crate) fn categorical(&self, names: Vec<String>) -> Axis {
        Axis::categorical(self.title.unwrap_or(self.name), names)
    }

    /// Creates an axis for these values.
    pub(crate) fn axis(
        &self,
        values: impl Iterator<Item = f64>,
        log: Option<bool>,
        has_zero: bool,
    ) -> Axis {
        let (mut low, mut high, mut min_positive) = (f64::MAX, f64::MIN, f64::MAX);
        let mut is_whole = true;
        for value in values.filter(|value| value.is_finite()) {
            (low, high) = (low.min(value), high.max(value));
            is_whole &= value.fract() == 0.0;
            if value > 0.0 {
                min_positive = min_positive.min(value);
            }
        }
        let (low, high) = if low <= high { (low, high) } else { (0.0, 1.0) };
        Axis::numeric(&AxisColumn {
            name: self.name,
            unit: self.unit,
            title: self.title,
            range: (low, high),
            min_positive,
            log,
            has_zero,
            is_whole,
        })
    }
}

/// Creates the horizontal axis of the `x` column.
pub(crate) fn horizontal_axis(data: &ChartData, columns: &ChartColumns<'_>) -> Axis {
    if let Some(names) = &data.x_names {
        return columns.x.categorical(names.clone());
    }
    let limits = data.panels.iter().flat_map(|panel| &panel.limit.curve);
    // Rows without a height are not drawn.
    let needs_height = matches!(
        data.kind,
        ChartKind::Line | ChartKind::Step | ChartKind::Scatter
    );
    let drawn_x = |point: &Point| match needs_height && !point.y.is_finite() {
        true => f64::NAN,
        false => point.x,
    };
    let values = data.numbers(drawn_x).chain(limits.map(|(x, _)| *x));
    if data.is_x_time {
        let (low, high) = values.fold((f64::MAX, f64::MIN), |(low, high), value| {
            (low.min(value), high.max(value))
        });
        let (low, high) = if low <= high { (low, high) } else { (0.0, 0.0) };
        return Axis::time(columns.x.title.unwrap_or(columns.x.name), (low, high));
    }
    columns.x.axis(values, columns.is_x_log(), false)
}

/// Formats numbers as a JSON list.
pub(crate) fn json_numbers(values: impl Iterator<Item = f64>) -> String {
    let text = |value: f64| match value.is_finite() {
        false => "null".to_owned(),
        true if value != 0.0 && !(1e-5..1e16).contains(&value.abs()) => format!("{value:e}"),
        true => value.to_string(),
    };
    let all: Vec<String> = values.map(text).collect();
    format!("[{}]", all.join(","))
}

/// Formats names as a JSON list.
pub(crate) fn json_names<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let text = |name: &str| {
        let mut out = String::from("\"");
        for character in name.chars() {
            match character {
                '"' | '\\' => out.extend(['\\', character]),
                character if character.is_control() => out.push(' '),
                character => out.push(character),
            }
        }
        out.push('"');
        out
    };
    let all: Vec<String> = names.map(text).collect();
    format!("[{}]", all.join(","))
}

/// Attributes of the group of a series, with its data if they are few.
pub(crate) fn series_attributes(
    name: &str,
    lists: Vec<(&'static str, String)>,
) -> Vec<(&'static str, String)> {
    let mut all = vec![
        ("class", "series".to_owned()),
        ("data-series", name.to_owned()),
    ];
    all.extend(lists);
    all
}
