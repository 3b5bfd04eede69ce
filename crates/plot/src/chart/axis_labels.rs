//! Labels below a horizontal axis.

use super::axis::{Axis, AxisScale};
use super::plot_area::PlotRect;
use super::style::Style;
use crate::number::float;
use crate::scene::{Scene, Text, set_full_name};

/// Layout of the labels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LabelLayout {
    /// In one line or two, below their ticks.
    Across,
    /// Rotated upwards.
    Upwards,
}

/// Minimum distance between ticks with numbers, in labels.
const TICK_SPACE: f64 = 3.4;

/// Label of a tick.
struct TickLabel {
    /// Fraction of the axis.
    fraction: f64,
    /// Full text.
    text: String,
    lines: Vec<String>,
}

/// Labels of an axis.
pub(crate) struct AxisLabels {
    layout: LabelLayout,
    ticks: Vec<TickLabel>,
    pub(crate) height: f64,
}

/// Returns whether each name fits into a slot of this width, in two lines at most.
pub(crate) fn labels_fit(style: &Style, names: &[String], slot: f64) -> bool {
    let max_lines = if style.is_terminal() { 1 } else { 2 };
    names.iter().all(|name| {
        let lines = style.lines(name, style.label, 0.94 * slot, max_lines);
        let joined = lines.concat();
        !joined.contains('…')
            && lines
                .iter()
                .all(|line| style.width_of(line, style.label) <= slot)
            && (lines.len() == 1 || name.contains([' ', '-', '_', '/', ':', '.']))
    })
}

impl AxisLabels {
    pub(crate) fn new(style: &Style, axis: &Axis, width: f64) -> Self {
        let lead = style.line_height(style.label);
        let AxisScale::Words(names) = &axis.scale else {
            let mut count = (width / (TICK_SPACE * style.label)).max(2.0);
            // Long numbers leave space for fewer ticks.
            loop {
                let ticks = axis.ticks(count);
                let used = ticks
                    .iter()
                    .map(|(_, text)| style.width_of(text, style.label));
                let used: f64 = used.map(|one| one + 0.6 * style.label).sum();
                if used <= width + 2.0 * style.label || count <= 1.0 {
                    let ticks = ticks.into_iter().map(|(fraction, text)| TickLabel {
                        fraction,
                        lines: vec![text.clone()],
                        text,
                    });
                    return Self {
                        layout: LabelLayout::Across,
                        ticks: ticks.collect(),
                        height: lead,
                    };
                }
                count = (count * 0.75).min(count - 1.0).max(1.0);
            }
        };
        let slot = width / float(names.len().max(1));
        let ticks = axis.ticks(float(names.len()));
        if labels_fit(style, names, slot) {
            let lines = |text: &str| style.lines(text, style.label, 0.94 * slot, 2);
            let ticks: Vec<_> = ticks
                .into_iter()
                .map(|(fraction, text)| TickLabel {
                    fraction,
                    lines: lines(&text),
                    text,
                })
                .collect();
            let max_lines = ticks.iter().map(|tick| tick.lines.len()).max().unwrap_or(1);
            return Self {
                layout: LabelLayout::Across,
                ticks,
                height: float(max_lines) * lead,
            };
        }
        if style.is_terminal() {
            // Labels that fit, from the first on.
            let mut end = f64::MIN;
            let mut visible = Vec::new();
            let lines = style.names(names, style.label, 0.3 * width);
            for ((fraction, text), line) in ticks.into_iter().zip(lines) {
                let half = style.width_of(&line, style.label) / 2.0;
                if fraction * width - half > end {
                    end = fraction * width + half + 2.0;
                    visible.push(TickLabel {
                        fraction,
                        text,
                        lines: vec![line],
                    });
                }
            }
            return Self {
                layout: LabelLayout::Across,
                ticks: visible,
                height: lead,
            };
        }
        let step = (1.1 * style.label / slot).ceil().max(1.0);
        let lines = style.names(names, style.label, 0.35 * style.height);
        let ticks = ticks.into_iter().zip(lines);
        let visible = ticks.step_by(crate::number::round_to_count(step));
        let ticks: Vec<TickLabel> = visible
            .map(|((fraction, text), line)| TickLabel {
                fraction,
                text,
                lines: vec![line],
            })
            .collect();
        let widths = ticks.iter().flat_map(|tick| &tick.lines);
        let widths = widths.map(|line| style.width_of(line, style.label));
        Self {
            layout: LabelLayout::Upwards,
            height: widths.fold(0.0, f64::max) + 0.2 * style.label,
            ticks,
        }
    }

    /// Positions of the labels along the axis, for grid lines.
    pub(crate) fn fractions(&self) -> impl Iterator<Item = f64> {
        self.ticks.iter().map(|tick| tick.fraction)
    }

    pub(crate) fn draw(&self, scene: &mut Scene, style: &Style, field: PlotRect) {
        let gap = if style.is_terminal() {
            1.0
        } else {
            0.3 * style.label
        };
        let top = field.bottom + gap;
        for tick in &self.ticks {
            let x = field.x(tick.fraction);
            for (row, line) in tick.lines.iter().enumerate() {
                set_full_name(scene, &tick.lines, &tick.text);
                match self.layout {
                    LabelLayout::Across => {
                        let half = style.width_of(line, style.label) / 2.0;
                        let max_x = style.width - half - 0.2 * style.label;
                        let y = top + float(row) * style.line_height(style.label);
                        let placement = Text::new(style.label, x.min(max_x), y).align_centre();
                        scene.text(line, placement);
                    }
                    LabelLayout::Upwards => {
                        let end = top + style.width_of(line, style.label);
                        let placement =
                            Text::new(style.label, x - style.glyph_middle(style.label), end);
                        scene.text(line, placement.rotate_up());
                    }
                }
            }
        }
    }
}
