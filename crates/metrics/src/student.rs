//! Quantiles of Student's t-distribution.

/// Maximum degrees of freedom for the finite sums.
const MAX_SUMMED_FREEDOM: u32 = 200;

/// The 97.5 % quantile for `freedom` degrees of freedom, at least one.
///
/// Up to [`MAX_SUMMED_FREEDOM`] it uses the finite sums for integer degrees of freedom (Abramowitz and Stegun, 26.7.3
/// and 26.7.4), inverted by bisection. Above that it uses the expansion about the normal quantile (26.7.5), whose error
/// is below 1e-9 there.
pub(crate) fn quantile_975(freedom: u64) -> f64 {
    let small_freedom = u32::try_from(freedom)
        .ok()
        .filter(|small_freedom| *small_freedom <= MAX_SUMMED_FREEDOM);
    let Some(small_freedom) = small_freedom else {
        return quantile_expansion(freedom);
    };
    let small_freedom = small_freedom.max(1);
    let (mut low, mut high) = (0.0, 13.0);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if central_probability(middle, small_freedom) < 0.95 {
            low = middle;
        } else {
            high = middle;
        }
    }
    f64::midpoint(low, high)
}

/// Probability of a value between -t and t.
fn central_probability(t: f64, freedom: u32) -> f64 {
    let angle = (t / f64::from(freedom).sqrt()).atan();
    let (sine, square) = (angle.sin(), angle.cos().powi(2));
    let is_odd = freedom % 2 == 1;
    let mut term = if is_odd { angle.cos() } else { 1.0 };
    let mut sum = 0.0;
    let first = if is_odd { 1 } else { 0 };
    for step in (first..freedom.saturating_sub(1)).step_by(2) {
        sum += term;
        term *= f64::from(step + 1) / f64::from(step + 2) * square;
    }
    if is_odd {
        (angle + sine * sum) * std::f64::consts::FRAC_2_PI
    } else {
        sine * sum
    }
}

fn quantile_expansion(freedom: u64) -> f64 {
    let x = super::change::NORMAL_QUANTILE;
    #[expect(clippy::cast_precision_loss, reason = "a number of values")]
    let n = freedom as f64;
    let square = x * x;
    let first = x * (square + 1.0) / 4.0;
    let second = x * ((5.0 * square + 16.0) * square + 3.0) / 96.0;
    let third = x * (((3.0 * square + 19.0) * square + 17.0) * square - 15.0) / 384.0;
    let fourth = x
        * ((((79.0 * square + 776.0) * square + 1482.0) * square - 1920.0) * square - 945.0)
        / 92160.0;
    x + (first + (second + (third + fourth / n) / n) / n) / n
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SciPy: `scipy.stats.t.ppf(0.975, n)`.
    #[test]
    fn quantiles_are_scipys() {
        for (freedom, expected) in EXPECTED {
            let actual = quantile_975(freedom);
            assert!(
                (actual / expected - 1.0).abs() < 1e-9,
                "{freedom}: {actual} is not {expected}"
            );
        }
    }

    const EXPECTED: [(u64, f64); 11] = [
        (1, 12.706_204_736_174_694),
        (2, 4.302_652_729_749_462),
        (3, 3.182_446_305_283_707_8),
        (4, 2.776_445_105_197_793_4),
        (5, 2.570_581_835_636_314_6),
        (10, 2.228_138_851_986_274),
        (99, 1.984_216_951_586_417_4),
        (200, 1.971_896_223_633_908_8),
        (201, 1.971_836_506_779_859),
        (1000, 1.962_339_080_826_408_3),
        (10_000_000, 1.959_964_221_767_205),
    ];
}
