//! Frame around the data: title, legend, axes with ticks and labels, notes.

use super::axis::{Axis, AxisScale};
use super::axis_labels::AxisLabels;
use super::legend::{LegendEntry, legend, legend_height};
use super::plot_area::PlotRect;
use super::style::Style;
use crate::number::{float, round_to_count};
use crate::scene::{Paint, Role, Scene, Text, set_full_name};

/// Content of the frame.
pub(crate) struct FrameContent<'a> {
    pub(crate) title: &'a str,
    /// Legend entries below the title.
    pub(crate) legend: &'a [LegendEntry],
    pub(crate) notes: &'a [String],
    /// Names of the panels, and the note of each.
    pub(crate) panels: &'a [(Option<String>, Option<String>)],
    pub(crate) x_axis: &'a Axis,
    pub(crate) y_axis: &'a Axis,
    /// Axis of the colour range.
    pub(crate) ramp: Option<&'a Axis>,
    /// Minimum height of the data area.
    pub(crate) min_height: f64,
}

/// Maximum number of lines of a title and of all notes.
const TITLE_LINES: usize = 3;
const NOTE_LINES: usize = 6;

/// Draws the frame. Returns the scene, and the data area of each panel.
pub(crate) fn draw_frame(style: &Style, content: &FrameContent<'_>) -> (Scene, Vec<PlotRect>) {
    let grid = PanelGrid::new(style, content);
    let mut scene = Scene::new(style.width, grid.height, content.title);
    let mut y = style.margin;
    for line in &grid.title {
        let placement = Text::new(style.title, style.width / 2.0, y).align_centre();
        scene.text(line, placement);
        y += style.line_height(style.title);
    }
    let bounds = (style.margin, style.width - style.margin);
    y = legend(&mut scene, style, content.legend, (bounds, y));
    if style.is_terminal() {
        scene.text(&content.y_axis.title, Text::new(style.axis, 0.0, y));
    }
    let fields: Vec<PlotRect> = (0..content.panels.len().max(1))
        .map(|panel| grid.field(panel))
        .collect();
    for (panel, field) in fields.iter().enumerate() {
        grid.draw_panel(&mut scene, content, (panel, *field));
    }
    grid.draw_titles(&mut scene, content, &fields);
    if let (Some(ramp), Some(field)) = (content.ramp, fields.first()) {
        draw_colour_bar(&mut scene, style, ramp, (grid.ramp_left, *field));
    }
    let mut y =
        grid.height - style.margin - float(grid.notes.len()) * style.line_height(style.remark);
    for line in &grid.notes {
        let placement = Text::new(style.remark, style.margin, y);
        scene.text(line, placement.with_paint(Paint::GREY));
        y += style.line_height(style.remark);
    }
    (scene, fields)
}

/// Division of the chart into panels.
struct PanelGrid<'a> {
    style: &'a Style,
    title: Vec<String>,
    notes: Vec<String>,
    columns: usize,
    count: usize,
    /// Area of all panels.
    inner: PlotRect,
    /// Distance between panels, and height of the header of each.
    gap: f64,
    header_height: f64,
    height: f64,
    y_ticks: Vec<NameLabel>,
    /// Lines with the names of the panels.
    headers: Vec<Vec<String>>,
    names: AxisLabels,
    ramp_left: f64,
}

