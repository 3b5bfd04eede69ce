//! Data of a chart: rows in panels, and series in each panel.

use super::colour_order::{NO_NAME, colour_indices};
use super::limit::Limit;
use super::roles::Roles;
use super::row_sampler::group_digits;
use super::spec::ChartKind;
use super::table::{Categories, ColumnValues, PlotTable};

/// Maximum number of panels.
const MAX_PANELS: usize = 12;

/// Maximum number of series in a panel: each has a name, a colour and a dot shape.
const MAX_SERIES: usize = 24;

/// Maximum number of names along an axis.
pub(crate) const MAX_NAMES: usize = 60;

/// A row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Point {
    pub(crate) x: f64,
    pub(crate) y: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
    pub(crate) value: f64,
    pub(crate) limit: f64,
    /// Number of result rows that it represents.
    pub(crate) weight: f64,
}

/// Rows with the same series name.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Series {
    /// Index of the colour: see [`colour_indices`].
    pub(crate) index: usize,
    pub(crate) name: String,
    pub(crate) points: Vec<Point>,
}

/// One of the charts side by side.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Panel {
    pub(crate) name: Option<String>,
    pub(crate) series: Vec<Series>,
    pub(crate) limit: Limit,
    pub(crate) note: Option<String>,
}

impl Panel {
    pub(crate) fn points(&self) -> impl Iterator<Item = &Point> {
        self.series.iter().flat_map(|series| &series.points)
    }
}

/// All data of a chart.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ChartData {
    pub(crate) kind: ChartKind,
    pub(crate) panels: Vec<Panel>,
    /// Colour indices and names of the series, in the order of the indices; empty if the only series has no name.
    pub(crate) names: Vec<(usize, String)>,
    /// Names along the horizontal and the vertical axis, if they are categorical.
    pub(crate) x_names: Option<Vec<String>>,
    pub(crate) y_names: Option<Vec<String>>,
    pub(crate) is_x_time: bool,
    pub(crate) notes: Vec<String>,
    /// Colour indices of the names along the axis, if each has its own colour.
    pub(crate) x_colours: Option<Vec<usize>>,
}

/// Returns a column as names, if the chart kind requires names or the column has them.
fn to_categories(table: &PlotTable, index: Option<usize>, is_required: bool) -> Option<Categories> {
    let values = &table.columns.get(index?)?.values;
    match values {
        ColumnValues::Words(words) => Some(words.clone()),
        values => is_required.then(|| values.to_categories()),
    }
}

fn is_numeric(table: &PlotTable, index: Option<usize>) -> bool {
    let column = index.and_then(|index| table.columns.get(index));
    column.is_some_and(|column| matches!(column.values, ColumnValues::Numbers(_)))
}

fn is_time(table: &PlotTable, index: Option<usize>) -> bool {
    let column = index.and_then(|index| table.columns.get(index));
    column.is_some_and(|column| matches!(column.values, ColumnValues::Times(_)))
}

