//! Lines and dots of a series; their form differs when its colour repeats.

use super::style::Style;
use crate::scene::{Paint, Scene, dot_shape, is_dashed};

/// Draws the line of a series, dashed if its colour repeats.
pub(crate) fn stroke(
    scene: &mut Scene,
    style: &Style,
    points: &[(f64, f64)],
    (index, width): (usize, f64),
) {
    let paint = Paint::series(index);
    match is_dashed(index) && !style.is_terminal() {
        true => {
            let dash = (0.35 * style.label, 0.2 * style.label);
            scene.dashes(points, paint, width, dash);
        }
        false => scene.line(points, paint, width),
    }
}

/// Draws the dot of a series, in its shape.
pub(crate) fn dot(
    scene: &mut Scene,
    (x, y): (f64, f64),
    size: f64,
    (index, paint): (usize, Paint),
) {
    let corners: &[(f64, f64)] = match dot_shape(index) % 4 {
        0 => return scene.circle((x, y), size, paint),
        1 => &[(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)],
        2 => &[(0.0, -1.25), (1.15, 0.8), (-1.15, 0.8)],
        _ => &[(0.0, -1.3), (1.3, 0.0), (0.0, 1.3), (-1.3, 0.0)],
    };
    let corner = |(right, down): &(f64, f64)| (x + size * right, y + size * down);
    let corners: Vec<(f64, f64)> = corners.iter().map(corner).collect();
    scene.area(&corners, paint);
}
