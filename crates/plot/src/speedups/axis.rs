//! Speedup axis of both plots.

use crate::canvas::RULE;
use crate::plot_frame::{AxisTicks, FrameRect, LABEL, LinearScale, format_factor, pixel_centre};
use crate::scene::{Scene, Text};

/// Draws the speedups below an area, and a grid line for each.
pub(super) fn factors(canvas: &mut Scene, field: FrameRect, x: &LinearScale) {
    let ticks = AxisTicks::new(
        x.values.0,
        x.values.1,
        (field.right - field.left) / 80.0,
        0.0,
    );
    for value in &ticks.values {
        let across = pixel_centre(x.position(*value));
        canvas.line(&[(across, field.top), (across, field.bottom)], RULE, 1.0);
        let at = Text::new(LABEL, across, field.bottom + 9.0).align_centre();
        canvas.text(&format_factor(*value), at);
    }
}
