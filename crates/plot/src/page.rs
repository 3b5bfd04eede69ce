//! What is around the data: titles, axes and their numbers, and where the data are drawn.

use crate::canvas::{self, GREY, INK, RULE};
use crate::scene::{Scene, Text};
use crate::text;

/// What is said of a picture, and how large its pixels are.
#[derive(Clone, Copy, Debug)]
pub struct Page<'a> {
    pub(super) title: &'a str,
    /// What is at the vertical axis.
    pub(super) label: &'a str,
    /// Pixels across the PNG.
    pub(super) png_width: u32,
}

impl<'a> Page<'a> {
    /// A page of the usual size.
    pub fn new(title: &'a str, label: &'a str) -> Self {
        Self {
            title,
            label,
            png_width: 1600,
        }
    }

    /// With so many pixels across the PNG; letters and lines grow with it.
    pub fn with_png_width(self, png_width: u32) -> Self {
        Self { png_width, ..self }
    }
}

/// Room around everything.
pub(super) const MARGIN: f64 = 28.0;

/// Size of letters: of the title, what the axes are, the numbers and names on them, remarks.
pub(super) const TITLE: f64 = 28.0;
pub(super) const AXIS: f64 = 22.0;
pub(super) const LABEL: f64 = 18.0;
pub(super) const REMARK: f64 = 16.0;

/// How far below the top of its line the middle of a letter is, by its size.
pub(super) const MIDDLE: f64 = 0.41;

/// Round numbers to be written at an axis, and with how many decimals.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Ticks {
    pub(super) values: Vec<f64>,
    pub(super) decimals: usize,
}

impl Ticks {
    /// About `count` multiples of 1, 2 or 5 times a power of ten; `least` is the least step.
    pub(super) fn new(low: f64, high: f64, count: f64, least: f64) -> Self {
        let rough = ((high - low) / count).max(least);
        let power = 10_f64.powf(rough.log10().floor());
        let steps = [1.0, 2.0, 5.0, 10.0].map(|step| step * power);
        let fits = |step: &&f64| **step >= rough * 0.999;
        let step = steps.iter().find(fits).copied().unwrap_or(rough);
        let first = (low / step - 1e-6).ceil();
        let numbers = (0..100_u32).map(|number| first + f64::from(number));
        // Not `-0`.
        let values = numbers.map(|number| number * step + 0.0);
        let values = values.take_while(|value| *value <= high + step * 1e-6);
        let decimals = (0..9).find(|places| step >= 0.999 * 10_f64.powi(-*places));
        Self {
            values: values.collect(),
            decimals: decimals.and_then(|n| usize::try_from(n).ok()).unwrap_or(9),
        }
    }

    pub(super) fn text(&self, value: f64) -> String {
        let most = self
            .values
            .iter()
            .fold(0.0, |most: f64, one| most.max(one.abs()));
        if most >= 1e7 || most < 1e-5 && most > 0.0 {
            return format!("{value:.1e}");
        }
        format!("{value:.*}", self.decimals)
    }
}

/// Maps values of one axis to places on the picture.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scale {
    pub(super) values: (f64, f64),
    pub(super) places: (f64, f64),
}

impl Scale {
    pub(super) fn at(&self, value: f64) -> f64 {
        let (low, high) = self.values;
        let (from, to) = self.places;
        from + (value - low) / (high - low) * (to - from)
    }
}

/// Where the data are drawn.
#[derive(Clone, Copy, Debug)]
pub(super) struct Field {
    pub(super) left: f64,
    pub(super) right: f64,
    pub(super) top: f64,
    pub(super) bottom: f64,
}

/// Draws the title and gives what is left below it.
pub(super) fn heading(canvas: &mut Scene, title: &str) -> f64 {
    let width = canvas::WIDTH - 2.0 * MARGIN;
    let mut y = MARGIN;
    for line in text::wrap(title, TITLE, width, 2) {
        let at = Text::new(TITLE, canvas::WIDTH / 2.0, y).centred();
        canvas.text(&line, at);
        y += 1.3 * TITLE;
    }
    y + 6.0
}

