//! Means and sums of squares.

/// Converts a count to `f64`.
#[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
pub(crate) fn float(count: usize) -> f64 {
    count as f64
}

/// Mean; NaN without values.
pub(crate) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / float(values.len())
}

/// Sum of squared distances from the mean; 0 without values.
pub(crate) fn squares(values: &[f64]) -> f64 {
    let mean = mean(values);
    values.iter().map(|value| (value - mean).powi(2)).sum()
}
