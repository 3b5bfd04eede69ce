//! What is around the data: title, legend, axes with their numbers and names, remarks.

use super::axis::{Axis, Scale};
use super::legend::{Entry, legend, legend_height};
use super::names::Names;
use super::place::Field;
use super::style::Style;
use crate::number::{float, whole};
use crate::scene::{Paint, Role, Scene, Text};

/// All that is around the data.
pub(crate) struct Around<'a> {
    pub(crate) title: &'a str,
    /// What is said below the title.
    pub(crate) legend: &'a [Entry],
    pub(crate) notes: &'a [String],
    /// Names of the pictures side by side, and what is said of each.
    pub(crate) panels: &'a [(Option<String>, Option<String>)],
    pub(crate) across: &'a Axis,
    pub(crate) up: &'a Axis,
    /// What the colours of a range are.
    pub(crate) ramp: Option<&'a Axis>,
    /// The least height of the data.
    pub(crate) least: f64,
}

/// Lines that a title and all remarks have at most.
const TITLE_LINES: usize = 3;
const NOTE_LINES: usize = 6;

/// Draws what is around; the picture, and where the data of each panel belong.
pub(crate) fn framed(style: &Style, around: &Around<'_>) -> (Scene, Vec<Field>) {
    let grid = Grid::of(style, around);
    let mut scene = Scene::new(style.width, grid.height, around.title);
    let mut y = style.margin;
    for line in &grid.title {
        let at = Text::new(style.title, style.width / 2.0, y).centred();
        scene.text(line, at);
        y += style.lead(style.title);
    }
    let beside = (style.margin, style.width - style.margin);
    y = legend(&mut scene, style, around.legend, (beside, y));
    if style.is_terminal() {
        scene.text(&around.up.title, Text::new(style.axis, 0.0, y));
    }
    let fields: Vec<Field> = (0..around.panels.len().max(1))
        .map(|place| grid.field(place))
        .collect();
    for (place, field) in fields.iter().enumerate() {
        grid.panel(&mut scene, around, (place, *field));
    }
    grid.titles(&mut scene, around, &fields);
    if let (Some(ramp), Some(field)) = (around.ramp, fields.first()) {
        coloured(&mut scene, style, ramp, (grid.ramp_left, *field));
    }
    let mut y = grid.height - style.margin - float(grid.notes.len()) * style.lead(style.remark);
    for line in &grid.notes {
        let at = Text::new(style.remark, style.margin, y);
        scene.text(line, at.coloured(Paint::GREY));
        y += style.lead(style.remark);
    }
    (scene, fields)
}

/// How the picture is divided.
struct Grid<'a> {
    style: &'a Style,
    title: Vec<String>,
    notes: Vec<String>,
    columns: usize,
    count: usize,
    /// Left of the first panel, right of the last, above the first and below the last.
    inner: Field,
    /// Between panels, and what is above each.
    gap: f64,
    head: f64,
    height: f64,
    ticks_up: Vec<(f64, String)>,
    names: Names,
    ramp_left: f64,
}

