//! Histogram of speedups: stacked bars by verdict.

use super::axis::factors;
use super::data::{SpeedupBin, noise_band};
use crate::canvas::{INK, fixed_colour, series_colour};
use crate::number::float;
use crate::plot_frame::{
    AXIS, AxisTicks, FrameRect, LABEL, LinearScale, MARGIN, draw_frame, draw_vertical_axis,
    left_indent,
};
use crate::scene::{Paint, Scene, Text};
use crate::text;

/// Maximum number of bars.
const MAX_BARS: f64 = 90.0;

/// Width of the swatch of a legend entry with its gap, and gap between entries.
const SWATCH: f64 = 22.0;
const ENTRY_GAP: f64 = 22.0;

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
    let bin_width = (first.1 - first.0).max(1e-6);
    let width = ((last.1 - first.0) / bin_width / MAX_BARS).ceil().max(1.0) * bin_width;
    let mut bars: Vec<Bar> = Vec::new();
    for bin in bins {
        // Bars start at multiples of their width, so that none spans 1.
        let bar_index = (ends(bin).0 / width + 1e-6).floor();
        let ends = (bar_index * width, (bar_index + 1.0) * width);
        match bars.last_mut() {
            Some(bar) if (bar.ends.0 - ends.0).abs() < width / 2.0 => {
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
fn to_float(count: u64) -> f64 {
    count as f64
}

/// Draws the histogram up to `right`, between `top` and `bottom`.
pub(super) fn draw(
    canvas: &mut Scene,
    (label, bins, noise): (&str, &[SpeedupBin], f64),
    (right, top, bottom): (f64, f64, f64),
) {
    let bars = bars(bins);
    let sum = |bar: &Bar| to_float(bar.counts.iter().sum());
    let max_count = bars.iter().map(sum).fold(1.0, f64::max);
    let ticks = AxisTicks::new(0.0, 1.05 * max_count, 9.0, 1.0);
    let field = FrameRect {
        left: left_indent(&ticks),
        right,
        top,
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
        positions: (field.left, field.right),
    };
    let y = LinearScale {
        values: (0.0, 1.05 * max_count),
        positions: (field.bottom, field.top),
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
        for (index, _, colour) in layers() {
            let count = to_float(bar.counts.get(index).copied().unwrap_or(0));
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
    let placement = Text::new(AXIS, middle, field.bottom + 9.0 + 1.6 * LABEL).align_centre();
    canvas.text("speedup of each pair", placement)
}

/// Draws the legend: colours, number of pairs of each, and the band of insignificant changes.
pub(super) fn draw_legend(canvas: &mut Scene, bins: &[SpeedupBin], noise: f64, top: f64) {
    let mut entries = Vec::new();
    for (index, name, colour) in layers() {
        let counts = bins.iter().filter_map(|bin| bin.counts.get(index));
        let count: u64 = counts.sum();
        if count > 0 {
            entries.push((format!("{name} ({count})"), colour));
        }
    }
    if noise > 0.0 {
        let percent = format!("{:.1}", 100.0 * noise);
        let percent = percent.trim_end_matches(".0");
        entries.push((format!("change below {percent} %"), BAND));
    }
    let widths = entries
        .iter()
        .map(|(text, _)| SWATCH + text::width(text, LABEL));
    let width = widths.sum::<f64>() + ENTRY_GAP * float(entries.len().saturating_sub(1));
    let mut left = ((canvas.size.0 - width) / 2.0).max(MARGIN);
    for (text, colour) in entries {
        draw_block(canvas, (left, left + 16.0), (top + 3.0, top + 19.0), colour);
        canvas.text(&text, Text::new(LABEL, left + SWATCH, top));
        left += SWATCH + text::width(&text, LABEL) + ENTRY_GAP;
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
        let bins = (-640..=640).map(|index| {
            let bound = |index: i32| (f64::from(index) / 64.0).exp2();
            SpeedupBin {
                from: bound(index),
                to: bound(index + 1),
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