/// The vertical axis: what it is, its numbers, light lines across, a frame around.
pub(super) fn upright(
    canvas: &mut Scene,
    field: Field,
    (name, scale, ticks): (&str, Scale, &Ticks),
) {
    for value in &ticks.values {
        let y = crisp(scale.at(*value));
        canvas.line(&[(field.left, y), (field.right, y)], RULE, 1.0);
        let at = Text::new(LABEL, field.left - 10.0, y - MIDDLE * LABEL).right();
        canvas.text(&ticks.text(*value), at);
    }
    let middle = f64::midpoint(field.top, field.bottom);
    let room = field.bottom - field.top;
    let lines = text::wrap(name, AXIS, room, 1);
    for line in lines {
        let at = Text::new(AXIS, MARGIN, middle).centred().upwards();
        canvas.text(&line, at);
    }
    frame(canvas, field)
}

pub(super) fn frame(canvas: &mut Scene, field: Field) {
    let Field {
        left,
        right,
        top,
        bottom,
    } = field;
    let corners = [(left, top), (left, bottom), (right, bottom)];
    canvas.line(&corners, INK, 1.5)
}

/// How far from the left edge the data start: behind the name of the axis and its numbers.
pub(super) fn indent(ticks: &Ticks) -> f64 {
    let widths = ticks
        .values
        .iter()
        .map(|value| text::width(&ticks.text(*value), LABEL));
    MARGIN + 1.2 * AXIS + 22.0 + widths.fold(0.0, f64::max)
}

/// A picture without data, that says so.
pub(super) fn nothing(canvas: &mut Scene, title: &str) {
    let top = heading(canvas, title);
    let middle = f64::midpoint(top, canvas::HEIGHT);
    let at = Text::new(AXIS, canvas::WIDTH / 2.0, middle)
        .centred()
        .coloured(GREY);
    canvas.text("There is nothing to draw.", at);
}

/// The middle of a row or column of pixels: lines there have sharp edges.
pub(super) fn crisp(place: f64) -> f64 {
    place.floor() + 0.5
}

/// A speedup from its logarithm, in three digits.
pub(super) fn factor(logarithm: f64) -> String {
    let factor = logarithm.exp2();
    if !(1e-3..1e5).contains(&factor) {
        return format!("{factor:.0e}×");
    }
    let decimals = [(100.0, 0), (10.0, 1), (1.0, 2), (0.1, 3)];
    let decimals = decimals.iter().find(|(least, _)| factor >= *least);
    let digits = format!("{factor:.*}", decimals.map_or(4, |(_, places)| *places));
    let short = if digits.contains('.') {
        digits.trim_end_matches('0')
    } else {
        &digits
    };
    format!("{}×", short.trim_end_matches('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round() {
        let ticks = Ticks::new(0.0, 1.3, 8.0, 0.0);
        let texts: Vec<String> = ticks.values.iter().map(|v| ticks.text(*v)).collect();
        assert_eq!(texts, ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0", "1.2"]);
        let whole = Ticks::new(-10.4, 4.4, 30.0, 1.0);
        assert_eq!(whole.values.len(), 15);
        assert_eq!(
            (whole.text(-10.0), whole.text(0.0)),
            ("-10".into(), "0".into())
        );
        assert_eq!(Ticks::new(0.0, 3e9, 8.0, 0.0).text(5e8), "5.0e8");
        assert_eq!(Ticks::new(0.0, 3e-7, 8.0, 0.0).text(5e-8), "5.0e-8");
        let below = Ticks::new(-0.31, 0.1, 8.0, 0.0);
        assert_eq!(below.text(-0.3), "-0.3");
    }
    #[test]
    fn factors_have_three_digits() {
        let texts = [-4.0, -1.0, -0.5, 0.0, 0.5, 3.0, 10.0, 20.0].map(factor);
        assert_eq!(
            texts,
            [
                "0.0625×", "0.5×", "0.707×", "1×", "1.41×", "8×", "1024×", "1e6×"
            ]
        );
    }
}
