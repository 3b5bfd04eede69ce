//! Legends: names of the series colours.

use super::forms::{dot, stroke};
use super::style::Style;
use crate::number::float;
use crate::scene::{Paint, Scene, Text, set_full_name};

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
    /// Index of the series, which selects its colour.
    pub(crate) index: usize,
    pub(crate) name: String,
    pub(crate) sample: LegendSample,
}

/// Entries in lines: left edge, position in the list, and text.
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
    let text_offset = sample_width(style) + sample_gap(style);
    let texts = style.names(&names, style.label, room - text_offset);
    let width_of = |text: &String| text_offset + style.width_of(text, style.label);
    let widths: Vec<f64> = texts.iter().map(width_of).collect();
    let flowing = in_lines(&texts, &widths, (gap, room));
    if flowing.len() < 2 {
        return flowing;
    }
    // Entries of several lines are in columns, if that takes at most one more line.
    let widest = widths.iter().copied().fold(0.0, f64::max);
    let columns = in_lines(&texts, &vec![widest; texts.len()], (gap, room));
    match columns.len() <= flowing.len() + 1 {
        true => columns,
        false => flowing,
    }
}

/// Puts entries of these widths side by side, in as many lines as necessary.
fn in_lines(texts: &[String], widths: &[f64], (gap, room): (f64, f64)) -> EntryLines {
    let mut lines: EntryLines = Vec::new();
    let mut end = f64::MAX;
    for (index, (text, width)) in texts.iter().zip(widths).enumerate() {
        if end + width > room {
            lines.push(Vec::new());
            end = 0.0;
        }
        if let Some(line) = lines.last_mut() {
            line.push((end, index, text.clone()));
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
        for (x, position, text) in line {
            let x = left + x;
            let Some(entry) = entries.get(*position) else {
                continue;
            };
            let name = vec![
                ("class", "entry".to_owned()),
                ("data-series", entry.name.clone()),
            ];
            scene.open(name);
            let paint = Paint::series(entry.index);
            match entry.sample {
                LegendSample::Line => {
                    let ends = [(x, middle), (x + width, middle)];
                    stroke(scene, style, &ends, (entry.index, 1.6 * style.line));
                }
                LegendSample::Dot if !style.is_terminal() => {
                    let centre = (x + width / 2.0, middle);
                    dot(scene, centre, 1.3 * style.dot, (entry.index, paint));
                }
                LegendSample::Area | LegendSample::Dot => {
                    let half = 0.35 * style.label;
                    scene.rect((x, middle - half), (x + width, middle + half), paint);
                }
            }
            let placement = Text::new(style.label, x + width + sample_gap(style), y);
            set_full_name(scene, std::slice::from_ref(text), &entry.name);
            scene.text(text, placement);
            scene.close();
        }
    }
    scene.close();
    top + legend_height(style, entries, room)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::PlotSize;

    fn entries(names: &[String]) -> Vec<LegendEntry> {
        let entry = |(index, name): (usize, &String)| LegendEntry {
            index,
            name: name.clone(),
            sample: LegendSample::Line,
        };
        names.iter().enumerate().map(entry).collect()
    }

    #[test]
    fn entries_of_several_lines_are_in_columns() {
        let style = Style::for_size(PlotSize::Column);
        let names: Vec<String> = (0..20).map(|index| format!("platform-{index}")).collect();
        let lines = layout_entries(&style, &entries(&names), 600.0);
        assert!(lines.len() > 1);
        for line in &lines {
            for (entry, first) in line.iter().zip(&lines[0]) {
                assert!((entry.0 - first.0).abs() < 1e-9);
            }
        }
        // One long name does not push all others into lines of their own.
        let mut names = names;
        names.push("x".repeat(60));
        let lines = layout_entries(&style, &entries(&names), 600.0);
        assert!(lines.len() <= 7, "{}", lines.len());
    }
}
