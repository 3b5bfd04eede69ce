//! A table and what is to be drawn of it, as a picture.

use super::axis::{Axis, Scale};
use super::bars::Bars;
use super::data::{Data, Panel};
use super::frame::{Around, framed};
use super::heat::Heat;
use super::legend::{Entry, Sample};
use super::lines::Lines;
use super::marks::{Columns, Marks, Named, json, json_names};
use super::place::{Field, Place};
use super::points::Points;
use super::roles::{Roles, What};
use super::shares::Shares;
use super::spec::{Kind, Spec};
use super::spread::Spread;
use super::style::{Look, Style};
use super::table::{Table, Values};
use crate::scene::{Dress, Paint, Scene, Text, png, svg, terminal};

/// What is drawn of a table.
///
/// ```
/// use tsql_plot::{Chart, Column, Look, Spec, Table, Values};
/// let columns = [("trial", vec![1.0, 2.0, 3.0]), ("best_ns", vec![9e3, 4e3, 3e3])];
/// let columns = columns.map(|(name, values)| Column {
///     name: name.to_owned(),
///     unit: None,
///     values: Values::Numbers(values),
/// });
/// let table = Table { columns: columns.into(), ..Table::default() };
/// let chart = Chart::new(table, &"kind=line x=trial y=best_ns".parse::<Spec>()?)?;
/// let svg = chart.svg(Look::default());
/// assert!(svg.contains("best (µs)") && svg.contains("data-y=\"[9000,4000,3000]\""));
/// assert!(chart.png(Look::default(), 640)?.starts_with(b"\x89PNG"));
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Debug)]
pub struct Chart {
    table: Table,
    roles: Roles,
    spec: Spec,
}

impl Chart {
    /// Draws columns of a table.
    ///
    /// # Errors
    /// As [`Roles::find`].
    pub fn new(table: Table, spec: &Spec) -> Result<Self, String> {
        let what = |values: &Values| match values {
            Values::Numbers(_) => What::Number,
            Values::Times(_) => What::Time,
            Values::Words(_) => What::Word,
        };
        let columns = table.columns.iter();
        let columns: Vec<(&str, What)> = columns
            .map(|column| (column.name.as_str(), what(&column.values)))
            .collect();
        let roles = Roles::find(spec, &columns)?;
        Ok(Self::of(table, roles, spec))
    }

    /// Draws a table of the columns that [`super::Gather`] has gathered.
    #[must_use]
    pub fn of(table: Table, roles: Roles, spec: &Spec) -> Self {
        Self {
            table,
            roles,
            spec: spec.clone(),
        }
    }

