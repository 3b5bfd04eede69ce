//! Labels below a horizontal axis.

use super::axis::{Axis, AxisScale};
use super::plot_area::PlotRect;
use super::style::Style;
use crate::number::float;
use crate::scene::{Scene, Text};

/// Layout of the labels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LabelLayout {
    /// In one line or two, below their ticks.
    Across,
    /// Rotated upwards.
    Upwards,
}

/// Labels with their fractions of the axis.
pub(crate) struct AxisLabels {
    way: LabelLayout,
    ticks: Vec<(f64, Vec<String>)>,
    pub(crate) height: f64,
}

/// Returns whether each name fits into a slot of this width, in two lines at most.
pub(crate) fn labels_fit(style: &Style, names: &[String], slot: f64) -> bool {
    let most = if style.is_terminal() { 1 } else { 2 };
    names.iter().all(|name| {
        let lines = style.lines(name, style.label, 0.94 * slot, most);
        let whole = lines.concat();
        !whole.contains('…')
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
            let mut count = (width / (4.2 * style.label)).max(2.0);
            // Long numbers leave space for fewer ticks.
            loop {
                let ticks = axis.ticks(count);
                let used = ticks
                    .iter()
                    .map(|(_, text)| style.width_of(text, style.label));
                let used: f64 = used.map(|one| one + 0.6 * style.label).sum();
                if used <= width + 2.0 * style.label || count <= 1.0 {
                    let ticks = ticks.into_iter().map(|(at, text)| (at, vec![text]));
                    return Self {
                        way: LabelLayout::Across,
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
                .map(|(at, text)| (at, lines(&text)))
                .collect();
            let most = ticks
                .iter()
                .map(|(_, lines)| lines.len())
                .max()
                .unwrap_or(1);
            return Self {
                way: LabelLayout::Across,
                ticks,
                height: float(most) * lead,
            };
        }
        if style.is_terminal() {
            // Labels that fit, from the first on.
            let mut end = f64::MIN;
            let mut kept = Vec::new();
            let lines = style.names(names, style.label, 0.3 * width);
            for ((at, _), line) in ticks.into_iter().zip(lines) {
                let half = style.width_of(&line, style.label) / 2.0;
                if at * width - half > end {
                    end = at * width + half + 2.0;
                    kept.push((at, vec![line]));
                }
            }
            return Self {
                way: LabelLayout::Across,
                ticks: kept,
                height: lead,
            };
        }
        let step = (1.1 * style.label / slot).ceil().max(1.0);
        let lines = style.names(names, style.label, 0.35 * style.height);
        let ticks = ticks.into_iter().zip(lines);
        let kept = ticks.step_by(crate::number::round_to_count(step));
        let ticks: Vec<(f64, Vec<String>)> = kept.map(|((at, _), line)| (at, vec![line])).collect();
        let widths = ticks.iter().flat_map(|(_, lines)| lines);
        let widths = widths.map(|line| style.width_of(line, style.label));
        Self {
            way: LabelLayout::Upwards,
            height: widths.fold(0.0, f64::max) + 0.2 * style.label,
            ticks,
        }
    }

    pub(crate) fn draw(&self, scene: &mut Scene, style: &Style, field: PlotRect) {
        let aside = if style.is_terminal() {
            1.0
        } else {
            0.3 * style.label
        };
        let top = field.bottom + aside;
        for (share, lines) in &self.ticks {
            let x = field.x(*share);
            for (place, line) in lines.iter().enumerate() {
                match self.way {
                    LabelLayout::Across => {
                        let half = style.width_of(line, style.label) / 2.0;
                        let most = style.width - half - 0.2 * style.label;
                        let y = top + float(place) * style.line_height(style.label);
                        let at = Text::new(style.label, x.min(most), y).align_centre();
                        scene.text(line, at);
                    }
                    LabelLayout::Upwards => {
                        let end = top + style.width_of(line, style.label);
                        let at = Text::new(style.label, x - style.glyph_middle(style.label), end);
                        scene.text(line, at.rotate_up());
                    }
                }
            }
        }
    }
}
