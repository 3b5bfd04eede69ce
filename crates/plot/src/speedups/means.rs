//! Means of speedups: a dot and its interval for all pairs, and for each group.

use super::axis::factors;
use super::data::{SpeedupRow, noise_band};
use super::histogram::BAND;
use crate::canvas::{GREY, INK, series_colour};
use crate::number::float;
use crate::plot_frame::{AXIS, FrameRect, LABEL, LinearScale, MIDDLE, REMARK, draw_frame};
use crate::scene::{Scene, Text};
use crate::text;

/// Headings of the sections.
const HEADINGS: [&str; 3] = ["", "by operator", "by network"];

/// Maximum width of names, and height of a row.
const NAMES: f64 = 250.0;
const ROW: f64 = 27.0;

/// A heading or a row.
enum Line<'a> {
    Head(&'static str),
    Row(&'a SpeedupRow),
    More(usize),
}

/// Maximum distance of rows, relative to their height.
const MAX_ROW_DISTANCE: f64 = 2.0;

/// Height of all rows and headings.
pub(super) fn height(rows: &[SpeedupRow]) -> f64 {
    let sections = rows.chunk_by(|one, other| one.group == other.group);
    let headings = sections.filter(|section| section.first().is_some_and(|row| row.group > 0));
    ROW * (float(rows.len()) + float(headings.count()))
}

/// Draws the means in the area beside the histogram.
pub(super) fn draw(canvas: &mut Scene, rows: &[SpeedupRow], noise: f64, area: FrameRect) {
    let lines = lines(rows, ((area.bottom - area.top) / ROW).floor());
    let names = rows.iter().map(|row| text::width(&row_name(row), LABEL));
    let names = names.fold(0.0, f64::max).min(NAMES);
    let field = FrameRect {
        left: area.left + names + 12.0,
        ..area
    };
    let x = LinearScale {
        values: axis_range(rows, noise),
        positions: (field.left, field.right),
    };
    let (low, high) = noise_band(noise);
    let (low, high) = (x.position(low), x.position(high));
    let corners = [
        (low, field.top),
        (high, field.top),
        (high, field.bottom),
        (low, field.bottom),
    ];
    canvas.area(&corners, BAND);
    factors(canvas, field, &x);
    let one = x.position(0.0);
    canvas.dashes(
        &[(one, field.top), (one, field.bottom)],
        INK,
        1.5,
        (8.0, 6.0),
    );
    draw_frame(canvas, field);
    let distance = (field.bottom - field.top) / float(lines.len().max(1));
    let distance = distance.clamp(ROW, MAX_ROW_DISTANCE * ROW);
    let mut y = field.top + distance / 2.0;
    for line in &lines {
        let placement = Text::new(LABEL, field.left - 12.0, y - MIDDLE * LABEL).align_right();
        match line {
            Line::Head(head) => {
                let placement = Text::new(REMARK, area.left, y - MIDDLE * REMARK);
                canvas.text(head, placement.with_paint(GREY));
            }
            Line::More(count) => {
                canvas.text(&format!("… and {count} more"), placement.with_paint(GREY))
            }
            Line::Row(row) => {
                for text in text::wrap(&row_name(row), LABEL, NAMES, 1) {
                    canvas.text(&text, placement.clone());
                }
                draw_mean(canvas, row, (x, y));
            }
        }
        y += distance;
    }
    let title = "geometric mean, 95 % interval";
    let half = text::width(title, AXIS) / 2.0;
    let middle = f64::midpoint(field.left, field.right).min(field.right - half);
    let placement = Text::new(AXIS, middle, field.bottom + 9.0 + 1.6 * LABEL).align_centre();
    canvas.text(title, placement)
}

/// Draws a mean and its interval, clipped to the area.
fn draw_mean(canvas: &mut Scene, row: &SpeedupRow, (x, y): (LinearScale, f64)) {
    let edge = if row.group == 0 {
        INK
    } else {
        series_colour(row.group - 1)
    };
    let inside = |value: f64| x.position(value.log2()).clamp(x.positions.0, x.positions.1);
    if let Some((low, high)) = row.interval {
        let (low, high) = (inside(low), inside(high));
        canvas.line(&[(low, y), (high, y)], edge, 2.0);
        for end in [low, high] {
            canvas.line(&[(end, y - 5.0), (end, y + 5.0)], edge, 2.0);
        }
    }
    canvas.circle((inside(row.speedup), y), 5.0, edge)
}

fn row_name(row: &SpeedupRow) -> String {
    format!("{} ({})", row.name, row.pairs)
}

/// Headings and rows that fit. Space is divided among the sections.
fn lines(rows: &[SpeedupRow], room: f64) -> Vec<Line<'_>> {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "lines of a plot"
    )]
    let room = room.max(4.0) as usize;
    let groups: Vec<&[SpeedupRow]> = rows
        .chunk_by(|one, other| one.group == other.group)
        .collect();
    let mut remaining = room;
    let mut lines = Vec::new();
    for (index, group) in groups.iter().enumerate() {
        let head = group.first().and_then(|row| HEADINGS.get(row.group));
        if let Some(head) = head.filter(|head| !head.is_empty()) {
            lines.push(Line::Head(head));
            remaining = remaining.saturating_sub(1);
        }
        // Space that later sections do not need is available to this one.
        let later = groups.iter().skip(index + 1);
        let needed: usize = later.map(|group| group.len() + 1).sum();
        let available = remaining
            .saturating_sub(needed)
            .max(remaining / (groups.len() - index))
            .max(1);
        if group.len() <= available {
            lines.extend(group.iter().map(Line::Row));
            remaining = remaining.saturating_sub(group.len());
        } else {
            let shown = available.saturating_sub(1);
            lines.extend(group.iter().take(shown).map(Line::Row));
            lines.push(Line::More(group.len() - shown));
            remaining = remaining.saturating_sub(available);
        }
    }
    lines
}

/// Range of the axis, in doublings: all means, and the parts of their intervals that are not far away.
fn axis_range(rows: &[SpeedupRow], noise: f64) -> (f64, f64) {
    let means = rows.iter().map(|row| row.speedup.log2());
    let widest = |(low, high): (f64, f64), value: f64| (low.min(value), high.max(value));
    let (low, high) = means.fold(noise_band(noise), widest);
    let margin = (0.5 * (high - low)).max(0.05);
    let ends = rows.iter().filter_map(|row| row.interval);
    let ends = ends.flat_map(|(from, to)| [from.log2(), to.log2()]);
    let ends_within = ends.map(|end| end.clamp(low - margin, high + margin));
    let (low, high) = ends_within.fold((low, high), widest);
    let room = 0.06 * (high - low).max(0.01);
    (low - room, high + room)
}
