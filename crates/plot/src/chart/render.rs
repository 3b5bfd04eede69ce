//! Rendering of a table as a chart.

use super::axis::{Axis, AxisScale};
use super::bars::Bars;
use super::data::{ChartData, Panel};
use super::frame::{FrameContent, draw_frame};
use super::heat::Heat;
use super::legend::{LegendEntry, LegendSample};
use super::lines::Lines;
use super::marks::{ChartColumns, Marks, NamedColumn, json_names, json_numbers};
use super::plot_area::{PlotArea, PlotRect};
use super::points::Points;
use super::roles::{ColumnKind, Roles};
use super::shares::Distribution;
use super::spec::{ChartKind, PlotSpec};
use super::spread::Spread;
use super::style::{Appearance, Style};
use super::table::{ColumnValues, PlotTable};
use crate::scene::{ColourMode, Paint, Scene, Text, png, svg, terminal};

/// A chart of a table.
///
/// ```
/// use tsql_plot::{Appearance, Chart, Column, ColumnValues, PlotSpec, PlotTable};
/// let columns = [("trial", vec![1.0, 2.0, 3.0]), ("best_ns", vec![9e3, 4e3, 3e3])];
/// let columns = columns.map(|(name, values)| Column {
///     name: name.to_owned(),
///     unit: None,
///     values: ColumnValues::Numbers(values),
/// });
/// let table = PlotTable { columns: columns.into(), ..PlotTable::default() };
/// let chart = Chart::new(table, &"kind=line x=trial y=best_ns".parse::<PlotSpec>()?)?;
/// let svg = chart.svg(Appearance::default());
/// assert!(svg.contains("best (µs)") && svg.contains("data-y=\"[9000,4000,3000]\""));
/// assert!(chart.png(Appearance::default(), 640)?.starts_with(b"\x89PNG"));
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Debug)]
pub struct Chart {
    table: PlotTable,
    roles: Roles,
    spec: PlotSpec,
}

impl Chart {
    /// Creates a chart of columns of a table.
    ///
    /// # Errors
    /// As [`Roles::find`].
    pub fn new(table: PlotTable, spec: &PlotSpec) -> Result<Self, String> {
        let what = |values: &ColumnValues| match values {
            ColumnValues::Numbers(_) => ColumnKind::Number,
            ColumnValues::Times(_) => ColumnKind::Time,
            ColumnValues::Words(_) => ColumnKind::Word,
        };
        let columns = table.columns.iter();
        let columns: Vec<(&str, ColumnKind)> = columns
            .map(|column| (column.name.as_str(), what(&column.values)))
            .collect();
        let roles = Roles::find(spec, &columns)?;
        Ok(Self::from_gathered(table, roles, spec))
    }

    /// Creates a chart of the columns that [`super::RowSampler`] has collected.
    #[must_use]
    pub fn from_gathered(table: PlotTable, roles: Roles, spec: &PlotSpec) -> Self {
        Self {
            table,
            roles,
            spec: spec.clone(),
        }
    }

    /// Kind of chart.
    #[must_use]
    pub fn kind(&self) -> ChartKind {
        self.roles.kind
    }

