//! Frame of report plots: titles, axes with ticks and labels, and the data area.

use crate::canvas::{GREY, INK, RULE};
use crate::scene::{Scene, Text};
use crate::text;

/// Title and label of a plot, and the width of its PNG.
#[derive(Clone, Copy, Debug)]
pub struct PlotOptions<'a> {
    pub(super) title: &'a str,
    /// Label of the vertical axis.
    pub(super) label: &'a str,
    /// Width of the PNG in pixels.
    pub(super) png_width: u32,
}

impl<'a> PlotOptions<'a> {
    /// Options with the default size.
    pub fn new(title: &'a str, label: &'a str) -> Self {
        Self {
            title,
            label,
            png_width: 1600,
        }
    }

    /// Sets the width of the PNG in pixels; text and lines scale with it.
    pub fn with_png_width(self, png_width: u32) -> Self {
        Self { png_width, ..self }
    }
}

/// Margin around the plot.
pub(super) const MARGIN: f64 = 28.0;

/// Text sizes of the title, axis titles, tick labels and names, and notes.
pub(super) const TITLE: f64 = 28.0;
pub(super) const AXIS: f64 = 22.0;
pub(super) const LABEL: f64 = 18.0;
pub(super) const REMARK: f64 = 16.0;

/// Distance from the top of a line to the middle of its characters, relative to the text size.
pub(super) const MIDDLE: f64 = 0.41;

/// Round tick values, and their number of decimals.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct AxisTicks {
    pub(super) values: Vec<f64>,
    pub(super) decimals: usize,
}

impl AxisTicks {
    /// About `count` multiples of 1, 2 or 5 times a power of ten; `min_step` is the minimum step.
    pub(super) fn new(low: f64, high: f64, count: f64, min_step: f64) -> Self {
        let rough = ((high - low) / count).max(min_step);
        let power = 10_f64.powf(rough.log10().floor());
        let steps = [1.0, 2.0, 5.0, 10.0].map(|step| step * power);
        let fits = |step: &&f64| **step >= rough * 0.999;
        let step = steps.iter().find(fits).copied().unwrap_or(rough);
        let first = (low / step - 1e-6).ceil();
        let numbers = (0..100_u32).map(|number| first + f64::from(number));
        // Avoids `-0`.
        let values = numbers.map(|number| number * step + 0.0);
        let values = values.take_while(|value| *value <= high + step * 1e-6);
        let decimals = (0..9).find(|count| step >= 0.999 * 10_f64.powi(-*count));
        Self {
            values: values.collect(),
            decimals: decimals.and_then(|n| usize::try_from(n).ok()).unwrap_or(9),
        }
    }

    pub(super) fn text(&self, value: f64) -> String {
        let maximum = self.values.iter().fold(0.0, |maximum: f64, value_on_axis| {
            maximum.max(value_on_axis.abs())
        });
        if maximum >= 1e7 || maximum < 1e-5 && maximum > 0.0 {
            return format!("{value:.1e}");
        }
        format!("{value:.*}", self.decimals)
    }
}

/// Maps values of one axis to positions in the plot.
#[derive(Clone, Copy, Debug)]
pub(super) struct LinearScale {
    pub(super) values: (f64, f64),
    pub(super) positions: (f64, f64),
}

impl LinearScale {
    pub(super) fn position(&self, value: f64) -> f64 {
        let (low, high) = self.values;
        let (from, to) = self.positions;
        from + (value - low) / (high - low) * (to - from)
    }
}

/// Rectangle of the data.
#[derive(Clone, Copy, Debug)]
pub(super) struct FrameRect {
    pub(super) left: f64,
    pub(super) right: f64,
    pub(super) top: f64,
    pub(super) bottom: f64,
}

/// Draws the title; returns the top of the remaining area.
pub(super) fn draw_heading(canvas: &mut Scene, title: &str) -> f64 {
    let width = canvas.size.0 - 2.0 * MARGIN;
    let mut y = MARGIN;
    for line in text::wrap(title, TITLE, width, 2) {
        let placement = Text::new(TITLE, canvas.size.0 / 2.0, y).align_centre();
        canvas.text(&line, placement);
        y += 1.3 * TITLE;
    }
    y + 6.0
}