impl ChartData {
    /// Gathers the data of a chart. Names of series that are among the `known` names have the same colour in all plots.
    pub(crate) fn from_table(table: &PlotTable, roles: &Roles, known: &[String]) -> Self {
        let kind = roles.kind;
        let wants_names = matches!(
            kind,
            ChartKind::Bar | ChartKind::Box | ChartKind::Violin | ChartKind::Heat
        );
        let (x, y) = axis_categories(table, roles, wants_names);
        let by = to_categories(
            table,
            roles.by.filter(|by| Some(*by) != roles.x || !wants_names),
            true,
        );
        let facet = to_categories(table, roles.facet, true);
        let mut notes = table.notes.clone();
        note_excess(&mut notes, facet.as_ref(), MAX_PANELS, "panels");
        note_excess(&mut notes, by.as_ref(), MAX_SERIES, "series");
        if wants_names {
            note_excess(&mut notes, x.as_ref(), MAX_NAMES, "names");
            note_excess(&mut notes, y.as_ref(), MAX_NAMES, "names");
        }
        let max_names = if wants_names { MAX_NAMES } else { usize::MAX };
        let mut data = Self {
            kind,
            panels: Vec::new(),
            names: Vec::new(),
            x_names: x.as_ref().map(|x| visible_names(x, max_names)),
            y_names: y.as_ref().map(|y| visible_names(y, max_names)),
            is_x_time: is_time(table, roles.x),
            notes,
            x_colours: None,
        };
        if roles.by.is_some() && roles.by == roles.x && wants_names {
            let names = data.x_names.as_deref().unwrap_or_default();
            data.x_colours = Some(colour_indices(names, known));
        }
        let names = name_series(by.as_ref(), known);
        data.names.clone_from(&names);
        data.names.sort();
        let code = |words: Option<&Categories>, row: usize| {
            let code = words.and_then(|words| words.codes().get(row)).copied();
            code.map_or(0, |code| code as usize)
        };
        let number = |index: Option<usize>, row: usize| {
            let column = index.and_then(|index| table.columns.get(index));
            column.map_or(f64::NAN, |column| column.values.number_at(row))
        };
        for row in 0..table.rows() {
            let panel = code(facet.as_ref(), row);
            let series = code(by.as_ref(), row);
            if panel >= MAX_PANELS || series >= MAX_SERIES {
                continue;
            }
            let coordinate = |words: Option<&Categories>, index| match words {
                Some(words) => words
                    .codes()
                    .get(row)
                    .map_or(f64::NAN, |code| f64::from(*code)),
                None => number(index, row),
            };
            let (x, y) = (
                coordinate(x.as_ref(), roles.x),
                coordinate(y.as_ref(), roles.y),
            );
            let max_code = crate::number::float(MAX_NAMES);
            if wants_names && (x >= max_code || kind == ChartKind::Heat && y >= max_code) {
                continue;
            }
            let point = Point {
                x,
                y,
                low: number(roles.low, row),
                high: number(roles.high, row),
                value: number(roles.value, row),
                limit: number(roles.limit, row),
                weight: table.weight(row),
            };
            while data.panels.len() <= panel {
                let name = facet
                    .as_ref()
                    .and_then(|facet| facet.names().get(data.panels.len()));
                data.panels.push(Panel {
                    name: name.cloned(),
                    ..Panel::default()
                });
            }
            let Some(panel) = data.panels.get_mut(panel) else {
                continue;
            };
            let (colour, name) = names.get(series).cloned().unwrap_or_default();
            panel.add_point(point, colour, name);
            if panel.note.is_none() {
                let column = roles.annotate.and_then(|index| table.columns.get(index));
                panel.note =
                    column.and_then(|column| describe_value(&column.name, &column.values, row));
            }
        }
        for panel in &mut data.panels {
            panel.find_limit(kind);
        }
        data
    }

    /// Numbers of all points, as selected by `select`.
    pub(crate) fn numbers(&self, select: impl Fn(&Point) -> f64) -> impl Iterator<Item = f64> {
        let points = self.panels.iter().flat_map(Panel::points);
        points.map(select).filter(|value| value.is_finite())
    }

    /// Values of the limits, for the axis.
    pub(crate) fn limits(&self) -> impl Iterator<Item = f64> {
        self.panels.iter().flat_map(|panel| panel.limit.values())
    }

    /// Indices and names of series with points.
    pub(crate) fn drawn_names(&self) -> impl Iterator<Item = (usize, &str)> {
        let has_points = |index: usize| {
            let mut series = self.panels.iter().flat_map(|panel| &panel.series);
            series.any(|series| series.index == index)
        };
        let names = self.names.iter();
        names
            .filter(move |(index, _)| has_points(*index))
            .map(|(index, name)| (*index, name.as_str()))
    }