    /// Number of drawn rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.table.rows()
    }

    /// Renders an SVG document.
    #[must_use]
    pub fn svg(&self, look: Appearance) -> String {
        svg(
            &self.scene(&Style::for_size(look.size)),
            ColourMode::Theme(look.theme),
        )
    }

    /// Renders SVG for an HTML page that defines the colours.
    #[must_use]
    pub fn figure(&self, look: Appearance) -> String {
        svg(&self.scene(&Style::for_size(look.size)), ColourMode::Page)
    }

    /// Renders a PNG file, `width` pixels wide.
    ///
    /// # Errors
    /// For no pixels, or more than 16,384.
    pub fn png(&self, look: Appearance, width: u32) -> Result<Vec<u8>, String> {
        png(&self.scene(&Style::for_size(look.size)), look.theme, width)
    }

    /// Renders text for a terminal with this many columns and about this many lines.
    #[must_use]
    pub fn text(&self, columns: usize, lines: usize, has_colours: bool) -> String {
        let style = Style::for_terminal(columns.clamp(20, 400), lines.clamp(8, 200));
        terminal(&self.scene(&style), has_colours)
    }

    /// Title above the chart.
    #[must_use]
    pub fn title(&self) -> String {
        self.spec.title.clone().unwrap_or_default()
    }

    fn scene(&self, style: &Style) -> Scene {
        let title = self.title();
        let mut data = ChartData::from_table(&self.table, &self.roles);
        let columns = self.columns();
        let known = data.clone();
        let marks = marks(&known, columns, style);
        let (across, up) = marks.axes();
        let place = PlotArea {
            field: PlotRect {
                left: 0.0,
                right: 1.0,
                top: 0.0,
                bottom: 1.0,
            },
            across: &across,
            up: &up,
        };
        let (none, below) = count_left_out(&known, &place);
        data.note_left_out(
            none,
            "without a number is left out",
            "without a number are left out",
        );
        data.note_left_out(
            below,
            "at or below 0 is not on the logarithmic axis",
            "at or below 0 are not on the logarithmic axis",
        );
        if data.panels.is_empty() || visible_rows(&known, &place) == 0 {
            return empty_scene(style, &title, &data);
        }
        let ramp = marks.ramp();
        let sample = match data.kind {
            _ if marks.has_lines() => LegendSample::Line,
            ChartKind::Scatter => LegendSample::Dot,
            _ => LegendSample::Area,
        };
        let legend: Vec<LegendEntry> = match data.names.len() {
            0 | 1 => Vec::new(),
            _ => data
                .names
                .iter()
                .map(|name| LegendEntry {
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
        let around = FrameContent {
            title: &title,
            legend: &legend,
            notes: &notes,
            panels: &panels,
            across: &across,
            up: &up,
            ramp: ramp.as_ref(),
            least: marks.min_height(style),
        };
        let (mut scene, fields) = draw_frame(style, &around);
        for (order, (panel, field)) in data.panels.iter().zip(fields).enumerate() {
            let place = PlotArea {
                field,
                across: &across,
                up: &up,
            };
            scene.open(vec![
                ("class", "panel".to_owned()),
                ("data-panel", panel.name.clone().unwrap_or_default()),
                (
                    "data-axes",
                    format!("[{},{}]", axis_attributes(&across), axis_attributes(&up)),
                ),
            ]);
            draw_limit(&mut scene, style, &place, panel);
            marks.draw(&mut scene, style, &place, (order, panel));
            scene.close();
        }
        scene
    }

    fn columns(&self) -> ChartColumns<'_> {
        let named = |place: Option<usize>| {
            let column = place.and_then(|place| self.table.columns.get(place));
            column.map_or(
                NamedColumn {
                    name: "",
                    unit: None,
                },
                |column| NamedColumn {
                    name: &column.name,
                    unit: column.unit.as_deref(),
                },
            )
        };
        ChartColumns {
            x: named(self.roles.x),
            y: named(self.roles.y),
            value: named(self.roles.value),
            log: self.spec.log,
        }
    }
}

fn marks<'a>(data: &'a ChartData, columns: ChartColumns<'a>, style: &Style) -> Box<dyn Marks + 'a> {
    match data.kind {
        ChartKind::Line | ChartKind::Step => Box::new(Lines::new(data, columns)),
        ChartKind::Scatter => Box::new(Points::new(data, columns)),
        ChartKind::Bar => Box::new(Bars::new(data, columns, style)),
        ChartKind::Histogram | ChartKind::Ecdf => Box::new(Distribution::new(data, columns)),
        ChartKind::Box | ChartKind::Violin => Box::new(Spread::new(data, columns, style)),
        ChartKind::Heat => Box::new(Heat::new(data, columns)),
    }
}

/// Numbers that a row must have to be drawn: the height of a bar, the counted value of a histogram.
fn required_numbers(data: &ChartData, point: &super::data::Point) -> [f64; 2] {
    let or_one = |value: f64, is_needed: bool| if is_needed { value } else { 1.0 };
    match data.kind {
        ChartKind::Line | ChartKind::Step | ChartKind::Scatter => [point.x, point.y],
        ChartKind::Histogram | ChartKind::Ecdf => [point.x, 1.0],
        ChartKind::Box | ChartKind::Violin => [1.0, point.y],
        ChartKind::Bar | ChartKind::Heat => {
            let value = if data.kind == ChartKind::Heat {
                point.value
            } else {
                point.y
            };
            // Without values, rows are counted.
            let has_values = data
                .numbers(|point| {
                    if data.kind == ChartKind::Heat {
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

/// Attributes of an axis for scripts: title, divisor of the values, and names.
fn axis_attributes(axis: &Axis) -> String {
    let title = json_names([axis.title.as_str()].into_iter());
    let title = title.trim_matches(['[', ']']);
    match &axis.scale {
        AxisScale::Words(names) => {
            let names = json_names(names.iter().map(String::as_str));
            format!("[{title},1,{names}]")
        }
        _ => format!(
            "[{title},{}]",
            json_numbers([axis.factor].into_iter()).trim_matches(['[', ']'])
        ),
    }
}

/// Number of rows without a number, and of rows that a logarithmic axis cannot show.
fn count_left_out(data: &ChartData, place: &PlotArea<'_>) -> (usize, usize) {
    let points = data.panels.iter().flat_map(Panel::points);
    let (mut none, mut below) = (0, 0);
    for point in points {
        let numbers = required_numbers(data, point);
        if numbers.iter().any(|number| !number.is_finite()) {
            none += 1;
        } else if !is_on(data, place, point) {
            below += 1;
        }
    }
    (none, below)
}

/// Returns whether the axes can show a row.
fn is_on(data: &ChartData, place: &PlotArea<'_>, point: &super::data::Point) -> bool {
    match data.kind {
        ChartKind::Line | ChartKind::Step | ChartKind::Scatter => {
            place.point(point.x, point.y).is_some()
        }
        ChartKind::Histogram | ChartKind::Ecdf => place.x(point.x).is_some(),
        ChartKind::Box | ChartKind::Violin => place.value_axis().fraction(point.y).is_some(),
        ChartKind::Bar | ChartKind::Heat => true,
    }
}

/// Number of visible rows.
fn visible_rows(data: &ChartData, place: &PlotArea<'_>) -> usize {
    let points = data.panels.iter().flat_map(Panel::points);
    let is_seen = |point: &&super::data::Point| {
        required_numbers(data, point)
            .iter()
            .all(|number| number.is_finite())
            && is_on(data, place, point)
    };
    points.filter(is_seen).count()
}

/// Draws a limit value as a line across the panel.
fn draw_limit(scene: &mut Scene, style: &Style, place: &PlotArea<'_>, panel: &Panel) {
    let share = panel
        .limit
        .and_then(|limit| place.value_axis().fraction(limit));
    let Some(share) = share.filter(|share| (0.0..=1.0).contains(share)) else {
        return;
    };
    let field = place.field;
    let ends = match place.is_horizontal() {
        true => [(field.x(share), field.top), (field.x(share), field.bottom)],
        false => {
            let y = field.y(place.up, share);
            [(field.left, y), (field.right, y)]
        }
    };
    let dash = (0.5 * style.label, 0.35 * style.label);
    if let Some(limit) = panel.limit {
        scene.set_tooltip(place.value_axis().format_value(limit));
    }
    scene.dashes(&ends, Paint::INK, 0.7 * style.line, dash);
}

/// Draws an empty chart with the reason.
fn empty_scene(style: &Style, title: &str, data: &ChartData) -> Scene {
    let mut scene = Scene::new(style.width, style.height, title);
    let room = style.width - 2.0 * style.margin;
    let mut y = style.margin;
    for line in style.lines(title, style.title, room, 3) {
        scene.text(
            &line,
            Text::new(style.title, style.width / 2.0, y).align_centre(),
        );
        y += style.line_height(style.title);
    }
    let said = match data.panels.is_empty() {
        true => "There is nothing to draw: the result has no rows.",
        false => "There is nothing to draw: no row has the required numbers.",
    };
    let mut y = (style.height / 2.0).max(y);
    let notes = data.notes.iter().map(String::as_str);
    for (text, size) in [(said, style.axis)]
        .into_iter()
        .chain(notes.map(|note| (note, style.remark)))
    {
        for line in style.lines(text, size, room, 3) {
            let at = Text::new(size, style.width / 2.0, y).align_centre();
            scene.text(&line, at.with_paint(Paint::GREY));
            y += style.line_height(size);
        }
    }
    scene
}
