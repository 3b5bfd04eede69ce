//! Frame around the data: title, legend, axes with ticks and labels, notes.

use super::axis::{Axis, AxisScale};
use super::axis_labels::AxisLabels;
use super::legend::{LegendEntry, legend, legend_height};
use super::plot_area::PlotRect;
use super::style::Style;
use crate::number::{float, round_to_count};
use crate::scene::{Paint, Role, Scene, Text};

/// Content of the frame.
pub(crate) struct FrameContent<'a> {
    pub(crate) title: &'a str,
    /// Legend entries below the title.
    pub(crate) legend: &'a [LegendEntry],
    pub(crate) notes: &'a [String],
    /// Names of the panels, and the note of each.
    pub(crate) panels: &'a [(Option<String>, Option<String>)],
    pub(crate) across: &'a Axis,
    pub(crate) up: &'a Axis,
    /// Axis of the colour range.
    pub(crate) ramp: Option<&'a Axis>,
    /// Minimum height of the data area.
    pub(crate) least: f64,
}

/// Maximum number of lines of a title and of all notes.
const TITLE_LINES: usize = 3;
const NOTE_LINES: usize = 6;

/// Draws the frame. Returns the scene, and the data area of each panel.
pub(crate) fn draw_frame(style: &Style, around: &FrameContent<'_>) -> (Scene, Vec<PlotRect>) {
    let grid = PanelGrid::new(style, around);
    let mut scene = Scene::new(style.width, grid.height, around.title);
    let mut y = style.margin;
    for line in &grid.title {
        let at = Text::new(style.title, style.width / 2.0, y).align_centre();
        scene.text(line, at);
        y += style.line_height(style.title);
    }
    let beside = (style.margin, style.width - style.margin);
    y = legend(&mut scene, style, around.legend, (beside, y));
    if style.is_terminal() {
        scene.text(&around.up.title, Text::new(style.axis, 0.0, y));
    }
    let fields: Vec<PlotRect> = (0..around.panels.len().max(1))
        .map(|place| grid.field(place))
        .collect();
    for (place, field) in fields.iter().enumerate() {
        grid.draw_panel(&mut scene, around, (place, *field));
    }
    grid.draw_titles(&mut scene, around, &fields);
    if let (Some(ramp), Some(field)) = (around.ramp, fields.first()) {
        draw_colour_bar(&mut scene, style, ramp, (grid.ramp_left, *field));
    }
    let mut y =
        grid.height - style.margin - float(grid.notes.len()) * style.line_height(style.remark);
    for line in &grid.notes {
        let at = Text::new(style.remark, style.margin, y);
        scene.text(line, at.with_paint(Paint::GREY));
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
    head: f64,
    height: f64,
    ticks_up: Vec<(f64, String)>,
    names: AxisLabels,
    ramp_left: f64,
}

impl<'a> PanelGrid<'a> {
    fn new(style: &'a Style, around: &FrameContent<'_>) -> Self {
        let room = style.width - 2.0 * style.margin;
        let title = style.lines(around.title, style.title, room, TITLE_LINES);
        let mut notes = Vec::new();
        for note in around.notes {
            notes.extend(style.lines(note, style.remark, room, 2));
        }
        notes.truncate(NOTE_LINES);
        let count = around.panels.len().max(1);
        let most = round_to_count((style.width / (13.0 * style.label)).floor()).max(1);
        let columns = count
            .min(most)
            .min(round_to_count(float(count).sqrt().ceil()));
        let rows = count.div_ceil(columns);
        let legend = legend_height(style, around.legend, room);
        let above = style.margin + float(title.len()) * style.line_height(style.title) + legend;
        let above = match style.is_terminal() {
            true => above + style.line_height(style.axis),
            false => above + 0.3 * style.label,
        };
        let below = float(notes.len()) * style.line_height(style.remark) + style.margin;
        // Ticks of the vertical axis, as many as fit into an estimate of its height.
        let has_names = around.panels.iter().any(|(name, _)| name.is_some());
        let has_heads = around
            .panels
            .iter()
            .any(|(name, note)| name.is_some() || note.is_some());
        let has_notes = around.panels.iter().any(|(_, note)| note.is_some());
        let head = match (has_heads, has_notes && has_names) {
            (false, _) => 0.0,
            (true, false) => style.line_height(style.label),
            (true, true) => style.line_height(style.label) + style.line_height(style.remark),
        };
        let rough = (style.height - above - below) / float(rows) - 3.0 * style.label - head;
        let rough = rough.max(around.least).max(7.0 * style.label);
        let ticks_up = around.up.ticks(rough / (2.4 * style.label));
        let widest = if matches!(around.up.scale, AxisScale::Words(_)) {
            0.36
        } else {
            0.25
        };
        let (shares, texts): (Vec<f64>, Vec<String>) = ticks_up.into_iter().unzip();
        let texts = style.names(&texts, style.label, widest * style.width);
        let ticks_up: Vec<(f64, String)> = shares.into_iter().zip(texts).collect();
        let widths = ticks_up
            .iter()
            .map(|(_, text)| style.width_of(text, style.label));
        let own = widths.fold(0.0, f64::max);
        let upright = match style.is_terminal() || around.up.title.is_empty() {
            true => 0.0,
            false => 1.5 * style.axis,
        };
        let left = style.margin + upright + own + 0.5 * style.label;
        let beside = around.ramp.map_or(0.0, |ramp| ramp_width(style, ramp));
        let right = style.width - style.margin - beside - 0.3 * style.label;
        let gap = if style.is_terminal() {
            style.label
        } else {
            1.6 * style.label
        };
        let across = (right - left - gap * float(columns - 1)) / float(columns);
        let names = AxisLabels::new(style, around.across, across);
        let x_title = match around.across.title.is_empty() {
            true => 0.0,
            false => style.line_height(style.axis),
        };
        let under = 0.4 * style.label + names.height + x_title;
        let rows_gap = float(rows - 1) * 1.1 * gap;
        let free = style.height - above - below - under - rows_gap;
        let each = (free / float(rows) - head)
            .max(around.least)
            .max(8.0 * style.label);
        let used = float(rows) * (each + head) + rows_gap;
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
            head,
            height: (above + used + under + below).round(),
            ticks_up,
            names,
            ramp_left: right + 0.8 * style.label,
        }
    }

    fn rows(&self) -> usize {
        self.count.div_ceil(self.columns)
    }

    fn field(&self, place: usize) -> PlotRect {
        let (row, column) = (place / self.columns, place % self.columns);
        let gaps = self.gap * float(self.columns - 1);
        let across = (self.inner.width() - gaps) / float(self.columns);
        let rows_gap = 1.1 * self.gap;
        let down = (self.inner.height() - rows_gap * float(self.rows() - 1)) / float(self.rows());
        let left = self.inner.left + float(column) * (across + self.gap);
        let top = self.inner.top + float(row) * (down + rows_gap);
        let crisp = |place: f64| match self.style.is_terminal() {
            true => place.round(),
            false => place,
        };
        PlotRect {
            left: crisp(left),
            right: crisp(left + across),
            top: crisp(top + self.head),
            bottom: crisp(top + down),
        }
    }

    /// Draws name, grid lines, ticks and border of a panel.
    fn draw_panel(
        &self,
        scene: &mut Scene,
        around: &FrameContent<'_>,
        (place, field): (usize, PlotRect),
    ) {
        let style = self.style;
        if let Some((name, note)) = around.panels.get(place) {
            let room = field.width() + 0.5 * self.gap;
            let middle = f64::midpoint(field.left, field.right);
            let mut y = field.top - self.head;
            if name.is_some() {
                let names = around.panels.iter();
                let names = names.map(|(name, _)| name.clone().unwrap_or_default());
                let names = style.names(&names.collect::<Vec<_>>(), style.label, room);
                let line = names.get(place).map_or("", String::as_str);
                scene.text(line, Text::new(style.label, middle, y).align_centre());
                y += style.line_height(style.label);
            }
            let note = note.as_deref().unwrap_or_default();
            for line in style.lines(note, style.remark, room, 1) {
                let at = Text::new(style.remark, middle, y).align_centre();
                scene.text(&line, at.with_paint(Paint::GREY));
                y += style.line_height(style.remark);
            }
        }
        let is_first = place.is_multiple_of(self.columns);
        let is_last = place + self.columns >= self.count;
        let has_lines = !style.is_terminal();
        for (share, text) in &self.ticks_up {
            let y = field.y(around.up, *share);
            if has_lines && !matches!(around.up.scale, AxisScale::Words(_)) {
                scene.line(&[(field.left, y), (field.right, y)], Paint::RULE, 1.0);
            }
            if is_first {
                let aside = if has_lines { 0.4 * style.label } else { 2.0 };
                let at = Text::new(
                    style.label,
                    field.left - aside,
                    y - style.glyph_middle(style.label),
                );
                scene.text(text, at.align_right());
            }
        }
        let count = (field.width() / (4.2 * style.label)).max(2.0);
        for (share, _) in around.across.ticks(count) {
            if has_lines && !matches!(around.across.scale, AxisScale::Words(_)) {
                let x = field.x(share);
                scene.line(&[(x, field.top), (x, field.bottom)], Paint::RULE, 1.0);
            }
        }
        let corners = [
            (field.left, field.top),
            (field.left, field.bottom),
            (field.right, field.bottom),
        ];
        scene.line(&corners, Paint::INK, if has_lines { 1.2 } else { 1.0 });
        if is_last {
            self.names.draw(scene, style, field);
        }
    }

    fn draw_titles(&self, scene: &mut Scene, around: &FrameContent<'_>, fields: &[PlotRect]) {
        let style = self.style;
        let bottom = fields.iter().map(|field| field.bottom).fold(0.0, f64::max);
        let middle = f64::midpoint(self.inner.left, self.inner.right);
        let room = style.width - 2.0 * style.margin;
        for line in style.lines(&around.across.title, style.axis, room, 1) {
            let y = bottom + 0.4 * style.label + self.names.height;
            let half = style.width_of(&line, style.axis) / 2.0;
            let most = style.width - style.margin - half;
            let middle = middle.min(most).max(style.margin + half);
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
        for line in style.lines(&around.up.title, style.axis, room, 1) {
            let at = Text::new(style.axis, style.margin, f64::midpoint(top, bottom));
            scene.text(&line, at.align_centre().rotate_up());
        }
    }
}

fn ramp_width(style: &Style, ramp: &Axis) -> f64 {
    if style.is_terminal() {
        return 0.0;
    }
    let widths = ramp.ticks(5.0).into_iter();
    let own = widths.map(|(_, text)| style.width_of(&text, style.label));
    own.fold(0.0, f64::max) + 2.4 * style.label + style.line_height(style.axis)
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
        let share = f64::from(step) / 64.0;
        let at = |share: f64| bottom - share * (bottom - top);
        // A slight overlap, so that no gap is visible between the steps.
        let until = (share + 1.0 / 64.0 + 0.004).min(1.0);
        let paint = Paint::new(Role::Ramp(step * 4 + step / 16));
        scene.rect((left, at(share)), (right, at(until)), paint);
    }
    let ticks = ramp.ticks(5.0);
    let mut widest = 0.0_f64;
    for (share, text) in &ticks {
        let y = bottom - share * (bottom - top) - style.glyph_middle(style.label);
        scene.text(text, Text::new(style.label, right + 0.3 * style.label, y));
        widest = widest.max(style.width_of(text, style.label));
    }
    let room = bottom - top;
    for line in style.lines(&ramp.title, style.axis, room.max(6.0 * style.axis), 1) {
        let x = right + 0.6 * style.label + widest;
        let at = Text::new(style.axis, x, f64::midpoint(top, bottom));
        scene.text(&line, at.align_centre().rotate_up());
    }
}
