//! The axis of factors, which both pictures share.

use crate::canvas::RULE;
use crate::page::{Field, LABEL, Scale, Ticks, crisp, factor};
use crate::scene::{Scene, Text};

/// Draws the factors below a field, and a line up from each.
pub(super) fn factors(canvas: &mut Scene, field: Field, x: &Scale) {
    let ticks = Ticks::new(
        x.values.0,
        x.values.1,
        (field.right - field.left) / 80.0,
        0.0,
    );
    for value in &ticks.values {
        let across = crisp(x.at(*value));
        canvas.line(&[(across, field.top), (across, field.bottom)], RULE, 1.0);
        let at = Text::new(LABEL, across, field.bottom + 9.0).centred();
        canvas.text(&factor(*value), at);
    }
}
