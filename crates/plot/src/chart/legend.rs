//! What the colours are.

use super::style::Style;
use crate::number::float;
use crate::scene::{Paint, Scene, Text};

/// Lines of a legend at most.
const LINES: usize = 4;

/// A colour with its name.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Entry {
    pub(crate) paint: Paint,
    pub(crate) name: String,
    /// Is it a line, not an area?
    pub(crate) is_line: bool,
}

/// Entries in lines, with their left ends; the last may say how many there are more.
struct Laid {
    lines: Vec<Vec<(f64, Option<usize>, String)>>,
}

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
    let mut lines: Vec<Vec<(f64, Option<usize>, String)>> = Vec::new();
    let mut end = f64::MAX;
    for (place, entry) in entries.iter().enumerate() {
        let texts = style.lines(&entry.name, style.label, 0.45 * room, 1);
        let text = texts.into_iter().next().unwrap_or_default();
        let width = sample(style) + aside(style) + style.width_of(&text, style.label);
        let more = format!("… and {} more", entries.len() - place);
        let is_last = place + 1 == entries.len();
        // Where the rest does not fit, its count must.
        let needed = match is_last || lines.len() < LINES {
            true => width,
            false => width + gap + style.width_of(&more, style.label),
        };
        if end + needed > room {
            if lines.len() == LINES {
                let Some(line) = lines.last_mut() else { break };
                line.push((end, None, more));
                break;
            }
            lines.push(Vec::new());
            end = 0.0;
        }
        if let Some(line) = lines.last_mut() {
            line.push((end, Some(place), text));
        }
        end += width + gap;
    }
    Laid { lines }
}

pub(crate) fn legend_height(style: &Style, entries: &[Entry], room: f64) -> f64 {
    let lines = laid(style, entries, room).lines.len();
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
    for (row, line) in laid(style, entries, room).lines.iter().enumerate() {
        let y = top + float(row) * style.lead(style.label);
        let middle = y + style.middle(style.label);
        for (x, place, text) in line {
            let x = left + x;
            let entry = place.and_then(|place| entries.get(place));
            let Some(entry) = entry else {
                scene.text(text, Text::new(style.label, x, y));
                continue;
            };
            let name = vec![
                ("class", "entry".to_owned()),
                ("data-series", entry.name.clone()),
            ];
            scene.open(name);
            match entry.is_line {
                true => {
                    let ends = [(x, middle), (x + width, middle)];
                    scene.line(&ends, entry.paint, 1.6 * style.line);
                }
                false => {
                    let half = 0.35 * style.label;
                    scene.block((x, middle - half), (x + width, middle + half), entry.paint);
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