impl<'a> PanelGrid<'a> {
    fn new(style: &'a Style, content: &FrameContent<'_>) -> Self {
        let text_width = style.width - 2.0 * style.margin;
        let title = style.lines(content.title, style.title, text_width, TITLE_LINES);
        let mut notes = Vec::new();
        for note in content.notes {
            notes.extend(style.lines(note, style.remark, text_width, 2));
        }
        notes.truncate(NOTE_LINES);
        let count = content.panels.len().max(1);
        let max_columns = round_to_count((style.width / (13.0 * style.label)).floor()).max(1);
        let columns = count
            .min(max_columns)
            .min(round_to_count(float(count).sqrt().ceil()));
        let rows = count.div_ceil(columns);
        let legend = legend_height(style, content.legend, text_width);
        let above = style.margin + float(title.len()) * style.line_height(style.title) + legend;
        let above = match style.is_terminal() {
            true => above + style.line_height(style.axis),
            false => above + 0.3 * style.label,
        };
        let below = float(notes.len()) * style.line_height(style.remark) + style.margin;
        // Ticks of the vertical axis, as many as fit into an estimate of its height.
        let has_names = content.panels.iter().any(|(name, _)| name.is_some());
        let has_headers = content
            .panels
            .iter()
            .any(|(name, note)| name.is_some() || note.is_some());
        let has_notes = content.panels.iter().any(|(_, note)| note.is_some());
        let header_height = match (has_headers, has_notes && has_names) {
            (false, _) => 0.0,
            (true, false) => style.line_height(style.label),
            (true, true) => style.line_height(style.label) + style.line_height(style.remark),
        };
        let estimate =
            (style.height - above - below) / float(rows) - 3.0 * style.label - header_height;
        let estimate = estimate
            .max(content.min_height)
            .max(min_panel_height(style, count));
        let y_ticks = vertical_labels(style, content.y_axis, estimate);
        let lines = y_ticks.iter().flat_map(|tick| &tick.lines);
        let widths = lines.map(|line| style.width_of(line, style.label));
        let tick_width = widths.fold(0.0, f64::max);
        let title_width = match style.is_terminal() || content.y_axis.title.is_empty() {
            true => 0.0,
            false => 1.5 * style.axis,
        };
        let left = style.margin + title_width + tick_width + 0.5 * style.label;
        let ramp_space = content.ramp.map_or(0.0, |ramp| ramp_width(style, ramp));
        let right = style.width - style.margin - ramp_space - 0.3 * style.label;
        let gap = if style.is_terminal() {
            style.label
        } else {
            1.6 * style.label
        };
        let panel_width = (right - left - gap * float(columns - 1)) / float(columns);
        let names = AxisLabels::new(style, content.x_axis, panel_width);
        let headers = header_lines(style, content, panel_width + 0.5 * gap);
        let more_lines = headers.iter().map(Vec::len).max().unwrap_or(0).max(1) - 1;
        let header_height = header_height + float(more_lines) * style.line_height(style.label);
        let x_title = match content.x_axis.title.is_empty() {
            true => 0.0,
            false => style.line_height(style.axis),
        };
        let under = 0.4 * style.label + names.height + x_title;
        let rows_gap = float(rows - 1) * 1.1 * gap;
        let free = style.height - above - below - under - rows_gap;
        let panel_height = (free / float(rows) - header_height)
            .max(content.min_height)
            .max(min_panel_height(style, count));
        let used = float(rows) * (panel_height + header_height) + rows_gap;
        Self {
            style,
            title,
            notes,
            columns,
            count,
            inner: PlotRect {
                left,
                right,
                top: above,
                bottom: above + used,
            },
            gap,
            header_height,
            height: (above + used + under + below).round(),
            y_ticks,
            headers,
            names,
            ramp_left: right + 0.8 * style.label,
        }
    }

    fn rows(&self) -> usize {
        self.count.div_ceil(self.columns)
    }

    fn field(&self, panel: usize) -> PlotRect {
        let (row, column) = (panel / self.columns, panel % self.columns);
        let gaps = self.gap * float(self.columns - 1);
        let panel_width = (self.inner.width() - gaps) / float(self.columns);
        let rows_gap = 1.1 * self.gap;
        let down = (self.inner.height() - rows_gap * float(self.rows() - 1)) / float(self.rows());
        let left = self.inner.left + float(column) * (panel_width + self.gap);
        let top = self.inner.top + float(row) * (down + rows_gap);
        let crisp = |length: f64| match self.style.is_terminal() {
            true => length.round(),
            false => length,
        };
        PlotRect {
            left: crisp(left),
            right: crisp(left + panel_width),
            top: crisp(top + self.header_height),
            bottom: crisp(top + down),
        }
    }