    /// The kind of picture.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.roles.kind
    }

    /// Rows that are drawn.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.table.rows()
    }

    /// As an SVG document.
    #[must_use]
    pub fn svg(&self, look: Look) -> String {
        svg(&self.scene(&Style::of(look.size)), Dress::Theme(look.theme))
    }

    /// As SVG for a page, which has the colours.
    #[must_use]
    pub fn figure(&self, look: Look) -> String {
        svg(&self.scene(&Style::of(look.size)), Dress::Page)
    }

    /// As a PNG file of so many pixels across.
    ///
    /// # Errors
    /// For no pixels, or more than 16,384.
    pub fn png(&self, look: Look, width: u32) -> Result<Vec<u8>, String> {
        png(&self.scene(&Style::of(look.size)), look.theme, width)
    }

    /// As letters of a terminal of so many columns; about so many lines.
    #[must_use]
    pub fn text(&self, columns: usize, lines: usize, has_colours: bool) -> String {
        let style = Style::of_terminal(columns.clamp(20, 400), lines.clamp(8, 200));
        terminal(&self.scene(&style), has_colours)
    }

    /// What stands above the picture.
    #[must_use]
    pub fn title(&self) -> String {
        self.spec.title.clone().unwrap_or_default()
    }

    fn scene(&self, style: &Style) -> Scene {
        let title = self.title();
        let mut data = Data::of(&self.table, &self.roles);
        let columns = self.columns();
        let known = data.clone();
        let marks = marks(&known, columns, style);
        let (across, up) = marks.axes();
        let place = Place {
            field: Field {
                left: 0.0,
                right: 1.0,
                top: 0.0,
                bottom: 1.0,
            },
            across: &across,
            up: &up,
        };
        let (none, below) = left_out(&known, &place);
        data.tell_left_out(
            none,
            "without a number is left out",
            "without a number are left out",
        );
        data.tell_left_out(
            below,
            "at or below 0 has no place on a logarithmic axis",
            "at or below 0 have no place on a logarithmic axis",
        );
        if data.panels.is_empty() || drawn(&known, &place) == 0 {
            return nothing(style, &title, &data);
        }
        let ramp = marks.ramp();
        let sample = match data.kind {
            _ if marks.has_lines() => Sample::Line,
            Kind::Scatter => Sample::Dot,
            _ => Sample::Area,
        };
        let legend: Vec<Entry> = match data.names.len() {
            0 | 1 => Vec::new(),
            _ => data
                .names
                .iter()
                .map(|name| Entry {
                    name: name.clone(),
                    sample,
                })
                .collect(),
        };
        let panels: Vec<(Option<String>, Option<String>)> = data
            .panels
            .iter()
            .map(|panel| (panel.name.clone(), panel.note.clone()))
            .collect();
        let mut notes = marks.notes();
        notes.extend(data.notes.clone());
        let around = Around {
            title: &title,
            legend: &legend,
            notes: &notes,
            panels: &panels,
            across: &across,
            up: &up,
            ramp: ramp.as_ref(),
            least: marks.least(style),
        };
        let (mut scene, fields) = framed(style, &around);
        for (order, (panel, field)) in data.panels.iter().zip(fields).enumerate() {
            let place = Place {
                field,
                across: &across,
                up: &up,
            };
            scene.open(vec![
                ("class", "panel".to_owned()),
                ("data-panel", panel.name.clone().unwrap_or_default()),
                (
                    "data-axes",
                    format!("[{},{}]", described(&across), described(&up)),
                ),
            ]);
            limit(&mut scene, style, &place, panel);
            marks.draw(&mut scene, style, &place, (order, panel));
            scene.close();
        }
        scene
    }

    fn columns(&self) -> Columns<'_> {
        let named = |place: Option<usize>| {
            let column = place.and_then(|place| self.table.columns.get(place));
            column.map_or(
                Named {
                    name: "",
                    unit: None,
                },
                |column| Named {
                    name: &column.name,
                    unit: column.unit.as_deref(),
                },
            )
        };
        Columns {
            x: named(self.roles.x),
            y: named(self.roles.y),
            value: named(self.roles.value),
            log: self.spec.log,
        }
    }
}

fn marks<'a>(data: &'a Data, columns: Columns<'a>, style: &Style) -> Box<dyn Marks + 'a> {
    match data.kind {
        Kind::Line | Kind::Step => Box::new(Lines::new(data, columns)),
        Kind::Scatter => Box::new(Points::new(data, columns)),
        Kind::Bar => Box::new(Bars::new(data, columns, style)),
        Kind::Histogram | Kind::Ecdf => Box::new(Shares::new(data, columns)),
        Kind::Box | Kind::Violin => Box::new(Spread::new(data, columns, style)),
        Kind::Heat => Box::new(Heat::new(data, columns)),
    }
}

/// The numbers of a row that must be there: of a bar the height, of a histogram what is counted.
fn needed(data: &Data, point: &super::data::Point) -> [f64; 2] {
    let or_one = |value: f64, is_needed: bool| if is_needed { value } else { 1.0 };
    match data.kind {
        Kind::Line | Kind::Step | Kind::Scatter => [point.x, point.y],
        Kind::Histogram | Kind::Ecdf => [point.x, 1.0],
        Kind::Box | Kind::Violin => [1.0, point.y],
        Kind::Bar | Kind::Heat => {
            let value = if data.kind == Kind::Heat {
                point.value
            } else {
                point.y
            };
            // Without values rows are counted.
            let has_values = data
                .all(|point| {
                    if data.kind == Kind::Heat {
                        point.value
                    } else {
                        point.y
                    }
                })
                .next()
                .is_some();
            [or_one(point.x, true), or_one(value, has_values)]
        }
    }
}

