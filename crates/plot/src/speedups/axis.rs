//! Speedup axis of both plots.

use crate::canvas::RULE;
use crate::plot_frame::{AxisTicks, FrameRect, LABEL, LinearScale, format_factor, pixel_centre};
use crate::scene::{Scene, Text};
use crate::text;

/// Minimum gap between two labels.
const GAP: f64 = 6.0;

/// Maximum ratio of the ends of an axis with linear steps.
const MAX_LINEAR_RATIO: f64 = 4.0;

/// Round factors of a decade, from many to few.
const DECADES: [&[f64]; 3] = [&[1.0, 1.5, 2.0, 3.0, 5.0, 7.0], &[1.0, 2.0, 5.0], &[1.0]];

/// Draws the speedups below an area, and a grid line for each.
pub(super) fn factors(canvas: &mut Scene, field: FrameRect, x: &LinearScale) {
    for factor in round_factors(x) {
        let x_position = pixel_centre(x.position(factor.log2()));
        canvas.line(
            &[(x_position, field.top), (x_position, field.bottom)],
            RULE,
            1.0,
        );
        let placement = Text::new(LABEL, x_position, field.bottom + 9.0).align_centre();
        canvas.text(&format_factor(factor.log2()), placement);
    }
}

/// Round factors on the axis, as many as have space for their labels.
fn round_factors(x: &LinearScale) -> Vec<f64> {
    let (low, high) = (x.values.0.exp2(), x.values.1.exp2());
    let linear = (2..=10)
        .rev()
        .map(|count| AxisTicks::new(low, high, f64::from(count), 0.0).values);
    let linear = linear.filter(|_| high / low < MAX_LINEAR_RATIO);
    let decades = DECADES
        .iter()
        .map(|parts| decade_factors((low, high), 1, parts));
    let powers = (2..=100).map(|step| decade_factors((low, high), step, &[1.0]));
    let mut candidates = linear.chain(decades).chain(powers);
    candidates
        .find(|found| labels_fit(found, x))
        .unwrap_or_default()
}

/// Multiples of every power of ten whose exponent is divisible by `step`.
fn decade_factors((low, high): (f64, f64), step: i32, parts: &[f64]) -> Vec<f64> {
    let powers = (-16..=16).filter(|power| power % step == 0);
    let factors = powers.flat_map(|power| parts.iter().map(move |part| part * 10_f64.powi(power)));
    factors
        .filter(|factor| (low..=high).contains(factor))
        .collect()
}

fn labels_fit(factors: &[f64], x: &LinearScale) -> bool {
    let half = |factor: f64| text::width(&format_factor(factor.log2()), LABEL) / 2.0;
    let start = |factor: f64| x.position(factor.log2()) - half(factor);
    let end = |factor: f64| x.position(factor.log2()) + half(factor);
    let mut neighbours = factors.iter().zip(factors.iter().skip(1));
    !factors.is_empty() && neighbours.all(|(left, right)| start(*right) - end(*left) >= GAP)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(low: f64, high: f64) -> Vec<String> {
        let x = LinearScale {
            values: (low.log2(), high.log2()),
            positions: (0.0, 400.0),
        };
        let factors = round_factors(&x).into_iter();
        factors.map(|factor| format_factor(factor.log2())).collect()
    }

    #[test]
    fn labels_are_round_factors_that_do_not_overlap() {
        assert_eq!(labels(0.94, 1.9), ["1×", "1.2×", "1.4×", "1.6×", "1.8×"]);
        assert_eq!(
            labels(0.42, 3.9),
            ["0.5×", "0.7×", "1×", "1.5×", "2×", "3×"]
        );
        assert_eq!(labels(0.08, 60.0), ["0.1×", "1×", "10×"]);
        assert!(labels(0.9999, 1.0001).len() >= 2);
        assert!(labels(1e-5, 1e5).len() >= 3);
    }
}
