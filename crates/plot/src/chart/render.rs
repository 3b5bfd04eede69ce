//! Rendering of a table as a chart.

use super::axis::{Axis, AxisScale};
use super::bars::Bars;
use super::data::{ChartData, Panel};
use super::distribution::Distribution;
use super::frame::{FrameContent, draw_frame};
use super::heat::Heat;
use super::legend::{LegendEntry, LegendSample};
use super::lines::Lines;
use super::marks::{ChartColumns, Marks, NamedColumn, json_names, json_numbers};
use super::plot_area::{PlotArea, PlotRect};
use super::points::Points;
use super::roles::{ColumnKind, Roles};
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
    /// Names whose colours are the same in all plots.
    known_names: Vec<String>,
}

impl Chart {
    /// Creates a chart of columns of a table.
    ///
    /// # Errors
    /// As [`Roles::find`].
    pub fn new(table: PlotTable, spec: &PlotSpec) -> Result<Self, String> {
        let kind_of = |values: &ColumnValues| match values {
            ColumnValues::Numbers(_) => ColumnKind::Number,
            ColumnValues::Times(_) => ColumnKind::Time,
            ColumnValues::Words(_) => ColumnKind::Word,
        };
        let columns = table.columns.iter();
        let columns: Vec<(&str, ColumnKind)> = columns
            .map(|column| (column.name.as_str(), kind_of(&column.values)))
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
            known_names: Vec::new(),
        }
    }

    /// Gives series with these names the same colours in all plots, also in those that show only some of them.
    #[must_use]
    pub fn with_known_names(mut self, names: &[String]) -> Self {
        self.known_names = names.to_vec();
        self
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
    pub fn svg(&self, appearance: Appearance) -> String {
        svg(
            &self.scene(&Style::for_size(appearance.size)),
            ColourMode::Theme(appearance.theme),
        )
    }

    /// Renders SVG for an HTML page that defines the colours.
    #[must_use]
    pub fn figure(&self, appearance: Appearance) -> String {
        svg(
            &self.scene(&Style::for_size(appearance.size)),
            ColourMode::Page,
        )
    }

    /// Renders a PNG file, `width` pixels wide.
    ///
    /// # Errors
    /// For no pixels, or more than 16,384.
    pub fn png(&self, appearance: Appearance, width: u32) -> Result<Vec<u8>, String> {
        png(
            &self.scene(&Style::for_size(appearance.size)),
            appearance.theme,
            width,
        )
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
        let mut data = ChartData::from_table(&self.table, &self.roles, &self.known_names);
        let columns = self.columns();
        let source = data.clone();
        let marks = marks(&source, columns, style);
        let (x_axis, y_axis) = marks.axes();
        let unit_area = PlotArea {
            field: PlotRect {
                left: 0.0,
                right: 1.0,
                top: 0.0,
                bottom: 1.0,
            },
            x_axis: &x_axis,
            y_axis: &y_axis,
        };
        let (none, below) = count_left_out(&source, &unit_area);
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
        if data.panels.is_empty() || visible_rows(&source, &unit_area) == 0 {
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
                .drawn_names()
                .map(|(index, name)| LegendEntry {
                    index,
                    name: name.to_owned(),
                    sample,
                })
                .collect(),
        };
        let legend = match name_series_in_panels(&mut data) {
            true => Vec::new(),
            false => legend,
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
            x_axis: &x_axis,
            y_axis: &y_axis,
            ramp: ramp.as_ref(),
            min_height: marks.min_height(style),
        };
        let (mut scene, fields) = draw_frame(style, &around);
        for (order, (panel, field)) in data.panels.iter().zip(fields).enumerate() {
            let area = PlotArea {
                field,
                x_axis: &x_axis,
                y_axis: &y_axis,
            };
            scene.open(vec![
                ("class", "panel".to_owned()),
                ("data-panel", panel.name.clone().unwrap_or_default()),
                (
                    "data-axes",
                    format!(
                        "[{},{}]",
                        axis_attributes(&x_axis),
                        axis_attributes(&y_axis)
                    ),
                ),
            ]);
            panel.limit.draw(&mut scene, style, &area);
            marks.draw(&mut scene, style, &area, (order, panel));
            scene.close();
        }
        scene
    }

    fn named_column<'a>(&'a self, index: Option<usize>, title: Option<&'a str>) -> NamedColumn<'a> {
        let column = index.and_then(|index| self.table.columns.get(index));
        NamedColumn {
            name: column.map_or("", |column| &column.name),
            unit: column.and_then(|column| column.unit.as_deref()),
            title,
        }
    }

    fn columns(&self) -> ChartColumns<'_> {
        let Roles { x, y, value, .. } = self.roles;
        ChartColumns {
            x: self.named_column(x, self.spec.x_title.as_deref()),
            y: self.named_column(y, self.spec.y_title.as_deref()),
            value: self.named_column(value, None),
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

/// Writes the name of the series below the name of its panel, if each panel has one series that no other panel has. A
/// legend would repeat these names. Returns whether it did.
fn name_series_in_panels(data: &mut ChartData) -> bool {
    let only: Option<Vec<usize>> = data
        .panels
        .iter()
        .map(|panel| match &*panel.series {
            [series] => Some(series.index),
            _ => None,
        })
        .collect();
    let Some(mut only) = only.filter(|only| only.len() > 1) else {
        return false;
    };
    only.sort_unstable();
    let count = only.len();
    only.dedup();
    if only.len() < count || data.panels.iter().any(|panel| panel.note.is_some()) {
        return false;
    }
    for panel in &mut data.panels {
        let name = panel.series.first().map(|series| series.name.clone());
        panel.note = name.filter(|name| panel.name.as_ref() != Some(name));
    }
    true
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
fn count_left_out(data: &ChartData, area: &PlotArea<'_>) -> (usize, usize) {
    let points = data.panels.iter().flat_map(Panel::points);
    let (mut none, mut below) = (0, 0);
    for point in points {
        let numbers = required_numbers(data, point);
        if numbers.iter().any(|number| !number.is_finite()) {
            none += 1;
        } else if !is_on(data, area, point) {
            below += 1;
        }
    }
    (none, below)
}

/// Returns whether the axes can show a row.
fn is_on(data: &ChartData, area: &PlotArea<'_>, point: &super::data::Point) -> bool {
    match data.kind {
        ChartKind::Line | ChartKind::Step | ChartKind::Scatter => {
            area.point(point.x, point.y).is_some()
        }
        ChartKind::Histogram | ChartKind::Ecdf => area.x(point.x).is_some(),
        ChartKind::Box | ChartKind::Violin => area.value_axis().fraction(point.y).is_some(),
        ChartKind::Bar | ChartKind::Heat => true,
    }
}

/// Number of visible rows.
fn visible_rows(data: &ChartData, area: &PlotArea<'_>) -> usize {
    let points = data.panels.iter().flat_map(Panel::points);
    let is_visible = |point: &&super::data::Point| {
        required_numbers(data, point)
            .iter()
            .all(|number| number.is_finite())
            && is_on(data, area, point)
    };
    points.filter(is_visible).count()
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
    let message = match data.panels.is_empty() {
        true => "There is nothing to draw: the result has no rows.",
        false => "There is nothing to draw: no row has the required numbers.",
    };
    let mut y = (style.height / 2.0).max(y);
    let notes = data.notes.iter().map(String::as_str);
    for (text, size) in [(message, style.axis)]
        .into_iter()
        .chain(notes.map(|note| (note, style.remark)))
    {
        for line in style.lines(text, size, room, 3) {
            let placement = Text::new(size, style.width / 2.0, y).align_centre();
            scene.text(&line, placement.with_paint(Paint::GREY));
            y += style.line_height(size);
        }
    }
    scene
}
