//! Histogram of speedups: stacked bars by verdict.

use super::axis::factors;
use super::data::{SpeedupBin, noise_band};
use crate::canvas::{INK, fixed_colour, series_colour};
use crate::plot_frame::{
    AXIS, AxisTicks, FrameRect, LABEL, LinearScale, draw_frame, draw_vertical_axis, left_indent,
};
use crate::scene::{Paint, Scene, Text};
use crate::text;

/// Maximum number of bars.
const MAX_BARS: f64 = 90.0;

/// Colour of the band of insignificant changes.
pub(super) const BAND: Paint = fixed_colour(250, 240, 205);

/// Layers from the bottom up: index of the count, name, colour.
fn layers() -> [(usize, &'static str, Paint); 4] {
    [
        (2, "same", fixed_colour(120, 120, 120)),
        (1, "unclear", fixed_colour(195, 195, 195)),
        (0, "slower", series_colour(1)),
        (3, "faster", series_colour(0)),
    ]
}

/// A bar: its bounds as logarithms, and its counts.
struct Bar {
    ends: (f64, f64),
    counts: [u64; 4],
}

/// Merges bins into bars that are wide enough to see.
fn bars(bins: &[SpeedupBin]) -> Vec<Bar> {
    let ends = |bin: &SpeedupBin| (bin.from.log2(), bin.to.log2());
    let (Some(first), Some(last)) = (bins.first().map(ends), bins.last().map(ends)) else {
        return Vec::new();
    };
    let narrow = (first.1 - first.0).max(1e-6);
    let across = ((last.1 - first.0) / narrow / MAX_BARS).ceil().max(1.0) * narrow;
    let mut bars: Vec<Bar> = Vec::new();
    for bin in bins {
        // Bars start at multiples of their width, so that none spans 1.
        let place = (ends(bin).0 / across + 1e-6).floor();
        let ends = (place * across, (place + 1.0) * across);
        match bars.last_mut() {
            Some(bar) if (bar.ends.0 - ends.0).abs() < across / 2.0 => {
                for (sum, count) in bar.counts.iter_mut().zip(bin.counts) {
                    *sum += count;
                }
            }
            _ => bars.push(Bar {
                ends,
                counts: bin.counts,
            }),
        }
    }
    bars
}

#[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
fn float(count: u64) -> f64 {
    count as f64
}

/// Draws the histogram up to `right`, between `top` and `bottom`.
pub(super) fn draw(
    canvas: &mut Scene,
    (label, bins, noise): (&str, &[SpeedupBin], f64),
    (right, top, bottom): (f64, f64, f64),
) {
    let bars = bars(bins);
    let sum = |bar: &Bar| float(bar.counts.iter().sum());
    let most = bars.iter().map(sum).fold(1.0, f64::max);
    let legend = 1.6 * LABEL;
    let ticks = AxisTicks::new(0.0, 1.05 * most, 9.0, 1.0);
    let field = FrameRect {
        left: left_indent(&ticks),
        right,
        top: top + legend,
        bottom,
    };
    let (none, edge) = noise_band(noise);
    let ends = bars.iter().flat_map(|bar| [bar.ends.0, bar.ends.1]);
    let (low, high) = ends.fold((none, edge), |(low, high), end| {
        (low.min(end), high.max(end))
    });
    let room = 0.04 * (high - low).max(0.01);
    let x = LinearScale {
        values: (low - room, high + room),
        places: (field.left, field.right),
    };
    let y = LinearScale {
        values: (0.0, 1.05 * most),
        places: (field.bottom, field.top),
    };
    draw_block(
        canvas,
        (x.position(none), x.position(edge)),
        (field.top, field.bottom),
        BAND,
    );
    factors(canvas, field, &x);
    draw_vertical_axis(canvas, field, (label, y, &ticks));
    for bar in &bars {
        let sides = (x.position(bar.ends.0) + 0.5, x.position(bar.ends.1) - 0.5);
        let mut below = 0.0;
        for (place, _, colour) in layers() {
            let count = float(bar.counts.get(place).copied().unwrap_or(0));
            if count > 0.0 {
                draw_block(
                    canvas,
                    sides,
                    (y.position(below + count), y.position(below)),
                    colour,
                );
                below += count;
            }
        }
    }
    let one = x.position(0.0);
    canvas.dashes(
        &[(one, field.top), (one, field.bottom)],
        INK,
        1.5,
        (8.0, 6.0),
    );
    draw_frame(canvas, field);
    let middle = f64::midpoint(field.left, field.right);
    let at = Text::new(AXIS, middle, field.bottom + 9.0 + 1.6 * LABEL).align_centre();
    canvas.text("speedup of each pair", at);
    draw_legend(canvas, &bars, (field.left, top))
}

/// Draws the legend: colours, and number of pairs of each.
fn draw_legend(canvas: &mut Scene, bars: &[Bar], (left, top): (f64, f64)) {
    let mut along = left;
    for (place, name, colour) in layers() {
        let counts = bars.iter().filter_map(|bar| bar.counts.get(place));
        let count: u64 = counts.sum();
        if count == 0 {
            continue;
        }
        draw_block(
            canvas,
            (along, along + 16.0),
            (top + 3.0, top + 19.0),
            colour,
        );
        let text = format!("{name} ({count})");
        canvas.text(&text, Text::new(LABEL, along + 22.0, top));
        along += 22.0 + text::width(&text, LABEL) + 22.0;
    }
}

fn draw_block(
    canvas: &mut Scene,
    (left, right): (f64, f64),
    (top, bottom): (f64, f64),
    colour: Paint,
) {
    let corners = [(left, top), (right, top), (right, bottom), (left, bottom)];
    canvas.area(&corners, colour)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn narrow_bins_are_joined_and_lose_nothing() {
        let bins = (-640..=640).map(|place| {
            let at = |place: i32| (f64::from(place) / 64.0).exp2();
            SpeedupBin {
                from: at(place),
                to: at(place + 1),
                counts: [1, 0, 2, 0],
            }
        });
        let bins: Vec<SpeedupBin> = bins.collect();
        let bars = bars(&bins);
        assert!(bars.len() < 100, "{}", bars.len());
        let sum: u64 = bars.iter().map(|bar| bar.counts[2]).sum();
        assert_eq!(sum, 2 * 1281);
        assert!(
            bars.iter()
                .all(|bar| bar.ends.0 >= -1e-9 || bar.ends.1 <= 1e-9)
        );
    }
}
