//! Lines and dots of a series, which differ where its colour comes again.

use super::style::Style;
use crate::scene::{Paint, Scene, is_dashed, shape};

/// Draws the line of a series: with gaps where its colour comes again.
pub(crate) fn stroke(
    scene: &mut Scene,
    style: &Style,
    points: &[(f64, f64)],
    (place, width): (usize, f64),
) {
    let paint = Paint::series(place);
    match is_dashed(place) && !style.is_terminal() {
        true => {
            let dash = (0.35 * style.label, 0.2 * style.label);
            scene.dashes(points, paint, width, dash);
        }
        false => scene.line(points, paint, width),
    }
}

/// The dot of a series, in its shape.
pub(crate) fn dot(
    scene: &mut Scene,
    (x, y): (f64, f64),
    size: f64,
    (place, paint): (usize, Paint),
) {
    let corners: &[(f64, f64)] = match shape(place) % 4 {
        0 => return scene.circle((x, y), size, paint),
        1 => &[(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)],
        2 => &[(0.0, -1.25), (1.15, 0.8), (-1.15, 0.8)],
        _ => &[(0.0, -1.3), (1.3, 0.0), (0.0, 1.3), (-1.3, 0.0)],
    };
    let corner = |(right, down): &(f64, f64)| (x + size * right, y + size * down);
    let corners: Vec<(f64, f64)> = corners.iter().map(corner).collect();
    scene.filled(&corners, paint);
}
