//! The axis of factors, which both pictures share.

use plotters::prelude::DrawingBackend;

use crate::canvas::{Canvas, RULE, Text};
use crate::page::{Field, LABEL, Scale, Ticks, crisp, factor};

/// Draws the factors below a field, and a line up from each.
pub(super) fn factors<B: DrawingBackend>(
    canvas: &Canvas<'_, B>,
    field: Field,
    x: &Scale,
) -> Result<(), String> {
    let ticks = Ticks::new(
        x.values.0,
        x.values.1,
        (field.right - field.left) / 80.0,
        0.0,
    );
    for value in &ticks.values {
        let across = crisp(x.at(*value));
        canvas.line(&[(across, field.top), (across, field.bottom)], RULE, 1.0)?;
        let at = Text::new(LABEL, across, field.bottom + 9.0).centred();
        canvas.text(&factor(*value), at)?;
    }
    Ok(())
}
