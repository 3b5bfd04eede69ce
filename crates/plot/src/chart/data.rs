//! Data of a chart: rows in panels, and series in each panel.

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
    /// Number of result rows that it represents.
    pub(crate) weight: f64,
}

/// Rows with the same series name.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Series {
    /// Index among all series names, which selects the colour.
    pub(crate) place: usize,
    pub(crate) name: String,
    pub(crate) points: Vec<Point>,
}

/// One of the charts side by side.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Panel {
    pub(crate) name: Option<String>,
    pub(crate) series: Vec<Series>,
    pub(crate) limit: Option<f64>,
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
    /// Series names by index; empty if the only series has no name.
    pub(crate) names: Vec<String>,
    /// Names along the horizontal and the vertical axis, if they are categorical.
    pub(crate) x_names: Option<Vec<String>>,
    pub(crate) y_names: Option<Vec<String>>,
    pub(crate) is_x_time: bool,
    pub(crate) notes: Vec<String>,
    /// Whether each name along the axis has its own colour.
    pub(crate) is_coloured_by_x: bool,
}

/// Returns a column as names, if the chart kind requires names or the column has them.
fn to_categories(table: &PlotTable, place: Option<usize>, is_wanted: bool) -> Option<Categories> {
    let values = &table.columns.get(place?)?.values;
    match values {
        ColumnValues::Words(words) => Some(words.clone()),
        values => is_wanted.then(|| values.to_categories()),
    }
}

fn is_time(table: &PlotTable, place: Option<usize>) -> bool {
    let column = place.and_then(|place| table.columns.get(place));
    column.is_some_and(|column| matches!(column.values, ColumnValues::Times(_)))
}

impl ChartData {
    pub(crate) fn from_table(table: &PlotTable, roles: &Roles) -> Self {
        let kind = roles.kind;
        let wants_names = matches!(
            kind,
            ChartKind::Bar | ChartKind::Box | ChartKind::Violin | ChartKind::Heat
        );
        let x = to_categories(table, roles.x, wants_names);
        let y = to_categories(table, roles.y, kind == ChartKind::Heat);
        let by = to_categories(
            table,
            roles.by.filter(|by| Some(*by) != roles.x || !wants_names),
            true,
        );
        let facet = to_categories(table, roles.facet, true);
        let mut notes = table.notes.clone();
        let mut cut = |names: Option<&Categories>, most: usize, what: &str| {
            let all = names.map_or(0, |names| names.names().len());
            if all > most {
                notes.push(format!(
                    "{} more {what} are not drawn",
                    group_digits((all - most) as u64)
                ));
            }
        };
        cut(facet.as_ref(), MAX_PANELS, "panels");
        cut(by.as_ref(), MAX_SERIES, "series");
        if wants_names {
            cut(x.as_ref(), MAX_NAMES, "names");
            cut(y.as_ref(), MAX_NAMES, "names");
        }
        let mut data = Self {
            kind,
            panels: Vec::new(),
            names: by
                .as_ref()
                .map(|by| by.names().iter().take(MAX_SERIES).cloned().collect())
                .unwrap_or_default(),
            x_names: x.as_ref().map(|x| visible_names(x, wants_names)),
            y_names: y.as_ref().map(|y| visible_names(y, wants_names)),
            is_x_time: is_time(table, roles.x),
            notes,
            is_coloured_by_x: roles.by.is_some() && roles.by == roles.x && wants_names,
        };
        let code = |words: Option<&Categories>, row: usize| {
            let code = words.and_then(|words| words.codes().get(row)).copied();
            code.map_or(0, |code| code as usize)
        };
        let at = |place: Option<usize>, row: usize| {
            let column = place.and_then(|place| table.columns.get(place));
            column.map_or(f64::NAN, |column| column.values.number_at(row))
        };
        for row in 0..table.rows() {
            let panel = code(facet.as_ref(), row);
            let series = code(by.as_ref(), row);
            if panel >= MAX_PANELS || series >= MAX_SERIES {
                continue;
            }
            let along = |words: Option<&Categories>, place| match words {
                Some(words) => words
                    .codes()
                    .get(row)
                    .map_or(f64::NAN, |code| f64::from(*code)),
                None => at(place, row),
            };
            let (x, y) = (along(x.as_ref(), roles.x), along(y.as_ref(), roles.y));
            let most = crate::number::float(MAX_NAMES);
            if wants_names && (x >= most || kind == ChartKind::Heat && y >= most) {
                continue;
            }
            let point = Point {
                x,
                y,
                low: at(roles.low, row),
                high: at(roles.high, row),
                value: at(roles.value, row),
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
            panel.take(point, series, &data.names);
            let limit = at(roles.limit, row);
            if limit.is_finite() {
                panel.limit = Some(panel.limit.map_or(limit, |known| known.max(limit)));
            }
            if panel.note.is_none() {
                let column = roles.note.and_then(|place| table.columns.get(place));
                panel.note =
                    column.and_then(|column| describe_value(&column.name, &column.values, row));
            }
        }
        data
    }

    /// Numbers of all points, as selected by `of`.
    pub(crate) fn numbers(&self, of: impl Fn(&Point) -> f64) -> impl Iterator<Item = f64> {
        let points = self.panels.iter().flat_map(Panel::points);
        points.map(of).filter(|value| value.is_finite())
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

fn visible_names(words: &Categories, is_cut: bool) -> Vec<String> {
    let most = if is_cut { MAX_NAMES } else { usize::MAX };
    words.names().iter().take(most).cloned().collect()
}

/// Text with the value of a column, for a panel.
fn describe_value(name: &str, values: &ColumnValues, row: usize) -> Option<String> {
    let name = name.replace('_', " ");
    match values {
        ColumnValues::Words(words) => {
            let code = words.codes().get(row)?;
            let text = words.names().get(*code as usize)?;
            Some(format!("{name}: {text}"))
        }
        ColumnValues::Times(_) => None,
        ColumnValues::Numbers(_) => {
            let value = values.number_at(row);
            let value = super::axis::format_number((value * 1e3).round() / 1e3);
            values
                .number_at(row)
                .is_finite()
                .then(|| format!("{name} = {value}"))
        }
    }
}

impl Panel {
    fn take(&mut self, point: Point, place: usize, names: &[String]) {
        let found = self.series.iter().position(|series| series.place >= place);
        let at = found.unwrap_or(self.series.len());
        let is_new = self
            .series
            .get(at)
            .is_none_or(|series| series.place != place);
        if is_new {
            let series = Series {
                place,
                name: names.get(place).cloned().unwrap_or_default(),
                points: Vec::new(),
            };
            self.series.insert(at, series);
        }
        if let Some(series) = self.series.get_mut(at) {
            series.points.push(point);
        }
    }
}
