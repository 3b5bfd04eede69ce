//! Kernel density estimation.

use tsql_metrics::stats::quantile;

use crate::number::float;

/// Number of points of an outline.
const OUTLINE: u32 = 160;

/// Bandwidth of a Gaussian kernel by Silverman's rule; 0 if all values are equal.
fn bandwidth(sorted: &[f64]) -> f64 {
    let count = float(sorted.len());
    let mean = sorted.iter().sum::<f64>() / count;
    let squares: f64 = sorted.iter().map(|value| (value - mean).powi(2)).sum();
    let deviation = (squares / (count - 1.0).max(1.0)).sqrt();
    let spread = (quantile(sorted, 0.75) - quantile(sorted, 0.25)) / 1.34;
    let scale = if spread > 0.0 {
        deviation.min(spread)
    } else {
        deviation
    };
    0.9 * scale * count.powf(-0.2)
}

/// Returns values and densities from the minimum to the maximum, without extrapolation.
pub(crate) fn density(sorted: &[f64]) -> Vec<(f64, f64)> {
    let (Some(first), Some(last)) = (sorted.first(), sorted.last()) else {
        return Vec::new();
    };
    let width = bandwidth(sorted);
    // Computed speedups that should be equal may differ by rounding.
    if last - first < 1e-9 || width < 1e-9 {
        return Vec::new();
    }
    let step = (last - first) / f64::from(OUTLINE);
    let point = |index: u32| {
        let value = if index == OUTLINE {
            *last
        } else {
            first + step * f64::from(index)
        };
        let kernel = |other: &f64| (-0.5 * ((value - other) / width).powi(2)).exp();
        (value, sorted.iter().map(kernel).sum::<f64>())
    };
    (0..=OUTLINE).map(point).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn densities_follow_the_values() {
        assert_eq!(density(&[1.0, 1.0, 1.0]), []);
        let outline = density(&[-1.0, 0.0, 0.0, 0.0, 1.0]);
        let ends = (outline.first().unwrap().0, outline.last().unwrap().0);
        assert_eq!(ends, (-1.0, 1.0));
        let mode = outline.iter().max_by(|a, b| a.1.total_cmp(&b.1)).unwrap();
        assert!(mode.0.abs() < 1e-9 && outline.len() == 161, "{mode:?}");
    }
}
