//! Rows as pictures side by side, and series in each.

use super::gather::grouped;
use super::roles::Roles;
use super::spec::Kind;
use super::table::{Table, Values, Words};

/// Pictures side by side at most.
const PANELS: usize = 12;

/// Series of one picture at most: each has a name, and a colour and form of its own.
const SERIES: usize = 24;

/// Names along an axis at most.
pub(crate) const NAMES: usize = 60;

/// A row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Point {
    pub(crate) x: f64,
    pub(crate) y: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
    pub(crate) value: f64,
    /// Rows of the answer that it stands for.
    pub(crate) weight: f64,
}

/// Rows of one name.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Series {
    /// Its place among all names, which is its colour.
    pub(crate) place: usize,
    pub(crate) name: String,
    pub(crate) points: Vec<Point>,
}

/// One of the pictures side by side.
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

/// All that is drawn.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Data {
    pub(crate) kind: Kind,
    pub(crate) panels: Vec<Panel>,
    /// Names of the series by their places; none where there is one without a name.
    pub(crate) names: Vec<String>,
    /// Names along the horizontal and the vertical axis, where they are names.
    pub(crate) x_names: Option<Vec<String>>,
    pub(crate) y_names: Option<Vec<String>>,
    pub(crate) is_x_time: bool,
    pub(crate) notes: Vec<String>,
    /// Does a name of a group come with a colour of its own?
    pub(crate) is_coloured_by_x: bool,
}

/// A column as names, where the kind wants names or it has them.
fn words(table: &Table, place: Option<usize>, is_wanted: bool) -> Option<Words> {
    let values = &table.columns.get(place?)?.values;
    match values {
        Values::Words(words) => Some(words.clone()),
        values => is_wanted.then(|| values.named()),
    }
}

fn is_time(table: &Table, place: Option<usize>) -> bool {
    let column = place.and_then(|place| table.columns.get(place));
    column.is_some_and(|column| matches!(column.values, Values::Times(_)))
}

impl Data {
    pub(crate) fn of(table: &Table, roles: &Roles) -> Self {
        let kind = roles.kind;
        let wants_names = matches!(kind, Kind::Bar | Kind::Box | Kind::Violin | Kind::Heat);
        let x = words(table, roles.x, wants_names);
        let y = words(table, roles.y, kind == Kind::Heat);
        let by = words(
            table,
            roles.by.filter(|by| Some(*by) != roles.x || !wants_names),
            true,
        );
        let facet = words(table, roles.facet, true);
        let mut notes = table.notes.clone();
        let mut cut = |names: Option<&Words>, most: usize, what: &str| {
            let all = names.map_or(0, |names| names.names().len());
            if all > most {
                notes.push(format!(
                    "{} {what} more are not drawn",
                    grouped((all - most) as u64)
                ));
            }
        };
        cut(facet.as_ref(), PANELS, "pictures");
        cut(by.as_ref(), SERIES, "series");
        if wants_names {
            cut(x.as_ref(), NAMES, "names");
            cut(y.as_ref(), NAMES, "names");
        }
        let mut data = Self {
            kind,
            panels: Vec::new(),
            names: by
                .as_ref()
                .map(|by| by.names().iter().take(SERIES).cloned().collect())
                .unwrap_or_default(),
            x_names: x.as_ref().map(|x| kept(x, wants_names)),
            y_names: y.as_ref().map(|y| kept(y, wants_names)),
            is_x_time: is_time(table, roles.x),
            notes,
            is_coloured_by_x: roles.by.is_some() && roles.by == roles.x && wants_names,
        };
        let code = |words: Option<&Words>, row: usize| {
            let code = words.and_then(|words| words.codes().get(row)).copied();
            code.map_or(0, |code| code as usize)
        };
        let at = |place: Option<usize>, row: usize| {
            let column = place.and_then(|place| table.columns.get(place));
            column.map_or(f64::NAN, |column| column.values.at(row))
        };
        for row in 0..table.rows() {
            let panel = code(facet.as_ref(), row);
            let series = code(by.as_ref(), row);
            if panel >= PANELS || series >= SERIES {
                continue;
            }
            let along = |words: Option<&Words>, place| match words {
                Some(words) => words
                    .codes()
                    .get(row)
                    .map_or(f64::NAN, |code| f64::from(*code)),
                None => at(place, row),
            };
            let (x, y) = (along(x.as_ref(), roles.x), along(y.as_ref(), roles.y));
            let most = crate::number::float(NAMES);
            if wants_names && (x >= most || kind == Kind::Heat && y >= most) {
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
                panel.note = column.and_then(|column| said(&column.name, &column.values, row));
            }
        }
        data
    }

    /// Numbers that are drawn, of which `of` is one.
    pub(crate) fn all(&self, of: impl Fn(&Point) -> f64) -> impl Iterator<Item = f64> {
        let points = self.panels.iter().flat_map(Panel::points);
        points.map(of).filter(|value| value.is_finite())
    }

    /// Counts rows that a picture cannot show.
    pub(crate) fn tell_left_out(&mut self, count: usize, one: &str, several: &str) {
        match count {
            0 => {}
            1 => self.notes.push(format!("1 row {one}")),
            _ => self
                .notes
                .push(format!("{} rows {several}", grouped(count as u64))),
        }
    }
}

fn kept(words: &Words, is_cut: bool) -> Vec<String> {
    let most = if is_cut { NAMES } else { usize::MAX };
    words.names().iter().take(most).cloned().collect()
}

/// What a column says of a picture.
fn said(name: &str, values: &Values, row: usize) -> Option<String> {
    let name = name.replace('_', " ");
    match values {
        Values::Words(words) => {
            let code = words.codes().get(row)?;
            let text = words.names().get(*code as usize)?;
            Some(format!("{name}: {text}"))
        }
        Values::Times(_) => None,
        Values::Numbers(_) => {
            let value = values.at(row);
            let value = super::axis::plain((value * 1e3).round() / 1e3);
            values
                .at(row)
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
