//! Statistics of repeats. Pure: numbers in, numbers out.

/// Standard deviation (population form) over the mean: 0 for one repeat, NaN for none.
///
/// TenSet's measuring rule repeats a program while this is above 0.1.
pub fn noise(repeats: &[f64]) -> f64 {
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

/// The value below which this share of `sorted` lies, between two neighbours by distance (as
/// NumPy's default); NaN for no values.
pub fn quantile(sorted: &[f64], share: f64) -> f64 {
    let last = u32::try_from(sorted.len())
        .unwrap_or(u32::MAX)
        .saturating_sub(1);
    let place = share.clamp(0.0, 1.0) * f64::from(last);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "below the length"
    )]
    let below = place.floor() as usize;
    let at = |place: usize| {
        sorted
            .get(place.min(sorted.len().saturating_sub(1)))
            .copied()
    };
    let low = at(below).unwrap_or(f64::NAN);
    low + (at(below + 1).unwrap_or(low) - low) * place.fract()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_numpys() {
        let values = [1.0, 2.0, 4.0, 8.0];
        for (share, expected) in [(0.0, 1.0), (0.25, 1.75), (0.5, 3.0), (0.9, 6.8), (1.0, 8.0)] {
            assert!((quantile(&values, share) - expected).abs() < 1e-12);
        }
        assert!(quantile(&[], 0.5).is_nan());
    }

    #[test]
    fn noise_is_relative() {
        assert!((noise(&[1.0, 3.0]) - 0.5).abs() < 1e-12);
        assert!((noise(&[100.0, 300.0]) - 0.5).abs() < 1e-12);
        assert!(noise(&[7.0]).abs() < 1e-12);
        assert!(noise(&[0.0, 0.0]).abs() < 1e-12);
    }
}
