//! Statistics of repeats. Pure functions.

/// Standard deviation (population form) over the mean: 0 for one repeat, NaN for none.
///
/// TenSet's measuring rule repeats a program while this is above 0.1.
pub fn coefficient_of_variation(repeats: &[f64]) -> f64 {
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

/// Quantile of `sorted` at `fraction`, linearly interpolated (NumPy's default); NaN without values.
pub fn quantile(sorted: &[f64], fraction: f64) -> f64 {
    let last = u32::try_from(sorted.len())
        .unwrap_or(u32::MAX)
        .saturating_sub(1);
    let position = fraction.clamp(0.0, 1.0) * f64::from(last);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "below the length"
    )]
    let below = position.floor() as usize;
    let value_at = |index: usize| {
        sorted
            .get(index.min(sorted.len().saturating_sub(1)))
            .copied()
    };
    let low = value_at(below).unwrap_or(f64::NAN);
    low + (value_at(below + 1).unwrap_or(low) - low) * position.fract()
}

/// Quantile of values in any order, linearly interpolated; `None` without values.
pub fn quantile_unsorted(values: &mut [f64], fraction: f64) -> Option<f64> {
    values.sort_unstable_by(f64::total_cmp);
    let last = values.len().checked_sub(1)?;
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a position among values in memory"
    )]
    let (position, below) = {
        let position = fraction.clamp(0.0, 1.0) * last as f64;
        (position, position.floor() as usize)
    };
    let low = *values.get(below)?;
    let high = values.get(below + 1).copied().unwrap_or(low);
    let weight = position.fract();
    // The difference of two infinite values is NaN.
    if weight == 0.0 || low == high {
        return Some(low);
    }
    Some((1.0 - weight) * low + weight * high)
}

/// Sample standard deviation (n - 1); `None` for fewer than two values.
pub fn sample_deviation(values: &[f64]) -> Option<f64> {
    let (mut count, mut mean, mut squares) = (0.0, 0.0, 0.0);
    for value in values {
        count += 1.0;
        let delta = value - mean;
        mean += delta / count;
        squares += delta * (value - mean);
    }
    (count > 1.0).then(|| (squares / (count - 1.0)).sqrt())
}

/// Median absolute deviation from the median; `None` without values.
pub fn median_absolute_deviation(values: &mut [f64]) -> Option<f64> {
    let middle = quantile_unsorted(values, 0.5)?;
    for value in &mut *values {
        *value = (*value - middle).abs();
    }
    quantile_unsorted(values, 0.5)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_numpys() {
        let values = [1.0, 2.0, 4.0, 8.0];
        for (fraction, expected) in [(0.0, 1.0), (0.25, 1.75), (0.5, 3.0), (0.9, 6.8), (1.0, 8.0)] {
            assert!((quantile(&values, fraction) - expected).abs() < 1e-12);
        }
        assert!(quantile(&[], 0.5).is_nan());
    }

    /// NumPy: `quantile`, `std(ddof=1)`; SciPy: `median_abs_deviation`.
    #[test]
    fn spreads_are_numpys() {
        let values = || [9.0, 1.0, 2.0, 4.0, 4.5];
        assert_eq!(quantile_unsorted(&mut values(), 0.5), Some(4.0));
        assert_eq!(quantile_unsorted(&mut values(), 0.1), Some(1.4));
        assert_eq!(quantile_unsorted(&mut [], 0.5), None);
        assert_eq!(
            quantile_unsorted(&mut [f64::INFINITY; 2], 0.5),
            Some(f64::INFINITY)
        );
        let deviation = sample_deviation(&values()).unwrap();
        assert!(
            (deviation - 3.090_307_428_072_488_7).abs() < 1e-12,
            "{deviation}"
        );
        assert_eq!(
            (sample_deviation(&[]), sample_deviation(&[1.0])),
            (None, None)
        );
        assert_eq!(median_absolute_deviation(&mut values()), Some(2.0));
        assert_eq!(median_absolute_deviation(&mut [7.0]), Some(0.0));
        assert_eq!(median_absolute_deviation(&mut []), None);
        assert!(
            median_absolute_deviation(&mut [1.0, f64::NAN])
                .unwrap()
                .is_nan()
        );
    }

    #[test]
    fn noise_is_relative() {
        assert!((coefficient_of_variation(&[1.0, 3.0]) - 0.5).abs() < 1e-12);
        assert!((coefficient_of_variation(&[100.0, 300.0]) - 0.5).abs() < 1e-12);
        assert!(coefficient_of_variation(&[7.0]).abs() < 1e-12);
        assert!(coefficient_of_variation(&[0.0, 0.0]).abs() < 1e-12);
    }
}