/// Draws the vertical axis: title, ticks, grid lines and a border.
pub(super) fn draw_vertical_axis(
    canvas: &mut Scene,
    field: FrameRect,
    (name, scale, ticks): (&str, LinearScale, &AxisTicks),
) {
    for value in &ticks.values {
        let y = pixel_centre(scale.position(*value));
        canvas.line(&[(field.left, y), (field.right, y)], RULE, 1.0);
        let placement = Text::new(LABEL, field.left - 10.0, y - MIDDLE * LABEL).align_right();
        canvas.text(&ticks.text(*value), placement);
    }
    let middle = f64::midpoint(field.top, field.bottom);
    let room = field.bottom - field.top;
    let lines = text::wrap(name, AXIS, room, 1);
    for line in lines {
        let placement = Text::new(AXIS, MARGIN, middle).align_centre().rotate_up();
        canvas.text(&line, placement);
    }
    draw_frame(canvas, field)
}

pub(super) fn draw_frame(canvas: &mut Scene, field: FrameRect) {
    let FrameRect {
        left,
        right,
        top,
        bottom,
    } = field;
    let corners = [(left, top), (left, bottom), (right, bottom)];
    canvas.line(&corners, INK, 1.5)
}

/// Left edge of the data, after the axis title and the tick labels.
pub(super) fn left_indent(ticks: &AxisTicks) -> f64 {
    let widths = ticks
        .values
        .iter()
        .map(|value| text::width(&ticks.text(*value), LABEL));
    MARGIN + 1.2 * AXIS + 22.0 + widths.fold(0.0, f64::max)
}

/// Draws an empty plot with a message.
pub(super) fn draw_empty(canvas: &mut Scene, title: &str) {
    let top = draw_heading(canvas, title);
    let middle = f64::midpoint(top, canvas.size.1);
    let placement = Text::new(AXIS, canvas.size.0 / 2.0, middle)
        .align_centre()
        .with_paint(GREY);
    canvas.text("There is nothing to draw.", placement);
}

/// Centre of a pixel row or column: lines there have sharp edges.
pub(super) fn pixel_centre(position: f64) -> f64 {
    position.floor() + 0.5
}

/// Formats a speedup, given as a logarithm, with at most three digits.
pub(super) fn format_factor(logarithm: f64) -> String {
    let digits = factor_digits(logarithm);
    let short = if digits.contains('.') {
        digits.trim_end_matches('0').trim_end_matches('.')
    } else {
        &digits
    };
    format!("{short}×")
}

/// Three digits of a speedup, given as a logarithm.
pub(super) fn factor_digits(logarithm: f64) -> String {
    let factor = logarithm.exp2();
    if !(1e-3..1e5).contains(&factor) {
        return format!("{factor:.0e}");
    }
    let decimals = [(100.0, 0), (10.0, 1), (1.0, 2), (0.1, 3)];
    let decimals = decimals.iter().find(|(minimum, _)| factor >= *minimum);
    format!("{factor:.*}", decimals.map_or(4, |(_, count)| *count))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round() {
        let ticks = AxisTicks::new(0.0, 1.3, 8.0, 0.0);
        let texts: Vec<String> = ticks.values.iter().map(|v| ticks.text(*v)).collect();
        assert_eq!(texts, ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0", "1.2"]);
        let integers = AxisTicks::new(-10.4, 4.4, 30.0, 1.0);
        assert_eq!(integers.values.len(), 15);
        assert_eq!(
            (integers.text(-10.0), integers.text(0.0)),
            ("-10".into(), "0".into())
        );
        assert_eq!(AxisTicks::new(0.0, 3e9, 8.0, 0.0).text(5e8), "5.0e8");
        assert_eq!(AxisTicks::new(0.0, 3e-7, 8.0, 0.0).text(5e-8), "5.0e-8");
        let below = AxisTicks::new(-0.31, 0.1, 8.0, 0.0);
        assert_eq!(below.text(-0.3), "-0.3");
    }
    #[test]
    fn factors_have_three_digits() {
        let texts = [-4.0, -1.0, -0.5, 0.0, 0.5, 3.0, 10.0, 20.0].map(format_factor);
        assert_eq!(
            texts,
            [
                "0.0625×", "0.5×", "0.707×", "1×", "1.41×", "8×", "1024×", "1e6×"
            ]
        );
    }
}