    /// Draws name, grid lines, ticks and border of a panel.
    fn draw_panel(
        &self,
        scene: &mut Scene,
        content: &FrameContent<'_>,
        (index, field): (usize, PlotRect),
    ) {
        let style = self.style;
        if let Some((name, note)) = content.panels.get(index) {
            let room = field.width() + 0.5 * self.gap;
            let middle = f64::midpoint(field.left, field.right);
            let mut y = field.top - self.header_height;
            let lines = self.headers.get(index).map_or(&[][..], Vec::as_slice);
            let max_lines = self.headers.iter().map(Vec::len).max().unwrap_or(0);
            // Names of one line are directly above the panel, or above its note.
            y += float(max_lines - lines.len()) * style.line_height(style.label);
            for line in lines {
                set_full_name(scene, lines, name.as_deref().unwrap_or_default());
                scene.text(line, Text::new(style.label, middle, y).align_centre());
                y += style.line_height(style.label);
            }
            let note = note.as_deref().unwrap_or_default();
            for line in style.lines(note, style.remark, room, 1) {
                let placement = Text::new(style.remark, middle, y).align_centre();
                scene.text(&line, placement.with_paint(Paint::GREY));
                y += style.line_height(style.remark);
            }
        }
        let is_first = index.is_multiple_of(self.columns);
        let is_last = index + self.columns >= self.count;
        let has_lines = !style.is_terminal();
        for tick in &self.y_ticks {
            let y = field.y(content.y_axis, tick.fraction);
            if has_lines && !matches!(content.y_axis.scale, AxisScale::Words(_)) {
                scene.line(&[(field.left, y), (field.right, y)], Paint::RULE, 1.0);
            }
            if is_first {
                tick.draw(scene, style, (field.left, y));
            }
        }
        for fraction in self.names.fractions() {
            if has_lines && !matches!(content.x_axis.scale, AxisScale::Words(_)) {
                let x = field.x(fraction);
                scene.line(&[(x, field.top), (x, field.bottom)], Paint::RULE, 1.0);
            }
        }
        let corners = [
            (field.left, field.top),
            (field.left, field.bottom),
            (field.right, field.bottom),
        ];
        scene.line(&corners, Paint::INK, if has_lines { 1.2 } else { 1.0 });
        if has_lines {
            draw_minor_ticks(scene, style, content, field);
        }
        if is_last {
            self.names.draw(scene, style, field);
        }
    }

    fn draw_titles(&self, scene: &mut Scene, content: &FrameContent<'_>, fields: &[PlotRect]) {
        let style = self.style;
        let bottom = fields.iter().map(|field| field.bottom).fold(0.0, f64::max);
        let middle = f64::midpoint(self.inner.left, self.inner.right);
        let room = style.width - 2.0 * style.margin;
        for line in style.lines(&content.x_axis.title, style.axis, room, 1) {
            let y = bottom + 0.4 * style.label + self.names.height;
            let half = style.width_of(&line, style.axis) / 2.0;
            let max_middle = style.width - style.margin - half;
            let middle = middle.min(max_middle).max(style.margin + half);
            scene.text(&line, Text::new(style.axis, middle, y).align_centre());
        }
        if style.is_terminal() {
            return;
        }
        let top = fields
            .iter()
            .map(|field| field.top)
            .fold(f64::MAX, f64::min);
        let room = (bottom - top).max(8.0 * style.axis);
        // A long title is a little smaller rather than shortened.
        let width = style.width_of(&content.y_axis.title, style.axis);
        let size = style.axis * (room / width.max(1.0)).clamp(0.75, 1.0);
        for line in style.lines(&content.y_axis.title, size, room + 1.0, 1) {
            let placement = Text::new(size, style.margin, f64::midpoint(top, bottom));
            scene.text(&line, placement.align_centre().rotate_up());
        }
    }
}

/// Minimum height of a panel: a single one is higher, whatever the title and the legend take.
fn min_panel_height(style: &Style, panels: usize) -> f64 {
    let labels = match panels {
        1 if !style.is_terminal() => 11.0,
        _ => 8.0,
    };
    labels * style.label
}

/// Label of a tick of the vertical axis.
struct NameLabel {
    fraction: f64,
    /// Full name.
    name: String,
    lines: Vec<String>,
}

impl NameLabel {
    fn draw(&self, scene: &mut Scene, style: &Style, (left, middle): (f64, f64)) {
        let gap = match style.is_terminal() {
            true => 2.0,
            false => 0.4 * style.label,
        };
        let leading = NAME_LEADING * style.label;
        let above = float(self.lines.len().max(1) - 1) * leading / 2.0;
        for (row, line) in self.lines.iter().enumerate() {
            let y = middle - style.glyph_middle(style.label) - above + float(row) * leading;
            set_full_name(scene, &self.lines, &self.name);
            scene.text(line, Text::new(style.label, left - gap, y).align_right());
        }
    }
}