/// An axis as scripts read it: its title, by what values are divided, and names.
fn described(axis: &Axis) -> String {
    let title = json_names([axis.title.as_str()].into_iter());
    let title = title.trim_matches(['[', ']']);
    match &axis.scale {
        Scale::Words(names) => {
            let names = json_names(names.iter().map(String::as_str));
            format!("[{title},1,{names}]")
        }
        _ => format!(
            "[{title},{}]",
            json([axis.factor].into_iter()).trim_matches(['[', ']'])
        ),
    }
}

/// Rows without a number, and rows that a logarithmic axis has not.
fn left_out(data: &Data, place: &Place<'_>) -> (usize, usize) {
    let points = data.panels.iter().flat_map(Panel::points);
    let (mut none, mut below) = (0, 0);
    for point in points {
        let numbers = needed(data, point);
        if numbers.iter().any(|number| !number.is_finite()) {
            none += 1;
        } else if !is_on(data, place, point) {
            below += 1;
        }
    }
    (none, below)
}

/// Do the axes have a row?
fn is_on(data: &Data, place: &Place<'_>, point: &super::data::Point) -> bool {
    match data.kind {
        Kind::Line | Kind::Step | Kind::Scatter => place.at(point.x, point.y).is_some(),
        Kind::Histogram | Kind::Ecdf => place.x(point.x).is_some(),
        Kind::Box | Kind::Violin => place.measured().share(point.y).is_some(),
        Kind::Bar | Kind::Heat => true,
    }
}

/// Rows that are seen.
fn drawn(data: &Data, place: &Place<'_>) -> usize {
    let points = data.panels.iter().flat_map(Panel::points);
    let is_seen = |point: &&super::data::Point| {
        needed(data, point).iter().all(|number| number.is_finite()) && is_on(data, place, point)
    };
    points.filter(is_seen).count()
}

/// A value that is not to be passed, as a line across.
fn limit(scene: &mut Scene, style: &Style, place: &Place<'_>, panel: &Panel) {
    let share = panel.limit.and_then(|limit| place.measured().share(limit));
    let Some(share) = share.filter(|share| (0.0..=1.0).contains(share)) else {
        return;
    };
    let field = place.field;
    let ends = match place.is_turned() {
        true => [(field.x(share), field.top), (field.x(share), field.bottom)],
        false => {
            let y = field.y(place.up, share);
            [(field.left, y), (field.right, y)]
        }
    };
    let dash = (0.5 * style.label, 0.35 * style.label);
    if let Some(limit) = panel.limit {
        scene.say(place.measured().said(limit));
    }
    scene.dashes(&ends, Paint::INK, 0.7 * style.line, dash);
}

/// A picture without data, that says why.
fn nothing(style: &Style, title: &str, data: &Data) -> Scene {
    let mut scene = Scene::new(style.width, style.height, title);
    let room = style.width - 2.0 * style.margin;
    let mut y = style.margin;
    for line in style.lines(title, style.title, room, 3) {
        scene.text(
            &line,
            Text::new(style.title, style.width / 2.0, y).centred(),
        );
        y += style.lead(style.title);
    }
    let said = match data.panels.is_empty() {
        true => "There is nothing to draw: the answer has no rows.",
        false => "There is nothing to draw: no row has the numbers for it.",
    };
    let mut y = (style.height / 2.0).max(y);
    let notes = data.notes.iter().map(String::as_str);
    for (text, size) in [(said, style.axis)]
        .into_iter()
        .chain(notes.map(|note| (note, style.remark)))
    {
        for line in style.lines(text, size, room, 3) {
            let at = Text::new(size, style.width / 2.0, y).centred();
            scene.text(&line, at.coloured(Paint::GREY));
            y += style.lead(size);
        }
    }
    scene
}