impl<'a> Grid<'a> {
    fn of(style: &'a Style, around: &Around<'_>) -> Self {
        let room = style.width - 2.0 * style.margin;
        let title = style.lines(around.title, style.title, room, TITLE_LINES);
        let mut notes = Vec::new();
        for note in around.notes {
            notes.extend(style.lines(note, style.remark, room, 2));
        }
        notes.truncate(NOTE_LINES);
        let count = around.panels.len().max(1);
        let most = whole((style.width / (13.0 * style.label)).floor()).max(1);
        let columns = count.min(most).min(whole(float(count).sqrt().ceil()));
        let rows = count.div_ceil(columns);
        let legend = legend_height(style, around.legend, room);
        let above = style.margin + float(title.len()) * style.lead(style.title) + legend;
        let above = match style.is_terminal() {
            true => above + style.lead(style.axis),
            false => above + 0.3 * style.label,
        };
        let below = float(notes.len()) * style.lead(style.remark) + style.margin;
        // Numbers at the vertical axis, as many as fit into what is about its height.
        let has_names = around.panels.iter().any(|(name, _)| name.is_some());
        let has_heads = around
            .panels
            .iter()
            .any(|(name, note)| name.is_some() || note.is_some());
        let has_notes = around.panels.iter().any(|(_, note)| note.is_some());
        let head = match (has_heads, has_notes && has_names) {
            (false, _) => 0.0,
            (true, false) => style.lead(style.label),
            (true, true) => style.lead(style.label) + style.lead(style.remark),
        };
        let rough = (style.height - above - below) / float(rows) - 3.0 * style.label - head;
        let rough = rough.max(around.least).max(7.0 * style.label);
        let ticks_up = around.up.ticks(rough / (2.4 * style.label));
        let widest = if matches!(around.up.scale, Scale::Words(_)) {
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
        let names = Names::of(style, around.across, across);
        let x_title = match around.across.title.is_empty() {
            true => 0.0,
            false => style.lead(style.axis),
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
            inner: Field {
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

    fn field(&self, place: usize) -> Field {
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
        Field {
            left: crisp(left),
            right: crisp(left + across),
            top: crisp(top + self.head),
            bottom: crisp(top + down),
        }
    }

    /// Name, light lines, numbers and the frame of a panel.
    fn panel(&self, scene: &mut Scene, around: &Around<'_>, (place, field): (usize, Field)) {
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
                scene.text(line, Text::new(style.label, middle, y).centred());
                y += style.lead(style.label);
            }
            let note = note.as_deref().unwrap_or_default();
            for line in style.lines(note, style.remark, room, 1) {
                let at = Text::new(style.remark, middle, y).centred();
                scene.text(&line, at.coloured(Paint::GREY));
                y += style.lead(style.remark);
            }
        }
        let is_first = place.is_multiple_of(self.columns);
        let is_last = place + self.columns >= self.count;
        let has_lines = !style.is_terminal();
        for (share, text) in &self.ticks_up {
            let y = field.y(around.up, *share);
            if has_lines && !matches!(around.up.scale, Scale::Words(_)) {
                scene.line(&[(field.left, y), (field.right, y)], Paint::RULE, 1.0);
            }
            if is_first {
                let aside = if has_lines { 0.4 * style.label } else { 2.0 };
                let at = Text::new(
                    style.label,
                    field.left - aside,
                    y - style.middle(style.label),
                );
                scene.text(text, at.right());
            }
        }
        let count = (field.width() / (4.2 * style.label)).max(2.0);
        for (share, _) in around.across.ticks(count) {
            if has_lines && !matches!(around.across.scale, Scale::Words(_)) {
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

    fn titles(&self, scene: &mut Scene, around: &Around<'_>, fields: &[Field]) {
        let style = self.style;
        let bottom = fields.iter().map(|field| field.bottom).fold(0.0, f64::max);
        let middle = f64::midpoint(self.inner.left, self.inner.right);
        let room = style.width - 2.0 * style.margin;
        for line in style.lines(&around.across.title, style.axis, room, 1) {
            let y = bottom + 0.4 * style.label + self.names.height;
            let half = style.width_of(&line, style.axis) / 2.0;
            let most = style.width - style.margin - half;
            let middle = middle.min(most).max(style.margin + half);
            scene.text(&line, Text::new(style.axis, middle, y).centred());
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
            scene.text(&line, at.centred().upwards());
        }
    }
}

fn ramp_width(style: &Style, ramp: &Axis) -> f64 {
    if style.is_terminal() {
        return 0.0;
    }
    let widths = ramp.ticks(5.0).into_iter();
    let own = widths.map(|(_, text)| style.width_of(&text, style.label));
    own.fold(0.0, f64::max) + 2.4 * style.label + style.lead(style.axis)
}

/// The colours of a range, beside the data.
fn coloured(scene: &mut Scene, style: &Style, ramp: &Axis, (left, field): (f64, Field)) {
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
        // A little more than its share, so that no light is seen between.
        let until = (share + 1.0 / 64.0 + 0.004).min(1.0);
        let paint = Paint::of(Role::Ramp(step * 4 + step / 16));
        scene.block((left, at(share)), (right, at(until)), paint);
    }
    let ticks = ramp.ticks(5.0);
    let mut widest = 0.0_f64;
    for (share, text) in &ticks {
        let y = bottom - share * (bottom - top) - style.middle(style.label);
        scene.text(text, Text::new(style.label, right + 0.3 * style.label, y));
        widest = widest.max(style.width_of(text, style.label));
    }
    let room = bottom - top;
    for line in style.lines(&ramp.title, style.axis, room.max(6.0 * style.axis), 1) {
        let x = right + 0.6 * style.label + widest;
        let at = Text::new(style.axis, x, f64::midpoint(top, bottom));
        scene.text(&line, at.centred().upwards());
    }
}