/// Line height of names of several lines, relative to the text size.
const NAME_LEADING: f64 = 1.05;

/// Labels of the vertical axis of a panel with about this height. Names have two lines where there is space.
fn vertical_labels(style: &Style, axis: &Axis, height: f64) -> Vec<NameLabel> {
    let (fractions, names): (Vec<f64>, Vec<String>) =
        axis.ticks(height / (2.4 * style.label)).into_iter().unzip();
    let slot = height / float(names.len().max(1));
    let (widest, max_lines) = match &axis.scale {
        AxisScale::Words(_) if slot > 2.3 * NAME_LEADING * style.label => (0.36, 2),
        AxisScale::Words(_) => (0.36, 1),
        _ => (0.25, 1),
    };
    let lines = style.name_lines(&names, (style.label, widest * style.width), max_lines);
    let labels = fractions.into_iter().zip(names).zip(lines);
    labels
        .map(|((fraction, name), lines)| NameLabel {
            fraction,
            name,
            lines,
        })
        .collect()
}

/// Lines with the names of the panels; none if they have no names.
fn header_lines(style: &Style, content: &FrameContent<'_>, room: f64) -> Vec<Vec<String>> {
    let names: Option<Vec<String>> = content
        .panels
        .iter()
        .map(|(name, _)| name.clone())
        .collect();
    names.map_or_else(Vec::new, |names| {
        style.name_lines(&names, (style.label, room), 2)
    })
}

/// Draws marks between the ticks of logarithmic axes.
fn draw_minor_ticks(scene: &mut Scene, style: &Style, content: &FrameContent<'_>, field: PlotRect) {
    let length = 0.22 * style.label;
    for fraction in content.x_axis.minor_ticks() {
        let x = field.x(fraction);
        let ends = [(x, field.bottom), (x, field.bottom + length)];
        scene.line(&ends, Paint::INK, 0.8);
    }
    for fraction in content.y_axis.minor_ticks() {
        let y = field.y(content.y_axis, fraction);
        let ends = [(field.left, y), (field.left - length, y)];
        scene.line(&ends, Paint::INK, 0.8);
    }
}

fn ramp_width(style: &Style, ramp: &Axis) -> f64 {
    if style.is_terminal() {
        return 0.0;
    }
    let widths = ramp.ticks(5.0).into_iter();
    let widths = widths.map(|(_, text)| style.width_of(&text, style.label));
    widths.fold(0.0, f64::max) + 2.4 * style.label + style.line_height(style.axis)
}

/// Draws the colour bar beside the data.
fn draw_colour_bar(scene: &mut Scene, style: &Style, ramp: &Axis, (left, field): (f64, PlotRect)) {
    if style.is_terminal() {
        return;
    }
    let right = left + 0.8 * style.label;
    let (top, bottom) = (
        field.top,
        field.top + field.height().min(16.0 * style.label),
    );
    for step in 0..64_u8 {
        let fraction = f64::from(step) / 64.0;
        let y = |fraction: f64| bottom - fraction * (bottom - top);
        // A slight overlap, so that no gap is visible between the steps.
        let next = (fraction + 1.0 / 64.0 + 0.004).min(1.0);
        let paint = Paint::new(Role::Ramp(step * 4 + step / 16));
        scene.rect((left, y(fraction)), (right, y(next)), paint);
    }
    let ticks = ramp.ticks(5.0);
    let mut widest = 0.0_f64;
    for (fraction, text) in &ticks {
        let y = bottom - fraction * (bottom - top) - style.glyph_middle(style.label);
        scene.text(text, Text::new(style.label, right + 0.3 * style.label, y));
        widest = widest.max(style.width_of(text, style.label));
    }
    let room = bottom - top;
    for line in style.lines(&ramp.title, style.axis, room.max(6.0 * style.axis), 1) {
        let x = right + 0.6 * style.label + widest;
        let placement = Text::new(style.axis, x, f64::midpoint(top, bottom));
        scene.text(&line, placement.align_centre().rotate_up());
    }
}
