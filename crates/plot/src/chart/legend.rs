//! What the colours are.

use super::forms::{dot, stroke};
use super::style::Style;
use crate::number::float;
use crate::scene::{Paint, Scene, Text};

/// How a series is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sample {
    Area,
    Line,
    Dot,
}

/// A series with its name.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Entry {
    pub(crate) name: String,
    pub(crate) sample: Sample,
}

/// Entries in lines, with their left ends and places.
type Laid = Vec<Vec<(f64, usize, String)>>;

fn sample(style: &Style) -> f64 {
    match style.is_terminal() {
        true => 4.0,
        false => 1.3 * style.label,
    }
}

/// Between a sample and its name.
fn aside(style: &Style) -> f64 {
    match style.is_terminal() {
        true => 2.0,
        false => 0.3 * style.label,
    }
}

fn laid(style: &Style, entries: &[Entry], room: f64) -> Laid {
    let gap = if style.is_terminal() {
        4.0
    } else {
        0.9 * style.label
    };
    let names: Vec<String> = entries.iter().map(|entry| entry.name.clone()).collect();
    let mut lines: Laid = Vec::new();
    let mut end = f64::MAX;
    let before = sample(style) + aside(style);
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

pub(crate) fn legend_height(style: &Style, entries: &[Entry], room: f64) -> f64 {
    let lines = laid(style, entries, room).len();
    let below = if lines > 0 && !style.is_terminal() {
        0.2 * style.label
    } else {
        0.0
    };
    float(lines) * style.lead(style.label) + below
}

/// Draws the entries; where what is below begins.
pub(crate) fn legend(
    scene: &mut Scene,
    style: &Style,
    entries: &[Entry],
    ((left, right), top): ((f64, f64), f64),
) -> f64 {
    let room = right - left;
    let width = sample(style);
    scene.open(vec![("class", "legend".to_owned())]);
    for (row, line) in laid(style, entries, room).iter().enumerate() {
        let y = top + float(row) * style.lead(style.label);
        let middle = y + style.middle(style.label);
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
                Sample::Line => {
                    let ends = [(x, middle), (x + width, middle)];
                    stroke(scene, style, &ends, (*place, 1.6 * style.line));
                }
                Sample::Dot if !style.is_terminal() => {
                    let at = (x + width / 2.0, middle);
                    dot(scene, at, 1.3 * style.dot, (*place, paint));
                }
                Sample::Area | Sample::Dot => {
                    let half = 0.35 * style.label;
                    scene.block((x, middle - half), (x + width, middle + half), paint);
                }
            }
            let at = Text::new(style.label, x + width + aside(style), y);
            scene.text(text, at);
            scene.close();
        }
    }
    scene.close();
    top + legend_height(style, entries, room)
}
