//! Legends: names of the series colours.

use super::forms::{dot, stroke};
use super::style::Style;
use crate::number::float;
use crate::scene::{Paint, Scene, Text};

/// Symbol of a series.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LegendSample {
    Area,
    Line,
    Dot,
}

/// Name and symbol of a series.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LegendEntry {
    pub(crate) name: String,
    pub(crate) sample: LegendSample,
}

/// Entries in lines, with their left edges and indices.
type EntryLines = Vec<Vec<(f64, usize, String)>>;

fn sample_width(style: &Style) -> f64 {
    match style.is_terminal() {
        true => 4.0,
        false => 1.3 * style.label,
    }
}

/// Distance between a symbol and its name.
fn sample_gap(style: &Style) -> f64 {
    match style.is_terminal() {
        true => 2.0,
        false => 0.3 * style.label,
    }
}

fn layout_entries(style: &Style, entries: &[LegendEntry], room: f64) -> EntryLines {
    let gap = if style.is_terminal() {
        4.0
    } else {
        0.9 * style.label
    };
    let names: Vec<String> = entries.iter().map(|entry| entry.name.clone()).collect();
    let mut lines: EntryLines = Vec::new();
    let mut end = f64::MAX;
    let before = sample_width(style) + sample_gap(style);
    let texts = style.names(&names, style.label, room - before);
    for (place, text) in texts.into_iter().enumerate() {
        let width = before + style.width_of(&text, style.label);
        if end + width > room {
            lines.push(Vec::new());
            end = 0.0;
        }
        if let Some(line) = lines.last_mut() {
            line.push((end, place, text));
        }
        end += width + gap;
    }
    lines
}

pub(crate) fn legend_height(style: &Style, entries: &[LegendEntry], room: f64) -> f64 {
    let lines = layout_entries(style, entries, room).len();
    let below = if lines > 0 && !style.is_terminal() {
        0.2 * style.label
    } else {
        0.0
    };
    float(lines) * style.line_height(style.label) + below
}

/// Draws the entries; returns the top of the area below.
pub(crate) fn legend(
    scene: &mut Scene,
    style: &Style,
    entries: &[LegendEntry],
    ((left, right), top): ((f64, f64), f64),
) -> f64 {
    let room = right - left;
    let width = sample_width(style);
    scene.open(vec![("class", "legend".to_owned())]);
    for (row, line) in layout_entries(style, entries, room).iter().enumerate() {
        let y = top + float(row) * style.line_height(style.label);
        let middle = y + style.glyph_middle(style.label);
        for (x, place, text) in line {
            let x = left + x;
            let Some(entry) = entries.get(*place) else {
                continue;
            };
            let name = vec![
                ("class", "entry".to_owned()),
                ("data-series", entry.name.clone()),
            ];
            scene.open(name);
            let paint = Paint::series(*place);
            match entry.sample {
                LegendSample::Line => {
                    let ends = [(x, middle), (x + width, middle)];
                    stroke(scene, style, &ends, (*place, 1.6 * style.line));
                }
                LegendSample::Dot if !style.is_terminal() => {
                    let at = (x + width / 2.0, middle);
                    dot(scene, at, 1.3 * style.dot, (*place, paint));
                }
                LegendSample::Area | LegendSample::Dot => {
                    let half = 0.35 * style.label;
                    scene.rect((x, middle - half), (x + width, middle + half), paint);
                }
            }
            let at = Text::new(style.label, x + width + sample_gap(style), y);
            scene.text(text, at);
            scene.close();
        }
    }
    scene.close();
    top + legend_height(style, entries, room)
}
