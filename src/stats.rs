//! Statistics of repeats. Pure: numbers in, numbers out.

/// Standard deviation (population form) over the mean: 0 for one repeat, NaN for none.
///
/// TenSet's measuring rule repeats a program while this is above 0.1.
pub(crate) fn noise(repeats: &[f64]) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "a repeat count")]
    let count = repeats.len() as f64;
    let mean = repeats.iter().sum::<f64>() / count;
    let variance = repeats
        .iter()
        .map(|repeat| (repeat - mean).powi(2))
        .sum::<f64>()
        / count;
    if variance == 0.0 {
        0.0
    } else {
        variance.sqrt() / mean
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noise_is_relative() {
        assert!((noise(&[1.0, 3.0]) - 0.5).abs() < 1e-12);
        assert!((noise(&[100.0, 300.0]) - 0.5).abs() < 1e-12);
        assert!(noise(&[7.0]).abs() < 1e-12);
        assert!(noise(&[0.0, 0.0]).abs() < 1e-12);
    }
}