    /// Index of the colour of a series at a name along the axis.
    pub(crate) fn colour_index(&self, series: &Series, name: f64) -> usize {
        let colours = self.x_colours.as_ref();
        let own = colours.and_then(|colours| colours.get(crate::number::round_to_count(name)));
        own.copied().unwrap_or(series.index)
    }

    /// Counts rows that a chart cannot show.
    pub(crate) fn note_left_out(&mut self, count: usize, one: &str, several: &str) {
        match count {
            0 => {}
            1 => self.notes.push(format!("1 row {one}")),
            _ => self
                .notes
                .push(format!("{} rows {several}", group_digits(count as u64))),
        }
    }
}

/// Names along the horizontal and the vertical axis. Numbers along a heat map ascend.
fn axis_categories(
    table: &PlotTable,
    roles: &Roles,
    wants_names: bool,
) -> (Option<Categories>, Option<Categories>) {
    let x = to_categories(table, roles.x, wants_names);
    let y = to_categories(table, roles.y, roles.kind == ChartKind::Heat);
    match roles.kind {
        ChartKind::Heat => (
            x.map(|x| x.sorted_if(is_numeric(table, roles.x))),
            y.map(|y| y.sorted_if(is_numeric(table, roles.y))),
        ),
        _ => (x, y),
    }
}

/// Colour index and name of each series, by its code.
fn name_series(by: Option<&Categories>, known: &[String]) -> Vec<(usize, String)> {
    let names = by.map(|by| visible_names(by, MAX_SERIES));
    let names = names.unwrap_or_default();
    let colours = colour_indices(&names, known);
    colours.into_iter().zip(names).collect()
}

/// Adds a note if there are more names than `limit`.
fn note_excess(notes: &mut Vec<String>, names: Option<&Categories>, limit: usize, noun: &str) {
    let count = names.map_or(0, |names| names.names().len());
    if count > limit {
        notes.push(format!(
            "{} more {noun} are not drawn",
            group_digits((count - limit) as u64)
        ));
    }
}

fn visible_names(words: &Categories, max_names: usize) -> Vec<String> {
    words.names().iter().take(max_names).cloned().collect()
}

/// Text with the value of a column, for a panel.
fn describe_value(name: &str, values: &ColumnValues, row: usize) -> Option<String> {
    let name = super::unit::words(name);
    match values {
        ColumnValues::Words(words) => {
            let code = words.codes().get(row)?;
            let text = words.names().get(*code as usize)?;
            (text != NO_NAME).then(|| format!("{name}: {text}"))
        }
        ColumnValues::Times(_) => None,
        ColumnValues::Numbers(_) => {
            let value = values.number_at(row);
            let value = super::ticks::format_number((value * 1e3).round() / 1e3);
            values
                .number_at(row)
                .is_finite()
                .then(|| format!("{name} = {value}"))
        }
    }
}

impl Panel {
    /// Finds the limit of all rows. Rows that only define a curve are no points.
    fn find_limit(&mut self, kind: ChartKind) {
        let rows = self.points().map(|point| (point.x, point.limit));
        self.limit = Limit::new(kind, rows.filter(|(_, limit)| limit.is_finite()).collect());
        if self.limit.curve.is_empty() {
            return;
        }
        for series in &mut self.series {
            let points = &mut series.points;
            points.retain(|point| point.y.is_finite() || !point.limit.is_finite());
        }
        self.series.retain(|series| !series.points.is_empty());
    }

    fn add_point(&mut self, point: Point, index: usize, name: String) {
        let first = self.series.iter().position(|series| series.index >= index);
        let position = first.unwrap_or(self.series.len());
        let is_new = self
            .series
            .get(position)
            .is_none_or(|series| series.index != index);
        if is_new {
            let series = Series {
                index,
                name,
                points: Vec::new(),
            };
            self.series.insert(position, series);
        }
        if let Some(series) = self.series.get_mut(position) {
            series.points.push(point);
        }
    }
}
